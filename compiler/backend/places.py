"""Where in the kernel language a line of LLVM IR, assembly or PTX was written: file, line, and the provenance id.

Only texts that were made with line tables tell; a line that knows no place has `NOWHERE`. Line 0 is LLVM's word for
code that belongs to several lines at once: such code still knows its nodes.
"""

from __future__ import annotations

import re

Place = tuple[str, int, int]
NOWHERE: Place = ("", 0, 0)

_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"(?:\s+"((?:[^"\\]|\\.)*)")?')
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*?inlined_at\s+\d+\s+\d+\s+(\d+))?")
_END = re.compile(r"^(?:\s*\.cfi_endproc|[.$]L(?:__)?func_end|\})")
_NODE = re.compile(
    r"^!(\d+) = (?:distinct )?!(DILocation|DISubprogram|DILexicalBlockFile|DIFile)\((.*)\)$", re.MULTILINE
)
_FIELD = re.compile(r'(\w+): (?:"((?:[^"\\]|\\.)*)"|!?(\d+))')
_DEBUG = re.compile(r"!dbg !(\d+)")


def line_places(text: str, stage: str) -> list[Place]:
    """The place of each line of a text of `llvm`, `llvm-opt`, `asm` or `ptx`."""
    return _llvm_places(text) if stage in ("llvm", "llvm-opt") else _asm_places(text)


def _asm_places(text: str) -> list[Place]:
    """A `.loc` holds for the lines after it, to the next one or the end of the function."""
    files = {match[1]: _joined(match[2], match[3]) for match in map(_FILE.match, text.splitlines()) if match}
    found: list[Place] = []
    current = NOWHERE
    for line in text.splitlines():
        if ".loc" in line:
            match = _LOC.match(line)
            if match:
                current = (files.get(match[1], ""), int(match[2]), int(match[3]) or int(match[4] or 0))
        elif current is not NOWHERE and _END.match(line):
            current = NOWHERE
        found.append(current)
    return found


def _llvm_places(text: str) -> list[Place]:
    """Follow `!dbg` to its location, from there outwards to one with a column, and along its scopes to the file."""
    nodes = {match[1]: (match[2], _fields(match[3])) for match in _NODE.finditer(text)}

    def file_of(number: str) -> str:
        for _ in range(len(nodes)):  # scopes of a damaged text might go in a circle
            kind, fields = nodes.get(number, ("", {}))
            if kind == "DIFile":
                return _joined(fields.get("directory", ""), fields.get("filename", ""))
            number = fields.get("file") or fields.get("scope") or ""
        return ""

    known: dict[str, Place] = {}
    for number, (kind, fields) in nodes.items():
        if kind == "DILocation":
            column, outer = int(fields.get("column", 0)), fields
            for _ in range(len(nodes)):
                if column or "inlinedAt" not in outer:
                    break
                outer = nodes.get(outer["inlinedAt"], ("", {}))[1]
                column = int(outer.get("column", 0))
            known[number] = (file_of(fields.get("scope", "")), int(fields.get("line", 0)), column)
    found: list[Place] = []
    for line in text.splitlines():
        match = _DEBUG.search(line) if line.startswith(" ") else None
        found.append(known.get(match[1], NOWHERE) if match else NOWHERE)
    return found


def _fields(body: str) -> dict[str, str]:
    return {name: text or number for name, text, number in _FIELD.findall(body)}


def _joined(folder: str, leaf: str | None) -> str:
    return f"{folder}/{leaf}" if folder and leaf else leaf or folder
