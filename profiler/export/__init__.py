"""Files other programs read: CSV tables, JSON (see SCHEMA.md), traces for Perfetto, scripts that make a run again."""
