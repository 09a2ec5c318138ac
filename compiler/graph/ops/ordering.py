"""Sorting and scattering in steps that any number of threads can share: what importers make sorts and scatters of.

A sort is a merge of neighbouring runs, repeated with runs of twice the length; a scatter looks its updates up in the
sorted list of their places. Neither needs an op that writes to computed places.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.graph.location import builder
from compiler.graph.ops.build import emit
from compiler.graph.ops.create import constant, iota
from compiler.graph.ops.specs import define
from compiler.graph.opspec import free
from compiler.graph.rules import Attrs, check_dtype, refuse
from compiler.graph.types import TensorType, format_shape
from compiler.graph.value import Value

REDUCTIONS = ("none", "add", "mul", "min", "max")
_LONGEST_ROW = 1 << 40  # elements: their places alone take 8 TiB
_PLACES = frozenset({"i64"})


def _merge_rule(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """Places and keys of one shape, and how long the runs are."""
    order, keys, run = types
    check_dtype("mo.merge_runs", order.dtype, _PLACES, "order")
    check_dtype("mo.merge_runs", run.dtype, _PLACES, "run")
    if order.rank < 1 or order.shape != keys.shape or run.shape != (1,):
        shapes = ", ".join(format_shape(each.shape) for each in types)
        refuse("mo.merge_runs", f"order and keys have one shape, and the run is (1,), not {shapes}")
    return (order,)


def _scatter_rule(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """Rows, the sorted places of updates, which update each is of, and the updates by row."""
    x, places, order, updates = types
    for each in (places, order):
        check_dtype("mo.scatter_sorted", each.dtype, _PLACES, "place")
    if (x.rank, updates.rank, places.rank) != (2, 2, 1) or places.shape != order.shape:
        shapes = ", ".join(format_shape(each.shape) for each in types)
        refuse("mo.scatter_sorted", f"rows, places, their order and the updates do not fit: {shapes}")
    if updates.dtype != x.dtype or updates.shape != (places.shape[0], x.shape[1]):
        refuse("mo.scatter_sorted", f"updates {updates} for rows of {x}")
    if attrs["reduction"] not in REDUCTIONS:
        refuse("mo.scatter_sorted", f"the reduction {attrs['reduction']!r} is not one of {', '.join(REDUCTIONS)}")
    if x.dtype == "bool" and attrs["reduction"] != "none":
        refuse("mo.scatter_sorted", "truth values are replaced, not combined")
    return (x,)


define("merge_runs", _merge_rule, 3, attrs={"descending": "bool"}, flops=free)
define("scatter_sorted", _scatter_rule, 4, attrs={"reduction": "str"}, flops=free)


@builder
def merge_runs(order: Value, keys: Value, run: Value, descending: bool = False) -> Value:
    """Neighbouring runs of places, each in the order of its keys, merged by twos; equal ones stay as they are."""
    return emit("merge_runs", (order, keys, run), {"descending": descending})


@builder
def scatter_sorted(x: Value, places: Value, order: Value, updates: Value, reduction: str = "none") -> Value:
    """Rows of x replaced by, or combined with, the updates for them, of which `places` is the sorted list."""
    return emit("scatter_sorted", (x, places, order, updates), {"reduction": reduction})


def argsort(keys: Value, descending: bool = False) -> Value:
    """The order of the keys along the last axis: stable, with NaN as the largest of all.

    Where its size is not known yet there are merges for the longest row that memory holds; those of runs that are
    longer than the row turn out to copy it.
    """
    size = keys.shape[-1]
    order = iota(keys.shape, keys.rank - 1)
    run = 1
    while run < (size if isinstance(size, int) else _LONGEST_ROW):
        order = merge_runs(order, keys, constant(np.array([run], np.int64)), descending)
        run *= 2
    return order
