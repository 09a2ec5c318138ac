"""DLPack, read and written where it lies in memory, with every dtype that the compiler has.

NumPy's own reader knows neither bf16 nor memory on a device. A capsule that is read stays as it was, and whoever keeps
it keeps the memory: its producer frees it when the capsule goes, or when the consumer that took it over says so.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from compiler.errors import ExecutionError
from compiler.graph.dtypes import dtype_info, from_numpy, numpy_dtype

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
"""Kinds of devices, as DLPack numbers them."""
ON_HOST = frozenset({CPU, CUDA_HOST, CUDA_MANAGED})
_KINDS = {"i": 0, "u": 1, "f": 2, "b": 6}
_BFLOAT = 4
_NAMES = {
    (0, 8): "i8", (0, 16): "i16", (0, 32): "i32", (0, 64): "i64", (1, 8): "u8", (1, 16): "u16",
    (1, 32): "u32", (1, 64): "u64", (6, 8): "bool",
    (2, 16): "f16", (2, 32): "f32", (2, 64): "f64", (_BFLOAT, 16): "bf16",
}  # fmt: skip
_READ_ONLY = 1


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("index", ctypes.c_int32), ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    ]  # fmt: skip


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor),
    ]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Lent:
    """Somebody's array where it lies. `strides` are in elements; `owner` keeps the memory."""

    pointer: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: tuple[int, int]
    read_only: bool
    owner: object

    @property
    def contiguous(self) -> bool:
        """Whether its elements lie one after the other, in the order of the last axis."""
        return not prod(self.shape) or all(
            size == 1 or stride == step for size, stride, step in zip(self.shape, self.strides, dense(self.shape))
        )

    def array(self) -> np.ndarray:
        """The same memory as a NumPy array; only where it is the host's."""
        kind = numpy_dtype(self.dtype)
        size = kind.itemsize
        plain = kind.str if kind.kind != "V" else "<u2"
        held = _Held(self, {
            "version": 3, "typestr": plain, "shape": self.shape, "data": (self.pointer, self.read_only),
            "strides": tuple(stride * size for stride in self.strides),
        })  # fmt: skip
        found = np.asarray(held)
        return found if found.dtype == kind else found.view(kind)


@dataclass(frozen=True, eq=False)
class _Held:
    lent: Lent
    __array_interface__: dict[str, Any]


def dense(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides, in elements, of an array that lies without gaps."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def _function(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_is_valid = _function("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_pointer_of = _function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_new_capsule = _function("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_dying_is_valid = _function("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_dying_pointer_of = _function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)


def lent_by(value: Any, label: str, **stream: int) -> Lent:
    """What an array with `__dlpack__` lends of its memory."""
    try:
        capsule = value.__dlpack__(**stream)
    except Exception as problem:  # what a framework raises is its own choice
        said = " ".join(str(problem).split())[:200] or type(problem).__name__
        raise ExecutionError(f"{label}: this {type(value).__name__} does not lend its memory: {said}") from None
    return read_capsule(capsule)


def read_capsule(capsule: Any) -> Lent:
    """What a capsule from `__dlpack__` describes; it must not have been consumed."""
    if _is_valid(capsule, b"dltensor_versioned"):
        held = ctypes.cast(_pointer_of(capsule, b"dltensor_versioned"), ctypes.POINTER(_Versioned)).contents
        if held.major != 1:
            raise ExecutionError(f"this array speaks DLPack {held.major}.{held.minor}; versions 0 and 1 are read")
        return _lent(held.tensor, bool(held.flags & _READ_ONLY), capsule)
    if _is_valid(capsule, b"dltensor"):
        held = ctypes.cast(_pointer_of(capsule, b"dltensor"), ctypes.POINTER(_Managed)).contents
        return _lent(held.tensor, False, capsule)
    raise ExecutionError("this array's DLPack capsule has been used up already")


def _lent(tensor: _Tensor, read_only: bool, owner: object) -> Lent:
    name = _NAMES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if name is None:
        raise ExecutionError(f"DLPack type {tensor.code} of {tensor.bits} bits has no counterpart among the dtypes")
    shape = tuple(tensor.shape[: tensor.rank]) if tensor.rank else ()
    strides = tuple(tensor.strides[: tensor.rank]) if tensor.rank and tensor.strides else dense(shape)
    return Lent(
        (tensor.data or 0) + tensor.offset, name, shape, strides, (tensor.device, tensor.index), read_only, owner
    )


# Lending: structures that others hold, by their address, until they say that they are done


_on_loan: dict[int, tuple[object, ...]] = {}


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _given_back(address: int) -> None:
    _on_loan.pop(address, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _capsule_gone(capsule: int) -> None:
    if _dying_is_valid(capsule, b"dltensor"):  # nobody consumed it, so nobody will say that he is done
        _on_loan.pop(_dying_pointer_of(capsule, b"dltensor"), None)


_GIVEN_BACK = ctypes.cast(_given_back, ctypes.c_void_p).value
_CAPSULE_GONE = ctypes.cast(_capsule_gone, ctypes.c_void_p).value


class Offered:
    """A dense array that any framework can take over with its `from_dlpack`; `owner` lives as long as that does."""

    def __init__(self, pointer: int, dtype: str, shape: tuple[int, ...], device: tuple[int, int], owner: object):
        self._tensor = (pointer, dtype, shape)
        self._device = device
        self._owner = owner

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device

    def __dlpack__(self, **_: Any) -> Any:
        pointer, dtype, shape = self._tensor
        info = dtype_info(dtype)
        rank = len(shape)
        sizes, steps = (ctypes.c_int64 * max(rank, 1))(*shape), (ctypes.c_int64 * max(rank, 1))(*dense(shape))
        managed = _Managed()
        managed.tensor = _Tensor(
            pointer, *self._device, rank, _BFLOAT if dtype == "bf16" else _KINDS[info.kind], info.bytes * 8, 1,
            sizes, steps, 0,
        )  # fmt: skip
        managed.deleter = _GIVEN_BACK
        address = ctypes.addressof(managed)
        _on_loan[address] = (managed, sizes, steps, self._owner)
        return _new_capsule(address, b"dltensor", _CAPSULE_GONE)


def offered(array: np.ndarray) -> Offered:
    """A NumPy array that was made here, for a framework to take over."""
    return Offered(array.ctypes.data, from_numpy(array.dtype), array.shape, (CPU, 0), array)
