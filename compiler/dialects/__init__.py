"""xDSL dialects: mo (graphs), mogg (fused kernels), mgp (host programs), kgen (elaborated kernels)."""

formats_later = False
"""Whether a compilation has formats of operations parsed as they are needed: for a program of ours, which sets it."""
