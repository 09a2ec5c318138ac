"""Calls: library functions, closures, methods and dtypes, and how arguments meet parameters."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from compiler.errors import KernelError, Location
from compiler.graph.opaque import laid_out
from compiler.graph.types import OpaqueType
from compiler.language import limits
from compiler.language.syntax.definitions import annotation_name
from compiler.language.syntax.functions import Closure, Frame, Generator
from compiler.language.syntax.loops import Break
from compiler.language.syntax.run import Run
from compiler.language.syntax.signatures import workspace
from compiler.language.values import arithmetic as math
from compiler.language.values import methods
from compiler.language.values.dtypes import F32, DType
from compiler.language.values.loadables import FusedOutput, Loadable, Tensor, tensor_sink
from compiler.language.values.records import Bound, Simd, describe
from compiler.language.values.structs import Struct, StructType, struct_over


def inline(run: Run, generator: Generator, args: list[Any], kwargs: dict[str, Any], parent: Frame | None) -> Any:
    """Elaborate a function's body right here."""
    frame = Frame(generator, parent)
    _bind(run, generator, frame, args, kwargs)
    run.depth += 1
    if run.depth > limits.MAX_DEPTH:
        raise KernelError(f"{generator.name} calls itself without end")
    b = run.b
    saved = (b.file, b.line, b.provenance, run.node, run.file, run.caller)
    if generator.line_slots and b.file != generator.file:
        run.caller = (b.file, b.line)
    try:
        outcome = run.block(generator.body, frame, None)
    except Break as problem:  # no loop of this function was around it
        raise KernelError(problem.message, problem.location) from None
    b.file, b.line, b.provenance, run.node, run.file, run.caller = saved
    run.depth -= 1
    return outcome.value if outcome is not None else None


def _closure(run: Run, function: Closure, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return inline(run, function.generator, args, kwargs, function.frame)


_GIVING = frozenset({"elementwise", "view", "pointwise"})  # kinds that are called for what they return


def _generator(run: Run, function: Generator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if function.kind == "opaque":
        return _opaque(run, function, args, kwargs)
    if function.kind in ("function", "outlined"):
        return run.host.instantiate(run, function, args, kwargs)
    if function.kind == "elementwise":
        result = _elementwise(run, function, args, kwargs)
    else:
        result = inline(run, function, args, kwargs, None)
    if result is None and function.kind in _GIVING:
        last = function.body[-1]
        raise KernelError(
            f"{function.name} ends without a return; @{function.kind} gives a value",
            Location(function.file, last.lineno, last.col_offset + 1),
        )
    run.given = (result, function)
    return result


def layout_of(function: Generator, made: Any) -> tuple[tuple[str, str, Any], ...]:
    """The fields that an `@opaque` definition declares: what it returned."""
    if not isinstance(made, StructType):
        place = Location(function.file, function.line, 1)
        raise KernelError(f"{function.name} returns struct(...), the fields of the type, not {describe(made)}", place)
    return made.fields


def _opaque(run: Run, function: Generator, args: list[Any], kwargs: dict[str, Any]) -> Struct:
    """`rng(bytes, lanes=4)`: an opaque value over the bytes that hold it."""
    if len(args) != 1:
        raise KernelError(f"{function.name} is made of the tensor of bytes that holds it; {len(args)} are given")
    fields = layout_of(function, inline(run, function, [], kwargs, None))
    return struct_over(run, laid_out(OpaqueType(function.registers), fields), args[0])


def _conversion(run: Run, dtype: DType, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if len(args) != 1 or kwargs:
        raise KernelError(f"{dtype.name}(x) takes one value")
    return math.cast(run.b, args[0], dtype)


def _bind(run: Run, generator: Generator, frame: Frame, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Give the arguments and parameters of a call their names."""
    env = frame.env
    names = generator.arguments
    given = dict(kwargs) if kwargs else kwargs
    for position, (name, annotation) in enumerate(names):
        if position < len(args):
            value = args[position]
        elif name in given:
            value = given.pop(name)
        elif annotation_name(annotation) == "Workspace":
            value = _in_signature(run, generator, annotation, frame, workspace)
        else:
            raise KernelError(f"{generator.name} lacks its argument {name}")
        env[name] = value if annotation is None else _fitted(value, annotation, generator, name)
    if generator.variadic is not None:
        env[generator.variadic] = tuple(args[len(names) :])
    elif len(args) > len(names):
        raise KernelError(f"{generator.name} takes {len(names)} arguments, not {len(args)}")
    for parameter in generator.parameters:
        if parameter.name in given:
            env[parameter.name] = given.pop(parameter.name)
        elif parameter.default is not None:
            env[parameter.name] = _in_signature(run, generator, parameter.default, frame, Run.evaluate)
        else:
            raise KernelError(f"{generator.name} lacks its parameter {parameter.name}")
    if given:
        raise KernelError(f"{generator.name} has no parameter {', '.join(sorted(given))}")


def _in_signature(run: Run, generator: Generator, node: Any, frame: Frame, evaluate: Any) -> Any:
    """Something that stands in a function's signature: errors in it are placed there, not at the call."""
    saved = (run.node, run.file)
    run.node, run.file = node, generator.file
    value = evaluate(run, node, frame)
    run.node, run.file = saved
    return value


def _elementwise(run: Run, function: Generator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """16-bit floats are computed in f32 and rounded once, so that fusing never changes a value."""
    narrow: DType | None = None
    if not function.raw:
        wide: list[Any] = []
        for value in args:
            if isinstance(value, Simd) and value.dtype.is_float and value.dtype.bits == 16:
                narrow = value.dtype
                value = math.cast(run.b, value, F32)
            wide.append(value)
        args = wide
    result = inline(run, function, args, kwargs, None)
    if narrow is not None and isinstance(result, Simd) and result.dtype is F32:
        return math.cast(run.b, result, narrow)
    return result


def _fitted(value: Any, annotation: ast.expr, generator: Generator, name: str) -> Any:
    """An argument as its annotation asks for it."""
    kind = annotation_name(annotation)
    if kind == "FusedOutput":
        if isinstance(value, Tensor):
            return tensor_sink(value)
        if isinstance(value, FusedOutput):
            return value
    elif kind == "Opaque":
        wanted = annotation.slice if isinstance(annotation, ast.Subscript) else None
        label = wanted.value if isinstance(wanted, ast.Constant) else None
        if isinstance(value, Struct) and label in (None, value.label):
            return value
        kind = f"value of the opaque type {label}" if label is not None else "value of an opaque type"
        if isinstance(value, Struct):
            raise KernelError(f"{generator.name} asks for a {kind} as {name}, not for one of {value.label}")
    elif kind == "Tensor" or kind == "Workspace":
        if isinstance(value, Tensor):
            return value
    elif kind != "FusedInput" or isinstance(value, Loadable):
        return value
    raise KernelError(f"{generator.name} asks for a {kind} as {name}, not {describe(value)}")


def _refused(run: Run, value: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    raise KernelError(f"{describe(value)} cannot be called")


CALLS: dict[type, Callable[[Run, Any, list[Any], dict[str, Any]], Any]] = defaultdict(lambda: _refused, {
    Closure: _closure, Generator: _generator, Bound: methods.invoke, DType: _conversion,
})  # fmt: skip
