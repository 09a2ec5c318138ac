"""Constants: every bit comes back from the text, whatever the dtype."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.dtypes import DTYPES, numpy_dtype
from compiler.graph.graph import Graph
from compiler.graph.literals import array_text, float_text
from compiler.importers.mlir_text import parse_graph


def through_text(array: np.ndarray) -> np.ndarray:
    with Graph("g") as g:
        g.output(ops.constant(array))
    return parse_graph(str(g)).outputs[0].owner.attrs["value"]


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(sorted(DTYPES)), st.lists(st.integers(0, 3), max_size=3).map(tuple), st.data())
def test_every_bit_comes_back(dtype: str, shape: tuple[int, ...], data: st.DataObject) -> None:
    kind = numpy_dtype(dtype)
    size = int(np.prod(shape)) * kind.itemsize
    raw = data.draw(st.binary(min_size=size, max_size=size))
    if dtype == "bool":
        raw = bytes(b & 1 for b in raw)
    array = np.frombuffer(raw, dtype=kind).reshape(shape)
    again = through_text(array)
    assert again.dtype == array.dtype and again.shape == array.shape and again.tobytes() == array.tobytes()


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16"])
def test_special_floats_come_back_and_print_as_words(dtype: str) -> None:
    values = np.array([np.nan, -0.0, np.inf, -np.inf, 0.1, 1e-5, 3.0]).astype(numpy_dtype(dtype))
    assert through_text(values).tobytes() == values.tobytes()
    assert array_text(values).count("nan, -0.0, inf, -inf, ") == 1


def test_large_arrays_are_hex() -> None:
    array = np.arange(33, dtype=np.int16)
    assert '"0x00000100' in array_text(array)
    assert np.array_equal(through_text(array), array)


def test_a_constant_does_not_change_when_the_array_does() -> None:
    array = np.zeros(3, np.float32)
    with Graph("g"):
        value = ops.constant(array)
    array[:] = 7
    assert not value.owner.attrs["value"].any()
    with pytest.raises(ValueError, match="read-only"):
        value.owner.attrs["value"][0] = 1


def test_fortran_order_and_big_endian_arrays_keep_their_values() -> None:
    array = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert np.array_equal(through_text(array), array)
    swapped = np.arange(3).astype(">i4")
    again = through_text(swapped)
    assert np.array_equal(again, swapped) and again.dtype == np.int32


@pytest.mark.parametrize("value", [np.array(["a"]), np.array([1j]), object(), np.zeros(2, "M8[s]"), [[1], [2, 3]]])
def test_what_is_not_an_array_of_a_known_dtype_is_refused(value: object) -> None:
    with Graph("g"), pytest.raises(GraphError, match=r"constant|dtype"):
        ops.constant(value)


@given(st.floats(allow_nan=False))
def test_a_float_prints_so_that_it_reads_back(value: float) -> None:
    text = float_text(value)
    assert float(text) == value and ("." in text or "inf" in text)
