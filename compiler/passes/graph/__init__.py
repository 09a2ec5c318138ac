"""Passes over graphs: one file a pass, named after it. They never change a value, only the work."""
