"""Runs, flows, comparisons and their figures."""
