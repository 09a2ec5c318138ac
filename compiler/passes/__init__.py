"""Graph and kernel passes: one file a pass, named after it; `fusion/` turns a graph into kernels."""
