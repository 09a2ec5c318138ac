"""Arrays of other frameworks: NumPy's, PyTorch's, JAX's, CuPy's, seen where they lie and given back as they came."""
