"""The end of writing a kernel: parameters get their names and types, lines their slots, and the records are made."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from compiler.graph.dtypes import dtype_info
from compiler.graph.types import TensorType
from compiler.passes.fusion.analysis import Node, count
from compiler.passes.fusion.expressions import Line
from compiler.passes.fusion.groups import Store
from compiler.passes.fusion.paths import Shape, stripped
from compiler.passes.fusion.records import Buffer

if TYPE_CHECKING:
    from compiler.passes.fusion.expressions import Expressions

NAME = "\ue000"  # stands for the kernel's name until it has one
_TOKEN = re.compile("\ue001(\\d+),(\\d+)\ue002")
_DEFINITION = re.compile(r"    (?:(view\d+) = |def (\w+))")
_REFERENCE = re.compile("\ue001(\\d+),(\\d+)\ue002|\\b(view\\d+|input\\d+|epilogue)\\b")
_WIDE = 110


@dataclass(frozen=True)
class Emitted:
    """A group's source, before it is known whether another group has the same."""

    source: str
    line_slots: tuple[tuple[int, ...], ...]
    slots: tuple[Node, ...]
    inputs: tuple[TensorType, ...]
    outputs: tuple[TensorType, ...]
    operands: tuple[Buffer, ...]
    results: tuple[Buffer, ...]
    values: tuple[SSAValue, ...]  # the graph value of each result
    symbols: tuple[tuple[str, str], ...]  # (name in the source, name in the graph), sorted
    inplace: tuple[tuple[int, int], ...]


def assemble(text: Expressions, stores: list[Store], outputs: list[TensorType]) -> Emitted:
    """The source and its records, once every line is written."""
    order = _leaf_order(text)
    declared: list[Shape] = []
    buffers = list(text.leaves)
    for number, shapes in enumerate(text.wanted):
        declared.append(shapes[0] if len(shapes) == 1 else buffers[number].type.shape)

    def name_leaf(match: re.Match[str]) -> str:
        number, shape = int(match.group(1)), text.wanted[int(match.group(1))][int(match.group(2))]
        made = f"in{order[number]}"
        return made if shape == declared[number] else f"{made}.reshape({text.names.shape(shape)})"

    for line in text.top:
        line.text = _TOKEN.sub(name_leaf, line.text)
    back = list(order)
    inputs = tuple(TensorType.of(buffers[k].type.dtype, declared[k]) for k in back)
    lines = [Line(f'@kernel("{NAME}")'), *_header(text, outputs, inputs), *text.top]
    slots = sorted({node for line in lines for node in line.nodes} | set(text.group.members), key=lambda n: n.index)
    number_of = {node: k for k, node in enumerate(slots)}
    return Emitted(
        source="\n".join([line.text for line in lines]) + "\n",
        line_slots=tuple([tuple(sorted({number_of[n] for n in line.nodes})) for line in lines]),
        slots=tuple(slots),
        inputs=inputs,
        outputs=tuple(outputs),
        operands=tuple(buffers[k] for k in back),
        results=tuple(store.buffer for store in stores),
        values=tuple(store.value.ssa for store in stores),
        symbols=tuple(sorted((new, old) for old, new in text.names.used.items())),
        inplace=_inplace(text, stores, outputs, order),
    )


def _header(text: Expressions, outputs: list[TensorType], inputs: tuple[TensorType, ...]) -> list[Line]:
    pieces = [
        f"{name}{k}: Tensor[{kind.dtype}, {text.names.shape(kind.shape)}]"
        for name, kinds in (("out", outputs), ("in", inputs)) for k, kind in enumerate(kinds)
    ]  # fmt: skip
    flat = f"def {NAME}({', '.join(pieces)}):"
    if len(flat) <= _WIDE:
        return [Line(flat)]
    return [Line(f"def {NAME}("), *[Line(f"    {piece},") for piece in pieces], Line("):")]


def _leaf_order(written: Expressions) -> dict[int, int]:
    """The parameter of each leaf: numbered as a reader meets them who follows the names from the call."""
    if len(written.leaves) < 2:
        return {0: 0} if any(_TOKEN.search(line.text) for line in written.top) else {}
    definitions: dict[str, list[str]] = {}
    current = ""
    for line in written.top[:-1]:
        head = _DEFINITION.match(line.text)
        current = (head.group(1) or head.group(2)) if head else current
        definitions.setdefault(current, []).append(line.text[head.end() :] if head else line.text)
    seen: dict[int, None] = {}
    work = [written.top[-1].text]
    while work:
        text = work.pop()
        for match in _REFERENCE.finditer(text):
            if match.group(1):
                seen.setdefault(int(match.group(1)))
            elif match.group(3) in definitions:
                inner = reversed(definitions.pop(match.group(3)))
                rest = text[match.end() :]
                # The operands of a call come before what its epilogue reads.
                work += [*inner, rest] if match.group(3) == "epilogue" else [rest, *inner]
                break
    for line in written.top:
        for match in _TOKEN.finditer(line.text):
            seen.setdefault(int(match.group(1)))
    return {number: k for k, number in enumerate(seen)}


def _inplace(
    text: Expressions, stores: list[Store], outputs: list[TensorType], order: dict[int, int]
) -> tuple[tuple[int, int], ...]:
    """Outputs that may share memory with an input: it is read only at the position where they are stored, before."""
    pairs = []
    for k, store in enumerate(stores):
        path = stripped(text.frame + store.path)
        for buffer, number in text.leaves.items():
            same_bytes = dtype_info(buffer.type.dtype).bytes == dtype_info(store.buffer.type.dtype).bytes
            if number not in order or text.reads[number] != {path} or not same_bytes:
                continue
            if count(buffer.type.shape) == count(outputs[k].shape):
                pairs.append((k, order[number]))
    return tuple(sorted(pairs))
