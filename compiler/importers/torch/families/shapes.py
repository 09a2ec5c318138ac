"""ATen ops that make tensors or put the same elements under other shapes. PyTorch says what the result's shape is."""

from __future__ import annotations

from typing import Any

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.dims import Dim
from compiler.graph.value import Value
from compiler.importers.compose.functions import size_value
from compiler.importers.compose.places import as_number
from compiler.importers.torch.call import Call, Handler, axis_of
from compiler.importers.torch.families.elements import operand


def _view(call: Call) -> Value:
    return ops.reshape(call.x(), call.shape)


def _transpose(call: Call) -> Value:
    x = call.x()
    return ops.swapaxes(x, call.args[1], call.args[2]) if x.rank else x


def _cat(call: Call) -> Value:
    parts = [p for p in call.args[0] if p.shape != (0,)]  # PyTorch lets one that is empty join anything
    return ops.concat([ops.cast(p, call.dtype) for p in parts], call.arg(1, "dim", 0))


def _split(call: Call) -> list[Value]:
    x, axis = call.x(), axis_of(call.arg(2, "dim", 0), call.x().rank)
    start: Any = 0
    parts = []
    for shape in call.shapes():
        stop = start + shape[axis]
        parts.append(ops.slice(x, [start], [stop], axes=[axis]))
        start = stop
    return parts


def _slice(call: Call) -> Value:
    x = call.x()
    axis, size = axis_of(call.arg(1, "dim", 0), x.rank), x.shape[axis_of(call.arg(1, "dim", 0), x.rank)]
    start, step = call.arg(2, "start"), call.arg(4, "step", 1)
    wanted = call.shape[axis]  # which says where it ends
    if wanted == size and step == 1:
        return x
    first = 0 if start is None else start
    if isinstance(first, int) and first < 0:
        first = size + first
    return ops.slice(x, [first], [first + (wanted - 1) * step + 1], [step], [axis])


def _select(call: Call) -> Value:
    x, axis = call.x(), axis_of(call.args[1], call.x().rank)
    at = call.args[2]
    return x[(*[slice(None)] * axis, at)]


def _full(call: Call) -> Value:
    return filled(call, call.arg(1, "fill_value"))


def filled(call: Call, number: Any) -> Value:
    """One number everywhere, as the result's type has it."""
    value = operand(number, call.dtype)
    value = value if isinstance(value, Value) else ops.constant(value, call.dtype)
    return ops.broadcast_to(value, call.shape)


def _constant_fill(number: int) -> Handler:
    return lambda call: filled(call, number)


def _arange(call: Call) -> Value:
    start, step = 0, 1
    if len(call.args) == 1:
        (stop,) = call.args
    else:
        start, stop, *rest = call.args
        step = rest[0] if rest else call.kwargs.get("step", 1)
    dtype = call.dtype
    if isinstance(start, Dim):  # a range has a number in front; what comes before it is added
        return ops.add(ops.arange(0, stop - start, step, dtype), ops.cast(size_value(start), dtype))
    return ops.arange(start, stop, step, dtype)


def _pad(call: Call) -> Value:
    x, flat = call.x(), call.args[1]
    widths: list[Any] = [(0, 0)] * x.rank
    for at in range(len(flat) // 2):
        axis = x.rank - 1 - at
        low, high = flat[2 * at], flat[2 * at + 1]
        size = x.shape[axis]
        if (isinstance(low, int) and low < 0) or (isinstance(high, int) and high < 0):
            x = ops.slice(x, [max(-low, 0)], [size + min(high, 0)], axes=[axis])
            low, high = max(low, 0), max(high, 0)
        widths[axis] = (low, high)
    return ops.pad(x, widths, constant_values=call.arg(2, "value", 0) or 0)


def _diagonal(call: Call) -> Value:
    x, offset = call.x(), call.arg(1, "offset", 0)
    first, second = axis_of(call.arg(2, "dim1", 0), x.rank), axis_of(call.arg(3, "dim2", 1), x.rank)
    rest = [at for at in range(x.rank) if at not in (first, second)]
    x = ops.transpose(x, [*rest, first, second])
    rows, columns = x.shape[-2:]
    flat = ops.reshape(x, (*x.shape[:-2], rows * columns))
    step, start = columns + 1, (as_number(columns) * -offset if offset < 0 else offset)
    places = ops.add(ops.mul(ops.iota(call.shape[-1:]), as_number(step)), start)
    return ops.gather(flat, places, x.rank - 2)


def _as_strided(call: Call) -> Value:
    """Elements by their distances in memory, of a tensor that lies there as its shape says."""
    given = call.node.args[0].meta["val"]
    if not given.is_contiguous() or given.storage_offset() != 0:
        raise GraphError("as_strided of a tensor that is itself a view")
    place = call.arg(3, "storage_offset") or 0
    for axis, stride in enumerate(call.args[2]):
        place = ops.add(ops.mul(ops.iota(call.shape, axis), as_number(stride)), place)
    return ops.gather(ops.ravel(call.x()), place) if call.shape else ops.ravel(call.x())[place]


def _roll(call: Call) -> Value:
    x, shifts, axes = call.x(), call.args[1], call.arg(2, "dims", [])
    for shift, axis in zip(shifts, axes, strict=True):
        x = ops.roll(x, shift, axis)
    return x if axes else ops.roll(x, shifts[0])


def _triangle(build: Any) -> Handler:
    return lambda call: build(call.x(), call.arg(1, "diagonal", 0))


def _pixel_shuffle(call: Call) -> Value:
    x, by = call.x(), call.args[1]
    *lead, c, h, w = x.shape
    n = len(lead)
    apart = ops.reshape(x, (*lead, c // (by * by), by, by, h, w))
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return ops.reshape(ops.transpose(apart, order), call.shape)


_VIEWS = (
    "view",
    "_unsafe_view",
    "reshape",
    "unsqueeze",
    "squeeze",
    "flatten",
    "unflatten",
    "view_copy",
    "_reshape_copy",
)

_anything = _constant_fill(0)  # zeros are as good as what was there, and the same each time

SHAPES: dict[str, Handler] = {
    **dict.fromkeys(_VIEWS, _view),
    "permute": lambda call: ops.permute(call.x(), call.args[1]),
    "t": lambda call: ops.transpose(call.x()),
    "expand": lambda call: ops.broadcast_to(call.x(), call.shape),
    "transpose": _transpose, "cat": _cat,
    "stack": lambda call: ops.stack([ops.cast(p, call.dtype) for p in call.args[0]], call.arg(1, "dim", 0)),
    "split_with_sizes": _split, "split": _split, "chunk": _split, "slice": _slice,
    "select": _select, "full": _full, "full_like": _full, "zeros": _constant_fill(0), "zeros_like": _constant_fill(0),
    "ones": _constant_fill(1), "ones_like": _constant_fill(1), "new_zeros": _constant_fill(0),
    "new_ones": _constant_fill(1), "new_full": lambda call: filled(call, call.arg(2, "fill_value")),
    "fill": _full,
    "scalar_tensor": lambda call: filled(call, call.args[0]),
    "arange": _arange, "constant_pad_nd": _pad,
    "repeat": lambda call: ops.tile(call.x(), tuple(call.args[1])),
    "flip": lambda call: ops.flip(call.x(), tuple(call.args[1])),
    "roll": _roll, "tril": _triangle(ops.tril), "triu": _triangle(ops.triu), "empty": _anything,
    "pixel_shuffle": _pixel_shuffle, "diagonal": _diagonal, "as_strided": _as_strided, "empty_strided": _anything,
    "empty_permuted": _anything,
}  # fmt: skip
