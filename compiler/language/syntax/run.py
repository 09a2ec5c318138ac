"""Elaboration while it runs: walks the syntax of kernel functions, computes what is known and emits what is not.

The state is here, and the way from one piece of syntax to another: through the tables of a `Language`, since
expressions hold calls, calls lead to statements and statements hold expressions.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from compiler.errors import KernelError, Location
from compiler.language import limits
from compiler.language.builder import Builder
from compiler.language.context import Host
from compiler.language.syntax.functions import Frame, Generator, Returned
from compiler.language.syntax.spelling import syntax_name


@dataclass(frozen=True)
class Language:
    """What each kind of syntax means, how each kind of value is called, and the names every kernel knows."""

    expressions: Mapping[type[ast.AST], Callable[[Run, Any, Frame], Any]]
    statements: Mapping[type[ast.AST], Callable[[Run, Any, Frame], Returned | None]]
    branch: Callable[[Run, ast.If, After, Frame], Returned | None]
    loop: Callable[[Run, ast.For, After, Frame], Returned | None]
    calls: Mapping[type, Callable[[Run, Any, list[Any], dict[str, Any]], Any]]
    names: Mapping[str, Any]


class After(NamedTuple):
    """What follows a block in its function: the rest of the block around it, then what follows that."""

    statements: Sequence[ast.stmt]
    position: int
    outer: After | NextTurns | str | None  # None: the function's end; a text: why a return cannot be delayed past here

    def go_on(self, run: Run, frame: Frame) -> Returned | None:
        """Elaborate it here."""
        return run.block(self.statements[self.position :], frame, self.outer)


class NextTurns(NamedTuple):
    """What follows a turn of an unrolled loop: those for the other values, then what follows the loop."""

    turns: Callable[[], Returned | None]
    outer: After | NextTurns | str | None

    def go_on(self, run: Run, frame: Frame) -> Returned | None:
        """Elaborate it here."""
        return self.turns()


Rest = After | NextTurns | str | None


class Run:
    """One elaboration: the current builder, the place in the source, and what is around the function."""

    def __init__(self, language: Language, host: Host) -> None:
        self.language = language
        self.host = host
        self.b: Builder = Builder()
        self.node: ast.AST | None = None
        self.file = ""
        self.depth = 0
        self.steps = 0
        self.caller: tuple[str, int] = ("", 0)  # the line of the library that called the generated code now elaborated
        self.given: tuple[Any, Generator] | None = None  # what a kernel was last called for, and which one gave it
        self.closed_over: list[Frame] = []  # frames that nested functions see, which they see in turn

    def where(self) -> Location:
        """The place in the source being elaborated."""
        return Location(self.file, getattr(self.node, "lineno", 1), getattr(self.node, "col_offset", 0) + 1)

    def fail(self, message: str, node: ast.AST | None = None) -> KernelError:
        """An error at a node, or at the current place."""
        if node is not None:
            self.node = node
        return KernelError(message, self.where())

    def finish(self) -> None:
        """Forget the names of all functions: those that hold nested functions would keep each other alive."""
        for frame in self.closed_over:
            frame.env = {}
        self.closed_over.clear()

    def tick(self) -> None:
        """Count a step: elaboration must end, whatever the source says."""
        self.steps += 1
        if self.steps > limits.MAX_STEPS:
            raise self.fail("elaboration does not end: too many steps")

    def evaluate(self, node: ast.expr, frame: Frame) -> Any:
        """The value of an expression."""
        return self.language.expressions[type(node)](self, node, frame)

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any] | None = None) -> Any:
        """Call anything callable: a library function, a closure, a builtin, a method, a dtype."""
        return self.language.calls[type(function)](self, function, args, kwargs or {})

    def block(self, body: Sequence[ast.stmt], frame: Frame, after: Rest) -> Returned | None:
        """Elaborate statements in order; the outcome is a value when they return. `after` is what follows the block."""
        language = self.language
        for position, statement in enumerate(body):
            self.enter_line(statement, frame)
            if type(statement) is ast.If:
                outcome = language.branch(self, statement, After(body, position + 1, after), frame)
            elif type(statement) is ast.For:
                outcome = language.loop(self, statement, After(body, position + 1, after), frame)
            else:
                handler = language.statements.get(type(statement))
                if handler is None:
                    raise self.fail(f"the kernel language has no `{syntax_name(statement)}`", statement)
                outcome = handler(self, statement, frame)
            if outcome is not None:
                return outcome
        return None

    def enter_line(self, node: ast.stmt, frame: Frame) -> None:
        """Make a statement the current place: its line, and in generated source its provenance."""
        self.node = node
        self.steps += 1  # as tick() does, for every line
        if self.steps > limits.MAX_STEPS:
            self.tick()
        generator = frame.generator
        b = self.b
        self.file = b.file = generator.file
        b.line = node.lineno
        if generator.line_slots:
            if self.host.kernel is not None:
                b.provenance = self.host.kernel.provenance(generator.line_slots, b.line) or b.provenance
            self.host.callers.setdefault((b.file, b.line, b.provenance), {})[self.caller] = None
