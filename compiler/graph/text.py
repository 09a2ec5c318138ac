"""Graphs as mo text. The xDSL printer of the mo dialect takes the same pieces from here, so that IR reads alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from compiler.graph.dims import Dim
from compiler.graph.literals import array_text, float_text, identifier_text, size_text, string_text
from compiler.graph.value import Op, Value


def value_text(value: Any, *, elide: bool = False) -> str:
    """An attribute's value; with `elide` a large array is only named."""
    kind = type(value)
    if kind is tuple:
        return f"[{', '.join([value_text(item, elide=elide) for item in value])}]"
    if kind is bool:
        return "true" if value else "false"
    if kind is float:
        return float_text(value)
    if kind is str:
        return string_text(value)
    if isinstance(value, Dim):
        return size_text(value)
    if isinstance(value, np.ndarray):
        return f"#mo.array{array_text(value, elide=elide)}"
    return str(value)


def entries_text(entries: Mapping[str, Any], *, elide: bool = False) -> str:
    """`{axis = 1, eps = 1.0e-05}`."""
    pieces = [f"{identifier_text(name)} = {value_text(value, elide=elide)}" for name, value in entries.items()]
    return f"{{{', '.join(pieces)}}}"


def signature_text(operands: Iterable[Any], results: Sequence[Any]) -> str:
    """`(T, T) -> T`, of types."""
    outputs = ", ".join(map(str, results))
    return f"({', '.join(map(str, operands))}) -> {outputs if len(results) == 1 else f'({outputs})'}"


class Names:
    """The names of values in one text: each value's own where it is free, else with a number."""

    def __init__(self, used: Iterable[str] = ()) -> None:
        self.used = set(used)

    def free(self, name: str) -> str:
        """The name that nobody else has."""
        found, count = name, 0
        while found in self.used:
            count += 1
            found = f"{name}_{count}"
        self.used.add(found)
        return found


def graph_text(name: str, inputs: Sequence[Value], ops: Iterable[Op], outputs: Sequence[Value]) -> str:
    """A module with one `mo.graph`, which the importer of mo text reads back."""
    names, known = Names(), {}
    for value in inputs:
        known[value] = f"%{names.free(value.name)}"
    arguments = ", ".join([f"{known[value]}: {value.type}" for value in inputs])
    given = f" -> ({', '.join([str(value.type) for value in outputs])})" if outputs else ""
    lines = ["builtin.module {", f"  mo.graph @{identifier_text(name)}({arguments}){given} {{"]
    lines += [f"    {line}" for line in _op_lines(ops, names, known)]
    if outputs:
        types = ", ".join([str(value.type) for value in outputs])
        lines.append(f"    mo.output {', '.join([known[value] for value in outputs])} : {types}")
    return "\n".join([*lines, "  }", "}"])


def _op_lines(ops: Iterable[Op], names: Names, known: dict[Value, str]) -> Iterator[str]:
    for op in ops:
        for result in op.results:
            known[result] = f"%{names.free(result.name)}"
        results = ", ".join([known[result] for result in op.results])
        operands = ", ".join([known[operand] for operand in op.operands])
        attrs = f" {entries_text(op.attrs)}" if op.attrs else ""
        types = signature_text([o.type for o in op.operands], [r.type for r in op.results])
        place = "" if op.nodes == (op.results[0].name,) else f" {_location_text(op.nodes)}"
        yield f"{results} = {op.name}({operands}){attrs} : {types}{place}"


def _location_text(nodes: Sequence[str]) -> str:
    listed = ", ".join(map(string_text, nodes))
    return f"loc(fused[{listed}])" if len(nodes) > 1 else f"loc({listed})"
