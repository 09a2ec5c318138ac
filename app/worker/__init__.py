"""What runs beside the window in processes of its own. No Qt is ever imported here."""
