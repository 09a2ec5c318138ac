"""ATen reductions, products of matrices, and what works along one axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.value import Value
from compiler.importers.compose.einsum import einsum
from compiler.importers.compose.functions import log_sum_exp
from compiler.importers.torch.call import Call, Handler, axis_of
from compiler.importers.torch.families.elements import operand

_MOST_GROUPS = 256  # matrices of a grouped product, each of which is a step of the graph


def _axes(axes: Any) -> Any:
    """None for all of them."""
    if axes is None or axes == []:
        return None
    return tuple(axes) if isinstance(axes, list) else axes


def _typed(build: Callable[..., Value]) -> Handler:
    """sum, mean and prod, computed in the result's dtype."""

    def run(call: Call) -> Value:
        x = call.x()
        return build(x, _axes(call.arg(1, "dim")), dtype=call.dtype, keepdims=call.arg(2, "keepdim", False))

    return run


def _plain(build: Callable[..., Value]) -> Handler:
    return lambda call: build(call.x(), _axes(call.arg(1, "dim")), call.arg(2, "keepdim", False))


def _with_place(build: Callable[..., Value], search: Callable[..., Value]) -> Handler:
    """max and min: of all, or along an axis with where it is."""

    def run(call: Call) -> Any:
        x = call.x()
        if len(call.args) == 1:
            return build(x)
        axis, keep = axis_of(call.args[1], x.rank), call.arg(2, "keepdim", False)
        return build(x, axis, keep), search(x, axis, keep)

    return run


def _arg(search: Callable[..., Value]) -> Handler:
    return lambda call: search(call.x(), call.arg(1, "dim"), call.arg(2, "keepdim", False))


def _var(call: Call) -> Value:
    return ops.var(
        call.x(), _axes(call.arg(1, "dim")), _freedom(call), call.kwargs.get("keepdim", call.arg(3, "keepdim", False))
    )


def _freedom(call: Call) -> int:
    correction = call.kwargs.get("correction", 1)
    if isinstance(call.arg(2, "unbiased"), bool) and "correction" not in call.kwargs:
        return int(call.arg(2, "unbiased"))
    return 1 if correction is None else int(correction)


def _var_mean(call: Call) -> tuple[Value, Value]:
    x, axes, keep = call.x(), _axes(call.arg(1, "dim")), call.kwargs.get("keepdim", False)
    return ops.var(x, axes, _freedom(call), keep), ops.mean(x, axes, keepdims=keep)


def _softmax(build: Callable[..., Value]) -> Handler:
    return lambda call: build(operand(call.x(), call.dtype), call.args[1])


def _cumsum(call: Call) -> Value:
    x = call.x()
    return ops.cumsum(x, call.args[1], call.dtype) if x.rank else ops.cast(x, call.dtype)


def _log_sum_exp(call: Call) -> Value:
    total = log_sum_exp(call.x(), _axes(call.args[1]))
    return total if call.arg(2, "keepdim", False) else ops.reshape(total, call.shape)


def _norm(call: Call) -> Value:
    p = call.arg(1, "ord", 2)
    return _normed(call.x(), 2 if p is None else p, _axes(call.arg(2, "dim")), call.arg(3, "keepdim", False))


def _normed(x: Value, p: float, axes: Any, keep: bool) -> Value:
    if p == 2:
        return ops.sqrt(ops.sum(ops.mul(x, x), axes, keepdims=keep))
    if p == 1:
        return ops.sum(ops.abs(x), axes, keepdims=keep)
    if p == 0:
        return ops.sum(ops.cast(ops.not_equal(x, 0), x.dtype), axes, keepdims=keep)
    if math.isinf(p):
        return (ops.max if p > 0 else ops.min)(ops.abs(x), axes, keep)
    return ops.pow(ops.sum(ops.pow(ops.abs(x), float(p)), axes, keepdims=keep), 1 / float(p))


