"""From the syntax of a def or lambda to the function it describes."""

from __future__ import annotations

import ast
from typing import Any

from compiler.errors import KernelError, Location
from compiler.graph.dtypes import DTYPES
from compiler.language.syntax import liveness
from compiler.language.syntax.functions import Generator, Parameter
from compiler.options import ChoiceValue

CHOICES = "choices"
_CONDITIONS = {"dtype": str, "rank": int, "target": str}
BESIDE = frozenset({"opaque", "reduction", "shape", "stored"})
"""Kinds that say more about a kernel of the same op, or what kernels work on, and are none themselves."""
KINDS = frozenset({"function", "inline", "outlined", "elementwise", "view", "pointwise", "kernel"}) | BESIDE


def definition(node: ast.FunctionDef, file: str, line_slots: tuple[tuple[int, ...], ...]) -> Generator:
    """The function that a def at the top of a file describes."""
    kind, registers, raw, only = _decorator(node, file)
    arguments = node.args
    if arguments.kwarg is not None or arguments.posonlyargs or arguments.defaults:
        raise KernelError(
            "arguments are positional and have no defaults; parameters with defaults stand after *",
            Location(file, node.lineno, node.col_offset + 1),
        )
    _check_names(arguments, file)
    return Generator(
        name=node.name, kind=kind, registers=registers,
        arguments=tuple((a.arg, a.annotation) for a in arguments.args),
        variadic=arguments.vararg.arg if arguments.vararg else None,
        parameters=_defaults(arguments), body=tuple(node.body), file=file, line=node.lineno, raw=raw,
        line_slots=line_slots, only=only, choices=_choices(node, kind, file),
    )  # fmt: skip


def _choices(node: ast.FunctionDef, kind: str, file: str) -> tuple[tuple[str, ChoiceValue], ...]:
    """What `@kernel("name", choices={...})` has chosen, by name."""
    call = node.decorator_list[0]
    given = [k.value for k in call.keywords if k.arg == CHOICES] if isinstance(call, ast.Call) else []
    if not given:
        return ()
    try:
        found = ast.literal_eval(given[0])
    except (ValueError, TypeError, MemoryError, RecursionError):
        found = None
    if kind != "kernel" or not isinstance(found, dict) or not all(_is_chosen(*pair) for pair in found.items()):
        words = "a kernel's choices are a table of names with numbers, words, or several of them in parentheses"
        raise KernelError(words, Location(file, node.lineno, node.col_offset + 1))
    return tuple(found.items())


def _is_chosen(name: Any, value: Any) -> bool:
    values = value if isinstance(value, tuple) else (value,)
    return isinstance(name, str) and all(isinstance(item, bool | int | str) for item in values)


def _decorator(node: ast.FunctionDef, file: str) -> tuple[str, str, bool, tuple[tuple[str, str | int], ...]]:
    """The kind of a definition, the op it is registered for, whether it is raw, and for what cases alone."""
    place = Location(file, node.lineno, node.col_offset + 1)
    decorator = node.decorator_list[0] if len(node.decorator_list) == 1 else None
    call = decorator if isinstance(decorator, ast.Call) else None
    name = call.func if call is not None else decorator
    if not isinstance(name, ast.Name) or name.id not in KINDS:
        raise KernelError(f"{node.name} needs one decorator: {', '.join(sorted(KINDS))}", place)
    place = Location(file, name.lineno, name.col_offset)  # of the sign before it
    arguments = [a.value if isinstance(a, ast.Constant) else None for a in call.args] if call is not None else []
    if len(arguments) > 1 or not all(isinstance(argument, str) and argument for argument in arguments):
        raise KernelError("a decorator takes the name of the op as a text", place)
    raw = False
    only: list[tuple[str, str | int]] = []
    for keyword in call.keywords if call is not None else []:
        given = keyword.value
        value: Any = given.value if isinstance(given, ast.Constant) else getattr(given, "id", None)
        if keyword.arg == "raw" and isinstance(value, bool):
            raw = value
        elif keyword.arg == CHOICES:
            continue
        elif keyword.arg in _CONDITIONS and type(value) is _CONDITIONS[keyword.arg] and arguments:
            only.append((keyword.arg, value))
        else:
            words = "a decorator's options are raw=True, dtype=f32, rank=2, target='nvidia' and choices={}"
            raise KernelError(words, place)
    if dict(only).get("dtype", "f32") not in DTYPES:
        raise KernelError(f"no dtype is called {dict(only)['dtype']}; they are {' '.join(DTYPES)}", place)
    return name.id, str(arguments[0]) if arguments else "", raw, tuple(sorted(only))


def nested_generator(node: ast.FunctionDef | ast.Lambda, outer: Generator) -> Generator:
    """The function that a nested def or lambda describes."""
    arguments = node.args
    named = isinstance(node, ast.FunctionDef)
    if arguments.kwarg or arguments.posonlyargs or arguments.defaults or (named and node.decorator_list):
        raise KernelError(
            "a nested function takes plain arguments without defaults, and has no decorators",
            Location(outer.file, node.lineno, node.col_offset + 1),
        )
    _check_names(arguments, outer.file)
    body = tuple(node.body) if named else (ast.copy_location(ast.Return(node.body), node.body),)
    return Generator(
        name=node.name if named else "lambda", kind="closure", registers="",
        arguments=tuple((a.arg, None) for a in arguments.args),
        variadic=arguments.vararg.arg if arguments.vararg else None,
        parameters=_defaults(arguments), body=body, file=outer.file, line=node.lineno,
        line_slots=outer.line_slots, constants=outer.constants, own=liveness.rebound(body),
    )  # fmt: skip


def _check_names(arguments: ast.arguments, file: str) -> None:
    """An argument's name stands once."""
    seen: set[str] = set()
    for argument in (*arguments.args, *filter(None, [arguments.vararg]), *arguments.kwonlyargs):
        if argument.arg in seen:
            place = Location(file, argument.lineno, argument.col_offset + 1)
            raise KernelError(f"two arguments are called {argument.arg}", place)
        seen.add(argument.arg)


def _defaults(arguments: ast.arguments) -> tuple[Parameter, ...]:
    """Keyword-only parameters, which are known at compile time."""
    return tuple(Parameter(a.arg, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))


def annotation_name(annotation: ast.expr | None) -> str:
    """The kind an argument's annotation names: Tensor, FusedInput, FusedOutput, Workspace or nothing."""
    if isinstance(annotation, ast.Subscript):
        annotation = annotation.value
    return annotation.id if isinstance(annotation, ast.Name) else ""
