"""Launching kernels and timing them, in child processes: `cpu` and `cuda` have the parent's side and the child's.

`processes` measures a run in several of them, `timing` decides how often, `counters` counts what else happened
meanwhile, `ceilings` is what a machine can do at most.
"""
