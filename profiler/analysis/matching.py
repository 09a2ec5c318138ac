"""Kernels of several compilations matched by what they compute, and the first stage at which their IR differs."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.options import COMMON_STAGES, MODEL_STAGES
from profiler.analysis.comparison import Side
from profiler.records import CompiledKernel
from profiler.store import Store, queries

Group = tuple[list[CompiledKernel], ...]


def groups(tables: Sequence[list[CompiledKernel]]) -> list[tuple[Group, str]]:
    """Kernels that belong together: the same key on every side, then what is left by shared nodes."""
    found: list[tuple[Group, str]] = []
    left = [list(table) for table in tables]
    for key in dict.fromkeys(kernel.key for table in tables for kernel in table):
        group = tuple([kernel for kernel in table if kernel.key == key] for table in tables)
        if all(group):
            found.append((group, "what it computes"))
            left = [[kernel for kernel in table if kernel.key != key] for table in left]
    while any(left):
        seed = next(kernel for table in left for kernel in table)
        nodes = set(seed.nodes)
        while True:  # grow until no further kernel shares a node
            taken = [[kernel for kernel in table if nodes & set(kernel.nodes)] for table in left]
            grown = nodes.union(*(kernel.nodes for part in taken for kernel in part))
            if grown == nodes:
                break
            nodes = grown
        if not nodes:
            taken = [[seed] if seed in table else [] for table in left]
        group = tuple(taken)
        found.append((group, "shared nodes" if all(group) else "one side only"))
        left = [[kernel for kernel in table if kernel not in part] for table, part in zip(left, taken)]
    return found


def first_stage(store: Store, group: Group, indexes: Sequence[dict[tuple[str, str], int]]) -> str | None:
    """The first stage at which the kernel's IR differs between the first and the last side."""
    one, two = group[0][0], group[-1][0]
    if one.source.replace(one.name, "kernel") != two.source.replace(two.name, "kernel"):
        return "source"
    seen = False
    for stage in COMMON_STAGES:
        first, second = indexes[0].get((one.name, stage)), indexes[-1].get((two.name, stage))
        if first is None or second is None:
            continue
        seen = True
        if first != second and not (one.name != two.name and _same_but_name(store, first, one, second, two)):
            return stage
    return "" if seen else None


def _same_but_name(store: Store, first: int, one: CompiledKernel, second: int, two: CompiledKernel) -> bool:
    from profiler.store.texts import get_text

    return get_text(store, first).replace(one.name, "kernel") == get_text(store, second).replace(two.name, "kernel")


def model_stage(store: Store, sides: Sequence[Side]) -> str | None:
    """The first stage at which the model's IR of the first and the last side differs; empty if none does, None if it
    was not kept."""
    first, last = sides[0].compilation, sides[-1].compilation
    if first is None or last is None:
        return None
    if first["graph_hash"] != last["graph_hash"]:
        return "graph"
    one, two = queries.stage_index(store, first["id"]), queries.stage_index(store, last["id"])
    known = [stage for stage in MODEL_STAGES if ("", stage) in one and ("", stage) in two]
    for stage in known:
        if one["", stage] != two["", stage]:
            return stage
    return "" if known else None
