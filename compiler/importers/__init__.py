"""Graphs from other formats."""
