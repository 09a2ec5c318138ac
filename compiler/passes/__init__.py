"""Passes: `graph/` over graphs, `fusion/` from a graph to kernels, `kernel/` over kernels. One file a pass."""
