"""What graph passes share: replacing values without losing the nodes they came from, and reading constants."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import Operation, OpResult, SSAValue

from compiler.dialects.mo import GraphOp, MoOp, nodes_loc, nodes_of
from compiler.dialects.mo.attributes import ArrayConstant
from compiler.graph.ops.specs import SPECS


def replace(op: Operation, value: SSAValue) -> None:
    """Let `value` stand for the only result of `op`, take over its nodes, and erase it."""
    owner = maker(value)
    if owner is not None:
        absorb(owner, nodes_of(op))
    op.results[0].replace_all_uses_with(value)
    erase(op)


def absorb(op: Operation, nodes: tuple[str, ...]) -> None:
    """Let an op answer for more graph nodes."""
    have = nodes_of(op)
    all_of_them = tuple(dict.fromkeys((*have, *nodes)))
    if len(all_of_them) > len(have):
        op.location = nodes_loc(all_of_them)


def erase(op: Operation) -> None:
    """Take an unused op out of its block."""
    op.detach()
    op.erase(safe_erase=False)


def union(*ops: Operation) -> tuple[str, ...]:
    """The nodes of several ops, each once, in order."""
    return tuple(dict.fromkeys(name for op in ops for name in nodes_of(op)))


def mo_ops(graph: GraphOp) -> list[MoOp]:
    """The ops of a graph without its output, in order; a list, so that the graph may change under whoever walks it."""
    found: list[Any] = []
    op = graph.body._first_op
    while op is not None:
        if op.name in SPECS:
            found.append(op)
        op = op._next_op
    return found


def maker(value: SSAValue, *names: str) -> Operation | None:
    """The op a value is a result of, if it is one of these where some are named; None for an input. (`isinstance` of
    xDSL's classes goes through their `ABC`.)"""
    owner = value.op if type(value) is OpResult else None
    return None if names and owner is not None and owner.name not in names else owner


def is_view(op: Operation) -> bool:
    """Whether an op gives its operand's elements under other indices."""
    spec = SPECS.get(op.name)
    return spec is not None and spec.view


def array_of(value: SSAValue) -> np.ndarray | None:
    """The array of a constant; None for any other value."""
    owner = maker(value)
    if owner is not None and owner.name == "mo.constant":
        held = owner.properties["value"]
        return held.array if isinstance(held, ArrayConstant) else None
    return None


def splat_of(value: SSAValue) -> Any:
    """The element that every position of a value holds, as a NumPy scalar; None when it is not one constant."""
    owner = maker(value)
    while owner is not None and is_view(owner):
        value = owner._operands[0]
        owner = maker(value)
    array = array_of(value)
    if array is None or array.size == 0:
        return None
    return array.reshape(-1)[0] if array.size == 1 else None
