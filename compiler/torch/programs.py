"""A function that builds a graph, run on tensors: compiled for the dtypes, sizes and devices that come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any

from compiler.frameworks.lending import torch_dtype_name
from compiler.graph.types import TensorType
from compiler.torch.running import Runner, device_of, runner
from compiler.torch.sizes import Shapes, generalised

if TYPE_CHECKING:
    from compiler.graph.graph import Graph
    from compiler.language.library import Library

Build = Callable[[tuple[TensorType, ...]], "Graph"]
"""Makes the graph for the types of a call's tensors, those of given results last."""


class TensorProgram:
    """What a graph is for any tensors. `results` tells how many of a call's tensors are results to be written to."""

    def __init__(self, build: Build, library: Library | None = None, results: int = 0) -> None:
        self._build = build
        self._library = library
        self._results = results
        self._last: Runner = None
        self._lock = RLock()
        self._seen: dict[tuple[Any, ...], list[Shapes]] = {}
        self._by_shape: dict[tuple[Any, ...], Runner] = {}
        self._by_size: dict[tuple[Any, ...], Runner] = {}

    def again_into(self, results: Sequence[Any], inputs: Sequence[Any]) -> bool:
        """Run on tensors like those of the call before, into given ones; False where they are not so."""
        last = self._last
        return last is not None and last.again_into(results, inputs)

    def into(self, results: Sequence[Any], inputs: Sequence[Any]) -> None:
        """Run and write to given tensors."""
        if not self.again_into(results, inputs):
            self._find((*inputs, *results)).execute_into(results, inputs)

    def again(self, inputs: Sequence[Any]) -> Sequence[Any] | None:
        """Run on tensors like those of the call before; None where they are not so."""
        last = self._last
        return None if last is None else last.again(inputs)

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """Run, with new tensors as results."""
        return list(self._find(inputs).execute(inputs))

    def _find(self, tensors: Sequence[Any]) -> Runner:
        device = device_of(tensors)
        kinds = tuple((tensor.dtype, tensor.dim()) for tensor in tensors)
        shapes = tuple(tuple(map(int, tensor.shape)) for tensor in tensors)
        with self._lock:
            found = self._by_shape.get((device, kinds, shapes))
            if found is None:
                seen = self._seen.setdefault((device, kinds), [])
                seen.append(shapes)
                general = generalised(seen)
                found = self._by_size.get((device, kinds, general))
                if found is None:
                    types = tuple(TensorType(torch_dtype_name(k), sizes) for (k, _), sizes in zip(kinds, general))
                    found = runner(self._build(types), device, self._library)
                    self._by_size[device, kinds, general] = found
                self._by_shape[device, kinds, shapes] = found
            self._last = found
            return found