def _distances(call: Call) -> Value:
    """Of every row of one tensor from every row of another."""
    apart = ops.sub(ops.expand_dims(call.x(0), -2), ops.expand_dims(call.x(1), -3))
    return _normed(apart, call.args[2], -1, False)


def _counts(call: Call) -> Value:
    """How many elements lie in each of equal bins between two numbers, the upper one with the last bin."""
    x, bins = ops.ravel(call.x()), call.arg(1, "bins", 100)
    low, high = call.arg(2, "min", 0), call.arg(3, "max", 0)
    if not low < high:
        raise GraphError("bins between the smallest and the largest element: give both ends")
    exact = ops.cast(x, "f64")
    place = ops.floor(ops.mul(ops.sub(exact, float(low)), bins / (high - low)))
    place = ops.minimum(place, float(bins - 1))
    place = ops.where(ops.logical_and(ops.greater_equal(exact, low), ops.less_equal(exact, high)), place, -1.0)
    here = ops.equal(ops.cast(ops.iota((bins, 1), 0), "f64"), place)
    return ops.cast(ops.sum(ops.cast(here, "i64"), 1), call.dtype)


def _grouped_product(call: Call) -> Value:
    """Rows times the matrix of their group: group g has the rows up to the g-th end. Every matrix meets every row."""
    x, matrices, ends = call.x(0), call.x(1), call.arg(2, "offs")
    count = matrices.shape[0]
    if x.rank != 2 or matrices.rank != 3 or ends is None or not isinstance(count, int) or count > _MOST_GROUPS:
        raise GraphError(f"groups are rows, each times one of at most {_MOST_GROUPS} matrices")
    number = ops.iota((x.shape[0], 1), 0)

    def product(group: int) -> Value:
        after = ops.less(number, ops.cast(ends[group], "i64"))
        inside = after if group == 0 else ops.logical_and(after, ops.greater_equal(number, ends[group - 1]))
        # A row of another group may hold anything, also what is no number: it is left out, not multiplied by 0.
        return ops.matmul(ops.where(inside, x, ops.zeros_like(x)), matrices[group])

    return reduce(ops.add, map(product, range(count)))


def _product(call: Call) -> Value:
    return ops.matmul(call.x(0), call.x(1))


def _addmm(call: Call) -> Value:
    bias, a, b = (call.x(at) for at in range(3))
    beta, alpha = call.kwargs.get("beta", 1), call.kwargs.get("alpha", 1)
    total = ops.matmul(a, b)
    total = total if alpha == 1 else ops.mul(total, alpha)
    return ops.add(total, bias if beta == 1 else ops.mul(bias, beta))


REDUCTIONS: dict[str, Handler] = {
    "sum": _typed(ops.sum), "mean": _typed(ops.mean), "prod": _typed(ops.prod), "amax": _plain(ops.max),
    "amin": _plain(ops.min), "any": _plain(ops.any), "all": _plain(ops.all), "max": _with_place(ops.max, ops.argmax),
    "min": _with_place(ops.min, ops.argmin), "argmax": _arg(ops.argmax), "argmin": _arg(ops.argmin), "var": _var,
    "var_mean": _var_mean,
    "std": lambda call: ops.sqrt(_var(call)),
    "softmax": _softmax(ops.softmax), "_softmax": _softmax(ops.softmax),
    "log_softmax": _softmax(ops.log_softmax), "_log_softmax": _softmax(ops.log_softmax), "cumsum": _cumsum,
    "logsumexp": _log_sum_exp, "linalg_vector_norm": _norm, "mm": _product, "bmm": _product, "matmul": _product,
    "mv": _product, "dot": _product, "addmm": _addmm, "baddbmm": _addmm,
    "linear": lambda call: ops.linear(call.x(0), call.x(1), call.arg(2, "bias")),
    "einsum": lambda call: einsum(call.args[0], call.args[1]),
    "_cdist_forward": _distances, "cdist": _distances, "histc": _counts, "_grouped_mm": _grouped_product,
    "grouped_mm_fallback": _grouped_product,
}  # fmt: skip
