"""The host program: kernel calls in order, their buffers and lifetimes, and running it on the CPU."""
