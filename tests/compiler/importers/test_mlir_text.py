"""Whatever text is given to `parse_graph`, the answer is a Graph or a ParseError that says file, line and column."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from compiler.errors import ParseError
from compiler.graph import ops
from compiler.graph.graph import Graph
from compiler.graph.types import BufferType, TensorType
from compiler.importers.mlir_text import load_mlir, parse_graph


def sample() -> str:
    inputs = [TensorType("f32", ("M", 4)), TensorType("i64", (3,)), BufferType("f32", (2,))]
    with Graph("sample", inputs) as g:
        x, i, cache = g.inputs
        ops.buffer_store(cache, ops.buffer_load(cache) * 2)
        y = ops.layer_norm(x[1::2], eps=1e-6) + np.arange(40, dtype=np.float32).reshape(10, 4)[:1]
        z = ops.custom(
            "scale", [y], [TensorType("f32", ("M",)), TensorType("bool", ())], factor=0.5, sizes=(1, "a"), w="ü"
        )
        g.output(y, *z, ops.gather(x, i, axis=1), ops.constant(np.arange(64, dtype=np.int16)), ops.pad(x, 1))
    return str(g)


TEXT = sample()
PLACE = re.compile(r"some\.mlir:\d+:\d+: .+")


def refusal(text: str) -> str:
    with pytest.raises(ParseError) as caught:
        parse_graph(text, "some.mlir")
    said = str(caught.value)
    assert PLACE.fullmatch(said), said
    return said


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "graph.mlir"
    path.write_text(TEXT)
    assert str(load_mlir(path)) == str(parse_graph(TEXT)) == TEXT


def test_a_graph_needs_no_module_around_it_and_may_have_comments_and_numbers_for_names() -> None:
    graph = parse_graph("""
        // a comment
        mo.graph @g(%0: !mo.tensor<[M], f32>) -> (!mo.tensor<[M], f32>) {
          %1 = mo.exp(%0) : (!mo.tensor<[M], f32>) -> !mo.tensor<[M], f32>   // another
          mo.output %1 : !mo.tensor<[M], f32>
        }""")
    assert graph.input_names == ("x0",) and graph.outputs[0].node_name == "exp_0"
    graph.verify()


def test_a_read_graph_can_be_printed_again_and_has_unique_names() -> None:
    graph = parse_graph("""
        mo.graph @g(%exp_0: !mo.tensor<[M], f32>) -> (!mo.tensor<[M], f32>) {
          %1 = mo.exp(%exp_0) : (!mo.tensor<[M], f32>) -> !mo.tensor<[M], f32>
          mo.output %1 : !mo.tensor<[M], f32>
        }""")
    assert graph.outputs[0].node_name == "exp_1"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("mo.layer_norm", "mo.layer_morn"), "not registered"),
        (("eps = 1.0e-06", 'eps = "small"'), "attribute 'eps' must be a float"),
        (("eps = 1.0e-06", "eps = 1.0e-06, eps = 2.0"), "'eps' is given twice"),
        (("axis = 1", "axis = 7"), "axis 7 is outside"),
        (("[M, 4], f32>", "[M, 4], f31>"), "a dtype expected"),
        (("[M, 4], f32>", "[M /, 4], f32>"), "expected"),
        (("[M, 4], f32>", "[99999999999999999999, 4], f32>"), "between 0 and"),
        (("%chain_0 = ", "%other = "), "%chain_0 is used before it is defined"),
        (("mo.output", "mo.outptu"), "not registered"),
        (("mo.graph @sample", "mo.graph"), "symbol name"),
        (('"0x', '"0y'), "the hex of"),
        (("-> (!mo.tensor", "-> (!mo.chain, !mo.tensor"), ""),
        (("builtin.module {", "builtin.module { mo.graph @g() { }"), "one mo.graph expected"),
        (("mo.gather(%x0, %x1)", "mo.gather(%x1, %x0)"), "used with type"),
        (("mo.buffer_load(", '"mo.buffer_load"('), "generic form"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place(change: tuple[str, str], said: str) -> None:
    assert change[0] in TEXT
    assert re.search(said, refusal(TEXT.replace(*change, 1)))


def test_the_place_is_that_of_the_op_that_breaks_a_rule() -> None:
    text = "\n".join([
        "mo.graph @g(%x: !mo.tensor<[M], f32>) -> (!mo.tensor<[2], f32>) {",
        "    %y = mo.exp(%x) : (!mo.tensor<[M], f32>) -> !mo.tensor<[2], f32>",
        "    mo.output %y : !mo.tensor<[2], f32>",
        "}",
    ])  # fmt: skip
    assert refusal(text).startswith("some.mlir:2:5: mo.exp: result type must be !mo.tensor<[M], f32>")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        "}",
        "builtin.module { }",
        "builtin.module {" * 5000,
        "mo.graph @g(" + "%x: !mo.tensor<[" + "(" * 3000,
        "!a = i32",
        "#a = dense<0> : tensor<999999999999xf32>",
        "builtin.module attributes {a = dense<0> : tensor<99999999999xf32>} { }",
        "builtin.module attributes {a = " + "[" * 3000 + "} { }",
        '"builtin.module"() ({ }) : () -> ()',
        'mo.graph @g() { %a = mo.constant() {value = #mo.array<[99999999999], f32, [0.0]>} : () -> !mo.chain }',
        'mo.graph @g() { %a = mo.constant() {value = #mo.array<[2], f32, "0x' + "0" * 100_000,
        "mo.graph @g() { %a = mo.custom() {kernel = " + "[" * 5000,
        "mo.graph @g() { %a = mo.custom() {kernel = " + "9" * 10_000 + "} : () -> !mo.chain }",
        "mo.graph @g(%x: i32) { mo.output %x : i32 }",
        "mo.graph @g(%x: !mo.tensor<[M // 2], f32>) {}",
        "mo.graph @g(%x: !mo.tensor<[M floordiv 0], f32>) {}",
        "mo.graph @g(%x: !mo.tensor<[M], f32>) -> (!mo.tensor<[M], f32>) { ^a: mo.output %x : !mo.tensor<[M], f32> }",
        "mo.graph @g(%x: !mo.tensor<[½], f32>) {}",
        "mo.graph @g(%x: !mo.tensor<[" + "*".join(f"(a{i} + b{i})" for i in range(45)) + "], f32>) {}",
        "mo.graph @g(%x: !mo.tensor<[M], f32>) -> () { mo.output }",
        "\x00\x01\x02",
        "é" * 100,
        '"' + "a" * 50_000,
        "mo.output {-# dialect_resources: { builtin: { a: \"0x01\" } } #-}",
    ],
    ids=lambda t: t[:40],
)  # fmt: skip
def test_nonsense_is_refused_quickly(text: str) -> None:
    start = time.process_time()
    refusal(text)
    assert time.process_time() - start < 5


@pytest.mark.parametrize("name", ["", "missing.mlir", "a\x00b", "."])
def test_a_file_that_cannot_be_read_is_a_parse_error(name: str) -> None:
    with pytest.raises(ParseError, match=r"cannot read|there is no file|is a folder"):
        load_mlir(Path(name))


def test_a_file_that_is_not_text_is_a_parse_error(tmp_path: Path) -> None:
    path = tmp_path / "bad.mlir"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ParseError, match=r"bad\.mlir is not a text file"):
        load_mlir(path)


TOKENS = [
    "!mo.tensor<[M], f32>", "!mo.chain", "%x0", "[", "]", "{", "}", "(", ")", "<", ">", ",", "->", ":", "-1", "0x",
    "1e9", "999999999999999999999999", "floordiv", "mod", "min(", "//", '"', "\\", "#mo.array<", "#mo.dims<", "loc(",
    "^bb0:", "@", "nan", "true", "-", "*", "builtin.module", "attributes", "dense<0> : tensor<9xf32>", "\n", "é", "i32",
]  # fmt: skip
EDIT = st.tuples(st.sampled_from(["flip", "drop", "put", "cut", "copy"]), st.integers(0, len(TEXT)), st.integers(0, 60),
                 st.sampled_from(TOKENS), st.integers(0, 127))  # fmt: skip


def edited(edits: list[tuple[str, int, int, str, int]]) -> str:
    text = TEXT
    for kind, at, length, token, code in edits:
        at = min(at, len(text))
        if kind == "flip":
            text = text[:at] + chr(code) + text[at + 1 :]
        elif kind == "drop":
            text = text[:at] + text[at + length :]
        elif kind == "put":
            text = text[:at] + token + text[at:]
        elif kind == "copy":
            text = text[:at] + text[at : at + length] + text[at:]
        else:
            text = text[:at]
    return text


@settings(deadline=10_000, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(EDIT, min_size=1, max_size=4))
@example([("cut", 30, 0, "@", 0)])
def test_any_edit_of_a_good_text_gives_a_graph_or_a_parse_error(edits: list[tuple[str, int, int, str, int]]) -> None:
    text = edited(edits)
    try:
        graph = parse_graph(text, "some.mlir")
    except ParseError as error:
        assert PLACE.fullmatch(str(error)), str(error)
    else:
        graph.verify()
        assert str(parse_graph(str(graph))) == str(graph)
