"""Kernel source text: cut into top-level pieces at a glance, each parsed only when it is needed.

A library has dozens of functions and a graph needs a handful, so start-up pays for those alone.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from compiler.errors import KernelError, Location
from compiler.language.limits import one_line
from compiler.language.syntax.definitions import definition
from compiler.language.syntax.functions import Frame, Generator

_TOP = re.compile(r"^(?=[^\s#)\]}])", re.MULTILINE)
_DOCSTRING = re.compile(r'(?:[ \t\f]*(?:#[^\n]*)?\n)*("""[^"\\]*(?:"{1,2}[^"\\]+)*""")')
_DEF = re.compile(r"^def\s+(\w+)", re.MULTILINE)
_REGISTERS = re.compile(r"^@\w+\(\s*[\"']([^\"'\n]*)[\"']\s*[,)]", re.MULTILINE)
_CALLED = re.compile(r"@\w+[ \t]*\(")
_DECORATOR = re.compile(r"^@(\w+)", re.MULTILINE)
_IMPORT = re.compile(r"^from[ \t]+\.?(\w+)[ \t]+import[ \t]+(?:\(([^)]*)\)|([^\n#]*))", re.MULTILINE)
_SKIPPED = ("@", "def ", "import ", "from ", '"', "'")
_MAX_SOURCE = 4 << 20


@dataclass(frozen=True)
class Piece:
    """One top-level definition, unparsed: its text and the line it begins on."""

    name: str
    kind: str
    registers: str
    text: str
    line: int

    @property
    def called(self) -> bool:
        """Whether its decorator has parentheses."""
        return _CALLED.match(self.text) is not None


@dataclass(eq=False)
class SourceFile:
    """A file of kernel source."""

    file: str
    text: str
    line_slots: tuple[tuple[int, ...], ...] = ()
    mates: dict[str, SourceFile] = field(default_factory=dict, repr=False)
    """The files of the same package by their names, whose constants may be imported."""
    _generators: dict[str, Generator] = field(default_factory=dict)
    _evaluating: bool = False

    @cached_property
    def pieces(self) -> dict[str, Piece]:
        """The definitions by name, found without parsing."""
        found: dict[str, Piece] = {}
        for text, line in self._chunks:
            if text.startswith(("@", "def ")):
                name = _DEF.search(text)
                if name is None:
                    _parse(text, self.file, line)
                    raise KernelError("a decorator must stand over a def", Location(self.file, line, 1))
                decorator = _DECORATOR.match(text)
                kind = decorator.group(1) if decorator else ""
                registers = _REGISTERS.search(text, 0, name.start())
                piece = Piece(name.group(1), kind, registers.group(1) if registers else "", text, line)
                if piece.name in found:
                    raise KernelError(f"{piece.name} is defined twice", Location(self.file, line, 1))
                found[piece.name] = piece
        return found

    @cached_property
    def _chunks(self) -> list[tuple[str, int]]:
        """The top-level statements and the lines they begin on."""
        if len(self.text) > _MAX_SOURCE:
            raise KernelError("the file is too large for kernel source", Location(self.file, 1, 1))
        source = _newlines(self.text)
        chunks = _cut_at_margin(source)
        # A line at the margin may be inside a text: then only the parser knows where statements begin.
        if "'''" in source or "\\\n" in source or any(text.count('"""') % 2 for text, _ in chunks):
            return _cut_by_parsing(source, self.file)
        return chunks

    def check_syntax(self) -> None:
        """Raise where any of it cannot be parsed, also what nothing needs: of a file that somebody is writing."""
        _parse(_newlines(self.text), self.file, 1)

    @cached_property
    def constants_text(self) -> str:
        """What stands outside of definitions, without empty lines, and in the files that constants come from."""
        return "\n".join(file._own_constants_text for file in self._constant_files([]))

    @cached_property
    def _own_constants_text(self) -> str:
        text = self.text
        for piece in self.pieces.values():
            text = text.replace(piece.text, "", 1)
        return "\n".join(line for line in text.splitlines() if line.strip())

    @cached_property
    def imports(self) -> tuple[tuple[SourceFile, tuple[str, ...], int], ...]:
        """What is imported from files of the same package: the file, the names, the line. Others are for editors."""
        if not self.mates:
            return ()
        found = []
        for match in _IMPORT.finditer(_newlines(self.text)):
            mate = self.mates.get(match.group(1))
            if mate is not None and mate is not self:
                line = self.text.count("\n", 0, match.start()) + 1
                found.append((mate, tuple((match.group(2) or match.group(3)).replace(",", " ").split()), line))
        return tuple(found)

    def _constant_files(self, seen: list[SourceFile]) -> list[SourceFile]:
        """This file and those whose constants it imports, each once."""
        if self not in seen:
            seen.append(self)
            for mate, _, _ in self.imports:
                mate._constant_files(seen)
        return seen

    def _imported_constants(self) -> dict[str, Any]:
        """Constants of other files of the package that this one imports; functions need no import."""
        values: dict[str, Any] = {}
        for mate, names, line in self.imports:
            if mate._evaluating:
                raise KernelError(
                    f"{mate.file} and this file import constants of each other", Location(self.file, line, 1)
                )
            known = mate.constants
            values |= known if "*" in names else {name: known[name] for name in names if name in known}
            for name in names:
                if name != "*" and name not in known and name not in mate.pieces:
                    raise KernelError(f"{mate.file} has no constant {name}", Location(self.file, line, 1))
        return values

    def _statements(self, text: str, line: int) -> list[ast.stmt]:
        """The syntax of one chunk."""
        try:
            return _parse(text, self.file, line).body
        except KernelError:
            # It may have been cut at a line in a bracket; if not, the whole file has the error too.
            exact = _cut_by_parsing(_newlines(self.text), self.file)
            if self._chunks == exact:
                raise
            self.__dict__["_chunks"] = exact
            self.__dict__.pop("pieces", None)
            raise _CutWrongly from None

    @cached_property
    def constants(self) -> dict[str, Any]:
        """The file's top-level constants, computed by the language's own rules."""
        from compiler.language.interpreter import at_compile_time

        self._evaluating = True
        try:
            values = self._imported_constants()
        finally:
            self._evaluating = False
        frame = Frame(Generator("", "inline", "", (), None, (), (), self.file, 1, constants=values), None)
        frame.env = values
        with at_compile_time(self.file, 1, value="a constant of a file is a compile-time value") as run:
            try:
                self._evaluate_constants(run, frame)
            except (RecursionError, MemoryError):
                raise KernelError("this constant is nested too deeply", run.where()) from None
        return values

    def _evaluate_constants(self, run: Any, frame: Frame) -> None:
        try:
            for text, line in self._chunks:
                for statement in () if text.startswith(_SKIPPED) else self._statements(text, line):
                    if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr)):
                        raise run.fail("only functions and constants may stand at the top of a kernel file", statement)
                    run.block((statement,), frame, None)
        except _CutWrongly:
            frame.env.clear()
            self._evaluate_constants(run, frame)

    def generator(self, name: str) -> Generator:
        """A definition, parsed on first use."""
        found = self._generators.get(name)
        if found is None:
            piece = self.pieces.get(name)
            if piece is None:
                raise KernelError(f"{name} is not defined at the top of this file", Location(self.file, 1, 1))
            try:
                body = self._statements(piece.text, piece.line)
            except _CutWrongly:
                return self.generator(name)
            node = next((item for item in body if isinstance(item, ast.FunctionDef)), None)
            if node is None:
                raise KernelError(f"{name} is not a plain function", Location(self.file, piece.line, 1))
            found = self._generators[name] = replace(
                definition(node, self.file, self.line_slots), constants=self.constants
            )
        return found


