"""Library functions that kernels share: elaborated once for each combination of types and parameters, then called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import memref
from xdsl.dialects.builtin import FunctionType, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region

from compiler.dialects import kgen
from compiler.errors import KernelError
from compiler.graph.dims import Dim
from compiler.language.builder import Builder
from compiler.language.syntax.calls import inline
from compiler.language.syntax.functions import Generator
from compiler.language.syntax.run import Run
from compiler.language.values import memory, static
from compiler.language.values.dtypes import INDEX, DType, register_type
from compiler.language.values.loadables import UNSIZED, Tensor
from compiler.language.values.records import Simd, describe


@dataclass(frozen=True)
class Instance:
    """A library function elaborated for some types and parameters: what a call of it needs to know."""

    symbol: str
    callee: SymbolRefAttr  # the symbol, as its calls bear it
    results: tuple[tuple[DType, int], ...]
    several: bool  # whether it returns a tuple
    effects: bool
    traps: bool
    writes: tuple[bool | None, ...]
    """For each value and tensor passed: whether it is stored to (True), its address taken (False), or only read."""
    counts: frozenset[int]
    """Which results are positions that are known not to be below zero."""


def instance_key(b: Builder, generator: Generator, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What calls have in common that share an instance."""
    outlined = generator.kind == "outlined"
    signature = tuple(_argument_key(value, outlined) for value in args)
    named = tuple(sorted((name, _frozen(value)) for name, value in kwargs.items()))
    return generator, signature, named, _gives_counts(b, args)


def _gives_counts(b: Builder, args: Sequence[Any]) -> bool:
    """Whether all positions among the arguments are known not to be below zero, so that dividing them is cheaper.

    All or none: each combination would be one more copy of the function.
    """
    return all(id(value.ssa) in b.nonnegative for value in args if _is_position(value))


def _is_position(value: Any) -> bool:
    return isinstance(value, Simd) and value.dtype is INDEX


def call_instance(run: Run, instance: Instance, args: Sequence[Any]) -> Any:
    """Emit a call and give what it returns; a call without effects is emitted once, as any pure operation is."""
    b = run.b
    passed = [value for value in args if isinstance(value, (Simd, Tensor))]
    for value, stored in zip(passed, instance.writes, strict=True):
        if stored is not None and isinstance(value, Tensor):
            (memory.note_write if stored else memory.note_address)(b, value.buffer)
    operands = tuple([_passed(b, value) for value in passed])
    types = tuple([register_type(dtype, width) for dtype, width in instance.results])
    properties: dict[str, Attribute] = {"callee": instance.callee}
    if len(types) == 1 and not instance.effects:
        ssa = b.pure(kgen.CallOp, operands, types[0], properties, instance.symbol, speculate=not instance.traps)
        values: tuple[Simd, ...] = (Simd(ssa, *instance.results[0]),)
    else:
        if instance.effects:
            properties["effects"] = UnitAttr()
            b.effects = True
        call = b.emit(kgen.CallOp, operands, types, properties)
        values = tuple([Simd(r, *t) for r, t in zip(call.results, instance.results, strict=True)])
    if not values:
        return None
    b.nonnegative.update({id(values[k].ssa): values[k].ssa for k in instance.counts})
    return values if instance.several else values[0]


