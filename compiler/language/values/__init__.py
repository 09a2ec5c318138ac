"""What a name can hold, and what can be done with it."""
