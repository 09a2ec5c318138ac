"""ATen ops with indices that are data: gather, scatter, tensors as subscripts."""

from __future__ import annotations

from typing import Any

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.broadcasting import broadcast_shapes
from compiler.graph.dims import product
from compiler.graph.value import Value
from compiler.importers.compose.functions import size_value
from compiler.importers.compose.places import (
    as_number,
    gather_along,
    scatter_along,
    scatter_coordinates,
    top_k,
    wrapped,
)
from compiler.importers.torch.call import Call, Handler, axis_of
from compiler.importers.torch.families.elements import operand


def _index_select(call: Call) -> Value:
    x = call.x()
    return ops.gather(x, call.x(2), axis_of(call.args[1], x.rank))


def _gather(call: Call) -> Value:
    x = call.x()
    return gather_along(x, call.x(2), axis_of(call.args[1], x.rank))


def _joined(x: Value, indices: list[Value | None]) -> tuple[Value, int, list[int]]:
    """Several index tensors as one into the product of their axes."""
    axes = [at for at, index in enumerate(indices) if index is not None]
    shape = broadcast_shapes(*[indices[at].shape for at in axes], op="index")  # type: ignore[union-attr]
    place: Any = None
    for at in axes:
        index = indices[at]
        assert index is not None
        one = ops.broadcast_to(wrapped(index, x.shape[at]), shape)
        if place is None:
            place = one
        else:
            size = x.shape[at]
            place = ops.add(ops.mul(place, as_number(size)), one)
    return place, len(shape), axes


def _index(call: Call) -> Value:
    x, indices = call.x(), call.args[1]
    if any(i is not None and i.dtype == "bool" for i in indices):
        raise GraphError("an index by booleans gives a result whose size depends on the data")
    place, rank, axes = _joined(x, indices)
    together = axes == list(range(axes[0], axes[0] + len(axes)))
    front = axes + [at for at in range(x.rank) if at not in axes]
    moved = ops.transpose(x, front)
    flat = ops.reshape(moved, (product([x.shape[a] for a in axes]), *moved.shape[len(axes) :]))
    result = ops.gather(flat, place, 0)
    if together and axes[0]:  # neighbouring indices leave their axes where they were
        result = ops.moveaxis(result, tuple(range(rank)), tuple(range(axes[0], axes[0] + rank)))
    return result


def _index_put(call: Call) -> Value:
    x, indices, values = call.x(), call.args[1], call.x(2)
    if len(indices) == 1 and indices[0] is not None and indices[0].dtype == "bool":
        mask = indices[0]
        if values.rank:
            raise GraphError("booleans as the place of several values")
        wide = ops.reshape(mask, (*mask.shape, *(1,) * (x.rank - mask.rank)))
        return ops.where(wide, ops.cast(values, x.dtype), x)
    place, rank, axes = _joined(x, indices)
    front = axes + [at for at in range(x.rank) if at not in axes]
    moved = ops.transpose(x, front)
    rows, rest = product([x.shape[a] for a in axes]), moved.shape[len(axes) :]
    values = ops.cast(values, x.dtype)
    if axes[0] and axes == list(range(axes[0], axes[0] + len(axes))):  # neighbouring indices stay where they were
        shape = (*x.shape[: axes[0]], *place.shape, *x.shape[axes[-1] + 1 :])
        spread = ops.broadcast_to(values, shape)
        values = ops.moveaxis(spread, tuple(range(axes[0], axes[0] + rank)), tuple(range(rank)))
    else:
        values = ops.broadcast_to(values, (*place.shape, *rest))
    flat = ops.reshape(moved, (rows, *rest))
    new = ops.reshape(values, (product(place.shape), *rest))
    reduction = "add" if call.arg(3, "accumulate", False) else "none"
    done = scatter_coordinates(flat, ops.reshape(place, (product(place.shape), 1)), new, reduction)
    back = ops.reshape(done, moved.shape)
    return ops.transpose(back, [front.index(at) for at in range(x.rank)])


def _scatter(call: Call) -> Value:
    x, index, source = call.x(), call.x(2), call.args[3]
    source = source if isinstance(source, Value) else ops.full(index.shape, operand(source, x.dtype), x.dtype)
    source = ops.slice(source, [0] * source.rank, list(index.shape))
    how = {"add": "add", "multiply": "mul", "sum": "add", "prod": "mul", "amax": "max", "amin": "min"}
    reduction = call.kwargs.get("reduce") or call.arg(4, "reduce")
    return scatter_along(x, index, source, axis_of(call.args[1], x.rank), how[reduction] if reduction else "none")


