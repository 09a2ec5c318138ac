"""Shape inference: every result type again from the operand types, with symbols bound to sizes if asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, SSAValue

from compiler.dialects.mo import DimsAttr, GraphOp, MoOp, attrs_of, decode, encode
from compiler.errors import GraphError
from compiler.graph.dims import Dim, substitute
from compiler.graph.types import BufferType, TensorType


def infer_shapes(graph: GraphOp, sizes: Mapping[str, int | Dim] | None = None) -> int:
    """Infer all types anew, in order; how many changed. `sizes` binds symbols first, in inputs and attributes alike."""
    changed = 0
    known: dict[Any, tuple[Any, ...]] = {}  # layers repeat, and symbolic products are slow
    if sizes:
        for argument in graph.body.args:
            changed += _set_type(argument, _bound_type(argument.type, sizes))
    for op in graph.body.ops:
        if not isinstance(op, MoOp):
            continue
        if sizes:
            for name, attribute in op.properties.items():
                if isinstance(attribute, (DimsAttr, ArrayAttr)):
                    op.properties[name] = encode(_bound(decode(attribute), sizes))
        infer = op.spec.infer
        if infer is None:  # a custom op's types are what its user declared
            for result in op.results:
                changed += _set_type(result, _bound_type(result.type, sizes or {}))
            continue
        operands = tuple([o.type for o in op.operands])
        key = (op.name, operands, tuple(op.properties.items()))
        types = known.get(key)
        if types is not None:
            for result, inferred in zip(op.results, types, strict=True):
                changed += _set_type(result, inferred)
            continue
        try:
            types = known[key] = infer(operands, attrs_of(op))
        except GraphError as error:
            name = op.results[0].name_hint if op.results else op.name
            raise GraphError(f"{name}: {error.message}") from error
        for result, inferred in zip(op.results, types, strict=True):
            changed += _set_type(result, inferred)
    return changed


def _set_type(value: SSAValue, new: Attribute) -> int:
    if value.type == new:
        return 0
    value._type = new  # type: ignore[reportPrivateUsage]  # xDSL would make a new value and rename every use
    return 1


def _bound_type(kind: Attribute, sizes: Mapping[str, int | Dim]) -> Attribute:
    if not isinstance(kind, (TensorType, BufferType)) or kind.symbols.isdisjoint(sizes):
        return kind
    return type(kind).of(kind.dtype, tuple(substitute(s, sizes) for s in kind.shape))


def _bound(value: object, sizes: Mapping[str, int | Dim]) -> object:
    if isinstance(value, tuple):
        return tuple(_bound(item, sizes) for item in value)
    return substitute(value, sizes) if isinstance(value, Dim) else value
