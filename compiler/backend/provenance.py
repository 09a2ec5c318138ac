"""Which graph nodes a line of LLVM IR, assembly or PTX comes from: the provenance id that travels as a debug column.

With debug info off there is nothing to follow and every line answers 0; the emitter's own `line_prov` still knows.
"""

from __future__ import annotations

import re

_LOCATION = re.compile(r"^!(\d+) = (?:distinct )?!DILocation\(([^)]*)\)", re.MULTILINE)
_FIELD = re.compile(r"(\w+): !?(\d+)")
_DEBUG = re.compile(r"!dbg !(\d+)")
_LOC = re.compile(r"^\s*\.loc\s+\d+\s+\d+\s+(\d+)(?:.*?inlined_at\s+\d+\s+\d+\s+(\d+))?")
_END = re.compile(r"^(?:\s*\.cfi_endproc|[.$]L(?:__)?func_end|\})")


def line_provenance(text: str, kind: str) -> list[int]:
    """The provenance id of each line (0: none). `kind` is a stage: llvm, llvm-opt, asm, ptx."""
    return _llvm_lines(text) if kind in ("llvm", "llvm-opt") else _asm_lines(text)


def _llvm_lines(text: str) -> list[int]:
    """Follow `!dbg` to a location's column, and from there outwards along `inlinedAt` until one is not 0."""
    fields = {int(number): dict(_FIELD.findall(body)) for number, body in _LOCATION.findall(text)}
    known: dict[int, int] = {}
    for number in fields:
        at: int | None = number
        column = 0
        while at is not None and not column:
            location = fields.get(at, {})
            column = int(location.get("column", 0))
            outer = location.get("inlinedAt")
            at = int(outer) if outer is not None else None
        known[number] = column
    found: list[int] = []
    for line in text.splitlines():
        match = _DEBUG.search(line) if line.startswith(" ") else None
        found.append(known.get(int(match[1]), 0) if match else 0)
    return found


def _asm_lines(text: str) -> list[int]:
    """A `.loc` holds for itself and for the lines after it, to the next one or the end of the function."""
    found: list[int] = []
    current = 0
    for line in text.splitlines():
        if ".loc" in line:
            match = _LOC.match(line)
            if match:
                current = int(match[1]) or int(match[2] or 0)
        elif current and _END.match(line):
            current = 0
        found.append(0 if line.startswith(("\t.section", "\t.file", "\t.p2align")) else current)
    return found
