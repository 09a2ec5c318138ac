"""PyTorch, as the tests of importers use it."""

import sys
from collections.abc import Iterator
from functools import cache

import pytest


@pytest.fixture(autouse=True, scope="module")
def _composite_ops_are_found_once() -> Iterator[None]:
    """For each export PyTorch looks 52 times for the ops that others are composed of, as somebody may have added one:
    a tenth of a second, as long as most of these models take otherwise. Nobody adds one while these tests run."""
    utils = sys.modules.get("torch._export.utils")
    with pytest.MonkeyPatch.context() as patch:
        if utils is not None and hasattr(utils, "_materialize_cpp_cia_ops"):
            patch.setattr(utils, "_materialize_cpp_cia_ops", cache(utils._materialize_cpp_cia_ops))
        yield
