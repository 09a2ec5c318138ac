"""What a model's own names become in a graph: nodes may have letters, digits, `_`, `$`, `.` and `-` in theirs."""

from __future__ import annotations

import re

from compiler.graph.graph import Graph

NOT_IN_NAMES = re.compile(r"[^\w$.-]+", re.ASCII)


def plain_name(text: str) -> str:
    """A name of the model's as a node may have it: `/layers.0/attn/MatMul` becomes `layers.0.attn.MatMul`."""
    name = NOT_IN_NAMES.sub(".", text).strip(".")
    return f"_{name}" if name and name[0].isdigit() else name


def name_after(graph: Graph, start: int, base: str) -> None:
    """Name ops from `start` on after the node they came of: the last by its name, those on the way by its name and what
    they are."""
    made = [op for op in graph.ops[start:] if op.name != "mo.constant"]
    for op in made[:-1]:
        graph.rename(op.results[0], graph.free_name(f"{base}.{op.spec.short}"))
    for op in made[-1:]:
        graph.rename(op.results[0], graph.free_name(base))
