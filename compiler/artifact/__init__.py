"""Compiled models and kernels as plain data, and back."""
