"""The window around the views: selection, preferences, filters, finding, the inspector's words."""
