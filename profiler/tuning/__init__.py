"""Tuning: what kernels leave to choose is tried on the device at hand, and what measured best is kept and used."""

BUDGET = 120.0
"""Seconds that tuning takes at most, where nothing else is asked for."""
