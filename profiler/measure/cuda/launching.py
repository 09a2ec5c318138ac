"""What a launch asks of the driver besides starting it: shared memory, how many blocks run at once, tensor maps."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache, partial
from math import prod
from typing import Any

import numpy as np

from compiler.errors import ExecutionError
from compiler.graph.dtypes import dtype_info
from profiler.measure.cuda.device import Device
from profiler.measure.cuda.driver import call, driver
from profiler.measure.cuda.module import Function
from profiler.measure.cuda.program import MapSlot, Packed, Step

Start = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function of the driver, and what it is called with."""

_UNASKED_SHARED = 48 << 10  # what a block may have without asking
_KINDS = {
    "bf16": "BFLOAT16", "f16": "FLOAT16", "f32": "FLOAT32", "f64": "FLOAT64", "i32": "INT32", "i64": "INT64",
    "u8": "UINT8", "i8": "UINT8", "bool": "UINT8", "u16": "UINT16", "u32": "UINT32", "u64": "UINT64",
}  # fmt: skip
_SWIZZLES = {128: "128B", 64: "64B", 32: "32B"}  # by bytes of a box's rows
_MAP_BYTES = 128


def allow_shared(function: Function, step: Step) -> None:
    """Let a kernel have the shared memory that its launch sets aside."""
    if step.shared + function.shared_bytes <= _UNASKED_SHARED:
        return
    kind = driver().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    call(driver().cuFuncSetAttribute, function.handle, kind, step.shared)


def resident_blocks(device: Device, function: Function, step: Step) -> tuple[int, int, int]:
    """The grid of a launch, as one row and cut to what runs at once."""
    each = call(
        driver().cuOccupancyMaxActiveBlocksPerMultiprocessor, function.handle, step.threads, step.shared
    )  # fmt: skip
    if each < 1:
        raise ExecutionError(f"{step.kernel} does not fit on cuda:{device.index}: no block of it can run")
    most = each * device.attribute("MULTIPROCESSOR_COUNT")
    return min(prod(step.blocks), most // step.cluster * step.cluster), 1, 1


def start_of(step: Step, function: Function, blocks: tuple[int, int, int], stream: Any, packed: Packed) -> Start:
    """The driver's call that starts a launch."""
    arguments = (function.handle, *blocks, step.threads, 1, 1, step.shared, stream, packed.address)
    if step.together:
        return driver().cuLaunchCooperativeKernel, arguments
    return driver().cuLaunchKernel, (*arguments, 0)


def direct_start(start: Start) -> Start:
    """The same call without the bindings' Python, which takes several times as long as the driver; gives its status."""
    function, (handle, x, y, z, threads, across, deep, shared, stream, parameters, *_) = start
    number, pointer = ctypes.c_uint, ctypes.c_void_p
    sizes = tuple(number(n) for n in (x, y, z, threads, across, deep, shared))
    arguments = (pointer(int(handle)), *sizes, pointer(int(stream)), pointer(parameters))
    if function is driver().cuLaunchCooperativeKernel:
        return _library().cuLaunchCooperativeKernel, arguments
    return _library().cuLaunchKernel, (*arguments, pointer(0))


@cache
def _library() -> Any:
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


def make_current(context: Any) -> Callable[[], int]:
    """A quick way to make a context the calling thread's again, whatever other users of CUDA made it."""
    return partial(_library().cuCtxSetCurrent, ctypes.c_void_p(int(context)))


def encoded_map(asked: MapSlot, dtype: str, pointer: int) -> np.ndarray:
    """The 128 bytes that describe a tensor to the copy engine; rows of a whole swizzle's bytes are swizzled."""
    if not all(asked.shape):  # nothing will be copied
        return np.zeros(_MAP_BYTES, np.uint8)
    api = driver()
    size = dtype_info(dtype).bytes
    rank = len(asked.shape)
    swizzle = _SWIZZLES.get(asked.box[-1] * size, "NONE")
    made: Any = call(
        api.cuTensorMapEncodeTiled,
        getattr(api.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{_KINDS[dtype]}"),
        rank,
        pointer + asked.offset * size,
        [api.cuuint64_t(n) for n in reversed(asked.shape)],
        [api.cuuint64_t(n * size) for n in reversed(asked.strides[:-1])],
        [api.cuuint32_t(n) for n in reversed(asked.box)],
        [api.cuuint32_t(1)] * rank,
        api.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        getattr(api.CUtensorMapSwizzle, f"CU_TENSOR_MAP_SWIZZLE_{swizzle}"),
        api.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        api.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
    )
    return np.array([int(word) for word in made.opaque], np.uint64).view(np.uint8)
