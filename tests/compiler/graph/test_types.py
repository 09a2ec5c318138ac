"""Types: what a user writes, what is refused, and how they print."""

from __future__ import annotations

import pytest

from compiler.errors import GraphError
from compiler.graph.dims import symbol
from compiler.graph.types import BufferType, OpaqueType, TensorType


def test_a_dim_is_a_number_a_name_or_an_expression() -> None:
    type = TensorType("f32", ("M", 512, "2*M + 1"))
    assert type.shape == (symbol("M"), 512, symbol("M") * 2 + 1)
    assert type.rank == 3 and type.dtype == "f32" and type.symbols == {"M"}


def test_types_are_equal_by_dtype_and_shape() -> None:
    assert TensorType("f32", ("M", 4)) == TensorType("f32", [symbol("M"), 4])
    assert hash(TensorType("f32", ("M",))) == hash(TensorType("f32", ("M",)))
    assert TensorType("f32", (4,)) != TensorType("f16", (4,)) != BufferType("f16", (4,))


@pytest.mark.parametrize(
    ("dtype", "text"),
    [("f32", "f32"), ("u8", "ui8"), ("bool", "i1"), ("bf16", "bf16"), ("i64", "i64")],
)
def test_dtypes_print_as_mlir_spells_them(dtype: str, text: str) -> None:
    assert str(TensorType(dtype, ("M", 2))) == f"!mo.tensor<[M, 2], {text}>"


def test_floordiv_and_mod_print_as_words_because_slashes_start_a_comment() -> None:
    type = TensorType("f32", ((symbol("H") - 3) // 2 + 1, symbol("H") % 4))
    assert str(type) == "!mo.tensor<[((H - 3) floordiv 2) + 1, (H mod 4)], f32>"


def test_opaque_and_buffer_print() -> None:
    assert str(OpaqueType("rng")) == '!mo.opaque<"rng">'
    assert str(BufferType("f32", (4,))) == "!mo.buffer<[4], f32>"


@pytest.mark.parametrize(
    ("dtype", "shape", "said"),
    [
        ("float32", (2,), "unknown dtype 'float32'"),
        (None, (2,), "unknown dtype None"),
        ("f32", (-1,), "between 0 and"),
        ("f32", (2**63,), "between 0 and"),
        ("f32", ("a b",), "dim"),
        ("f32", (1.5,), "a dim is a whole number or a name"),
        ("f32", (True,), "a dim is a whole number or a name"),
        ("f32", (None,), "a dim is a whole number or a name"),
        ("f32", ("mod",), "reserved word"),
        ("f32", 1.5, "a shape is a sequence of dims"),
    ],
)
def test_a_bad_type_is_a_graph_error_at_the_users_line(dtype: object, shape: object, said: str) -> None:
    with pytest.raises(GraphError) as caught:
        TensorType(dtype, shape)  # type: ignore[arg-type]
    assert said in caught.value.message and "\n" not in str(caught.value)
    assert caught.value.location is not None and caught.value.location.file == __file__
