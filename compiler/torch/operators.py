"""PyTorch operators made of Python functions: defined, run on CPU and CUDA tensors, known to fake tensors."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from compiler.importers.torch.exporting import torch_package

NAMESPACE = "kernelglass"
_NOT_IN_NAMES = re.compile(r"\W+")
_lock = Lock()
_libraries: list[Any] = []  # what keeps the definitions
_taken: set[str] = set()


def define(name: str, schema: str, run: Callable[..., Any], fake: Callable[..., Any]) -> Any:
    """A new operator, which a name that is taken gets a number of; `schema` is what follows the name."""
    torch = torch_package()
    plain = _NOT_IN_NAMES.sub("_", name).strip("_") or "op"
    with _lock:
        unique = next(
            found for k in range(len(_taken) + 1) if (found := plain if k == 0 else f"{plain}_{k}") not in _taken
        )
        _taken.add(unique)
        library = torch.library.Library(NAMESPACE, "FRAGMENT")
        _libraries.append(library)
    library.define(f"{unique}{schema}")
    for key in ("CPU", "CUDA"):
        library.impl(unique, run, key)
    torch.library.register_fake(f"{NAMESPACE}::{unique}", fake, lib=library)
    return getattr(getattr(torch.ops, NAMESPACE), unique).default


def nobody_looks() -> Callable[[], bool]:
    """A question: whether a call is plain, so that nobody would notice if it went past PyTorch's dispatcher.

    Tracing, modes, transforms such as vmap and the profiler must see every call; going through the dispatcher to a
    function in Python takes several times as long as a small kernel.
    """
    torch = torch_package()
    native = torch._C
    compiling = torch.compiler.is_compiling
    modes = getattr(native, "_len_torch_dispatch_stack", None)
    transforms = getattr(getattr(native, "_functorch", None), "peek_interpreter_stack", None)
    profiled = getattr(native._autograd, "_profiler_enabled", None)
    if modes is None or transforms is None or profiled is None:  # another version of PyTorch
        return lambda: False
    return lambda: not compiling() and not modes() and transforms() is None and not profiled()


def version_counter() -> Callable[[Sequence[Any]], None]:
    """What tells PyTorch that tensors have changed, so that gradients which need what they held are refused."""
    torch = torch_package()
    return getattr(torch._C, "_increment_version", None) or torch.autograd.graph.increment_version


def wants_gradient(tensors: Sequence[Any]) -> bool:
    """Whether a call is part of something that gradients will be asked of."""
    torch = torch_package()
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
