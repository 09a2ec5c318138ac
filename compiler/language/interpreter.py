"""Elaboration: walks the syntax of kernel functions, computes what is known and emits what is not.

The state is here; what a statement does is in `statements.py`, what an expression is worth in `expressions.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from compiler.errors import KernelError, Location
from compiler.graph.dims import Dim
from compiler.language import limits
from compiler.language.builder import Builder
from compiler.language.syntax import calls, expressions, statements
from compiler.language.syntax.branches import After, branch
from compiler.language.syntax.operators import syntax_name
from compiler.language.syntax.statements import STATEMENTS
from compiler.language.values import arithmetic as math
from compiler.language.values.kinds import Frame, Returned, Simd


class Interpreter:
    """One elaboration: the current builder, the library and what is instantiated on the way."""

    def __init__(self, host: Any) -> None:
        self.host = host  # instantiates functions, allocates workspaces; see elaborate.Elaborator
        self.b: Builder = Builder()
        self.node: ast.AST | None = None
        self.file = ""
        self.depth = 0
        self.steps = 0
        self.closed_over: list[Frame] = []  # frames that nested functions see, which they see in turn

    evaluate = expressions.evaluate
    assign = statements.assign
    call = calls.call
    inline = calls.inline

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

    def block(self, body: Sequence[ast.stmt], frame: Frame, after: After | str | None) -> Returned | None:
        """Elaborate statements in order; the outcome is a value when they return. `after` is what follows the block."""
        for position, statement in enumerate(body):
            if type(statement) is ast.If:
                outcome = branch(self, statement, After(body, position + 1, after), frame)
            else:
                self.enter_line(statement, frame)
                handler = STATEMENTS.get(type(statement))
                if handler is None:
                    raise self.fail(f"the kernel language has no `{syntax_name(statement)}`", statement)
                outcome = handler(self, statement, frame)
            if outcome is not None:
                return outcome
        return None

    def enter_line(self, node: ast.AST, frame: Frame) -> None:
        """Make a statement the current place: its line, and in generated source its provenance."""
        self.node = node
        self.steps += 1
        if self.steps > limits.MAX_STEPS:
            self.steps -= 1
            self.tick()
        generator = frame.generator
        b = self.b
        self.file = b.file = generator.file
        b.line = node.lineno  # pyright: ignore[reportAttributeAccessIssue]
        if generator.line_slots:
            provenance = self.host.provenance(generator, b.line)
            if provenance:
                b.provenance = provenance

    def sum_terms(self, terms: Sequence[Any]) -> Any:
        """A sum with its parts ordered: sizes, then values from the outer loops inwards, then the number."""
        number, size = 0, 0
        moving: list[Simd] = []
        for term in terms:
            if type(term) is Simd:
                moving.append(term)
            elif isinstance(term, Dim):
                size = size + term
            else:
                number += term
        if isinstance(size, Dim):
            moving.append(math.dim_value(self.b, size))
        else:
            number += size
        if not moving:
            return number
        if len(moving) > 1:
            depths = self.b.depths
            moving.sort(key=lambda value: depths[id(value.ssa)])
        total: Any = moving[0]
        for term in moving[1:]:
            total = math.binary(self.b, "+", total, term)
        return math.binary(self.b, "+", total, number) if number else total
