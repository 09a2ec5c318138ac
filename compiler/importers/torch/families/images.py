"""ATen ops on images and their like: padding by what is there, samples at computed places, blocks put back."""

from __future__ import annotations

from compiler.errors import GraphError
from compiler.graph.value import Value
from compiler.importers.compose import resize, windows
from compiler.importers.compose.padding import padded
from compiler.importers.torch.call import Call, Handler

_SAMPLING, _BEYOND = ("linear", "nearest", "cubic"), ("zeros", "border", "reflection")


def _padded_by(mode: str) -> Handler:
    def pad(call: Call) -> Value:
        x, flat = call.x(), call.args[1]
        for at in range(len(flat) // 2):  # the last axis first
            low, high = flat[2 * at], flat[2 * at + 1]
            if any(isinstance(width, int) and width < 0 for width in (low, high)):
                raise GraphError(f"padding {mode!r} by {low} and {high}: fewer elements than there are")
            if low != 0 or high != 0:
                x = padded(x, x.rank - 1 - at, low, high, mode)
        return x

    return pad


def _grid_sampler(call: Call) -> Value:
    x, grid, mode, beyond, aligned = call.args
    return resize.grid_sampled(x, grid, _SAMPLING[mode], _BEYOND[beyond], bool(aligned))


def _col2im(call: Call) -> Value:
    x, image, block, dilation, pads, stride = call.args
    single = x.rank == 2  # PyTorch lets the batch be left out
    wide = x[None] if single else x
    whole = windows.put_back(wide, image, block, stride, dilation, [*pads, *pads])
    return whole[0] if single else whole


IMAGES: dict[str, Handler] = {
    **{f"reflection_pad{rank}d": _padded_by("reflect") for rank in (1, 2, 3)},
    **{f"replication_pad{rank}d": _padded_by("edge") for rank in (1, 2, 3)},
    "grid_sampler_2d": _grid_sampler, "grid_sampler_3d": _grid_sampler, "grid_sampler": _grid_sampler,
    "col2im": _col2im,
}  # fmt: skip
