"""Ops that only change how indices map to elements; they cost nothing by themselves."""

from kernels.language import *


@view("mo.reshape")
def reshape(x, *, shape):
    """The same elements in row-major order under another shape."""
    return x.reshape(shape)


@view("mo.transpose")
def transpose(x, *, perm):
    """Axis k of the result is axis perm[k] of x."""
    return x.permute(perm)


@view("mo.broadcast_to")
def broadcast_to(x, *, shape):
    """x repeated along new axes and axes of size 1, by NumPy's rules."""
    return x.broadcast(shape)


@view("mo.slice")
def strided_slice(x, *, starts, steps, shape):
    """Element i of each axis of the result is element starts + i * steps of x."""
    return x.slice(starts, steps, shape)
