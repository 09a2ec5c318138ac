"""Qt item models over plain records, for tables and lists."""
