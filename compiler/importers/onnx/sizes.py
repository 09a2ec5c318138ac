"""Arithmetic on what is known while importing: shapes, axes and other small tensors, symbolic sizes included.

Models compute sizes with the same ops as everything else. Here those run on arrays of numbers and sizes instead of
becoming kernels. What is not in this table is folded by building it and evaluating it with the NumPy reference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.errors import CompilerError
from compiler.graph.dims import Dim, maximum, minimum
from compiler.graph.graph import Graph
from compiler.graph.types import TensorType
from compiler.importers.onnx.node import Handler, Node, Tensor
from compiler.importers.onnx.reading import numpy_type

MOST = 1 << 14  # elements; larger constants are left to the graph
_MOST_WORK = 1 << 18  # elements of all steps of a folded node together


def tidy(content: np.ndarray) -> np.ndarray:
    """Sizes as plain i64 once no symbol is left among them."""
    if content.dtype == object and not any(isinstance(size, Dim) for size in content.ravel()):
        return content.astype(np.int64)
    return content


def evaluate(node: Node, handler: Handler) -> list[Tensor | None] | None:
    """A node's results where all that it reads is known and small, or None."""
    arrays: list[np.ndarray | None] = []
    total = 0
    for tensor in node.inputs:
        if tensor is None:
            arrays.append(None)
            continue
        if tensor.content is None:
            return None
        total += tensor.content.size
        arrays.append(tensor.content)
    if total > MOST:
        return None
    known = [a for a in arrays if a is not None]
    if known and _integers(known) and node.op in _SIZES:
        try:
            made = _SIZES[node.op](node, arrays)
        except _Beyond:
            made = None
        if made is not None and made.size <= MOST:
            return [Tensor("", tidy(np.asarray(made)))]
    if any(a.dtype == object for a in known):
        return None
    return _folded(node, handler)


def _integers(arrays: list[np.ndarray]) -> bool:
    return all(a.dtype == object or a.dtype.kind in "ib" for a in arrays)


def _folded(node: Node, handler: Handler) -> list[Tensor | None] | None:
    """Build the node alone in a graph of its own and run that with the NumPy reference."""
    from compiler.reference import REFERENCES

    alone = [None if t is None else Tensor(t.name, t.content) for t in node.inputs]
    with Graph("folded") as graph:
        twin = Node(node.op, node.label, node.opset, alone, node.outputs, node.attributes, node.run)
        given: Any = handler(twin)
        if given is NotImplemented:
            return None
        results = [r for r in (given if isinstance(given, (list, tuple)) else [given])]
        results = [Tensor("", r) if isinstance(r, np.ndarray) else r for r in results]
        wanted: list[Any] = [r if r is None or isinstance(r, Tensor) else Tensor("", None, r) for r in results]
    work = 0
    for op in graph.ops:
        for result in op.results:
            kind = result.type
            if not isinstance(kind, TensorType) or kind.symbols or not isinstance(kind.size, int):
                return None
            work += kind.size
    if work > _MOST_WORK:
        return None
    found: dict[Any, np.ndarray] = {}
    try:
        for op in graph.ops:
            if op.name not in REFERENCES:
                return None
            found[op.results[0]] = REFERENCES[op.name](*[found[x] for x in op.operands], **op.all_attrs)
    except CompilerError:
        return None
    return [t if t is None or t.content is not None else Tensor("", np.array(found[t.made], order="C")) for t in wanted]


class _Beyond(Exception):
    """Sizes that this arithmetic cannot do."""


def _flat(node: Node, arrays: list[Any]) -> np.ndarray:
    return arrays[0]


def _cast(node: Node, arrays: list[Any]) -> np.ndarray:
    to = numpy_type(node.need("to"))
    if to.kind not in "iu" and arrays[0].dtype == object:
        raise _Beyond
    return arrays[0] if arrays[0].dtype == object else arrays[0].astype(to)


def _gather(node: Node, arrays: list[Any]) -> np.ndarray:
    axis, (x, index) = node.attr("axis", 0), arrays[:2]
    if (
        index.dtype == object
        or x.ndim == 0
        or (index.size and (index.max() >= x.shape[axis] or index.min() < -x.shape[axis]))
    ):
        raise _Beyond
    return np.asarray(np.take(x, index.astype(np.int64), axis=axis))


