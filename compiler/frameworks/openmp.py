"""The OpenMP runtime that another framework has loaded, whose threads it lends.

After each of its own operations the threads of PyTorch's OpenMP wait for the next one without giving their processors
away, for milliseconds. Threads of ours that come meanwhile share these processors, and a call takes several times as
long. So a program that is given PyTorch's tensors runs on PyTorch's threads, as many as `torch.set_num_threads` says.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class OpenMP:
    """Addresses of what begins a parallel region, and of what tells a thread in it its number and their count."""

    parallel: int
    number: int
    count: int


_forked = False


def _forget_after_fork() -> None:
    """In a forked child the runtime's threads do not exist, and it would wait for them forever."""
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


def lender(arrays: Sequence[Any]) -> OpenMP | None:
    """The runtime whose threads are to work on these arrays; None where ours are."""
    torch: Any = sys.modules.get("torch")
    if torch is None or _forked or not any(isinstance(array, getattr(torch, "Tensor", ())) for array in arrays):
        return None
    return torch_openmp()


@cache
def torch_openmp() -> OpenMP | None:
    """What PyTorch itself is linked with; None where that is no OpenMP of GNU's kind."""
    torch: Any = sys.modules.get("torch")
    file = getattr(torch, "__file__", None)
    if file is None:
        return None
    try:
        linked = ctypes.CDLL(str(Path(file).parent / "lib" / "libtorch_cpu.so"))  # loaded already; it and what it needs
        functions = (linked.GOMP_parallel, linked.omp_get_thread_num, linked.omp_get_num_threads)
    except (OSError, AttributeError):
        return None
    return OpenMP(*(ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions))
