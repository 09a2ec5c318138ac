"""The thirteen element types: their names, widths, NumPy twins and how two of them meet (NumPy's rules, bf16 added)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from compiler.errors import GraphError


@dataclass(frozen=True)
class DTypeInfo:
    """What a dtype is: `kind` is 'f' float, 'i' signed, 'u' unsigned, 'b' boolean."""

    name: str
    kind: str
    bits: int
    mlir: str

    @property
    def bytes(self) -> int:
        """Bytes one element takes in memory (a bool takes one)."""
        return max(self.bits // 8, 1)


_INFOS = (
    DTypeInfo("f64", "f", 64, "f64"),
    DTypeInfo("f32", "f", 32, "f32"),
    DTypeInfo("f16", "f", 16, "f16"),
    DTypeInfo("bf16", "f", 16, "bf16"),
    DTypeInfo("i64", "i", 64, "i64"),
    DTypeInfo("i32", "i", 32, "i32"),
    DTypeInfo("i16", "i", 16, "i16"),
    DTypeInfo("i8", "i", 8, "i8"),
    DTypeInfo("u64", "u", 64, "ui64"),
    DTypeInfo("u32", "u", 32, "ui32"),
    DTypeInfo("u16", "u", 16, "ui16"),
    DTypeInfo("u8", "u", 8, "ui8"),
    DTypeInfo("bool", "b", 1, "i1"),
)
DTYPES: dict[str, DTypeInfo] = {info.name: info for info in _INFOS}
_NUMPY = {"f64": "float64", "f32": "float32", "f16": "float16", "i64": "int64", "i32": "int32", "i16": "int16",
          "i8": "int8", "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8", "bool": "bool"}  # fmt: skip
_FROM_NUMPY = {np.dtype(twin): name for name, twin in _NUMPY.items()}


def dtype_info(name: str) -> DTypeInfo:
    """The record of a dtype name; an unknown name is a GraphError that lists the known ones."""
    info = DTYPES.get(name) if isinstance(name, str) else None
    if info is None:
        raise GraphError(f"unknown dtype {name!r}; the dtypes are {' '.join(DTYPES)}")
    return info


def is_float(name: str) -> bool:
    """Whether the dtype is a floating-point one."""
    return dtype_info(name).kind == "f"


@cache
def numpy_dtype(name: str) -> np.dtype:
    """The NumPy dtype that holds `name`; bf16 comes from ml_dtypes, imported only when asked for."""
    dtype_info(name)
    if name == "bf16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(_NUMPY[name])


def from_numpy(dtype: np.dtype) -> str:
    """The dtype name of a NumPy dtype; one we do not have is a GraphError."""
    name = _FROM_NUMPY.get(np.dtype(dtype))
    if name is None and np.dtype(dtype).name == "bfloat16":
        name = "bf16"
    if name is None:
        raise GraphError(f"NumPy dtype {np.dtype(dtype).name} has no counterpart; the dtypes are {' '.join(DTYPES)}")
    return name


@cache
def promote(a: str, b: str) -> str:
    """The dtype two operands meet in: NumPy's rule. bf16 stays with integers, makes f32 with f16, else the wider."""
    dtype_info(a)
    dtype_info(b)
    if a == b:
        return a
    if "bf16" in (a, b):
        other = b if a == "bf16" else a
        if not is_float(other):
            return "bf16"
        return "f64" if other == "f64" else "f32"
    return from_numpy(np.result_type(numpy_dtype(a), numpy_dtype(b)))


@cache
def float_result(name: str) -> str:
    """The dtype a function like exp gives for `name`: floats stay, integers go where NumPy sends them."""
    info = dtype_info(name)
    if info.kind == "f":
        return name
    return {8: "f16", 1: "f16", 16: "f32"}.get(info.bits, "f64")
