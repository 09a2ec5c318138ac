"""Products of matrices, einsum, determinants."""

from __future__ import annotations

from typing import Any

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.dims import Dim
from compiler.graph.value import Value
from compiler.importers.compose.einsum import einsum
from compiler.importers.compose.functions import kind
from compiler.importers.onnx.node import Handler, Node

_LARGEST_DETERMINANT = 8


def _gemm(node: Node) -> Value:
    a, b, c = node.x(0), node.x(1), node.maybe(2)
    a = ops.transpose(a) if node.attr("transA", 0) else a
    b = ops.transpose(b) if node.attr("transB", 0) else b
    alpha, beta = node.attr("alpha", 1.0), node.attr("beta", 1.0)
    product = ops.matmul(a, b)
    product = _scaled(product, alpha)
    return product if c is None else ops.add(product, _scaled(c, beta))


def _scaled(x: Value, by: float) -> Value:
    if by == 1.0:
        return x
    return ops.mul(x, by) if kind(x) == "f" else ops.cast(ops.mul(ops.cast(x, "f64"), by), x.dtype)


def _det(node: Node) -> Value:
    x = node.x()
    size: Any = x.shape[-1]
    if isinstance(size, Dim) or size != x.shape[-2] or size > _LARGEST_DETERMINANT:
        raise GraphError(f"a determinant of {x!r}; square ones up to {_LARGEST_DETERMINANT} are known")
    return _expanded(x, 0, tuple(range(size)), {})


def _expanded(x: Value, row: int, columns: tuple[int, ...], known: dict[tuple[int, ...], Value]) -> Value:
    """By the first row, each smaller determinant once."""
    if len(columns) == 1:
        return x[..., row, columns[0]]
    if columns not in known:
        total: Value | None = None
        for at, column in enumerate(columns):
            rest = columns[:at] + columns[at + 1 :]
            part = ops.mul(x[..., row, column], _expanded(x, row + 1, rest, known))
            total = part if total is None else ops.sub(total, part) if at % 2 else ops.add(total, part)
        assert total is not None
        known[columns] = total
    return known[columns]


PRODUCTS: dict[str, Handler] = {
    "MatMul": lambda node: ops.matmul(node.x(0), node.x(1)),
    "Gemm": _gemm,
    "Einsum": lambda node: einsum(node.need("equation"), node.values()),
    "Det": _det,
}  # fmt: skip
