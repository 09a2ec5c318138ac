"""Row kernels: `join` says which ops go together over rows, `walks` and `text` how such a kernel is written."""
