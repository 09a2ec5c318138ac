"""References of products: matmul and conv2d."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.reference.precision import widely


def windows(x: np.ndarray, kernel: tuple[int, int], stride: tuple[int, int], dilation: tuple[int, int]) -> np.ndarray:
    """Every window of the last two axes of NCHW `x`: [N, C, out H, out W, kernel H, kernel W]."""
    reach = tuple(d * (k - 1) + 1 for d, k in zip(dilation, kernel))
    if x.shape[2] < reach[0] or x.shape[3] < reach[1]:
        counts = (max((size - r) // s + 1, 0) for size, r, s in zip(x.shape[2:], reach, stride))
        return np.empty((*x.shape[:2], *counts, *kernel), dtype=x.dtype)
    every = np.lib.stride_tricks.sliding_window_view(x, reach, axis=(2, 3))
    return every[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]


def frame(x: np.ndarray, padding: tuple[int, int], value: Any) -> np.ndarray:
    """NCHW `x` with `padding` rows and columns of `value` on each side."""
    rows, columns = padding
    return np.pad(x, ((0, 0), (0, 0), (rows, rows), (columns, columns)), constant_values=value)


def conv2d(
    x: np.ndarray,
    w: np.ndarray,
    *,
    stride: tuple[int, int] = (1, 1),
    padding: tuple[int, int] = (0, 0),
    dilation: tuple[int, int] = (1, 1),
    groups: int = 1,
) -> np.ndarray:
    """NCHW cross-correlation with weights [out, in/groups, kernel H, kernel W]."""
    n, outputs = x.shape[0], w.shape[0]
    seen = windows(frame(x, padding, 0), (w.shape[2], w.shape[3]), stride, dilation)
    height, width = seen.shape[2:4]
    # [groups, N*H*W, in/groups * kernel] @ [groups, in/groups * kernel, out/groups]
    columns = seen.reshape(n, groups, w.shape[1], height, width, *w.shape[2:])
    depth = w.shape[1] * w.shape[2] * w.shape[3]  # written out: of nothing, NumPy cannot tell what -1 would be
    columns = columns.transpose(1, 0, 3, 4, 2, 5, 6).reshape(groups, n * height * width, depth)
    filters = w.reshape(groups, outputs // groups, depth).transpose(0, 2, 1)
    product = np.matmul(columns, filters).reshape(groups, n, height, width, outputs // groups)
    return product.transpose(1, 0, 4, 2, 3).reshape(n, outputs, height, width)


LINALG: dict[str, Callable[..., Any]] = {
    "mo.matmul": widely(np.matmul),  # integers wrap around
    "mo.conv2d": widely(conv2d),
}
