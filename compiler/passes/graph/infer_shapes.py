"""Shape inference: every result type again from the operand types, with symbols bound to sizes if asked."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, SSAValue

from compiler.dialects.mo import DimsAttr, GraphOp, attrs_of, decode, encode
from compiler.errors import GraphError
from compiler.graph.dims import Dim, substitute
from compiler.graph.types import BufferType, TensorType
from compiler.passes.graph.rewrite import mo_ops


def infer_shapes(graph: GraphOp, sizes: Mapping[str, int | Dim] | None = None) -> int:
    """Infer all types anew, in order; how many changed. `sizes` binds symbols first, in inputs and attributes alike."""
    changed = 0
    known: dict[Any, tuple[Any, ...]] = {}  # layers repeat, and symbolic products are slow
    if sizes:
        for argument in graph.body.args:
            changed += _set_type(argument, _bound_type(argument.type, sizes))
    for op in mo_ops(graph):
        if sizes:
            for name, attribute in op.properties.items():
                if isinstance(attribute, (DimsAttr, ArrayAttr)):
                    op.properties[name] = encode(_bound(decode(attribute), sizes))
        infer = op.spec.infer
        if infer is None:  # a custom op's types are what its user declared
            for result in op.results:
                changed += _set_type(result, _bound_type(result.type, sizes or {}))
            continue
        operands = tuple([o._type for o in op._operands])
        # An op without operands is as cheap to look at as to remember: a constant holds all its elements.
        key = (infer, operands, tuple(op.properties.items())) if operands else None
        types = known.get(key)
        if types is None:
            try:
                types = infer(operands, attrs_of(op))
            except GraphError as error:
                name = op.results[0].name_hint if op.results else op.name
                raise GraphError(f"{name}: {error.message}") from error
            if key is not None:
                known[key] = types
        for result, inferred in zip(op.results, types, strict=True):
            changed += _set_type(result, inferred)
    return changed


def _set_type(value: SSAValue, new: Any) -> int:
    if value._type == new:
        return 0
    value._type = new  # xDSL would make a new value and rename every use
    return 1


def _bound_type(kind: Attribute, sizes: Mapping[str, int | Dim]) -> Attribute:
    if not isinstance(kind, (TensorType, BufferType)) or kind.symbols.isdisjoint(sizes):
        return kind
    return type(kind).of(kind.dtype, tuple(substitute(s, sizes) for s in kind.shape))


def _bound(value: object, sizes: Mapping[str, int | Dim]) -> object:
    if isinstance(value, tuple):
        return tuple(_bound(item, sizes) for item in value)
    return substitute(value, sizes) if isinstance(value, Dim) else value
