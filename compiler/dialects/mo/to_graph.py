"""A graph from IR of the mo dialect."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from compiler.dialects.mo.attributes import decode
from compiler.dialects.mo.ops import OPS, GraphOp, nodes_of
from compiler.graph.graph import Graph
from compiler.graph.value import Value


def to_graph(op: GraphOp) -> Graph:
    """The graph that a `mo.graph` holds; inputs and ops without a name are given one. The op must be well formed."""
    inputs = op.body.args
    names = [argument.name_hint or f"x{index}" for index, argument in enumerate(inputs)]
    graph = Graph.of(op.sym_name, [argument.type for argument in inputs], names)  # type: ignore[misc]
    ops: list[Any] = [inner for inner in op.body.ops if inner.name in OPS]
    graph.take_names(result._name for inner in ops for result in inner.results if result._name)
    values: dict[SSAValue, Value] = dict(zip(inputs, graph.inputs))
    for inner in ops:
        name = inner.results[0]._name
        nodes = nodes_of(inner) if name else ()
        name = name or graph.fresh_name(inner.spec.short)
        made = graph.add(
            inner.name,
            [values[operand] for operand in inner._operands],
            {key: decode(value) for key, value in inner.properties.items()},
            nodes or (name,),
            [(result._name or f"{name}.{k}" if k else name, result._type) for k, result in enumerate(inner.results)],
        )
        values.update(zip(inner.results, made.results))
    if op.output is not None:
        graph.outputs = tuple([values[operand] for operand in op.output.operands])
    return graph
