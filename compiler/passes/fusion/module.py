"""A fusion result as IR: the graph again, its ops inside the `mogg.kernel`s they became part of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from compiler.dialects.mo import OutputOp, attrs_of, make, make_graph, nodes_loc, nodes_of, print_with_nodes, set_name
from compiler.dialects.mogg import KernelOp, YieldOp, make_kernel
from compiler.graph.dtypes import numpy_dtype
from compiler.graph.types import OpaqueType, TensorType
from compiler.passes.fusion.records import Buffer, FusedGraph, KernelCall


def mogg_text(fused: FusedGraph) -> tuple[str, list[tuple[str, ...]]]:
    """The text of the module and, for each of its lines, the graph nodes it stands for."""
    return print_with_nodes(build_module(fused))


def build_module(fused: FusedGraph) -> ModuleOp:
    """The module; ops are copied, the graph stays as it is."""
    result, old = fused.result, fused.graph.regions[0].blocks[0]
    new = make_graph(result.name, [a.type for a in old.args], [a.name_hint or f"x{k}" for k, a in enumerate(old.args)])
    held: dict[Buffer, SSAValue] = {b: a for b, a in zip(result.inputs, new.body.args) if b is not None}
    for buffer in result.constants:
        op = make("mo.constant", (), (buffer.type,), {"value": buffer.array}, buffer.nodes)
        set_name(op.results[0], buffer.name)
        new.body.add_op(op)
        held[buffer] = op.results[0]
    for call in result.calls:
        _fill(new.body, call.operands, held)
        new.body.add_op(_kernel(call, held, fused.stored))
    _fill(new.body, result.outputs, held)
    new.body.add_op(OutputOp.create(operands=[held[b] for b in result.outputs]))
    return ModuleOp([new])


def _fill(block: Block, buffers: tuple[Buffer, ...], held: dict[Buffer, SSAValue]) -> None:
    """Define buffers that no kernel writes because they have no elements."""
    for buffer in buffers:
        if buffer not in held:
            kind = buffer.type
            zero = np.zeros((), numpy_dtype(kind.dtype))
            element = make("mo.constant", (), (TensorType.of(kind.dtype, ()),), {"value": zero}, buffer.nodes)
            empty = make("mo.broadcast_to", element.results, (kind,), {"shape": kind.shape}, buffer.nodes)
            block.add_ops([element, empty])
            set_name(empty.results[0], f"{buffer.name}.out")
            held[buffer] = empty.results[0]


def _kernel(call: KernelCall, held: dict[Buffer, SSAValue], stored: Mapping[SSAValue, Buffer]) -> KernelOp:
    targets = [held[b] if b.kind == "mutable" else None for b in call.results]
    own = [b for b in call.results if b.kind != "mutable"]
    kinds = [
        value.type if isinstance(value.type, OpaqueType) else b.type
        for b, value in zip(call.results, call.values) if b.kind != "mutable"
    ]  # fmt: skip
    kernel = make_kernel(call.kernel.name, [held[b] for b in call.operands], targets, kinds)
    kernel.location = nodes_loc(call.all_nodes)
    arguments = dict(zip(call.operands, kernel.body.args))
    values: dict[SSAValue, SSAValue] = {}

    def look_up(value: SSAValue) -> SSAValue:
        found = values.get(value)
        return arguments[stored[value]] if found is None else found

    for op, role in zip(call.ops, call.roles):
        if op.name == "mo.buffer_load":
            values[op.results[0]] = arguments[stored[op.operands[0]]]
        elif op.name != "mo.buffer_store":
            given = [look_up(operand) for operand in _data(op)]
            inner = _copy(op, given) if op.name != "mo.update" else _new_content(op, given)
            inner.attributes["role"] = StringAttr(role)
            kernel.body.add_op(inner)
            values.update(zip(op.results, inner.results))
    kernel.body.add_op(YieldOp.create(operands=[look_up(value) for value in call.values]))
    for buffer, made in zip(own, kernel.results):
        set_name(made, f"{buffer.name}.out")  # the op inside keeps the node's own name
        held[buffer] = made
    return kernel


def _data(op: Operation) -> Sequence[SSAValue]:
    """What an op computes with: without the buffer that it changes, and the chain."""
    return op.operands[1:-1] if op.name == "mo.update" else op.operands


def _new_content(op: Operation, operands: list[SSAValue]) -> Operation:
    """A kernel that changes a buffer, as the one that computes what the buffer then holds."""
    memory: Any = op.operands[0].type
    kinds = [*[r.type for r in op.results[:-1]], memory.tensor]
    made = make("mo.custom", operands, kinds, attrs_of(op), nodes_of(op))
    for old, new in zip(op.results, made.results):
        set_name(new, old.name_hint)
    return made


def _copy(op: Operation, operands: list[SSAValue]) -> Operation:
    made = type(op).create(
        operands=operands,
        result_types=[r.type for r in op.results],
        properties=dict(op.properties),
        location=op.location,
    )
    for old, new in zip(op.results, made.results):
        set_name(new, old.name_hint)
    return made
