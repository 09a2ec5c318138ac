"""A graph as IR of the mo dialect."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from compiler.dialects import operations
from compiler.dialects.mo.attributes import encode
from compiler.dialects.mo.ops import OPS, GraphOp, OutputOp, make_graph, nodes_loc
from compiler.graph.graph import Graph
from compiler.graph.value import Value


def from_graph(graph: Graph) -> GraphOp:
    """The graph in new ops, for whoever will change them."""
    made_graph = make_graph(graph.name, graph.input_types, graph.input_names)
    body = made_graph.body
    made: dict[Value, SSAValue] = dict(zip(graph.inputs, body.args))
    for op in graph.ops:
        one = operations.make(
            OPS[op.name],
            tuple([made[operand] for operand in op.operands]),
            tuple([result.type for result in op.results]),
            {name: encode(value) for name, value in op.attrs.items()},
            nodes_loc(op.nodes),
        )
        for value, ssa in zip(op.results, one.results):
            ssa._name = value.name
            made[value] = ssa
        operations.append(body, one)
    if graph.outputs:
        operations.append(body, OutputOp.create(operands=[made[value] for value in graph.outputs]))
    return made_graph


def module_from_graph(graph: Graph) -> ModuleOp:
    """`from_graph`, in a module of its own."""
    return ModuleOp([from_graph(graph)])
