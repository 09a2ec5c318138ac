"""The examples in the docstrings of the ops' builders, and the graph inputs that they speak of."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any

import numpy as np

from compiler.graph import ops
from compiler.graph.types import BufferType, TensorType

TYPES = {
    "x": TensorType("f32", ("M", 4)),
    "n": TensorType("i32", (2, 3)),
    "flags": TensorType("bool", ("M", 4)),
    "image": TensorType("f32", ("N", 3, 32, 32)),
    "cache": BufferType("f32", (8, 4)),
}


def examples() -> list[doctest.DocTest]:
    """One for each builder that has any, in the order of their files."""
    found: list[doctest.DocTest] = []
    for module in pkgutil.iter_modules(ops.__path__, f"{ops.__name__}."):
        finder = doctest.DocTestFinder()
        found += [test for test in finder.find(importlib.import_module(module.name)) if test.examples]
    return found


def words(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """What the examples may name: the inputs of a graph of `TYPES` and what everybody has."""
    return {"ops": ops, "np": np, "TensorType": TensorType, **inputs}
