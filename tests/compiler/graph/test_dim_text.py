"""Sizes as text: whatever arithmetic makes of a size, its text reads back as the same size."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.graph import dims
from compiler.graph.dim_text import dim

_LEAVES = st.one_of(st.integers(1, 7), st.sampled_from(["M", "K", "Z"]).map(dims.symbol))


def _grown(inner):
    numbers = st.integers(1, 5)
    return st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
        st.tuples(inner, numbers).map(lambda pair: pair[0] - pair[1]),
        st.tuples(inner, numbers).map(lambda pair: pair[0] * pair[1]),
        st.tuples(inner, numbers).map(lambda pair: dims.floordiv(*pair)),
        st.tuples(inner, numbers).map(lambda pair: dims.mod(*pair)),
        st.tuples(inner, inner).map(lambda pair: dims.minimum(*pair)),
        st.tuples(inner, inner).map(lambda pair: dims.maximum(*pair)),
    )


@settings(max_examples=300, deadline=None)
@given(st.recursive(_LEAVES, _grown, max_leaves=6))
def test_text_reads_back_as_the_same_size(size):
    read = dim(str(size)) if isinstance(size, dims.Dim) else size
    assert read == size, f"{size} reads as {read}"


def test_an_operand_that_begins_with_a_division_is_grouped():
    half = dims.floordiv(dims.symbol("Z"), 2)
    assert str(dims.floordiv(half - 3, 2)) == "(((Z // 2) - 3) // 2)"
