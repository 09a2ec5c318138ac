"""What is run to find an NVIDIA card's ceilings: memory and L2, multiply-adds by dtype, tensor cores by dtype.

Nothing here needs a card: the graphs compile to PTX anywhere. `kernels/gpu_ceilings.py` has the kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler import Graph, TensorType, ops
from compiler.graph.dtypes import numpy_dtype
from compiler.targets.nvptx import compute_capability
from profiler.measure.ceilings.cpu_probes import Probe
from profiler.measure.devices import CudaDevice
from profiler.records import COPY, GBYTES, GFLOPS, MULTIPLY, TENSOR

THREADS, WARPGROUP = 256, 128
PART = THREADS * 4 * 4
"""f32 elements that a block copies at a time."""
CHAINS, STRAIGHT = 16, 16
"""Chains of multiply-adds a thread, and how many steps of each the loop has written out."""
RESIDENT = 8
"""Blocks of multiply-adds a multiprocessor: with their threads it is full."""
_TYPICAL_L2 = 32 << 20  # where the driver does not tell
_AMOUNT = 1e10  # bytes that a copy within L2 moves
# Everything here takes milliseconds: the host needs some ten microseconds for a launch, and the events see them.


def gpu_probes(card: CudaDevice, target: str) -> list[Probe]:
    """The probes for a card, compiled for `target`: those whose instructions it has."""
    capability = compute_capability(target)
    found = [_copy("memory", _beyond(card), 1), _within_l2(card)]
    found += [_multiply(dtype, card) for dtype in ("f64", "f32", "f16")]
    if capability >= 80:
        found.append(_multiply("bf16", card))
        found += [_tensor(dtype, card) for dtype in ("f16", "bf16")]
    if target == "sm_90a":
        found += [_warpgroup(dtype, card) for dtype in ("f16", "bf16")]
    return found


def _beyond(card: CudaDevice) -> int:
    """Elements of a buffer that no cache holds a part of worth speaking of, where the card has the memory for it."""
    wanted = max(8 * (card.l2_bytes or _TYPICAL_L2), 512 << 20)
    return max(min(wanted, card.memory_bytes // 16) // 4 // PART, 1) * PART


def _within_l2(card: CudaDevice) -> Probe:
    # Both buffers are a third of it: some chips have it in halves, and keep what one half holds in the other too.
    count = max((card.l2_bytes or _TYPICAL_L2) // 6 // 4 // PART, 1) * PART
    return _copy("L2", count, max(round(_AMOUNT / (2 * count * 4)), 1))


def _copy(name: str, count: int, rounds: int) -> Probe:
    """x is made on the device, and only a part of the copy comes back: half a gigabyte takes its time on the way."""
    kind = TensorType("f32", (count,))
    with Graph("copy", inputs=[TensorType("f32", (PART,)), _ROUNDS]) as graph:
        row, times = graph.inputs
        x = ops.reshape(ops.broadcast_to(row, (count // PART, PART)), (count,))
        graph.output(ops.custom("kg.gpu_copy", [x, times], kind)[count - PART :])
    array = np.random.default_rng(0).random(PART, dtype=np.float32)
    return Probe(f"{COPY}{name}", "gpu_copy", graph, (array, _times(rounds)), 2e-9 * count * 4 * rounds, GBYTES)


def _multiply(dtype: str, card: CudaDevice) -> Probe:
    width = 2 if numpy_dtype(dtype).itemsize == 2 else 1
    rounds = 500 if dtype == "f64" else 2000  # many chips have few units for f64
    blocks = card.multiprocessors * RESIDENT
    count = blocks * THREADS
    result = TensorType("i32", (count,)) if dtype == "bf16" else TensorType(dtype, (count * width,))
    size = (2 + CHAINS) * THREADS * width
    attributes = {"blocks": blocks, "chains": CHAINS}
    graph = _graph("gpu_multiply", TensorType(dtype, (size,)), result, attributes)
    # Small factors: sums grow slowly, and nothing overflows or becomes denormal.
    array = (np.random.default_rng(0).random(size) / 64 + 1 / 128).astype(numpy_dtype(dtype))
    work = 2e-9 * count * width * CHAINS * STRAIGHT * rounds
    return Probe(f"{MULTIPLY}{dtype}", "gpu_multiply", graph, (array, _times(rounds)), work, GFLOPS)


def _tensor(dtype: str, card: CudaDevice) -> Probe:
    """Products by single warps, which every chip since sm_80 has."""
    rounds, blocks, size = 8000, card.multiprocessors * 2, 16 * THREADS * 2
    result = TensorType("f32", (blocks * THREADS,))
    graph = _graph("gpu_tensor", TensorType(dtype, (size,)), result, {"blocks": blocks})
    work = 2e-9 * blocks * (THREADS // 32) * rounds * (STRAIGHT // 4) * 8 * (16 * 8 * 16)
    return Probe(f"{TENSOR}{dtype}", "gpu_tensor", graph, (_signed(size, dtype), _times(rounds)), work, GFLOPS)


def _warpgroup(dtype: str, card: CudaDevice) -> Probe:
    """Products by groups of four warps, which alone use all of a Hopper chip's tensor cores."""
    rounds, blocks, size = 2000, card.multiprocessors * 2, (64 + 256) * 64
    result = TensorType("f32", (blocks * WARPGROUP,))
    graph = _graph("gpu_warpgroup", TensorType(dtype, (size,)), result, {"blocks": blocks})
    work = 2e-9 * blocks * rounds * STRAIGHT * (64 * 256 * 16)
    return Probe(f"{TENSOR}{dtype}", "gpu_warpgroup", graph, (_signed(size, dtype), _times(rounds)), work, GFLOPS)


def _graph(kernel: str, given: TensorType, result: TensorType, attributes: dict[str, Any]) -> Graph:
    with Graph(kernel, inputs=[given, _ROUNDS]) as graph:
        graph.output(ops.custom(f"kg.{kernel}", list(graph.inputs), result, **attributes))
    return graph


_ROUNDS = TensorType("i64", (1,))


def _times(rounds: int) -> np.ndarray:
    return np.array([rounds], np.int64)


def _signed(count: int, dtype: str) -> np.ndarray:
    """Numbers of either sign, as real data has: how often bits change decides the power, and that the clock."""
    return np.random.default_rng(0).normal(size=count).astype(numpy_dtype(dtype))
