"""GGUF's block formats as graph ops: the packed bytes are constants, seen as whatever dtype a field of them has.

A block's fields are slices of these views, so decoding is elementwise work that fusion puts into the kernel which reads
the weights: no decoded copy exists. The formats are those of ggml's `ggml-common.h`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from compiler.graph import ops
from compiler.graph.value import Value

Packed = Callable[[str], Value]
"""The blocks as elements of a dtype: [..., blocks, elements of a block's bytes]."""


@dataclass(frozen=True)
class Block:
    """A format: elements and bytes of a block, and [..., blocks, elements] in f32 from its bytes."""

    elements: int
    bytes: int
    decode: Callable[[Packed], Value]


def _f32(value: Value) -> Value:
    return ops.cast(value, "f32")


def _parts(packed: Value, units: dict[int, float]) -> Value:
    """[..., n] bytes as [..., parts, n] in f32: the bits under each mask, counted in its unit.

    A unit is a power of two, by which a product is exact; bytes are put beside each other before anything is computed
    of them, so that nothing has to be computed for more than one of them.
    """
    factors = ops.constant(np.array([[unit] for unit in units.values()], np.float32))
    return _f32(ops.stack([packed & mask for mask in units], axis=-2)) * factors


def _nibbles(packed: Value) -> Value:
    """[..., n] bytes as [..., 2, n]: low halves, then high ones."""
    return _parts(packed, {15: 1, 240: 1 / 16})


def _q8_0(packed: Packed) -> Value:
    """A scale and 32 whole numbers."""
    return _f32(packed("f16")[..., 0:1]) * _f32(packed("i8")[..., 2:])


def _q4_0(packed: Packed) -> Value:
    """A scale and 32 numbers of four bits, less 8: the low halves come first."""
    halves = packed("u8")[..., 2:]
    numbers = ops.reshape(_nibbles(halves), (*halves.shape[:-1], 32)) - 8.0
    return _f32(packed("f16")[..., 0:1]) * numbers


def _q4_k(packed: Packed) -> Value:
    """Eight groups of 32, each with a scale and a minimum of six bits, under a scale of each kind for all."""
    halfs, raw = packed("f16"), packed("u8")
    low, middle, high = raw[..., 4:8], raw[..., 8:12], raw[..., 12:16]
    scale = _f32(ops.concat([low & 63, (high & 15) + (low & 192) // 4], axis=-1))
    least = _f32(ops.concat([middle & 63, high // 16 + (middle & 192) // 4], axis=-1))
    lead = raw.shape[:-1]
    numbers = ops.reshape(_nibbles(ops.reshape(raw[..., 16:], (*lead, 4, 32))), (*lead, 8, 32))
    scales = ops.unsqueeze(_f32(halfs[..., 0:1]) * scale, -1)
    minima = ops.unsqueeze(_f32(halfs[..., 1:2]) * least, -1)
    return ops.reshape(scales * numbers - minima, (*lead, 256))


def _q6_k(packed: Packed) -> Value:
    """Sixteen groups of 16 numbers of six bits, less 32, each with a scale of eight bits, under one for all."""
    raw = packed("u8")
    lead = raw.shape[:-1]
    four = ops.reshape(raw[..., :128], (*lead, 2, 64))
    low = ops.reshape(_nibbles(four), (*lead, 2, 4, 32))
    two = ops.reshape(raw[..., 128:192], (*lead, 2, 32))
    high = _parts(two, {3: 16, 12: 4, 48: 1, 192: 1 / 4})
    numbers = ops.reshape(low + high - 32.0, (*lead, 16, 16))
    scales = ops.unsqueeze(_f32(packed("f16")[..., 104:]) * _f32(packed("i8")[..., 192:208]), -1)
    return ops.reshape(scales * numbers, (*lead, 256))


BLOCKS = {
    "q8_0": Block(32, 34, _q8_0), "q4_0": Block(32, 18, _q4_0), "q4_k": Block(256, 144, _q4_k),
    "q6_k": Block(256, 210, _q6_k),
}  # fmt: skip
