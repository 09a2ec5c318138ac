"""Measuring on the CPU: the parent's side, the child's, and the native timing loop."""
