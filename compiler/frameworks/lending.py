"""Arrays on a device, of whatever framework, seen where they lie: PyTorch's, those with DLPack, the CUDA interface."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from compiler.errors import ExecutionError, GraphError
from compiler.frameworks.dlpack import CPU, CUDA, Lent, dense, lent_by
from compiler.graph.dtypes import from_numpy

_TORCH = {
    "torch.float64": "f64", "torch.float32": "f32", "torch.float16": "f16", "torch.bfloat16": "bf16",
    "torch.int64": "i64", "torch.int32": "i32", "torch.int16": "i16", "torch.int8": "i8", "torch.uint8": "u8",
    "torch.uint16": "u16", "torch.uint32": "u32", "torch.uint64": "u64",
    "torch.bool": "bool",
}  # fmt: skip
_LEGACY_STREAM = 1  # how DLPack calls the stream that the driver calls 0


def torch_dtype_name(dtype: Any) -> str:
    """The name of a PyTorch dtype; one that has no counterpart is an ExecutionError."""
    name = _TORCH.get(str(dtype))
    if name is None:
        raise ExecutionError(f"{dtype} has no counterpart; the dtypes are {' '.join(_TORCH.values())}")
    return name


def torch_dtype(name: str) -> Any:
    """The PyTorch dtype of a name."""
    spelled = next(spelled for spelled, known in _TORCH.items() if known == name)
    return getattr(sys.modules["torch"], spelled.removeprefix("torch."))


def is_tensor(value: object) -> bool:
    """Whether this is a PyTorch tensor; PyTorch is not loaded to find out."""
    return isinstance(value, getattr(sys.modules.get("torch"), "Tensor", ()))


def lent(value: Any, label: str, stream: int) -> Lent | None:
    """An array where it lies, ready to be read on `stream`; None for something that has no way to its memory."""
    if is_tensor(value):
        device = (CUDA, value.get_device()) if value.is_cuda else (CPU, 0)
        dtype = torch_dtype_name(value.dtype)
        return Lent(value.data_ptr(), dtype, tuple(value.shape), tuple(value.stride()), device, False, value)
    if hasattr(value, "__dlpack__"):
        on_device = value.__dlpack_device__()[0] == CUDA
        how = {"stream": stream or _LEGACY_STREAM} if on_device else {}
        return lent_by(value, label, **how)
    interface = getattr(value, "__cuda_array_interface__", None)
    return None if interface is None else _by_interface(interface, label, value)


def _by_interface(interface: dict[str, Any], label: str, owner: object) -> Lent:
    kind = np.dtype(interface["typestr"])
    try:
        dtype = from_numpy(kind)
    except GraphError as problem:
        raise ExecutionError(f"{label}: {problem.message}") from None
    shape = tuple(interface["shape"])
    given = interface.get("strides")
    strides = dense(shape) if given is None else tuple(stride // kind.itemsize for stride in given)
    pointer, read_only = interface["data"]
    return Lent(int(pointer or 0), dtype, shape, strides, (CUDA, -1), bool(read_only), owner)