def _scatter_add(call: Call) -> Value:
    x, index = call.x(), call.x(2)
    source = ops.slice(call.x(3), [0] * index.rank, list(index.shape))
    return scatter_along(x, index, source, axis_of(call.args[1], x.rank), "add")


def _index_copy(call: Call) -> Value:
    """Whole slices written to computed places along an axis."""
    x, axis, index, source = call.x(), axis_of(call.args[1], call.x().rank), call.x(2), call.x(3)
    count = source.shape[axis]
    wide = ops.reshape(ops.cast(index, "i64"), (count, *(1,) * (x.rank - axis - 1)))
    return scatter_along(x, ops.broadcast_to(wide, source.shape), source, axis)


def _slice_scatter(call: Call) -> Value:
    """A slice of x replaced."""
    x, source = call.x(), call.x(1)
    axis = axis_of(call.arg(2, "dim", 0), x.rank)
    size, count = x.shape[axis], source.shape[axis]
    start, step = call.arg(3, "start") or 0, call.arg(5, "step", 1)
    if isinstance(start, int) and start < 0:
        start = size + start
    if count == size and step == 1:
        return ops.cast(source, x.dtype)
    if step == 1:
        before = ops.slice(x, [0], [start], axes=[axis])
        after = ops.slice(x, [start + count], [None], axes=[axis])
        return ops.concat([before, ops.cast(source, x.dtype), after], axis)
    places = ops.add(ops.mul(ops.iota((count,)), step), as_number(start))
    wide = ops.reshape(places, (count, *(1,) * (x.rank - axis - 1)))
    return scatter_along(x, ops.broadcast_to(wide, source.shape), source, axis)


def _select_scatter(call: Call) -> Value:
    x, source = call.x(), call.x(1)
    axis, at = axis_of(call.args[2], x.rank), call.args[3]
    place = as_number(x.shape[axis] + at if isinstance(at, int) and at < 0 else at)
    here = ops.equal(ops.iota(x.shape, axis), place)
    return ops.where(here, ops.cast(ops.expand_dims(source, axis), x.dtype), x)


def _masked_scatter(call: Call) -> Value:
    """The elements of a source, one after the other, where a mask is true."""
    x, source = call.x(), ops.ravel(call.x(2))
    mask = ops.broadcast_to(call.x(1), x.shape)
    number = ops.cumsum(ops.cast(ops.ravel(mask), "i64"), 0)
    place = ops.maximum(ops.sub(ops.reshape(number, x.shape), 1), 0)
    return ops.where(mask, ops.gather(source, place), x)


def _embedding_bag(call: Call) -> tuple[Value, None, None, None]:
    """Sums or means of rows of a table, by bags that begin at offsets: a product with who is in which bag."""
    table, indices, offsets = (call.x(at) for at in range(3))
    mode, weights = call.arg(4, "mode", 0), call.arg(6, "per_sample_weights")
    if mode not in (0, 1) or call.arg(8, "padding_idx", -1) not in (-1, None):
        raise GraphError("bags are summed or averaged, without a padding index")
    count, last = indices.shape[0], bool(call.arg(7, "include_last_offset", False))
    starts = offsets[:-1] if last else offsets
    ends = offsets[1:] if last else ops.concat([offsets[1:], ops.reshape(size_value(count), (1,))], 0)
    number = ops.iota((1, count), 1)
    inside = ops.logical_and(ops.less_equal(starts[:, None], number), ops.less(number, ends[:, None]))
    share = ops.cast(inside, table.dtype)
    share = share if weights is None else ops.mul(share, weights)
    if mode == 1:
        size = ops.maximum(ops.sub(ends, starts), 1)
        share = ops.div(share, ops.cast(size, table.dtype)[:, None])
    return ops.matmul(share, ops.embedding(indices, table)), None, None, None


def _sort(call: Call) -> tuple[Value, Value]:
    x = call.x()
    axis = axis_of(call.arg(1, "dim", -1), x.rank)
    return top_k(x, x.shape[axis], axis, call.arg(2, "descending", False))


INDEXING: dict[str, Handler] = {
    "embedding": lambda call: ops.embedding(call.x(1), call.x(0)),
    "index_select": _index_select, "gather": _gather, "index": _index,
    "_unsafe_index": _index, "index_put": _index_put, "scatter": _scatter, "scatter_add": _scatter_add,
    "scatter_reduce": _scatter, "index_copy": _index_copy, "slice_scatter": _slice_scatter,
    "select_scatter": _select_scatter,
    "topk": lambda call: top_k(call.x(), call.args[1], call.arg(2, "dim", -1), call.arg(3, "largest", True)),
    "sort": _sort,
    "masked_scatter": _masked_scatter, "_embedding_bag": _embedding_bag,
    "_embedding_bag_forward_only": _embedding_bag,
}  # fmt: skip
