"""Texts of stages, and the places of their lines: the line of kernel source, generated or of the library, that a line
of IR or machine code was made of.

Optimising loses some of them: a constant is materialised where nobody wrote it, two equal values become one. Such a
line exists for the sake of a value, so it takes the place of the first line that uses what it makes; and one that makes
nothing, a spill or a branch, that of the line which made what it takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Place = tuple[str, int]
"""A file and a line of it, from 1."""
NO_PLACE: Place = ("", 0)
Nodes = tuple[str, ...]
_MOST = 16 << 20  # characters: nobody reads longer texts line by line

_VALUE = re.compile(r"%[\w.$-]+")
_SSA = re.compile(r"^\s*(%[\w.$-]+)(?::\d+)? = ")
_PTX = re.compile(r"%[a-z]+\d+|%\w+")
_ARM = re.compile(r"\b([xwvqdshbzp])(\d{1,2})\b")
_X86 = re.compile(r"%([a-z]+\d*[a-z]?)")
_WIDE = re.compile(r"^[xyz]mm(\d+)$")
_LABEL = re.compile(r"^\s*[\w.$^]+:")
_STORES = ("st", "red", "bar", "cp.", "ret", "bra", "cmp", "cb", "b.", "tb", "ccmp", "fcmp", "test", "ucomis", "j")
_OLD = {name: name for name in ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp")}


@dataclass(frozen=True)
class StageText:
    """The text of a stage and, for each of its lines, the graph nodes it came from and the line of kernel source.

    Where that is of the generated kernel, `library` has the line of the kernel library that called it.
    """

    text: str
    nodes: tuple[Nodes, ...]
    places: tuple[Place, ...] = ()
    library: tuple[Place, ...] = ()

    @property
    def coverage(self) -> float:
        """The share of lines (blank ones aside) that know their nodes."""
        lines = [bool(nodes) for nodes, line in zip(self.nodes, self.text.splitlines(), strict=False) if line.strip()]
        return sum(lines) / len(lines) if lines else 0.0


def is_instruction(line: str, language: str) -> bool:
    """Whether a line of PTX or assembly is executed: no directive, label, comment or brace."""
    text = line.strip()
    if not text or (text[0] in ".{}()#;/@$" and not text.startswith("@%") and not text.startswith("@!")):
        return False
    if language == "ptx" and text.startswith("."):
        return False
    return line[0] in " \t" and not _LABEL.match(line) and not text.startswith("//")


def with_lost_places(text: str, places: Sequence[Place], language: str) -> tuple[Place, ...]:
    """The places, and for lines without one the place of what they are for. `language` is mlir, llvm, ptx or asm."""
    lines = text.splitlines()
    found = list(places)
    if len(text) > _MOST or not any(place[1] for place in found):
        return tuple(found)
    machine = language in ("ptx", "asm")
    taken = [_values(line, language) if not machine or is_instruction(line, language) else ("", ()) for line in lines]
    users: dict[str, Place] = {}
    for number in range(len(lines) - 1, -1, -1):
        made, values = taken[number]
        if not found[number][1] and made in users:
            found[number] = users[made]
        place = found[number]
        if place[1]:
            for value in values:
                users[value] = place
        if made and not machine:
            users.pop(made, None)  # another function has values of the same names
    makers: dict[str, Place] = {}
    for number, (made, values) in enumerate(taken):
        if not found[number][1] and not made:
            found[number] = next((makers[value] for value in values if value in makers), NO_PLACE)
        if made and found[number][1]:
            makers[made] = found[number]
    return tuple(found)


def library_places(
    places: Sequence[Place], provenance: Sequence[int], callers: Mapping[tuple[str, int, int], Iterable[Place]]
) -> tuple[Place, ...]:
    """The line of the kernel library that each line was made for: its own place there, or, of what generated source
    does by itself (a load, a store, its index), the line that called it. Of several the one at work around it."""
    generated = {file for file, _, _ in callers}
    of_line: dict[Place, list[Place]] = {}
    for (file, line, _), known in callers.items():
        of_line.setdefault((file, line), []).extend(known)
    found: list[Place] = []
    around = NO_PLACE
    for place, number in zip(places, provenance, strict=True):
        if place[0] in generated:
            known = [*callers.get((*place, number), ())] or of_line.get(place, [])
            place = around if around in known else known[0] if known else NO_PLACE
        around = place if place[1] else around
        found.append(place)
    return tuple(found)


def _values(line: str, language: str) -> tuple[str, tuple[str, ...]]:
    """The value that a line makes, if any, and all it names."""
    if language == "ptx":
        text = line.split("//")[0]
        values = tuple(_PTX.findall(text))
        words = text.strip().split(None, 2 if text.strip().startswith("@") else 1)
        operation = words[1] if len(words) > 2 else words[0] if words else ""
        first = _PTX.search(words[-1]) if len(words) > 1 else None
        return (first[0] if first and not operation.startswith(_STORES) else ""), values
    if language == "asm":
        return _registers(line)
    match = _SSA.match(line)
    return (match[1] if match else ""), tuple(_VALUE.findall(line))


def _registers(line: str) -> tuple[str, tuple[str, ...]]:
    """The same of assembly: registers under one name for all their widths. The destination stands first on ARM and
    last on x86."""
    operation, _, rest = line.strip().partition("\t")
    if not rest:
        operation, _, rest = line.strip().partition(" ")
    stores = operation.startswith(_STORES)
    if "%" in rest:
        operands = rest.split("#")[0]
        values = tuple(_old_name(name) for name in _X86.findall(operands))
        into_memory = operands.rstrip().endswith(")")
        return (values[-1] if values and not stores and not into_memory else ""), values
    operands = rest.split("//")[0].split(";")[0]
    values = tuple(("r" if kind in "xw" else kind if kind == "p" else "v") + n for kind, n in _ARM.findall(operands))
    return (values[0] if values and not stores else ""), values


def _old_name(name: str) -> str:
    """An x86 register without its width."""
    if wide := _WIDE.match(name):
        return f"v{wide[1]}"
    if name[0] == "r" and name[1:2].isdigit():
        return name.rstrip("dwb")
    core = name.lstrip("re") if len(name) == 3 else name
    return _OLD.get(core, core[:1] + "x" if core[-1:] in "lh" and len(core) == 2 else core)
