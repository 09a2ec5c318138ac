"""What a machine can do at most, measured with kernels of our own."""
