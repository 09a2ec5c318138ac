"""Launching kernels and timing them, in a child process: `cpu` is the parent's side, `child` the other.

`native` is the loop that times a model without Python in it, `timing` decides how often, `counters` counts what else
happened meanwhile.
"""
