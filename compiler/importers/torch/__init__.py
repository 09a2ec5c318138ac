"""Graphs from PyTorch modules: `from_torch`, through `torch.export` and the core ATen ops."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compiler.graph.graph import Graph


def from_torch(module: Any, example_inputs: Any = (), dynamic_shapes: Any = None) -> Graph:
    """A graph from a module, exported in inference mode with `torch.export` for inputs like the examples; or from what
    `torch.export.export` gave, which needs no examples.

    `example_inputs` is a tuple of positional arguments, or a dict of keyword arguments; `dynamic_shapes` is what
    `torch.export.export` takes. Weights become constants; buffers that the module changes become mutable buffers,
    inputs of the graph after the module's own.
    """
    from compiler.importers.torch.exporting import exported
    from compiler.importers.torch.walk import Walk

    return Walk(exported(module, example_inputs, dynamic_shapes)).graph()


def load_exported(path: str | os.PathLike[str]) -> Graph:
    """A graph from a file that `torch.export.save` wrote. Such a file may carry code: open only what you trust."""
    from compiler.importers.torch.exporting import read_exported
    from compiler.importers.torch.walk import Walk

    return Walk(read_exported(path)).graph()
