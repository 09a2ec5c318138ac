"""One table a family of ATen ops: what each becomes in the graph."""
