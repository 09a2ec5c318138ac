"""Graphs from ONNX models: `from_onnx`. Whatever a file holds, the answer is a Graph or an error of one line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compiler.collector_pauses import rare_collection
from compiler.errors import CompilerError, Location, ParseError

if TYPE_CHECKING:
    from compiler.graph.graph import Graph

_MALFORMED = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError, MemoryError,
              RecursionError)  # fmt: skip
_LONGEST = 4000  # characters of a message


def from_onnx(model: Any, values: Mapping[str, Any] | None = None) -> Graph:
    """A graph from an ONNX file or a `ModelProto`.

    `values` fixes inputs by name, for models that take sizes or axes as inputs: they become constants.
    """
    from compiler.importers.onnx.reading import read_model
    from compiler.importers.onnx.walk import Walk

    path = Path(model) if isinstance(model, (str, os.PathLike)) else None
    file = "<onnx>" if path is None else str(path)
    try:
        with rare_collection():
            message = model if path is None else read_model(path)
            return Walk(message, file, None if path is None else path.parent, values).graph()
    except CompilerError as error:
        error.message = _one_line(error.message)
        raise
    except _MALFORMED as error:  # names that are no text, sizes that no array can have, and the like
        raise ParseError(_one_line(f"the model is malformed: {error}"), Location(file)) from error


def _one_line(message: str) -> str:
    """What a message quotes of a file may have line breaks in it, and no end."""
    line = "".join(c if c.isprintable() else " " for c in message)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."
