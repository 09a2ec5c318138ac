"""`place`: a compiled model on a device, called with arrays of any framework."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from compiler.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from compiler.model import Model

_CUDA = re.compile(r"cuda(?::(\d+))?\Z")


def place(model: Model, device: str = "cuda:0") -> Callable[..., list[Any]]:
    """A model on `cpu` or `cuda:N`: `(y,) = place(model, "cuda:0")(x)`.

    Arrays of NumPy, PyTorch, JAX, CuPy and whatever else has DLPack or an array interface go in, and the kind that went
    in comes out, read and written where it lies. A model that was compiled for something else is compiled anew.
    """
    if device == "cpu":
        return (model if model.target.emission.in_process else _compiled(model, "cpu")).execute
    found = _CUDA.match(device)
    if found is None:
        raise UnavailableError(
            f"no device is called {device!r}; models run on cpu and cuda:N (see kernelglass devices)"
        )
    from compiler.targets import nvptx
    from profiler.measure.cuda.device import open_device
    from profiler.measure.cuda.placed import PlacedModel

    opened = open_device(int(found[1] or 0))
    target = model.target
    fits = "ptx" in target.emission.stages and nvptx.runs_on(target.name, opened.record.target)
    return PlacedModel(model if fits else _compiled(model, opened.target), opened)


def _compiled(model: Model, target: str) -> Model:
    from compiler.pipeline import compile_graph

    return compile_graph(model.graph, replace(model.options, target=target), model.library)
