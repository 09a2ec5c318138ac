"""Launching kernels and remembering what happened: devices, timing, memory, and the trace store."""