def elaborate_function(
    run: Run,
    generator: Generator,
    args: list[Any],
    kwargs: dict[str, Any],
    unique: Callable[[str], str],
    provenance: int,
) -> tuple[Instance, Operation]:
    """A function elaborated away from its caller for arguments of these types, and the operation that holds it."""
    outlined = generator.kind == "outlined"
    passed = [value for value in args if isinstance(value, (Simd, Tensor))]
    types = [v.ssa.type if isinstance(v, Simd) else _unsized(v) for v in passed]
    block = Block(arg_types=types)
    outer, saved = run.b, (run.node, run.file)
    run.b = builder = Builder()
    builder.state_alignment = outer.state_alignment
    builder.open(block)
    builder.file, builder.line, builder.provenance = generator.file, generator.line, provenance
    fresh = iter(block.args)
    names = [name for (name, _), value in zip(generator.arguments, args) if isinstance(value, (Simd, Tensor))]
    for argument, name in zip(block.args, names, strict=False):
        argument.name_hint = name
    received = [_received(value, fresh) for value in args]
    if _gives_counts(outer, args):
        builder.nonnegative.update({id(value.ssa): value.ssa for value in received if _is_position(value)})
    outcome = inline(run, generator, received, kwargs, None)
    several = isinstance(outcome, tuple)
    values: Any = outcome if several else () if outcome is None and outlined else (outcome,)
    if (not values and not outlined) or not all(isinstance(value, Simd) for value in values):
        raise run.fail(f"{generator.name} must return run-time values on every way, not {describe(outcome)}")
    builder.emit(kgen.ReturnOp, tuple([value.ssa for value in values]), ())
    builder.close()
    run.b, (run.node, run.file) = outer, saved
    results = tuple((value.dtype, value.width) for value in values)
    symbol = unique(_instance_name(generator, args, kwargs))
    params = {name: StringAttr(static.text_of(value)) for name, value in kwargs.items()}
    kind = FunctionType.from_lists(types, [register_type(*result) for result in results])
    operation = kgen.make_func(symbol, generator.name, kind, Region(block), params, outlined=outlined)
    effects = outlined or builder.effects
    writes = tuple(builder.written.get(id(argument)) for argument in block.args)
    counts = frozenset(k for k, value in enumerate(values) if id(value.ssa) in builder.nonnegative)
    return Instance(symbol, SymbolRefAttr(symbol), results, several, effects, builder.traps, writes, counts), operation


def _passed(b: Builder, value: Simd | Tensor) -> Any:
    """An argument as an outlined function takes it: a buffer loses its size, so that all sizes share the code."""
    if isinstance(value, Simd):
        return value.ssa
    unsized = _unsized(value)
    return value.buffer if value.buffer.type is unsized else b.pure(memref.CastOp, (value.buffer,), unsized)


def _received(value: Any, fresh: Iterator[Any]) -> Any:
    if isinstance(value, Simd):
        return Simd(next(fresh), value.dtype, value.width)
    if isinstance(value, Tensor):
        return Tensor(next(fresh), value.dtype, (UNSIZED,), (1,))
    return value


def _unsized(value: Tensor) -> Attribute:
    """The type of a tensor's buffer without its size."""
    return memory.buffer_type(value.dtype, None, memory.space_of(value.buffer))


def _argument_key(value: Any, outlined: bool) -> Any:
    if isinstance(value, Simd):
        return (value.dtype, value.width)
    if isinstance(value, Tensor) and outlined:
        if value.rank != 1 or value.strides != (1,) or value.offset != 0:
            raise KernelError("an @outlined function takes whole one-dimensional arrays")
        return ("tensor", value.dtype, memory.space_of(value.buffer))
    return ("static", _frozen(value))


def _frozen(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, float):
        return ("float", value.hex())
    if isinstance(value, (int, str, bool, Dim, DType)) or value is None:
        return (type(value).__name__, value if not isinstance(value, (Dim, DType)) else str(value))
    raise KernelError(f"{describe(value)} cannot be passed to a @function; make it @inline")


def _instance_name(generator: Generator, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    parts = [generator.name]
    first = next((v for v in args if isinstance(v, Simd)), None)
    if first is not None:
        parts.append(f"{first.dtype.name}x{first.width}" if first.width > 1 else first.dtype.name)
    parts += [static.text_of(value)[:24] for value in kwargs.values() if isinstance(value, (int, str))]
    return "_".join("".join(c if c.isalnum() and c.isascii() else "_" for c in part) for part in parts)
