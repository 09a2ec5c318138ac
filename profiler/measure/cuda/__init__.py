"""Measuring on NVIDIA GPUs: driver, memory, modules, launching, timing, and the process that does it."""
