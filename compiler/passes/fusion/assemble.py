"""The end of writing a kernel: parameters get their names and types, lines their slots, and the text is printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from compiler.graph.dtypes import dtype_info
from compiler.graph.types import TensorType
from compiler.passes.fusion.analysis import Node, count
from compiler.passes.fusion.expressions import Expressions
from compiler.passes.fusion.groups import Store
from compiler.passes.fusion.paths import stripped
from compiler.passes.fusion.pieces import Leaf, Line, numbered, printed
from compiler.passes.fusion.records import Buffer
from compiler.passes.fusion.text import SymbolNames

_WIDE = 105  # characters of parameters that are written in one line


@dataclass(frozen=True)
class Emitted:
    """A group's source, before it is known whether another group has the same."""

    text: str
    """All that stands behind the kernel's name."""
    line_slots: tuple[tuple[int, ...], ...]
    slots: tuple[Node, ...]
    inputs: tuple[TensorType, ...]
    outputs: tuple[TensorType, ...]
    operands: tuple[Buffer, ...]
    results: tuple[Buffer, ...]
    values: tuple[SSAValue, ...]  # the graph value of each result
    symbols: tuple[tuple[str, str], ...]  # (name in the source, name in the graph), sorted
    inplace: tuple[tuple[int, int], ...]

    def source(self, name: str) -> str:
        """The kernel under a name."""
        return f'@kernel("{name}")\ndef {name}{self.text}'


def assemble(written: Expressions, last: Line, stores: list[Store], outputs: list[TensorType]) -> Emitted:
    """The source and its records, once every line is written; `last` is the call that the kernel comes to."""
    numbers = numbered(written.definitions, last)
    lines = [line for definition in written.definitions for line in definition.lines]
    lines.append(last)
    texts = [printed(line.text, numbers, written.names) for line in lines]
    inputs = tuple(TensorType.of(leaf.buffer.type.dtype, leaf.declared) for leaf in numbers)
    head = parameters(written.names, outputs, inputs)
    slots = sorted({node for line in lines for node in line.nodes} | set(written.group.members), key=lambda n: n.index)
    number_of = {node: k for k, node in enumerate(slots)}
    line_slots = [() for _ in ("@kernel", *head)]
    return Emitted(
        text="\n".join([*head, *texts]) + "\n",
        line_slots=(*line_slots, *[tuple(sorted({number_of[n] for n in line.nodes})) for line in lines]),
        slots=tuple(slots),
        inputs=tuple(_own(written, kind) for kind in inputs),
        outputs=tuple(_own(written, kind) for kind in outputs),
        operands=tuple(leaf.buffer for leaf in numbers),
        results=tuple(store.buffer for store in stores),
        values=tuple(store.value.ssa for store in stores),
        symbols=tuple(sorted((new, old) for old, new in written.names.used.items())),
        inplace=_inplace(written, stores, outputs, numbers),
    )


def _own(written: Expressions, kind: TensorType) -> TensorType:
    """A type in the kernel's own names of its sizes."""
    return TensorType.of(kind.dtype, tuple(map(written.names.own, kind.shape)))


def parameters(names: SymbolNames, outputs: Sequence[TensorType], inputs: Sequence[TensorType]) -> list[str]:
    """The parameters in one line, or one in each line."""
    listed = [
        f"{name}{k}: Tensor[{kind.dtype}, {names.shape(kind.shape)}]"
        for name, kinds in (("out", outputs), ("in", inputs)) for k, kind in enumerate(kinds)
    ]  # fmt: skip
    flat = f"({', '.join(listed)}):"
    return [flat] if len(flat) <= _WIDE else ["(", *[f"    {one}," for one in listed], "):"]


def _inplace(
    written: Expressions, stores: list[Store], outputs: list[TensorType], numbers: dict[Leaf, int]
) -> tuple[tuple[int, int], ...]:
    """Outputs that may share memory with an input: it is read only at the position where they are stored, before."""
    pairs = []
    for k, store in enumerate(stores):
        path = stripped(written.frame + store.path)
        for leaf, number in numbers.items():
            same_bytes = dtype_info(leaf.buffer.type.dtype).bytes == dtype_info(store.buffer.type.dtype).bytes
            if leaf.paths == {path} and same_bytes and count(leaf.buffer.type.shape) == count(outputs[k].shape):
                pairs.append((k, number))
    return tuple(sorted(pairs))
