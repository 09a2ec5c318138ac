"""Rules of the large ops: matmul, convolution, pooling, rotary embedding and attention."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.graph.dims import floordiv
from compiler.graph.infer.rules import FLOATS, NUMBERS, Attrs, Infer, check_dtype, check_rank, check_same, refuse
from compiler.graph.types import Shape, Size, TensorType, format_shape


def matmul(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """[..., M, K] by [..., K, N], batch axes equal."""
    a, b = types
    if a.dtype != b.dtype:
        refuse("mo.matmul", f"operand dtypes {a.dtype} and {b.dtype} differ")
    check_dtype("mo.matmul", a.dtype, NUMBERS)
    shapes = f"shapes {format_shape(a.shape)} and {format_shape(b.shape)}"
    if a.rank < 2 or a.rank != b.rank or a.shape[:-2] != b.shape[:-2]:
        refuse("mo.matmul", f"{shapes} must be matrices with equal batch axes")
    if a.shape[-1] != b.shape[-2]:
        refuse("mo.matmul", f"{shapes} do not multiply: {a.shape[-1]} columns meet {b.shape[-2]} rows")
    return (TensorType.of(a.dtype, (*a.shape[:-1], b.shape[-1])),)


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


def conv2d(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
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


def pool2d(op: str, allowed: frozenset[str]) -> Infer:
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


def rope(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """x[..., S, D] with cos and sin of shape [S, D/2]."""
    x, cos, sin = types
    check_dtype("mo.rope", x.dtype, FLOATS)
    if x.rank < 2:
        refuse("mo.rope", f"the input needs at least two axes, not shape {format_shape(x.shape)}")
    if x.shape[-1] % 2 != 0:
        refuse("mo.rope", f"the last axis of shape {format_shape(x.shape)} must be even")
    check_same("mo.rope", (TensorType.of(x.dtype, (x.shape[-2], floordiv(x.shape[-1], 2))), cos, sin))
    return (x,)


def attention(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """q[..., L, E], k[..., S, E], v[..., S, V] and a mask [..., L, S]; with GQA axis -3 of q is a multiple of k's."""
    op, (q, k, v, *mask) = "mo.scaled_dot_product_attention", types
    check_dtype(op, q.dtype, FLOATS)
    shapes = f"q {format_shape(q.shape)}, k {format_shape(k.shape)}, v {format_shape(v.shape)}"
    if not q.dtype == k.dtype == v.dtype:
        refuse(op, f"dtypes {q.dtype}, {k.dtype} and {v.dtype} differ")
    if not q.rank == k.rank == v.rank or q.rank < 2:
        refuse(op, f"{shapes} must have the same number of axes, at least two")
    if q.shape[-1] != k.shape[-1]:
        refuse(op, f"{shapes}: the last axes of q and k differ")
    if k.shape[:-1] != v.shape[:-1]:
        refuse(op, f"{shapes}: k and v differ before the last axis")
    if attrs["enable_gqa"]:
        if q.rank < 3 or q.shape[:-3] != k.shape[:-3] or k.shape[-3] == 0 or q.shape[-3] % k.shape[-3] != 0:
            refuse(op, f"{shapes}: with enable_gqa the heads of q must be a multiple of those of k")
    elif q.shape[:-2] != k.shape[:-2]:
        refuse(op, f"{shapes}: batch axes differ")
    for m in mask:
        if m.dtype not in ("bool", q.dtype):
            refuse(op, f"the mask must be bool or {q.dtype}, not {m.dtype}")
        if m.shape != (*q.shape[:-1], k.shape[-2]):
            refuse(op, f"the mask {format_shape(m.shape)} does not fit {shapes}")
        if attrs["is_causal"]:
            refuse(op, "a mask and is_causal exclude each other")
    return (TensorType.of(q.dtype, (*q.shape[:-1], v.shape[-1])),)
