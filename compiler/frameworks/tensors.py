"""Calling a program again on PyTorch tensors like those of the call before: only their addresses are asked for.

Seeing a tensor as a NumPy array takes PyTorch longer than a small model runs; its address, dtype and shape do not.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class TensorsLike:
    """What a call's tensors must be: of these types, on one device, each with its dtype, shape and slot (or -1).

    Inputs come first, then results; `read` and `written` are the slots of each with the bytes that lie there.
    """

    types: tuple[type, ...]
    device: int  # the number of a CUDA device, -1 for the CPU
    tensors: tuple[tuple[Any, tuple[int, ...], int], ...]
    read: tuple[tuple[int, int], ...]
    written: tuple[tuple[int, int], ...]


def tensors_like(
    inputs: Sequence[Any], results: Sequence[Any], slots: Sequence[int | None], device: int = -1
) -> TensorsLike | None:
    """A description of plain, contiguous tensors of one device; None where there are others among them."""
    tensors = (*inputs, *results)
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return None
    types = (torch.Tensor, torch.nn.Parameter)
    described = tuple(
        (getattr(tensor, "dtype", None), tuple(getattr(tensor, "shape", ())), -1 if slot is None else slot)
        for tensor, slot in zip(tensors, slots, strict=True)
    )
    placed = [(-1 if slot is None else slot, getattr(tensor, "nbytes", 0)) for tensor, slot in zip(tensors, slots)]
    read = tuple(place for place in placed[: len(inputs)] if place[0] >= 0)
    like = TensorsLike(types, device, described, read, tuple(placed[len(inputs) :]))
    return like if bind_tensors(like, tensors, {}) else None


def bind_tensors(like: TensorsLike, tensors: Sequence[Any], table: Any) -> bool:
    """Put the tensors' addresses into a table; False where one is not as described, and the table then half filled."""
    if len(tensors) != len(like.tensors):
        return False
    device, types = like.device, like.types
    for tensor, (dtype, shape, slot) in zip(tensors, like.tensors):
        if (
            type(tensor) not in types
            or tensor.dtype is not dtype
            or tensor.shape != shape
            or not (tensor.is_cpu if device < 0 else tensor.is_cuda and tensor.get_device() == device)
            or not tensor.is_contiguous()
            or tensor.is_neg()
        ):
            return False
        if slot >= 0:
            table[slot] = tensor.data_ptr()
    return True


def overlapping(like: TensorsLike, table: Any) -> bool:
    """Whether a result lies over an input or another result, by the addresses in a table."""
    before = [(table[slot], table[slot] + size) for slot, size in like.read]
    for slot, size in like.written:
        start = table[slot]
        end = start + size
        for other, other_end in before:
            if start < other_end and other < end:
                return True
        before.append((start, end))
    return False
