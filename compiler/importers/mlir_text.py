"""Graphs from and to MLIR text of the mo dialect. Whatever the text is, the answer is a Graph or a ParseError."""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import ParseError as XdslParseError
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.lexer import Span

from compiler.dialects.mo.ops import GraphOp, MoOp, OutputOp, attrs_of, check_op
from compiler.dialects.mo.reading import MoParser
from compiler.dialects.mo.to_graph import to_graph
from compiler.errors import CompilerError, Location, ParseError
from compiler.graph.attrs import symbols_in
from compiler.graph.graph import Graph
from compiler.graph.types import ChainType, OpaqueType, TensorType, Type, sizes_in
from compiler.importers.files import read_file

_LIMIT = 1 << 30  # bytes; a text beyond this is refused before it is read


def load_mlir(path: Path) -> Graph:
    """A graph from a file."""
    try:
        text = read_file(path, _LIMIT).decode()
    except UnicodeDecodeError:
        raise ParseError(f"{path} is not a text file") from None
    return parse_graph(text, str(path))


def parse_graph(text: str, filename: str = "<text>") -> Graph:
    """A graph from text; an error says file, line and column."""
    parser: MoParser | None = None
    try:
        parser = MoParser(text, filename)
        module = parser.parse_module()
        return to_graph(_checked(module, parser.spans))
    except XdslParseError as error:
        raise ParseError(_one_line(error.msg), _place(text, filename, error.span.start)) from None
    except _Located as error:
        raise ParseError(_one_line(error.message), _place(text, filename, error.position)) from None
    except CompilerError as error:
        raise ParseError(error.message, _place(text, filename, _position(parser))) from None
    except (RecursionError, MemoryError):
        raise ParseError(
            "the text is nested too deeply or too large", _place(text, filename, _position(parser))
        ) from None
    except (
        ValueError,
        VerifyException,
        OverflowError,
        TypeError,
        AssertionError,
        LookupError,
        AttributeError,
    ) as error:
        # Raised inside xDSL, which trusts its input in places.
        reason = _one_line(str(error)) or type(error).__name__
        raise ParseError(f"cannot read this: {reason}", _place(text, filename, _position(parser))) from None


class _Located(Exception):
    """What is wrong, and where in the text."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


def _position(parser: MoParser | None) -> int:
    return 0 if parser is None else parser.pos


def _place(text: str, filename: str, position: int) -> Location:
    before = text[:position]
    return Location(filename, before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1)


def _one_line(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= 300 else line[:297] + "..."


def _checked(module: ModuleOp, spans: dict[Operation, Span]) -> GraphOp:
    """The module's graph, and what the parser leaves to us: that it is one, complete, and every op obeys its rule."""

    def refuse(op: Operation, message: str) -> None:
        raise _Located(message, spans[op].start if op in spans else 0)

    graphs = list(module.body.ops)
    if len(graphs) != 1 or not isinstance(graphs[0], GraphOp):
        refuse(graphs[1] if len(graphs) > 1 else module, "one mo.graph expected")
    graph = graphs[0]
    assert isinstance(graph, GraphOp)
    if len(graph.regions[0].blocks) != 1:
        refuse(graph, "mo.graph has exactly one block")
    bound: frozenset[str] = frozenset()
    for argument in graph.body.args:
        if isinstance(argument.type, Type) and not isinstance(argument.type, ChainType):
            bound |= argument.type.symbols
    for op in graph.body.ops:
        if isinstance(op, OutputOp):
            if op.next_op is not None:
                refuse(op.next_op, "mo.output must be the last op")
            for operand in op.operands:
                if not isinstance(operand.type, (TensorType, OpaqueType)):
                    refuse(op, f"mo.output: a value of type {operand.type} cannot be an output")
            continue
        if not isinstance(op, MoOp):
            refuse(op, f"{op.name} cannot be inside mo.graph")
            continue
        try:
            check_op(op)
        except VerifyException as error:
            refuse(op, str(error))
        for value in (*[sizes_in(result.type) for result in op.results], *attrs_of(op).values()):
            free = symbols_in(value) - bound
            if free:
                refuse(op, f"{op.name}: the dim {', '.join(sorted(free))} is not a dim of any input")
    if graph.output is None or not graph.output.operands:
        refuse(graph, "the graph has no mo.output")
    return graph
