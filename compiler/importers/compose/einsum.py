"""einsum: each operand's repeated letters become diagonals, then operands meet two at a time in a batched product."""

from __future__ import annotations

import re
from collections.abc import Sequence

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.dims import product
from compiler.graph.value import Value

_ELLIPSIS = "0123456789"  # stand for the axes of "..."


def einsum(equation: str, operands: Sequence[Value]) -> Value:
    """The sum of products that an equation such as `bij,bjk->bik` says."""
    text = equation.replace(" ", "")
    given, arrow, result = text.partition("->")
    terms = given.split(",")
    if (
        len(terms) != len(operands)
        or not re.fullmatch(r"[A-Za-z.,]*", given)
        or not re.fullmatch(r"[A-Za-z.]*", result)
    ):
        raise GraphError(f"einsum: {equation!r} does not say what to do with {len(operands)} operands")
    dots = max(
        [x.rank - len(t.replace("...", "")) for t, x in zip(terms, operands, strict=True) if "..." in t], default=0
    )
    if not 0 <= dots <= len(_ELLIPSIS):
        raise GraphError(f"einsum: {equation!r} does not fit its operands")
    terms = [_spelled(t, x.rank, dots) for t, x in zip(terms, operands, strict=True)]
    if arrow:
        out = result.replace("...", _ELLIPSIS[:dots])
    else:
        every = "".join(terms)
        out = _ELLIPSIS[:dots] + "".join(sorted(c for c in set(every) if c.isalpha() and every.count(c) == 1))
    pairs = [_diagonal(x, t) for t, x in zip(terms, operands, strict=True)]
    value, letters = pairs[0]
    for at, (other, theirs) in enumerate(pairs[1:], 1):
        later = set(out).union(*(t for _, t in pairs[at + 1 :]))
        value, letters = _met(value, letters, other, theirs, later)
    value, letters = _summed(value, letters, set(out))
    if sorted(letters) != sorted(out):
        raise GraphError(f"einsum: {equation!r} has a letter in its result that no operand has")
    return ops.transpose(value, [letters.index(c) for c in out]) if out else value


def _spelled(term: str, rank: int, dots: int) -> str:
    if "..." in term:
        own = rank - len(term.replace("...", ""))
        term = term.replace("...", _ELLIPSIS[dots - own : dots], 1)
    if len(term) != rank or "." in term:
        raise GraphError(f"einsum: the operand {term!r} has {rank} axes")
    return term


def _diagonal(x: Value, letters: str) -> tuple[Value, str]:
    """A letter twice in one operand takes its diagonal."""
    for letter in sorted(set(letters)):
        while letters.count(letter) > 1:
            first = letters.index(letter)
            second = letters.index(letter, first + 1)
            size = x.shape[first]
            at_end = ops.moveaxis(x, (first, second), (-2, -1))
            same = ops.equal(ops.iota((size, size), 0), ops.iota((size, size), 1))
            x = ops.sum(ops.where(same, at_end, ops.zeros_like(at_end)), axis=-1, dtype=x.dtype)
            letters = "".join(c for at, c in enumerate(letters) if at not in (first, second)) + letter
    return x, letters


def _summed(x: Value, letters: str, kept: set[str]) -> tuple[Value, str]:
    axes = tuple(at for at, c in enumerate(letters) if c not in kept)
    if axes:
        x = ops.sum(x, axes, dtype=x.dtype)
    return x, "".join(c for c in letters if c in kept)


def _met(a: Value, mine: str, b: Value, theirs: str, later: set[str]) -> tuple[Value, str]:
    """Two operands in one product: letters both have are batch or summed, the rest rows or columns."""
    a, mine = _summed(a, mine, later | set(theirs))
    b, theirs = _summed(b, theirs, later | set(mine))
    batch = [c for c in mine if c in theirs and c in later]
    inner = [c for c in mine if c in theirs and c not in later]
    rows, columns = [c for c in mine if c not in theirs], [c for c in theirs if c not in mine]
    size = dict(zip(theirs, b.shape, strict=True)) | {
        c: s for c, s in zip(mine, a.shape, strict=True) if s != 1 or c not in theirs
    }
    if not inner:
        left = _placed(a, mine, [*batch, *rows, *columns])
        right = _placed(b, theirs, [*batch, *rows, *columns])
        return ops.mul(left, right), "".join([*batch, *rows, *columns])
    left = ops.transpose(a, [mine.index(c) for c in [*batch, *rows, *inner]])
    right = ops.transpose(b, [theirs.index(c) for c in [*batch, *inner, *columns]])
    left = ops.broadcast_to(left, [size[c] for c in [*batch, *rows, *inner]])
    right = ops.broadcast_to(right, [size[c] for c in [*batch, *inner, *columns]])
    sizes = [product([size[c] for c in group]) for group in (batch, rows, inner, columns)]
    flat = ops.matmul(
        ops.reshape(left, (sizes[0], sizes[1], sizes[2])), ops.reshape(right, (sizes[0], sizes[2], sizes[3]))
    )
    letters = [*batch, *rows, *columns]
    return ops.reshape(flat, [size[c] for c in letters]), "".join(letters)


def _placed(x: Value, letters: str, order: list[str]) -> Value:
    have = [c for c in order if c in letters]
    x = ops.transpose(x, [letters.index(c) for c in have])
    sizes = iter(x.shape)
    return ops.reshape(x, [next(sizes) if c in letters else 1 for c in order])
