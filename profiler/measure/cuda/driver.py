"""The driver's bindings and how they are called: every status is checked, and a failure carries the driver's name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from compiler.errors import CompilerError

# After one of these nothing works in this process's context any more.
_STICKY = frozenset(
    {
        "CUDA_ERROR_ILLEGAL_ADDRESS",
        "CUDA_ERROR_ILLEGAL_INSTRUCTION",
        "CUDA_ERROR_MISALIGNED_ADDRESS",
        "CUDA_ERROR_INVALID_ADDRESS_SPACE",
        "CUDA_ERROR_INVALID_PC",
        "CUDA_ERROR_HARDWARE_STACK_ERROR",
        "CUDA_ERROR_LAUNCH_FAILED",
        "CUDA_ERROR_LAUNCH_TIMEOUT",
        "CUDA_ERROR_ASSERT",
        "CUDA_ERROR_ECC_UNCORRECTABLE",
        "CUDA_ERROR_CONTEXT_IS_DESTROYED",
    }
)


class CudaError(CompilerError):
    """A driver call that failed: `call` and the driver's own `name` for what happened."""

    def __init__(self, call: str, name: str, meaning: str = "") -> None:
        super().__init__(f"{call}: {name}{f' ({meaning})' if meaning else ''}")
        self.call = call
        self.name = name

    @property
    def sticky(self) -> bool:
        """Whether the process must end before the device can be used again."""
        return self.name in _STICKY


@cache
def driver() -> Any:
    """The driver's bindings, once `cuda_devices` has found them to work."""
    from cuda.bindings import driver as bindings  # pyright: ignore[reportAttributeAccessIssue]

    return bindings


def call(function: Callable[..., tuple[Any, ...]], *arguments: Any) -> Any:
    """Call the driver; an error status is a CudaError, otherwise the value (or tuple of values) comes back."""
    status, *values = function(*arguments)
    check(status, function.__name__)
    return values[0] if len(values) == 1 else tuple(values)


def check(status: Any, what: str) -> None:
    """Raise a CudaError of `what` where a status is none of success."""
    if status.value:
        text = driver().cuGetErrorString(status)[1]
        raise CudaError(what, status.name, text.decode() if text else "")


def milliseconds(start: Any, end: Any) -> float:
    """Time between two events that have happened."""
    return call(driver().cuEventElapsedTime, start, end)
