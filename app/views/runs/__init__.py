"""Runs, their figures, flows and comparisons."""
