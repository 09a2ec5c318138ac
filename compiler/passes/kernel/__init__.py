"""Passes over kernels between elaboration and LLVM; one file a pass, named after it."""
