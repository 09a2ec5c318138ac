"""Kernel source text: cut into top-level pieces at a glance, each parsed only when it is needed.

A library has dozens of functions and a graph needs a handful, so start-up pays for those alone.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from compiler.errors import KernelError, Location
from compiler.language.values import Frame, Generator, Parameter

KINDS = frozenset({"function", "inline", "outlined", "elementwise", "view", "pointwise", "kernel"})
_TOP = re.compile(r"^(?=[^\s#)\]}])", re.MULTILINE)
_DEF = re.compile(r"^def\s+(\w+)", re.MULTILINE)
_REGISTERS = re.compile(r"^@\w+\(\s*[\"']([^\"']*)[\"']", re.MULTILINE)
_DECORATOR = re.compile(r"^@(\w+)", re.MULTILINE)
_MAX_SOURCE = 4 << 20


@dataclass(frozen=True)
class Piece:
    """One top-level definition, unparsed: its text and the line it begins on."""

    name: str
    kind: str
    registers: str
    text: str
    line: int


@dataclass(eq=False)
class SourceFile:
    """A file of kernel source."""

    file: str
    text: str
    line_slots: tuple[tuple[int, ...], ...] = ()
    _generators: dict[str, Generator] = field(default_factory=dict)

    @cached_property
    def pieces(self) -> dict[str, Piece]:
        """The definitions by name, found without parsing."""
        if len(self.text) > _MAX_SOURCE:
            raise KernelError("the file is too large for kernel source", Location(self.file))
        found: dict[str, Piece] = {}
        for text, line in self._chunks():
            if text.startswith(("@", "def ")):
                name = _DEF.search(text)
                if name is None:
                    tree = _parse(text, self.file, line)
                    raise KernelError("a decorator must stand over a def", Location(self.file, tree.body[0].lineno if tree.body else line, 1))
                decorator = _DECORATOR.match(text)
                kind = decorator.group(1) if decorator else ""
                registers = _REGISTERS.search(text)
                piece = Piece(name.group(1), kind, registers.group(1) if registers else "", text, line)
                if piece.name in found:
                    raise KernelError(f"{piece.name} is defined twice", Location(self.file, line, 1))
                found[piece.name] = piece
        return found

    def _chunks(self) -> list[tuple[str, int]]:
        starts = [match.start() for match in _TOP.finditer(self.text)]
        chunks: list[tuple[str, int]] = []
        line, seen = 1, 0
        pending: tuple[int, int] | None = None  # a decorator waits for its def
        quote = False  # inside a top-level docstring
        for number, start in enumerate(starts):
            end = starts[number + 1] if number + 1 < len(starts) else len(self.text)
            line += self.text.count("\n", seen, start)
            seen = start
            text = self.text[start:end]
            if quote or text.count('"""') % 2:
                quote = quote != bool(text.count('"""') % 2)
                continue
            if text.startswith("@"):
                pending = pending or (start, line)
                continue
            begin, first = pending if pending is not None else (start, line)
            pending = None
            chunks.append((self.text[begin:end], first))
        if pending is not None:
            chunks.append((self.text[pending[0] :], pending[1]))
        return chunks

    @cached_property
    def constants(self) -> dict[str, Any]:
        """The file's top-level constants, computed by the language's own rules."""
        from compiler.language.interpreter import Interpreter

        values: dict[str, Any] = {}
        frame = Frame(Generator("", "inline", "", (), None, (), (), self.file, 1, constants=values), None)
        frame.env = values
        run = Interpreter(_NoHost())
        run.file = self.file
        for text, line in self._chunks():
            if text.startswith(("@", "def ", "import ", "from ", '"', "'")):
                continue
            for statement in _parse(text, self.file, line).body:
                if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr)):
                    raise KernelError(
                        "only functions and constants may stand at the top of a kernel file",
                        Location(self.file, statement.lineno, statement.col_offset + 1),
                    )
                try:
                    run.statement(statement, frame)
                except KernelError as problem:
                    raise _placed(problem, run) from None
        return values

    def generator(self, name: str) -> Generator:
        """A definition, parsed on first use."""
        found = self._generators.get(name)
        if found is None:
            piece = self.pieces[name]
            tree = _parse(piece.text, self.file, piece.line)
            node = next((item for item in tree.body if isinstance(item, ast.FunctionDef)), None)
            if node is None:
                raise KernelError(f"{name} is not a plain function", Location(self.file, piece.line, 1))
            found = self._generators[name] = self._generator(node)
        return found

    def _generator(self, node: ast.FunctionDef) -> Generator:
        kind, registers, raw = self._decorator(node)
        arguments = node.args
        if arguments.kwarg is not None or arguments.posonlyargs or arguments.defaults:
            raise KernelError(
                "arguments are positional and have no defaults; parameters with defaults stand after *",
                Location(self.file, node.lineno, node.col_offset + 1),
            )
        return Generator(
            name=node.name, kind=kind, registers=registers,
            arguments=tuple((a.arg, a.annotation) for a in arguments.args),
            variadic=arguments.vararg.arg if arguments.vararg else None,
            parameters=defaults_of(arguments), body=tuple(node.body), file=self.file, line=node.lineno, raw=raw,
            line_slots=self.line_slots, constants=self.constants,
        )  # fmt: skip

    def _decorator(self, node: ast.FunctionDef) -> tuple[str, str, bool]:
        place = Location(self.file, node.lineno, node.col_offset + 1)
        if len(node.decorator_list) != 1:
            raise KernelError(f"{node.name} needs one decorator: {', '.join(sorted(KINDS))}", place)
        decorator = node.decorator_list[0]
        call = decorator if isinstance(decorator, ast.Call) else None
        name = call.func if call is not None else decorator
        if not isinstance(name, ast.Name) or name.id not in KINDS:
            raise KernelError(f"{node.name} needs one decorator: {', '.join(sorted(KINDS))}", place)
        registers, raw = "", False
        for argument in call.args if call is not None else []:
            if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
                raise KernelError("a decorator takes the name of the op as a text", place)
            registers = argument.value
        for keyword in call.keywords if call is not None else []:
            if keyword.arg != "raw" or not isinstance(keyword.value, ast.Constant):
                raise KernelError("a decorator knows one option, raw=True", place)
            raw = bool(keyword.value.value)
        return name.id, registers, raw


def defaults_of(arguments: ast.arguments) -> tuple[Parameter, ...]:
    """Keyword-only parameters, then positional ones that have defaults (a nested def's), as compile-time parameters."""
    return tuple(Parameter(a.arg, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))


def _parse(text: str, file: str, line: int) -> ast.Module:
    try:
        tree = ast.parse(text)
    except SyntaxError as problem:
        place = Location(file, (problem.lineno or 1) + line - 1, problem.offset or 0)
        raise KernelError(f"syntax error: {problem.msg}", place) from None
    except (ValueError, RecursionError, MemoryError) as problem:
        raise KernelError(f"this source cannot be read: {problem or type(problem).__name__}", Location(file, line)) from None
    if line > 1:
        ast.increment_lineno(tree, line - 1)
    return tree


def _placed(problem: KernelError, run: Any) -> KernelError:
    if problem.location is None:
        problem.location = run.where()
    return problem


class _NoHost:
    """Stands in for an elaborator while constants are computed: nothing can be called or emitted."""

    language_target = None

    def lookup(self, name: str) -> None:
        """No library is in sight."""

    def provenance(self, generator: Generator, line: int) -> int:
        """Constants come from no graph node."""
        return 0
