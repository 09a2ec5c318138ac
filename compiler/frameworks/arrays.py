"""A call's arguments as NumPy sees them, without copying, and its results as the kind of array that was given.

The kind is that of the first argument that is no NumPy array, list or number. PyTorch has a way of its own, as asking
it directly takes less than a microsecond; every other framework goes through DLPack or NumPy's array interface.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from compiler.errors import ExecutionError
from compiler.frameworks.dlpack import ON_HOST, lent_by, offered
from compiler.graph.dtypes import numpy_dtype

GiveBack = Callable[[np.ndarray], Any]
"""Makes an array of a framework's kind out of a result, without copying."""

_PLAIN = (np.ndarray, np.generic, list, tuple, bool, int, float)


def is_foreign(given: object) -> bool:
    """Whether this is an array of somebody else's; anything without a way to its memory is not, and is judged later."""
    return not isinstance(given, _PLAIN) and (hasattr(given, "__dlpack__") or hasattr(given, "__array_interface__"))


def as_numpy(given: Sequence[Any], names: Sequence[str] = ()) -> tuple[tuple[Any, ...], GiveBack | None]:
    """The arguments with foreign arrays seen as NumPy ones, and how results become their kind; None where they stay."""
    torch = sys.modules.get("torch")
    tensor = getattr(torch, "Tensor", None) or ()
    back: GiveBack | None = None
    views: list[Any] = []
    for number, value in enumerate(given):
        if type(value) is np.ndarray:
            views.append(value)
        elif isinstance(value, tensor):
            views.append(_torch_view(torch, value, number, names))
            back = back or partial(_to_torch, torch)
        elif is_foreign(value):
            views.append(_view(value, _label(number, names)))
            back = back or _way_back(value)
        else:
            views.append(value)
    return tuple(views), back


def _label(number: int, names: Sequence[str]) -> str:
    return f"input {number} ({names[number]})" if number < len(names) else f"input {number}"


def _torch_view(torch: Any, tensor: Any, number: int, names: Sequence[str]) -> np.ndarray:
    if tensor.requires_grad:
        tensor = tensor.detach()
    try:
        if tensor.dtype is torch.bfloat16:
            return tensor.view(torch.int16).numpy().view(numpy_dtype("bf16"))
        return tensor.numpy()
    except (RuntimeError, TypeError) as problem:
        label = _label(number, names)
        if tensor.device.type != "cpu":
            raise _elsewhere(label, str(tensor.device)) from None
        said = " ".join(str(problem).split())[:200]
        raise ExecutionError(f"{label}: this tensor has no plain memory to read: {said}") from None


def _to_torch(torch: Any, array: np.ndarray) -> Any:
    if array.dtype.kind == "V":  # bf16, which PyTorch does not take from NumPy
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _view(value: Any, label: str) -> np.ndarray:
    if not hasattr(value, "__dlpack__"):
        return np.asarray(value)
    device = value.__dlpack_device__()
    if device[0] not in ON_HOST:
        raise _elsewhere(label, str(getattr(value, "device", "another device")))
    found = lent_by(value, label).array()
    if immutable(value):
        found.flags.writeable = False
    return found


def immutable(value: Any) -> bool:
    """Whether a framework's arrays never change; capsules of the first kind do not say so."""
    return type(value).__module__.partition(".")[0] in ("jax", "jaxlib")


def _way_back(value: Any) -> GiveBack | None:
    take = framework_taker(value)
    return None if take is None else lambda array: take(offered(array))


def framework_taker(value: Any) -> Callable[[Any], Any] | None:
    """What makes an array of the same framework out of something with `__dlpack__`; None where there is no such."""
    namespace = getattr(value, "__array_namespace__", None)
    found = namespace() if namespace is not None else sys.modules.get(type(value).__module__.partition(".")[0])
    return getattr(found, "from_dlpack", None)


def _elsewhere(label: str, device: str) -> ExecutionError:
    return ExecutionError(
        f"{label} lies on {device}, and this model runs on the CPU; bring it here, or put the model there: "
        f"profiler.place(model, {device!r})"
    )
