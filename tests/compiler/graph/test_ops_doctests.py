"""Every public builder has a docstring with an example, and every example is true."""

from __future__ import annotations

import doctest
import importlib
import inspect

import pytest

from compiler.graph import ops
from compiler.graph.graph import Graph
from compiler.graph.types import TensorType
from tests.compiler.graph.builder_examples import TYPES, examples, words

BUILDERS = {name: value for name in ops.__all__ if inspect.isfunction(value := getattr(ops, name))}


@pytest.mark.parametrize("example", examples(), ids=lambda t: t.name.removeprefix("compiler.graph.ops."))
def test_example_is_true(example: doctest.DocTest) -> None:
    with Graph("examples", TYPES) as graph:
        example.globs = words(dict(zip(TYPES, graph.inputs, strict=True)))
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
