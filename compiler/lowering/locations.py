"""Locations of lines: provenance always, LLVM debug metadata when asked for.

A location is a small integer, an index into `provenance` and `places` (and `metadata` with debug info on). Index 0 is
"nowhere".
The debug column is the provenance id; LLVM keeps 16 bits of it, so larger ids survive only in `LlvmText.line_prov`.
"""

from __future__ import annotations

from zlib import crc32

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute, Operation

from compiler.errors import Location
from compiler.lowering.llvm_types import quoted

MAX_COLUMN = 65535
Place = tuple[str, int, int]
NOWHERE: Place = ("", 0, 0)


def resolve(attr: Attribute) -> Place:
    """(file, line, provenance id) of an xDSL location."""
    if type(attr) is FileLineColLoc:
        return attr.filename.data, attr.line.data, attr.column.data
    if isinstance(attr, FusedLoc) and isinstance(attr.locations, ArrayAttr):
        return next((place for part in attr.locations if (place := resolve(part)) != NOWHERE), NOWHERE)
    if isinstance(attr, CallSiteLoc):
        return resolve(attr.callee)
    if isinstance(attr, NameLoc):
        return resolve(attr.location)
    return NOWHERE


class Metadata:
    """The numbered metadata nodes of one module, and the named ones that list them."""

    def __init__(self) -> None:
        self.nodes: list[str] = []
        self.named: list[str] = []
        self._empty: int | None = None
        self._places: dict[str, int] = {}

    def add(self, text: str) -> int:
        """A new node's number."""
        self.nodes.append(text)
        return len(self.nodes) - 1

    def empty(self) -> int:
        """The node `!{}`, which marks invariant loads."""
        if self._empty is None:
            self._empty = self.add("!{}")
        return self._empty

    def place(self, file: str, line: int) -> int:
        """A place in a source, where LLVM names assembly it refuses by the first number."""
        text = f'!{{i64 {crc32(f"{file}:{line}".encode())}, i64 {line}, !"{quoted(file)}"}}'
        if text not in self._places:
            self._places[text] = self.add(text)
        return self._places[text]

    def lines(self) -> list[str]:
        """Everything, ready to append to a module."""
        return self.named + [f"!{number} = {text}" for number, text in enumerate(self.nodes)]


class DebugInfo:
    """Debug metadata: one compile unit, one DIFile a source file, one subprogram a function."""

    def __init__(self, metadata: Metadata, emission_kind: str):
        self.add = metadata.add
        self._files: dict[str, int] = {}
        self._unit = self.add("")  # filled in below: the unit names its file, the file comes after it
        metadata.nodes[self._unit] = (
            f"distinct !DICompileUnit(language: DW_LANG_Python, file: !{self.file('kernelglass')}, "
            f'producer: "kernelglass", isOptimized: true, runtimeVersion: 0, emissionKind: {emission_kind})'
        )
        version = self.add('!{i32 2, !"Debug Info Version", i32 3}')
        dwarf = self.add('!{i32 7, !"Dwarf Version", i32 4}')
        metadata.named += [f"!llvm.dbg.cu = !{{!{self._unit}}}", f"!llvm.module.flags = !{{!{version}, !{dwarf}}}"]
        self._subroutine = self.add(f"!DISubroutineType(types: !{self.add('!{}')})")

    def file(self, name: str) -> int:
        """The DIFile of a source file."""
        node = self._files.get(name)
        if node is None:
            folder, _, leaf = name.rpartition("/")
            node = self.add(f'!DIFile(filename: "{quoted(leaf)}", directory: "{quoted(folder)}")')
            self._files[name] = node
        return node

    def subprogram(self, name: str, file: str, line: int) -> int:
        """The DISubprogram of a function."""
        node = self.file(file)
        return self.add(
            f'distinct !DISubprogram(name: "{quoted(name)}", scope: !{node}, file: !{node}, line: {line}, '
            f"type: !{self._subroutine}, scopeLine: {line}, spFlags: DISPFlagDefinition, unit: !{self._unit})"
        )

    def block_file(self, scope: int, file: str) -> int:
        """The scope for lines of another file inside a subprogram."""
        return self.add(f"!DILexicalBlockFile(scope: !{scope}, file: !{self.file(file)}, discriminator: 0)")

    def location(self, scope: int, line: int, provenance: int) -> int:
        """The DILocation whose column is the provenance id."""
        column = provenance if provenance <= MAX_COLUMN else 0
        return self.add(f"!DILocation(line: {line}, column: {column}, scope: !{scope})")


class Locations:
    """The location table of one function, and what inline expansion does to provenance."""

    def __init__(self, debug: DebugInfo | None, function: str = "", file: str = "", line: int = 0):
        self.debug = debug
        self.provenance: list[int] = [0]
        self.places: list[tuple[str, int]] = [("", 0)]
        self.subprogram = debug.subprogram(function, file, line) if debug else 0
        self.metadata: list[int] = [debug.location(self.subprogram, line, 0)] if debug else []
        self._file = file
        self._scopes: dict[str, int] = {file: self.subprogram}
        self._by_place: dict[Place, int] = {}
        self._kept: list[Attribute] = []
        self._override = 0
        self._caches: dict[int, dict[int, int]] = {0: {}}
        self._cache = self._caches[0]

    def index_of(self, attr: Attribute) -> int:
        """The index of an xDSL location; remembered by identity."""
        index = self._cache.get(id(attr))
        return self._enter(attr) if index is None else index

    def _enter(self, attr: Attribute) -> int:
        file, line, provenance = resolve(attr)
        provenance = self._override or provenance
        place = (file, line, provenance)
        index = self._by_place.get(place)
        if index is None:
            index = 0 if place == NOWHERE else self._append(place)
            self._by_place[place] = index
        self._cache[id(attr)] = index
        self._kept.append(attr)
        return index

    def _append(self, place: Place) -> int:
        file, line, provenance = place
        self.provenance.append(provenance)
        self.places.append((file, line))
        if self.debug:
            file = file or self._file
            if file not in self._scopes:
                self._scopes[file] = self.debug.block_file(self.subprogram, file)
            self.metadata.append(self.debug.location(self._scopes[file], line, provenance))
        return len(self.provenance) - 1

    def enter_call(self, location: int) -> int:
        """While a helper is expanded, the call's provenance wins; returns what `leave_call` needs."""
        previous = self._override
        self._set_override(previous or self.provenance[location])
        return previous

    def leave_call(self, previous: int) -> None:
        """Back to the caller's own provenance."""
        self._set_override(previous)

    def _set_override(self, provenance: int) -> None:
        self._override = provenance
        self._cache = self._caches.setdefault(provenance, {})

    def place_of(self, op: Operation) -> Location | None:
        """Where an op comes from, for error messages."""
        file, line, _ = resolve(op.location)
        return Location(file, line) if file else None
