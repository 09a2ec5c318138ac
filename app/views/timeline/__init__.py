"""The timeline and the memory plan."""
