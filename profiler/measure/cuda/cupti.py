"""NVIDIA's library for profilers, CUPTI: where it is, and how its functions are called.

It comes with the CUDA toolkit and with PyTorch. Every function takes one structure that says its own size, so that
versions can tell each other apart: to the end of the last field that the caller knows, without what pads it.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import Structure, byref, c_size_t, c_void_p
from functools import cache
from glob import glob
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from compiler.errors import UnavailableError

_NOT_ALLOWED = (35, 38, 40)
ALLOWED_HOW = (
    "the driver lets only administrators look: run as root, or load the driver with "
    "NVreg_RestrictProfilingToAdminUsers=0"
)


def structure(**fields: Any) -> type[Structure]:
    """A structure of these fields, after the two that nearly all begin with."""
    return type("Argument", (Structure,), {"_fields_": [("size", c_size_t), ("private", c_void_p), *fields.items()]})


def made(kind: type[Structure], /, **fields: object) -> Any:
    """A structure that says its own size, with these values."""
    found: Any = kind()
    last = getattr(kind, kind._fields_[-1][0])  # type: ignore[attr-defined]
    found.size = last.offset + last.size
    for name, value in fields.items():
        setattr(found, name, value)
    return found


def ask(name: str, argument: Structure, *, what: str, tolerated: int = 0) -> int:
    """Call a function of the library; `what` there would be is named in the error where it refuses."""
    function = getattr(library(what), name, None)
    if function is None:
        raise UnavailableError(f"there are no {what}: this libcupti has no {name}; one of CUDA 12.6 or newer does")
    status = int(function(byref(argument)))
    if status in (0, tolerated):
        return status
    if status in _NOT_ALLOWED:
        raise UnavailableError(f"there are no {what}: {ALLOWED_HOW}")
    raise UnavailableError(f"there are no {what}: {name} of CUPTI answered {status}")


@cache
def library(what: str) -> Any:
    """The library itself."""
    for path in _places():
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    raise UnavailableError(f"there are no {what}: libcupti is not on this machine; it comes with the CUDA toolkit")


def _places() -> list[str]:
    found: list[str] = []
    spec = find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        found += sorted(glob(os.path.join(folder, "**", "libcupti.so*"), recursive=True), reverse=True)
    roots = [
        os.environ.get("CUDA_HOME", ""),
        os.environ.get("CUDA_PATH", ""),
        "/usr/local/cuda",
        *glob("/usr/local/cuda-*"),
    ]
    for root in filter(None, roots):
        for inner in ("extras/CUPTI/lib64", "lib64", "targets/*/lib"):
            found += sorted(map(str, Path("/").glob(f"{root.lstrip('/')}/{inner}/libcupti.so*")), reverse=True)
    return [*dict.fromkeys(found), "libcupti.so"]
