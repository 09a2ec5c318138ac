"""LLVM work: optimise, emit, load, and run on the host's threads."""
