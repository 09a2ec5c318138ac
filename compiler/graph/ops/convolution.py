"""Convolution and pooling over images, NCHW, with torch.nn.functional's arguments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from compiler.errors import GraphError
from compiler.graph.broadcasting import common_dtype
from compiler.graph.dims import Dim, floordiv
from compiler.graph.dtypes import dtype_info, float_result
from compiler.graph.location import builder
from compiler.graph.ops.binary import add
from compiler.graph.ops.build import Operand, as_tensor, emit, reshaped, tensors, to_dtype
from compiler.graph.ops.specs import define
from compiler.graph.opspec import Shapes
from compiler.graph.rules import FLOATS, NUMBERS, Attrs, Infer, check_dtype, check_rank, refuse
from compiler.graph.types import Shape, Size, TensorType, format_shape
from compiler.graph.value import Value

__all__ = ["avg_pool2d", "conv2d", "max_pool2d"]


def _window(op: str, x: Shape, attrs: Attrs, kernel: Sequence[Size]) -> Shape:
    """The height and width that a window of `kernel` leaves."""
    sizes: list[Size] = []
    dilations = attrs.get("dilation") or (1, 1)
    given = (("stride", attrs["stride"], 1), ("padding", attrs["padding"], 0), ("dilation", dilations, 1))
    for name, values, low in given:
        if len(values) != 2 or any(v < low for v in values):
            refuse(op, f"{name} must be two numbers of at least {low}, not {format_shape(values)}")
    for at in range(2):
        span = dilations[at] * (kernel[at] - 1) + 1
        padding = attrs["padding"][at]
        room = x[at - 2] + 2 * padding - span
        if isinstance(room, int) and room < 0:
            refuse(op, f"a window of {span} does not fit in shape {format_shape(x)} with padding {padding}")
        sizes.append(floordiv(room, attrs["stride"][at]) + 1)
    return tuple(sizes)


def _conv2d_rule(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """NCHW by OIHW, with groups."""
    op, (x, w) = "mo.conv2d", types
    groups = attrs["groups"]
    n, channels, *_ = check_rank(op, x, 4, "the input (NCHW)")
    out, per_group, *kernel = check_rank(op, w, 4, "the weight (OIHW)")
    if x.dtype != w.dtype:
        refuse(op, f"operand dtypes {x.dtype} and {w.dtype} differ")
    check_dtype(op, x.dtype, NUMBERS)
    if groups < 1 or out % groups != 0:
        refuse(op, f"groups={groups} does not divide the {out} output channels")
    if channels != per_group * groups:
        refuse(op, f"the input has {channels} channels, the weight {format_shape(w.shape)} with groups={groups} "
                   f"wants {per_group * groups}")  # fmt: skip
    if any(k == 0 for k in kernel):
        refuse(op, f"the weight {format_shape(w.shape)} has an empty window")
    return (TensorType.of(x.dtype, (n, out, *_window(op, x.shape, attrs, kernel))),)


def _pool2d_rule(op: str, allowed: frozenset[str]) -> Infer:
    """A window over the last two axes of NCHW; the padding is at most half the window, so none is all padding."""

    def infer(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
        (x,) = types
        check_rank(op, x, 4, "the input (NCHW)")
        check_dtype(op, x.dtype, allowed)
        kernel = attrs["kernel"]
        if len(kernel) != 2 or any(k < 1 for k in kernel):
            refuse(op, f"kernel must be two numbers of at least 1, not {format_shape(kernel)}")
        sizes = _window(op, x.shape, attrs, kernel)
        if any(2 * p > k for p, k in zip(attrs["padding"], kernel, strict=True)):
            refuse(op, f"padding {format_shape(attrs['padding'])} is more than half the kernel {format_shape(kernel)}")
        return (TensorType.of(x.dtype, (*x.shape[:2], *sizes)),)

    return infer


def _pool_flops(s: Shapes) -> int:
    return s.elements * math.prod(s.attrs["kernel"])


_WINDOW = {"stride": "ints", "padding": "ints"}
define(
    "conv2d", _conv2d_rule, 2, attrs={**_WINDOW, "dilation": "ints", "groups": "int"},
    flops=lambda s: 2 * s.elements * math.prod(s.operands[1][1:]),
)  # fmt: skip
define(
    "max_pool2d", _pool2d_rule("mo.max_pool2d", NUMBERS), attrs={"kernel": "ints", **_WINDOW, "dilation": "ints"},
    flops=_pool_flops,
)  # fmt: skip
define(
    "avg_pool2d", _pool2d_rule("mo.avg_pool2d", FLOATS),
    attrs={"kernel": "ints", **_WINDOW, "count_include_pad": "bool"}, flops=_pool_flops,
)  # fmt: skip


Pair = int | tuple[int, int]


def _pair(op: str, what: str, value: Any) -> tuple[int, int]:
    pair = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    pair = pair * 2 if len(pair) == 1 else pair
    if len(pair) != 2 or not all(isinstance(v, int) and not isinstance(v, bool) for v in pair):
        raise GraphError(f"{op}: {what} must be a whole number or a pair of them, not {value!r}")
    return pair  # type: ignore[return-value]


def _batched(op: str, x: Value) -> Value:
    if x.rank not in (3, 4):
        raise GraphError(f"{op}: the input must be NCHW or CHW, not shape {format_shape(x.shape)}")
    return x if x.rank == 4 else reshaped(x, (1, *x.shape))


def _unbatched(result: Value, rank: int) -> Value:
    return result if rank == 4 else reshaped(result, result.shape[1:])


@builder
def conv2d(
    x: Operand,
    weight: Operand,
    bias: Operand | None = None,
    stride: Pair = 1,
    padding: Pair | str = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Value:
    """A convolution (cross-correlation) of NCHW by OIHW; `padding` may be "valid" or "same".

    >>> ops.conv2d(image, np.ones((8, 3, 3, 3), np.float32), stride=2, padding=1)
    <conv2d_0: f32 (N, 8, 16, 16)>
    """
    op = "conv2d"
    value, w = tensors(op, x, weight)
    strides, dilations = _pair(op, "stride", stride), _pair(op, "dilation", dilation)
    if w.rank != 4:
        raise GraphError(f"{op}: the weight must be OIHW, not shape {format_shape(w.shape)}")
    if isinstance(groups, bool) or not isinstance(groups, int):
        raise GraphError(f"{op}: groups must be a whole number, not {groups!r}")
    image = _batched(op, value)
    dtype = common_dtype([value.dtype, w.dtype], ())
    if dtype == "bool":
        raise GraphError(f"{op}: not defined on bool")
    image, w = to_dtype(image, dtype), to_dtype(w, dtype)
    if isinstance(padding, str):
        image, pads = _named_padding(image, w, padding, strides, dilations)
    else:
        pads = _pair(op, "padding", padding)
    attrs = {"stride": strides, "padding": pads, "dilation": dilations, "groups": groups}
    result = emit(op, (image, w), attrs)
    if bias is not None:
        b = as_tensor(op, bias, result.graph)
        if b.shape != (w.shape[0],):
            raise GraphError(
                f"{op}: the bias must have shape {format_shape((w.shape[0],))}, not {format_shape(b.shape)}"
            )
        result = add(result, reshaped(b, (1, w.shape[0], 1, 1)))
    return _unbatched(result, value.rank)


def _named_padding(
    image: Value, w: Value, padding: str, strides: tuple[int, int], dilations: tuple[int, int]
) -> tuple[Value, tuple[int, int]]:
    """torch's two words; "same" with an even window puts the odd one out after."""
    if padding == "valid":
        return image, (0, 0)
    if padding != "same":
        raise GraphError(f"conv2d: padding must be numbers, 'valid' or 'same', not {padding!r}")
    if strides != (1, 1):
        raise GraphError("conv2d: padding='same' goes with stride 1 only")
    if any(isinstance(k, Dim) for k in w.shape[2:]):
        raise GraphError("conv2d: padding='same' needs a window of known size")
    spans: list[Any] = [d * (k - 1) for d, k in zip(dilations, w.shape[2:], strict=True)]
    if all(s % 2 == 0 for s in spans):
        return image, (spans[0] // 2, spans[1] // 2)
    low, high = (0, 0, *(s // 2 for s in spans)), (0, 0, *(s - s // 2 for s in spans))
    zero = 0.0 if dtype_info(image.dtype).kind == "f" else 0
    return emit("pad", (image,), {"low": low, "high": high, "value": zero}), (0, 0)


def _pool(op: str, x: Operand, kernel: Pair, stride: Pair | None, padding: Pair, ceil_mode: bool, **more: Any) -> Value:
    (value,) = tensors(op, x)
    if ceil_mode:
        raise GraphError(f"{op}: ceil_mode=True is not supported; pad the input instead")
    size = _pair(op, "kernel_size", kernel)
    strides = size if stride is None or stride == () else _pair(op, "stride", stride)
    image = _batched(op, value)
    if op == "avg_pool2d":
        image = to_dtype(image, float_result(image.dtype))
    elif image.dtype == "bool":
        raise GraphError(f"{op}: not defined on bool")
    attrs = {"kernel": size, "stride": strides, "padding": _pair(op, "padding", padding), **more}
    return _unbatched(emit(op, (image,), attrs), value.rank)


@builder
def max_pool2d(
    x: Operand,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    dilation: Pair = 1,
    ceil_mode: bool = False,
) -> Value:
    """The largest in each window; the stride defaults to the window.

    >>> ops.max_pool2d(image, 2)
    <max_pool2d_0: f32 (N, 3, 16, 16)>
    """
    spread = _pair("max_pool2d", "dilation", dilation)
    return _pool("max_pool2d", x, kernel_size, stride, padding, ceil_mode, dilation=spread)


@builder
def avg_pool2d(
    x: Operand,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Value:
    """The mean of each window; padding counts as zeros unless told not to.

    >>> ops.avg_pool2d(image, 3, stride=2, padding=1)
    <avg_pool2d_0: f32 (N, 3, 16, 16)>
    """
    return _pool("avg_pool2d", x, kernel_size, stride, padding, ceil_mode, count_include_pad=bool(count_include_pad))
