"""Flows compared: cells that are measured from outside, and the tables of what they came to."""
