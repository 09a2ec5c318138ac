"""Stored runs made again: to find out what makes one wrong or slow, or two of them in turns."""
