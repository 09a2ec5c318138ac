"""Graphs from ONNX models: `from_onnx`. Whatever a file holds, the answer is a Graph or an error of one line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compiler.graph.graph import Graph


def from_onnx(model: Any, values: Mapping[str, Any] | None = None) -> Graph:
    """A graph from an ONNX file or a `ModelProto`.

    `values` fixes inputs by name, for models that take sizes or axes as inputs: they become constants.
    """
    from compiler.importers.onnx.reading import read_model
    from compiler.importers.onnx.walk import Walk

    if isinstance(model, (str, os.PathLike)):
        path = Path(model)
        return Walk(read_model(path), str(path), path.parent, values).graph()
    return Walk(model, "<onnx>", None, values).graph()
