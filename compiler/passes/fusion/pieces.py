"""Kernel text in pieces until it is printed: words, reads of buffers, and references to what the kernel defines.

A buffer gets its name and its declared shape when the text is complete: one whose reads all want one shape is declared
with it, so that reshapes of buffers vanish from the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from compiler.passes.fusion.analysis import Node
from compiler.passes.fusion.paths import Path, Shape
from compiler.passes.fusion.records import Buffer
from compiler.passes.fusion.text import SymbolNames


@dataclass(eq=False)
class Leaf:
    """A buffer that the kernel reads: in which shapes, and through which paths at the main position (None: elsewhere).

    What is asked for counts, whether or not it comes to stand in the text.
    """

    buffer: Buffer
    shapes: dict[Shape, None] = field(default_factory=dict)
    paths: set[Path | None] = field(default_factory=set)

    @property
    def declared(self) -> Shape:
        """The shape that its parameter has."""
        return next(iter(self.shapes)) if len(self.shapes) == 1 else self.buffer.type.shape


@dataclass(slots=True, eq=False)
class Read:
    """A piece: a buffer as a loadable of some shape."""

    leaf: Leaf
    shape: Shape


@dataclass(eq=False)
class Definition:
    """A piece: the name of a view or lambda that the kernel defines above, in these lines.

    `late` is a call's first argument that is read after its other ones: an epilogue.
    """

    name: str
    lines: Sequence[Line]
    late: bool = False


Piece = str | Read | Definition
Text = tuple[Piece, ...]


@dataclass
class Line:
    """A line of text and the graph ops it stands for."""

    text: Text
    nodes: Sequence[Node] = ()


def assigned(variable: str, node: Node) -> str:
    """How the call of an op's function begins whose value gets a name: of what a user wrote, the dtype is checked."""
    dtype = f": {node.result.type.dtype}" if node.custom else ""
    return f"{variable}{dtype} = {node.signature.name}"


def call(function: str, arguments: Iterable[Text]) -> Text:
    """A call with its arguments."""
    pieces: list[Piece] = [function]
    mark = "("
    for argument in arguments:
        pieces.append(mark)
        pieces += argument
        mark = ", "
    pieces.append(")" if mark == ", " else "()")
    return tuple(pieces)


def printed(text: Text, numbers: dict[Leaf, int], names: SymbolNames) -> str:
    """The text, once every buffer has its number."""
    words: list[str] = []
    for piece in text:
        if isinstance(piece, str):
            words.append(piece)
        elif isinstance(piece, Definition):
            words.append(piece.name)
        else:
            words.append(f"in{numbers[piece.leaf]}")
            if piece.shape != piece.leaf.declared:
                words.append(f".reshape({names.shape(piece.shape)})")
    return "".join(words)


def numbered(definitions: Iterable[Definition], last: Line) -> dict[Leaf, int]:
    """The number of each leaf in the text, as a reader meets them who follows the names from the call."""
    met: dict[Leaf, None] = {}
    entered: set[Definition] = set()
    work: list[Iterator[Piece]] = [iter(last.text)]
    while work:
        for piece in work[-1]:
            if isinstance(piece, Read):
                met[piece.leaf] = None
            elif isinstance(piece, Definition) and piece not in entered:
                entered.add(piece)
                work.insert(len(work) - piece.late, _inside(piece))
                break
        else:
            work.pop()
    for definition in definitions:
        if definition not in entered:
            met.update((piece.leaf, None) for piece in _inside(definition) if isinstance(piece, Read))
    return {leaf: number for number, leaf in enumerate(met)}


def _inside(definition: Definition) -> Iterator[Piece]:
    return (piece for line in definition.lines for piece in line.text)
