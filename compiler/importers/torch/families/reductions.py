"""ATen reductions, products of matrices, and what works along one axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.graph import ops
from compiler.graph.value import Value
from compiler.importers.compose.einsum import einsum
from compiler.importers.torch.call import Call, Handler, axis_of
from compiler.importers.torch.families.elements import operand


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


def _std(call: Call) -> Value:
    return ops.sqrt(_var(call))


def _softmax(build: Callable[..., Value]) -> Handler:
    return lambda call: build(operand(call.x(), call.dtype), call.args[1])


def _cumsum(call: Call) -> Value:
    x = call.x()
    return ops.cumsum(x, call.args[1], call.dtype) if x.rank else ops.cast(x, call.dtype)


def _log_sum_exp(call: Call) -> Value:
    x, axes, keep = call.x(), _axes(call.args[1]), call.arg(2, "keepdim", False)
    most = ops.max(x, axes, True)
    most = ops.where(ops.isinf(most), ops.zeros_like(most), most)
    total = ops.add(ops.log(ops.sum(ops.exp(ops.sub(x, most)), axes, keepdims=True)), most)
    return total if keep else ops.reshape(total, call.shape)


def _norm(call: Call) -> Value:
    x, p, axes = call.x(), call.arg(1, "ord", 2), _axes(call.arg(2, "dim"))
    keep = call.arg(3, "keepdim", False)
    p = 2 if p is None else p
    if p == 2:
        return ops.sqrt(ops.sum(ops.mul(x, x), axes, keepdims=keep))
    if p == 1:
        return ops.sum(ops.abs(x), axes, keepdims=keep)
    return ops.pow(ops.sum(ops.pow(ops.abs(x), float(p)), axes, keepdims=keep), 1 / float(p))


def _product(call: Call) -> Value:
    return ops.matmul(call.x(0), call.x(1))


def _addmm(call: Call) -> Value:
    bias, a, b = (call.x(at) for at in range(3))
    beta, alpha = call.kwargs.get("beta", 1), call.kwargs.get("alpha", 1)
    total = ops.matmul(a, b)
    total = total if alpha == 1 else ops.mul(total, alpha)
    return ops.add(total, bias if beta == 1 else ops.mul(bias, beta))


def _linear(call: Call) -> Value:
    return ops.linear(call.x(0), call.x(1), call.arg(2, "bias"))


def _einsum(call: Call) -> Value:
    return einsum(call.args[0], call.args[1])


REDUCTIONS: dict[str, Handler] = {
    "sum": _typed(ops.sum), "mean": _typed(ops.mean), "prod": _typed(ops.prod), "amax": _plain(ops.max),
    "amin": _plain(ops.min), "any": _plain(ops.any), "all": _plain(ops.all), "max": _with_place(ops.max, ops.argmax),
    "min": _with_place(ops.min, ops.argmin), "argmax": _arg(ops.argmax), "argmin": _arg(ops.argmin), "var": _var,
    "var_mean": _var_mean, "std": _std, "softmax": _softmax(ops.softmax), "_softmax": _softmax(ops.softmax),
    "log_softmax": _softmax(ops.log_softmax), "_log_softmax": _softmax(ops.log_softmax), "cumsum": _cumsum,
    "logsumexp": _log_sum_exp, "linalg_vector_norm": _norm, "mm": _product, "bmm": _product, "matmul": _product,
    "mv": _product, "dot": _product, "addmm": _addmm, "baddbmm": _addmm, "linear": _linear, "einsum": _einsum,
}  # fmt: skip