def _cut_at_margin(source: str) -> list[tuple[str, int]]:
    """Statements as they usually stand: from each line that begins at the margin to the next one."""
    opening = _DOCSTRING.match(source)
    begin = opening.end() if opening is not None else 0
    starts = [match.start() for match in _TOP.finditer(source, begin)]
    if opening is not None:
        starts.insert(0, opening.start(1))
    chunks: list[tuple[str, int]] = []
    line, seen = 1, 0
    pending: tuple[int, int] | None = None  # a decorator waits for its def
    for number, start in enumerate(starts):
        end = starts[number + 1] if number + 1 < len(starts) else len(source)
        line += source.count("\n", seen, start)
        seen = start
        if source.startswith("@", start):
            pending = pending or (start, line)
            continue
        begin, first = pending if pending is not None else (start, line)
        pending = None
        chunks.append((source[begin:end], first))
    if pending is not None:
        chunks.append((source[pending[0] :], pending[1]))
    return chunks


def _cut_by_parsing(source: str, file: str) -> list[tuple[str, int]]:
    lines = [f"{line}\n" for line in source.split("\n")]
    chunks: list[tuple[str, int]] = []
    for node in _parse(source, file, 1).body:
        decorators = getattr(node, "decorator_list", ())
        first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        if chunks and first <= chunks[-1][1] + chunks[-1][0].count("\n") - 1:
            continue  # a second statement on the same line is already part of that chunk
        chunks.append(("".join(lines[first - 1 : node.end_lineno]), first))
    return chunks


def _newlines(text: str) -> str:
    """Lines end as Python's parser sees them end."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _parse(text: str, file: str, line: int) -> ast.Module:
    """The syntax of a part of a file that begins at `line`."""
    try:
        # Empty lines before it cost the parser nothing; moving every node afterwards takes as long as parsing.
        return ast.parse("\n" * (line - 1) + text)
    except SyntaxError as problem:
        place = Location(file, max(problem.lineno or 1, 1), max(problem.offset or 1, 1))
        raise KernelError(f"syntax error: {one_line(problem.msg)}", place) from None
    except (ValueError, RecursionError, MemoryError) as problem:
        message = one_line(str(problem)) or type(problem).__name__
        raise KernelError(f"this source cannot be read: {message}", Location(file, line, 1)) from None


class _CutWrongly(Exception):
    """The file was cut where no statement ends; it has been cut anew."""
