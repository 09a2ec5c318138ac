"""Functions of the language: their definitions, the names they hold while they are elaborated, what they return."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from compiler.language.syntax import liveness
from compiler.language.values.records import Function
from compiler.options import ChoiceValue


@dataclass(frozen=True)
class Parameter:
    """A keyword-only, compile-time parameter of a generator."""

    name: str
    default: ast.expr | None


@dataclass(frozen=True, eq=False)
class Generator(Function):
    """A function of the kernel language before elaboration: a signature and a body with open parameters."""

    name: str
    kind: str  # function, inline, elementwise, view, pointwise, kernel, closure
    registers: str  # the op it implements, or ""
    arguments: tuple[tuple[str, ast.expr | None], ...]
    variadic: str | None
    parameters: tuple[Parameter, ...]
    body: tuple[ast.stmt, ...]
    file: str
    line: int
    raw: bool = False
    only: tuple[tuple[str, str | int], ...] = ()  # for which dtype, rank, target it is registered
    choices: tuple[tuple[str, ChoiceValue], ...] = ()  # a kernel's, in place of what it would take by itself
    line_slots: tuple[tuple[int, ...], ...] = ()  # generated source only: slots of each line, from line 1
    constants: dict[str, Any] = field(default_factory=dict)  # the file's top-level constants
    own: frozenset[str] = frozenset()  # of a closure: names it assigns, which therefore never mean outer ones

    @cached_property
    def reads(self) -> tuple[str, ...] | None:
        """The names x that a function of a position `at` reads as x[at]; None where it uses `at` in any other way."""
        at = self.arguments[0][0]
        names: dict[str, None] = {}
        plain = used = 0
        waiting: list[ast.AST] = list(self.body)
        while waiting:
            node = waiting.pop()
            kind = type(node)
            if kind is ast.Name:
                used += node.id == at  # pyright: ignore[reportAttributeAccessIssue]
                continue
            if kind is ast.FunctionDef or kind is ast.Lambda:
                return None
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name) and node.slice.id == at:
                if not isinstance(node.value, ast.Name):
                    return None
                names[node.value.id] = None
                plain += 1
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == at:
                if node.attr != "width":
                    return None
                plain += 1
            waiting += liveness.parts_of(node)
        return tuple(sorted(names)) if used == plain else None

    @cached_property
    def mentions(self) -> frozenset[str]:
        """The names around it that it reads or calls."""
        return frozenset(liveness.exposed(self.body) - {name for name, _ in self.arguments})

    @cached_property
    def _has_while(self) -> bool:
        waiting: list[ast.AST] = list(self.body)
        while waiting:
            node = waiting.pop()
            if type(node) is ast.While:
                return True
            waiting += liveness.parts_of(node)
        return False

    def iterates(self, find: Callable[[str], Any], seen: set[Any]) -> bool:
        if self in seen:  # functions may call themselves with other compile-time values
            return False
        seen.add(self)
        return self._has_while or any(
            found.iterates(find, seen)
            for found in map(find, sorted(self.mentions - self.constants.keys()))
            if isinstance(found, Function)
        )


@dataclass(slots=True, eq=False)
class Frame:
    """The names of one function being elaborated; `parent` is where a closure was defined."""

    generator: Generator
    parent: Frame | None
    env: dict[str, Any] = field(default_factory=dict)

    def find(self, name: str) -> Frame | None:
        """The nearest frame that defines `name`."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.env:
                return frame
            frame = frame.parent
        return None


@dataclass(slots=True, eq=False)
class Closure(Function):
    """A nested def or lambda: elaborated into whoever calls it, seeing the names of the frame it was made in."""

    generator: Generator
    frame: Frame

    def captured(self) -> tuple[Any, ...]:
        frames = [(name, self.frame.find(name)) for name in sorted(self.generator.mentions)]
        return tuple(frame.env[name] for name, frame in frames if frame is not None)

    def iterates(self, find: Callable[[str], Any], seen: set[Any]) -> bool:
        def meaning(name: str) -> Any:
            frame = self.frame.find(name)
            return find(name) if frame is None else frame.env[name]

        return self.generator.iterates(meaning, seen)

    def read_at_position(self) -> tuple[Any, ...] | None:
        if len(self.generator.arguments) != 1:
            return None
        names = self.generator.reads
        holders = [] if names is None else [(name, self.frame.find(name)) for name in names]
        if names is None or any(holder is None for _, holder in holders):
            return None
        return tuple(holder.env[name] for name, holder in holders if holder is not None)


class Undefined:
    """Stands for a name without a value; `why` completes the sentence that starts with the name."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why


UNDEFINED = Undefined("has no value on every way to this line")


@dataclass(slots=True, eq=False)
class Returned:
    """The outcome of a block that ended in `return`."""

    value: Any
