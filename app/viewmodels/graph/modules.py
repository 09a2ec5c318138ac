"""The modules of an imported model, as the graph can be folded by: where each node belongs, and what is in each.

A kernel may compute nodes of several modules; it is drawn in the innermost module that all of them are in, and what
only one module reads (a weight) is drawn with its readers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile

from app.viewmodels.compilation import Compilation

Path = tuple[str, ...]


@dataclass(frozen=True)
class Modules:
    """Every module that has something in it by its path, outer ones before inner ones, and the path of each node."""

    paths: tuple[Path, ...]
    of: dict[str, Path]
    nodes: dict[Path, tuple[str, ...]]
    calls: dict[Path, tuple[int, ...]]
    numbers: dict[Path, int]


def has_modules(compilation: Compilation) -> bool:
    """Whether the graph came with modules to fold by."""
    return any(node.module for node in compilation.nodes)


def find_modules(compilation: Compilation) -> Modules:
    """The modules of a compilation in program order."""
    split: dict[str, Path] = {}
    for node in compilation.nodes:
        if node.module not in split:
            split[node.module] = tuple(node.module.split("/")) if node.module else ()
    of_call = _of_calls(compilation, split)
    of: dict[str, Path] = {}
    readers: dict[str, list[Path]] = {}
    for node in reversed(compilation.nodes):  # readers come after what they read
        if node.call >= 0:
            place = of_call[node.call]
        elif node.kind == "input":
            place = ()
        elif node.kind == "op":
            place = split[node.module]
        else:
            place = common(readers.get(node.name, ()))
        of[node.name] = place
        for operand in node.operands:
            readers.setdefault(operand, []).append(place)
    nodes: dict[Path, list[str]] = {}
    calls: dict[Path, dict[int, None]] = {}
    for node in compilation.nodes:
        place = of[node.name]
        for level in range(1, len(place) + 1):
            nodes.setdefault(place[:level], []).append(node.name)
            if node.call >= 0:
                calls.setdefault(place[:level], {})[node.call] = None
    paths = tuple(nodes)
    return Modules(
        paths, of, {path: tuple(names) for path, names in nodes.items()},
        {path: tuple(calls.get(path, ())) for path in paths}, {path: number for number, path in enumerate(paths)},
    )  # fmt: skip


def common(paths: Iterable[Path]) -> Path:
    """The innermost module that all paths are in."""
    levels = takewhile(lambda names: len(set(names)) == 1, zip(*set(paths)))
    return tuple(names[0] for names in levels)


def _of_calls(compilation: Compilation, split: dict[str, Path]) -> list[Path]:
    """The module of each kernel launch; nodes that passes made belong to none and have no say."""
    table = compilation.node_table
    result = []
    for call in compilation.calls:
        known = (table[name] for name in call.nodes if name in table)
        result.append(common(split[node.module] for node in known if node.module and node.kind == "op"))
    return result
