"""vector: lanes in, lanes out."""

from __future__ import annotations

import numpy as np
import pytest


def lanes(build, body: str, kind: str, dtype: type, result: int = 4) -> np.ndarray:
    """Run ops that turn %a (4 lanes: 1 2 3 4) and %i (2) into %r."""
    store = f"vector.store %r, %out[%c0] : memref<?x{kind}>, vector<{result}x{kind}>"
    if not result:
        store = f"memref.store %r, %out[%c0] : memref<?x{kind}>"
    text = f"""
func.func @k(%out: memref<?x{kind}>, %in: memref<?x{kind}>, %i: index) attributes {{kg.kernel}} {{
  %c0 = arith.constant 0 : index
  %a = vector.load %in[%c0] : memref<?x{kind}>, vector<4x{kind}>
  {body}
  {store}
  func.return
}}"""
    out = np.zeros(16, dtype)
    build(text)(out, np.array([1, 2, 3, 4], dtype), 2)
    return out[: result or 1]


def test_broadcast_a_value_and_a_constant(build):
    body = "%x = vector.extract %a[2] : f32 from vector<4xf32>\n%r = vector.broadcast %x : f32 to vector<8xf32>"
    np.testing.assert_array_equal(lanes(build, body, "f32", np.float32, 8), [3] * 8)
    body = "%x = arith.constant 7.0 : f32\n%r = vector.broadcast %x : f32 to vector<8xf32>"
    np.testing.assert_array_equal(lanes(build, body, "f32", np.float32, 8), [7] * 8)


def test_extract_and_insert_at_static_and_dynamic_places(build):
    body = """%x = vector.extract %a[%i] : i32 from vector<4xi32>
  %b = vector.insert %x, %a[0] : i32 into vector<4xi32>
  %r = vector.insert %x, %b[%i] : i32 into vector<4xi32>"""
    np.testing.assert_array_equal(lanes(build, body, "i32", np.int32), [3, 2, 3, 4])


@pytest.mark.parametrize(
    ("mask", "expected"),
    [("[3, 2, 1, 0]", [4, 3, 2, 1]), ("[0, 4, 1, 5, 2, 6]", [1, 1, 2, 2, 3, 3]), ("[1, 1]", [2, 2])],
)
def test_shuffle(build, mask, expected):
    body = f"%r = vector.shuffle %a, %a {mask} : vector<4xf32>, vector<4xf32>"
    np.testing.assert_array_equal(lanes(build, body, "f32", np.float32, len(expected)), expected)


def test_shuffle_of_vectors_of_different_lengths(build):
    short = "%s = vector.shuffle %a, %a [0, 1] : vector<4xf32>, vector<4xf32>\n"
    body = short + "%r = vector.shuffle %a, %s [3, 4, 5, 0] : vector<4xf32>, vector<2xf32>"
    np.testing.assert_array_equal(lanes(build, body, "f32", np.float32), [4, 1, 2, 1])
    body = short + "%r = vector.shuffle %s, %a [1, 2, 5, 0] : vector<2xf32>, vector<4xf32>"
    np.testing.assert_array_equal(lanes(build, body, "f32", np.float32), [2, 1, 4, 1])


def test_bitcast_changes_the_number_of_lanes(build):
    body = """%b = vector.bitcast %a : vector<4xi32> to vector<8xi16>
  %c = vector.shuffle %b, %b [1, 0, 3, 2, 5, 4, 7, 6] : vector<8xi16>, vector<8xi16>
  %r = vector.bitcast %c : vector<8xi16> to vector<4xi32>"""
    np.testing.assert_array_equal(lanes(build, body, "i32", np.int32), np.array([1, 2, 3, 4]) << 16)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("add", 10),
        ("mul", 24),
        ("minsi", 1),
        ("maxsi", 4),
        ("minui", 1),
        ("maxui", 4),
        ("and", 0),
        ("or", 7),
    ],
)
def test_integer_reductions(build, kind, expected):
    body = f"%r = vector.reduction <{kind}>, %a : vector<4xi32> into i32"
    assert lanes(build, body, "i32", np.int32, 0)[0] == expected


@pytest.mark.parametrize(("kind", "expected"), [("add", 10), ("mul", 24), ("minimumf", 1), ("maximumf", 4)])
def test_float_reductions(build, kind, expected):
    body = f"%r = vector.reduction <{kind}>, %a : vector<4xf32> into f32"
    assert lanes(build, body, "f32", np.float32, 0)[0] == expected


def test_maximum_reductions_keep_nans(build):
    text = """
func.func @k(%out: memref<?xf32>, %in: memref<?xf32>) attributes {kg.kernel} {
  %c0 = arith.constant 0 : index
  %a = vector.load %in[%c0] : memref<?xf32>, vector<8xf32>
  %r = vector.reduction <maximumf>, %a : vector<8xf32> into f32
  memref.store %r, %out[%c0] : memref<?xf32>
  func.return
}"""
    out = np.zeros(1, np.float32)
    values = np.arange(8, dtype=np.float32)
    values[3] = np.nan
    build(text)(out, values)
    assert np.isnan(out[0])


def test_float_sums_are_trees(lower):
    """A chain of eight dependent additions would be `fadd` one lane at a time, in order."""
    text = """
func.func @k(%out: memref<?xf32>, %in: memref<?xf32>) attributes {kg.kernel} {
  %c0 = arith.constant 0 : index
  %a = vector.load %in[%c0] : memref<?xf32>, vector<8xf32>
  %r = vector.reduction <add>, %a : vector<8xf32> into f32
  memref.store %r, %out[%c0] : memref<?xf32>
  func.return
}"""
    asm = lower(text, "neoverse-n1").asm
    assert asm.count("fadd") == 3
