"""Images at other sizes, and at places that are computed: Resize, Upsample, GridSample, RoiAlign."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.dims import Dim
from compiler.graph.value import Value
from compiler.importers.compose import resize
from compiler.importers.compose.functions import kind
from compiler.importers.onnx.node import Handler, Node, axis_of


def _resize(node: Node) -> Value:
    x = node.x()
    if node.opset < 11:
        scales = [float(s) for s in node.known(1).ravel()]
        return _scaled(node, x, list(range(x.rank)), scales, None, "asymmetric", "floor")
    axes = [axis_of(a, x.rank) for a in node.attr("axes", range(x.rank))]
    sizes = node.sizes(3) if node.has(3) and node.known(3).size else None
    scales = [float(s) for s in node.known(2).ravel()] if node.has(2) and node.known(2).size else None
    return _scaled(node, x, axes, scales, sizes, node.attr("coordinate_transformation_mode", "half_pixel"),
                   node.attr("nearest_mode", "round_prefer_floor"))  # fmt: skip


def _upsample(node: Node) -> Value:
    x = node.x()
    scales = [float(s) for s in (node.known(1).ravel() if node.has(1) else node.need("scales"))]
    return _scaled(node, x, list(range(x.rank)), scales, None, "asymmetric", "floor")


def _scaled(node: Node, x: Value, axes: list[int], scales: list[float] | None, sizes: list[Any] | None, how: str,
            rounding: str) -> Value:  # fmt: skip
    mode = node.attr("mode", "nearest")
    if mode not in ("nearest", "linear", "cubic"):
        raise GraphError(f"the mode {mode!r} is not nearest, linear or cubic")
    if scales is None and sizes is None:
        raise GraphError("neither scales nor sizes are given")
    if (sizes is not None and len(sizes) != len(axes)) or (scales is not None and len(scales) != len(axes)):
        raise GraphError(f"scales or sizes for {len(axes)} axes")
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    if sizes is not None:
        scales = [1.0 if s == x.shape[a] else s / _known(x, a) for a, s in zip(axes, sizes, strict=True)]
        if policy != "stretch":
            one = (min if policy == "not_larger" else max)(scales)
            scales = [one] * len(axes)
            sizes = [math.floor(one * _known(x, a) + 0.5) for a in axes]
    assert scales is not None
    roi = [float(r) for r in node.known(1).ravel()] if node.opset >= 11 and how == "tf_crop_and_resize" else None
    outside: Any = None
    dtype = x.dtype
    work = x if kind(x) == "f" or mode == "nearest" else ops.cast(x, "f64")
    for at, (axis, scale) in enumerate(zip(axes, scales, strict=True)):
        crop = None if roi is None else (roi[at], roi[len(axes) + at])
        wanted = None if sizes is None else sizes[at]
        if ((wanted is None and scale == 1.0) or (wanted is not None and wanted == x.shape[axis])) and crop in (
            None,
            (0.0, 1.0),
        ):
            continue
        if isinstance(x.shape[axis], Dim):
            work = _repeated(work, axis, scale, mode)
            continue
        work, out = _one_axis(node, work, axis, scale, wanted, how, rounding, mode, crop)
        if out is not None and out.any():
            mark = ops.constant(out.reshape(-1, *(1,) * (x.rank - axis - 1)))
            outside = mark if outside is None else ops.logical_or(outside, mark)
    if outside is not None:
        work = ops.where(outside, ops.cast(ops.constant(node.attr("extrapolation_value", 0.0)), work.dtype), work)
    return ops.cast(work, dtype)


def _known(x: Value, axis: int) -> int:
    size = x.shape[axis]
    if isinstance(size, Dim) or size == 0:
        raise GraphError(f"axis {axis} of {x!r} must have a known size to be resized")
    return size


def _repeated(x: Value, axis: int, scale: float, mode: str) -> Value:
    if mode != "nearest" or scale != int(scale):
        raise GraphError(f"axis {axis} of {x!r} must have a known size to be resized by {scale}")
    return ops.repeat(x, int(scale), axis)


def _one_axis(node: Node, x: Value, axis: int, scale: float, wanted: Any, how: str, rounding: str, mode: str,
              crop: tuple[float, float] | None) -> tuple[Value, np.ndarray | None]:  # fmt: skip
    """One axis resized, and which results lie outside of the image."""
    size = _known(x, axis)
    count = int(wanted) if wanted is not None else math.floor(size * scale)
    if count < 0 or count > 1 << 16 or size > 1 << 16:
        raise GraphError(f"an axis resized from {size} to {count} is too large")
    places, outside = _places(np.arange(count, dtype=np.float64), size, scale, count, how, crop)
    if mode == "nearest":
        return resize.nearest(x, axis, _rounded(places, rounding)), outside
    shrinks = min(scale, 1.0) if node.attr("antialias", 0) else 1.0
    a = node.attr("cubic_coeff_a", -0.75)
    index, weights = resize.neighbours(places, size, mode, a, shrinks, not node.attr("exclude_outside", 0))
    return resize.interpolated(x, axis, index, weights), outside


def _places(i: np.ndarray, size: int, scale: float, count: int, how: str,
            crop: tuple[float, float] | None) -> tuple[np.ndarray, np.ndarray | None]:  # fmt: skip
    """Where in the image each result lies."""
    length = scale * size
    if how == "align_corners":
        return (np.zeros_like(i) if length == 1 else i * (size - 1) / (length - 1)), None
    if how == "asymmetric":
        return i / scale, None
    if how in ("half_pixel", "pytorch_half_pixel", "tf_half_pixel_for_nn"):
        places = (i + 0.5) / scale - 0.5
        if how == "tf_half_pixel_for_nn":
            return (i + 0.5) / scale, None
        return (np.full_like(i, -0.5) if how == "pytorch_half_pixel" and length == 1 else places), None
    if how == "half_pixel_symmetric":
        return size / 2 * (1 - count / length) + (i + 0.5) / scale - 0.5, None
    if how == "tf_crop_and_resize":
        start, stop = crop or (0.0, 1.0)
        if length == 1:
            places = np.full_like(i, (stop - start) * (size - 1) / 2)
        else:
            places = i * (stop - start) * (size - 1) / (length - 1)
        places = places + start * (size - 1)
        return places, (places < 0) | (places > size - 1)
    raise GraphError(f"the coordinates {how!r} are not known")


def _rounded(places: np.ndarray, how: str) -> np.ndarray:
    if how == "round_prefer_floor":
        return np.ceil(places - 0.5)
    if how == "round_prefer_ceil":
        return np.floor(places + 0.5)
    if how in ("floor", "ceil"):
        return np.floor(places) if how == "floor" else np.ceil(places)
    raise GraphError(f"the rounding {how!r} is not known")


_SAMPLING = {"bilinear": "linear", "linear": "linear", "nearest": "nearest", "bicubic": "cubic", "cubic": "cubic"}


def _grid_sample(node: Node) -> Value:
    x, grid = node.x(), node.x(1)
    mode = node.attr("mode", "linear" if node.opset >= 20 else "bilinear")
    if mode not in _SAMPLING:
        raise GraphError(f"the mode {mode!r} is not linear, nearest or cubic")
    aligned = bool(node.attr("align_corners", 0))
    return resize.grid_sampled(x, grid, _SAMPLING[mode], node.attr("padding_mode", "zeros"), aligned)


def _roi_align(node: Node) -> Value:
    """Means (or maxima) of samples in a grid of bins over each region."""
    x, rois, batch = node.x(), node.x(1), node.x(2)
    height, width = _known(x, 2), _known(x, 3)
    rows, columns = node.attr("output_height", 1), node.attr("output_width", 1)
    ratio, scale = node.attr("sampling_ratio", 0), node.attr("spatial_scale", 1.0)
    if ratio < 1:
        raise GraphError("a sampling_ratio of 0 depends on the regions; give one of at least 1")
    half = node.attr("coordinate_transformation_mode", "half_pixel" if node.opset >= 16 else "output_half_pixel")
    shift = 0.5 if half == "half_pixel" else 0.0
    edges = [ops.sub(ops.mul(rois[:, at], scale), shift) for at in range(4)]  # x1, y1, x2, y2
    sizes = [ops.sub(edges[2], edges[0]), ops.sub(edges[3], edges[1])]
    if half != "half_pixel":
        sizes = [ops.maximum(s, 1.0) for s in sizes]
    images = ops.gather(x, batch, 0)  # (R, C, H, W)
    regions = rois.shape[0]
    lines = []
    for start, size, bins, limit in ((edges[1], sizes[1], rows, height), (edges[0], sizes[0], columns, width)):
        steps = (np.arange(bins * ratio) + 0.5) / (bins * ratio)
        place = ops.add(ops.expand_dims(start, 1), ops.mul(ops.expand_dims(size, 1), ops.constant(steps, x.dtype)))
        inside = ops.logical_and(ops.greater_equal(place, -1.0), ops.less_equal(place, float(limit)))
        lines.append((ops.clip(place, 0.0, limit - 1.0), inside))
    down, across = rows * ratio, columns * ratio
    shape = (regions, down, across)
    places = [ops.reshape(ops.broadcast_to(ops.expand_dims(p, 2 - at), shape), (regions, down * across))
              for at, (p, _) in enumerate(lines)]  # fmt: skip
    inside = ops.logical_and(ops.expand_dims(lines[0][1], 2), ops.expand_dims(lines[1][1], 1))
    weight = ops.cast(ops.reshape(inside, (regions, 1, down * across)), x.dtype)
    mode = node.attr("mode", "avg")
    if mode not in ("avg", "max"):
        raise GraphError(f"the mode {mode!r} is not avg or max")
    join = ops.add if mode == "avg" else ops.maximum  # of the largest also among a sample's weighted neighbours
    values = ops.mul(resize.sampled(images, places, "linear", "border", True, join), weight)
    grouped = ops.reshape(values, (regions, x.shape[1], rows, ratio, columns, ratio))
    return ops.mean(grouped, (3, 5)) if mode == "avg" else ops.max(grouped, (3, 5))


RESIZING: dict[str, Handler] = {
    "Resize": _resize, "Upsample": _upsample, "GridSample": _grid_sample, "RoiAlign": _roi_align,
}  # fmt: skip
