"""xDSL dialects: mo (graphs), mogg (fused kernels), mgp (host programs), kgen (elaborated kernels)."""
