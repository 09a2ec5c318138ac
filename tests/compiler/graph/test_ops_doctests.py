"""Every public builder has a docstring with an example, and every example is true."""

from __future__ import annotations

import doctest
import importlib
import inspect

import numpy as np
import pytest

from compiler.graph import BufferType, Graph, TensorType, ops

MODULES = ["activation", "attention", "binary", "convolution", "create", "effects", "indexing", "logic",
           "norm", "products", "reduce", "slicing", "unary", "views"]  # fmt: skip
BUILDERS = {name: value for name in ops.__all__ if inspect.isfunction(value := getattr(ops, name))}


def examples() -> list[doctest.DocTest]:
    found: list[doctest.DocTest] = []
    for name in MODULES:
        module = importlib.import_module(f"compiler.graph.ops.{name}")
        found += [t for t in doctest.DocTestFinder().find(module) if t.examples]
    return found


@pytest.mark.parametrize("example", examples(), ids=lambda t: t.name.removeprefix("compiler.graph.ops."))
def test_example_is_true(example: doctest.DocTest) -> None:
    types = {
        "x": TensorType("f32", ("M", 4)),
        "n": TensorType("i32", (2, 3)),
        "flags": TensorType("bool", ("M", 4)),
        "image": TensorType("f32", ("N", 3, 32, 32)),
        "cache": BufferType("f32", (8, 4)),
    }
    with Graph("examples", types) as graph:
        names = dict(zip(types, graph.inputs, strict=True))
        example.globs = {"ops": ops, "np": np, "TensorType": TensorType, **names}
        report: list[str] = []
        result = doctest.DocTestRunner().run(example, out=report.append)
    assert result.failed == 0, "".join(report)


@pytest.mark.parametrize("name", sorted(BUILDERS))
def test_builder_has_a_docstring_with_an_example(name: str) -> None:
    assert ">>>" in (BUILDERS[name].__doc__ or "")


@pytest.mark.parametrize("name", ["types", "graph", "broadcasting"])
def test_examples_of_the_core_are_true(name: str) -> None:
    module = importlib.import_module(f"compiler.graph.{name}")
    assert doctest.testmod(module, extraglobs={"TensorType": TensorType}).failed == 0
