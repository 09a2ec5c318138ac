"""The window around the views: bars, docks, menus, palette, dialogs."""
