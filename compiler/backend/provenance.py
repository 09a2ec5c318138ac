"""Where a line of LLVM IR, assembly or PTX comes from: graph nodes by the provenance id that travels as a debug column,
and the line of kernel source that file and line of the same location name.

With debug info off there is nothing to follow and every line answers 0; the emitter's own `line_prov` still knows.
"""

from __future__ import annotations

import re
from functools import lru_cache

from compiler.places import NO_PLACE, Place

_LOCATION = re.compile(r"^!(\d+) = (?:distinct )?!DILocation\(([^)]*)\)", re.MULTILINE)
_SCOPE = re.compile(r"^!(\d+) = (?:distinct )?!DI(?:Subprogram|LexicalBlock(?:File)?)\(.*?\bfile: !(\d+)", re.MULTILINE)
_FILE_NODE = re.compile(r'^!(\d+) = !DIFile\(filename: "([^"]*)", directory: "([^"]*)"', re.MULTILINE)
_FIELD = re.compile(r"(\w+): !?(\d+)")
_DEBUG = re.compile(r"!dbg !(\d+)")
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*?inlined_at\s+\d+\s+\d+\s+(\d+))?")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+(?:"([^"]*)"\s+)?"([^"]*)"', re.MULTILINE)
_END = re.compile(r"^(?:\s*\.cfi_endproc|[.$]L(?:__)?func_end|\})")
_NOT_CODE = ("\t.section", "\t.file", "\t.p2align")
Located = tuple[int, Place]
Written = tuple[str, int, int]
"""Where in the kernel language a line was written, and its provenance id."""
NOWHERE: Written = ("", 0, 0)


def line_places(text: str, kind: str) -> list[Written]:
    """The file, line and provenance id of each line of a text that was made with line tables, as its own location has
    them. Line 0 is LLVM's word for code that belongs to several lines at once: such code still knows its nodes."""
    return [(*place, provenance) for provenance, place in line_locations(text, kind, outwards=False)]


def line_provenance(text: str, kind: str) -> list[int]:
    """The provenance id of each line (0: none). `kind` is a stage: llvm, llvm-opt, asm, ptx."""
    return [provenance for provenance, _ in line_locations(text, kind)]


def line_locations(text: str, kind: str, *, outwards: bool = True) -> list[Located]:
    """The same with the source line that each line was made of; where that is no one line, the line which called it,
    if places are looked for `outwards`."""
    return _llvm_lines(text, outwards) if kind in ("llvm", "llvm-opt") else _asm_lines(text, outwards)


def _llvm_lines(text: str, outwards: bool) -> list[Located]:
    """Follow `!dbg` to a location: its line, and its column, outwards along `inlinedAt` until one is not 0."""
    fields = {int(number): dict(_FIELD.findall(body)) for number, body in _LOCATION.findall(text)}
    files = {number: _path(folder, name) for number, name, folder in _FILE_NODE.findall(text)}
    scopes = {scope: files.get(file, "") for scope, file in _SCOPE.findall(text)}
    known: dict[int, Located] = {}
    for number in fields:
        at: int | None = number
        column, place = 0, NO_PLACE
        while at is not None and not (column and (place[1] or not outwards)):
            location = fields.get(at, {})
            column = column or int(location.get("column", 0))
            line = int(location.get("line", 0))
            if (not place[1] and line) if outwards else at == number:
                place = (scopes.get(location.get("scope", ""), ""), line)
            outer = location.get("inlinedAt")
            at = int(outer) if outer is not None else None
        known[number] = (column, place)
    nothing = (0, NO_PLACE)
    found: list[Located] = []
    for line in text.splitlines():
        match = _DEBUG.search(line) if line.startswith(" ") else None
        found.append(known.get(int(match[1]), nothing) if match else nothing)
    return found


def _asm_lines(text: str, outwards: bool) -> list[Located]:
    """A `.loc` holds for itself and for the lines after it, to the next one or the end of the function."""
    files = {int(number): _path(folder, name) for number, folder, name in _FILE.findall(text)}
    nothing = (0, NO_PLACE)
    found: list[Located] = []
    current = nothing
    for line in text.splitlines():
        if ".loc" in line:
            match = _LOC.match(line)
            if match:
                number = int(match[2])
                place = (files.get(int(match[1]), ""), number) if number or not outwards else NO_PLACE
                current = (int(match[3]) or int(match[4] or 0), place)
        elif current is not nothing and _END.match(line):
            current = nothing
        found.append(nothing if line.startswith(_NOT_CODE) else current)
    return found


@lru_cache(maxsize=4096)
def _path(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and not name.startswith("/") else name
