"""Kernels that do nothing but move memory or multiply and add: what they reach is what this machine can."""
# ruff: noqa
# pyright: basic, reportUndefinedVariable=false, reportMissingImports=false, reportWildcardImportFromLibrary=false

from kernels.language import *
from kernels.parallel import split


@kernel("kg.copy_rounds")
def copy_rounds(out: Tensor, x: Tensor, *, rounds):
    """Copy x to out again and again, each thread its own part; the sum keeps the rounds apart for the optimiser."""
    width = target.simd(out.dtype) * 8
    begin, end = split(out.size, grain=width)
    for r in range(rounds):
        add = splat(index(r).cast(i32).cast(out.dtype), width)
        for i in range(begin, end, width):
            out[position((i,), width=width, axis=0)] = x[position((i,), width=width, axis=0)] + add


@kernel("kg.multiply_rounds")
def multiply_rounds(out: Tensor, x: Tensor, *, rounds, chains):
    """`chains` independent chains of multiply-adds a thread, each `rounds` long."""
    width = target.simd(out.dtype)
    factor = x[position((0,), width=width, axis=0)]
    step = x[position((width,), width=width, axis=0)]
    acc = [x[position(((2 + c) * width,), width=width, axis=0)] for c in range(chains)]
    for r in range(rounds):
        for c in unroll(chains):
            acc[c] = fma(factor, step, acc[c])
    total = acc[0]
    for c in unroll(1, chains):
        total = total + acc[c]
    out[position((thread_index() * width,), width=width, axis=0)] = total
