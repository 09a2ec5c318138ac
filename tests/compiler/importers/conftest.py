"""PyTorch, as the tests of importers use it."""

import sys
from collections.abc import Iterator
from functools import cache

import pytest


class _Functions(type):
    def __instancecheck__(cls, value: object) -> bool:
        return callable(value)


class _AnyFunction(metaclass=_Functions):
    """`Callable`, without looking at what stands in its brackets."""

    def __class_getitem__(cls, parameters: object) -> type:
        return cls


@pytest.fixture(autouse=True, scope="module")
def _composite_ops_are_found_once() -> Iterator[None]:
    """For each export PyTorch looks 52 times for the ops that others are composed of, as somebody may have added one:
    a tenth of a second, as long as most of these models take otherwise. Nobody adds one while these tests run.

    It then makes functions for each of these ops, and writing down what they take, which nobody reads, takes half of
    that time."""
    utils = sys.modules.get("torch._export.utils")
    with pytest.MonkeyPatch.context() as patch:
        if utils is not None and hasattr(utils, "_materialize_cpp_cia_ops"):
            patch.setattr(utils, "_materialize_cpp_cia_ops", cache(utils._materialize_cpp_cia_ops))
        if "torch._ops" in sys.modules:
            patch.setattr("torch._ops.Callable", _AnyFunction)
        yield
