"""mo: the graph dialect. RISC-like tensor ops over symbolic dims; the Graph holds these ops and nothing else."""

from __future__ import annotations

from xdsl.ir import Dialect

from compiler.dialects.mo.attributes import ArrayConstant, DimsAttr, decode, encode
from compiler.dialects.mo.ops import (
    OPS,
    GraphOp,
    MoOp,
    OutputOp,
    attrs_of,
    check_op,
    graph_of,
    infer_make,
    make,
    make_graph,
    name_loc,
    name_results,
    nodes_loc,
    nodes_of,
    set_name,
)
from compiler.dialects.mo.reading import parse_module
from compiler.dialects.mo.writing import line_nodes, print_with_nodes, text_of
from compiler.graph.types import CHAIN, BufferType, ChainType, OpaqueType, TensorType

Mo = Dialect(
    "mo",
    [GraphOp, OutputOp, *OPS.values()],
    [TensorType, BufferType, ChainType, OpaqueType, DimsAttr, ArrayConstant],
)

__all__ = [
    "ArrayConstant", "BufferType", "CHAIN", "ChainType", "DimsAttr", "GraphOp", "Mo", "MoOp", "OPS", "OpaqueType",
    "OutputOp", "TensorType", "attrs_of", "check_op", "decode", "encode", "graph_of", "infer_make", "line_nodes",
    "make", "make_graph", "name_loc", "name_results", "nodes_loc", "nodes_of", "parse_module", "print_with_nodes",
    "set_name", "text_of",
]  # fmt: skip