def _concat(node: Node, arrays: list[Any]) -> np.ndarray:
    return np.concatenate(arrays, axis=node.need("axis"))


def _slice(node: Node, arrays: list[Any]) -> np.ndarray:
    x = arrays[0]
    if node.opset < 10 or any(a is not None and a.dtype == object for a in arrays[1:]):
        raise _Beyond
    starts, stops = node.ints(1), node.ints(2)
    axes = node.ints(3) if node.has(3) else list(range(len(starts)))
    steps = node.ints(4) if node.has(4) else [1] * len(starts)
    cut: list[Any] = [slice(None)] * x.ndim
    for start, stop, axis, step in zip(starts, stops, axes, steps, strict=True):
        # ONNX clamps a stop below the axis to "before the first"; Python would count it from the end once more.
        size = x.shape[axis]
        cut[axis] = slice(start, None if step < 0 and stop < -size else stop, step)
    return x[tuple(cut)]


def _unsqueeze(node: Node, arrays: list[Any]) -> np.ndarray:
    axes = node.listed("axes", 1) or []
    rank = arrays[0].ndim + len(axes)
    return np.expand_dims(arrays[0], tuple(a % rank for a in axes))


def _squeeze(node: Node, arrays: list[Any]) -> np.ndarray:
    axes = node.listed("axes", 1)
    return np.squeeze(arrays[0], None if axes is None else tuple(axes))


def _binary(function: Callable[[Any, Any], Any]) -> Callable[[Node, list[Any]], np.ndarray]:
    def run(node: Node, arrays: list[Any]) -> np.ndarray:
        a, b = arrays
        if a.dtype != object and b.dtype != object:
            raise _Beyond
        out = np.empty(np.broadcast_shapes(a.shape, b.shape), object)
        out[...] = np.frompyfunc(function, 2, 1)(a.astype(object), b.astype(object))
        return out

    return run


def _quotient(a: Any, b: Any) -> Any:
    if b == 0:
        raise _Beyond
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return a // b


def _product(node: Node, arrays: list[Any]) -> np.ndarray:
    (x, *_) = arrays
    axes = node.listed("axes", 1)
    if (axes is not None and axes != [0]) or x.ndim != 1:
        raise _Beyond
    total = np.multiply.reduce(x.astype(object)) if x.size else 1
    return np.array([total] if node.attr("keepdims", 1) else total, dtype=object)


def _equal(node: Node, arrays: list[Any]) -> np.ndarray:
    a, b = np.broadcast_arrays(*arrays)
    out = np.empty(a.shape, bool)
    for at, (left, right) in enumerate(zip(a.ravel(), b.ravel(), strict=True)):
        difference = left - right if not isinstance(left, (bool, np.bool_)) else int(left) - int(right)
        # A symbolic size is never the -1 or 0 that models compare it with to find "as it was".
        out.ravel()[at] = False if isinstance(difference, Dim) else difference == 0
    return out


def _where(node: Node, arrays: list[Any]) -> np.ndarray:
    test, a, b = arrays
    if test.dtype != bool:
        raise _Beyond
    return np.where(test, a, b)


def _reshape(node: Node, arrays: list[Any]) -> np.ndarray:
    shape = node.ints(1)
    if node.attr("allowzero", 0) == 0:
        shape = [arrays[0].shape[at] if s == 0 else s for at, s in enumerate(shape)]
    return arrays[0].reshape(shape)


_SIZES: dict[str, Callable[[Node, list[Any]], np.ndarray]] = {
    "Identity": _flat, "Cast": _cast, "Gather": _gather, "Concat": _concat, "Slice": _slice, "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze, "Add": _binary(lambda a, b: a + b), "Sub": _binary(lambda a, b: a - b),
    "Mul": _binary(lambda a, b: a * b), "Div": _binary(_quotient), "Mod": _binary(lambda a, b: a % b),
    "Min": _binary(minimum), "Max": _binary(maximum), "ReduceProd": _product, "Equal": _equal, "Where": _where,
    "Reshape": _reshape,
}  # fmt: skip
