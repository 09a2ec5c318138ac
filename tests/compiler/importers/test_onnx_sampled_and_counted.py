"""Ops that sample at computed places or count n-grams, against ONNX's own evaluator; those that cannot be had."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from compiler import compile, from_onnx  # noqa: E402
from compiler.errors import CompilerError, GraphError  # noqa: E402


def model(op, inputs, shape, opset=22, kind=TensorProto.FLOAT, **attributes):
    """A model of one node; inputs are (name, element type, shape)."""
    node = helper.make_node(op, [name for name, _, _ in inputs], ["y"], **attributes)
    given = [helper.make_tensor_value_info(*each) for each in inputs]
    graph = helper.make_graph([node], "one", given, [helper.make_tensor_value_info("y", kind, shape)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def agrees(made, *arrays):
    names = [entry.name for entry in made.graph.input]
    (wanted,) = ReferenceEvaluator(made).run(None, dict(zip(names, arrays, strict=True)))
    (found,) = compile(from_onnx(made), opt_level=1).execute(*arrays)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


POOL = {
    "min_gram_length": 1, "max_gram_length": 3, "ngram_counts": [0, 3, 7],
    "pool_int64s": [2, 3, 2, 5, 6, 7, 8, 1, 2, 3],
}  # fmt: skip


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("skip", [0, 2])
def test_n_grams_are_counted_and_weighted(mode, skip):
    weights = [0.5, 2.0, 0.25, 3.0, 1.5, 4.0, 0.75]
    made = model(
        "TfIdfVectorizer", [("x", TensorProto.INT64, ["N", 9])], ["N", 7], 9, mode=mode, max_skip_count=skip,
        ngram_indexes=[6, 0, 1, 4, 3, 2], weights=weights, **POOL,
    )  # fmt: skip
    tokens = np.random.default_rng(skip).integers(1, 9, (4, 9))
    tokens[0, :3] = 1, 2, 3
    agrees(made, tokens)


def test_of_equal_n_grams_the_later_counts_and_columns_may_be_shared_or_empty():
    made = model(
        "TfIdfVectorizer", [("x", TensorProto.INT32, [6])], [10], 9, mode="TF", max_skip_count=0, min_gram_length=1,
        max_gram_length=1, ngram_counts=[0], pool_int64s=[4, 5, 4, 6], ngram_indexes=[0, 3, 9, 3],
    )  # fmt: skip
    agrees(made, np.array([4, 5, 6, 4, 4, 1], np.int32))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ngram_indexes": [10**12, 0, 1, 2, 3, 4]}, "columns of the result"),
        ({"ngram_indexes": [0]}, "more n-grams than that"),
        ({"ngram_counts": [0, 9, 3]}, "of length 2"),
        ({"weights": [1.0], "mode": "IDF"}, "1 weights for 6 columns"),
        ({"mode": "often"}, "the mode 'often'"),
        ({"pool_strings": ["a"]}, "strings are not read"),
    ],
)
def test_n_grams_that_make_no_sense_are_refused_in_one_line(change, words):
    given = {"mode": "TF", "max_skip_count": 1 << 40, "ngram_indexes": [0, 1, 2, 3, 4, 5], **POOL, **change}
    made = model("TfIdfVectorizer", [("x", TensorProto.INT64, [9])], [6], 9, **given)
    with pytest.raises(CompilerError, match=words) as refused:
        from_onnx(made)
    assert "\n" not in str(refused.value)


def test_a_deformable_convolution_of_groups_strides_and_any_batch():
    chance = np.random.default_rng(0)
    inputs = [("x", TensorProto.FLOAT, ["N", 4, 9, 8]), ("w", TensorProto.FLOAT, [6, 2, 3, 2]),
              ("offset", TensorProto.FLOAT, ["N", 24, 4, 4]), ("b", TensorProto.FLOAT, [6]),
              ("mask", TensorProto.FLOAT, ["N", 12, 4, 4])]  # fmt: skip
    made = model(
        "DeformConv", inputs, ["N", 6, 4, 4], group=2, offset_group=2, strides=[2, 2], pads=[1, 2, 0, 0],
        dilations=[1, 2], kernel_shape=[3, 2],
    )  # fmt: skip
    for batch in (1, 3):
        shapes = [(batch, 4, 9, 8), (6, 2, 3, 2), (batch, 24, 4, 4), (6,), (batch, 12, 4, 4)]
        agrees(made, *[chance.normal(0, 1, shape).astype(np.float32) for shape in shapes])


def test_offsets_that_do_not_fit_their_window_are_refused():
    inputs = [("x", TensorProto.FLOAT, [1, 1, 4, 4]), ("w", TensorProto.FLOAT, [1, 1, 2, 2]),
              ("offset", TensorProto.FLOAT, [1, 7, 3, 3])]  # fmt: skip
    with pytest.raises(GraphError, match="offsets"):
        from_onnx(model("DeformConv", inputs, [1, 1, 3, 3]))


@pytest.mark.parametrize("op", ["Unique", "NonMaxSuppression", "ImageDecoder"])
def test_ops_that_cannot_be_had_say_why(op):
    made = model(op, [("x", TensorProto.FLOAT, [4])], [None], 20)
    with pytest.raises(GraphError, match=f"{op} .*(depends on the data|before the model)"):
        from_onnx(made)
