"""mo: the graph dialect. RISC-like tensor ops over symbolic dims, made from a Graph and read back to one."""

from __future__ import annotations

from compiler.dialects.mo.attributes import ArrayConstant, DimsAttr, decode, encode
from compiler.dialects.mo.dialect import Mo
from compiler.dialects.mo.from_graph import from_graph, module_from_graph
from compiler.dialects.mo.ops import (
    OPS,
    RECOGNISED,
    GraphOp,
    MoOp,
    OutputOp,
    attrs_of,
    check_op,
    graph_of,
    make,
    make_graph,
    name_loc,
    name_results,
    nodes_loc,
    nodes_of,
    set_name,
)
from compiler.dialects.mo.to_graph import to_graph
from compiler.dialects.mo.writing import line_nodes, print_with_nodes, text_of
from compiler.graph.types import CHAIN, BufferType, ChainType, OpaqueType, TensorType

__all__ = [
    "ArrayConstant", "BufferType", "CHAIN", "ChainType", "DimsAttr", "GraphOp", "Mo", "MoOp", "OPS", "OpaqueType",
    "OutputOp", "RECOGNISED", "TensorType", "attrs_of", "check_op", "decode", "encode", "from_graph", "graph_of",
    "line_nodes", "make", "make_graph", "module_from_graph", "name_loc", "name_results", "nodes_loc", "nodes_of",
    "print_with_nodes", "set_name", "text_of", "to_graph",
]  # fmt: skip
