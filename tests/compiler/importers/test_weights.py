"""Weights from safetensors and GGUF: the numbers that their own libraries read, and nothing from a damaged file."""

from __future__ import annotations

import json
import random
import time
import tracemalloc

import numpy as np
import pytest

from compiler import Graph, TensorType, compile, ops
from compiler.errors import CompilerError, ParseError
from compiler.importers.weights.gguf_file import read_gguf
from compiler.importers.weights.safetensors_file import read_safetensors

ROWS, COLUMNS = 48, 512


def written(path, kinds):
    """A GGUF file of random blocks, and what the `gguf` package makes of each."""
    gguf = pytest.importorskip("gguf")
    chance = np.random.default_rng(5)
    writer = gguf.GGUFWriter(path, "llama")
    want = {}
    for name in kinds:
        kind = gguf.GGMLQuantizationType[name]
        numbers = chance.standard_normal((ROWS, COLUMNS), dtype=np.float32)
        try:
            raw = gguf.quants.quantize(numbers, kind)
        except NotImplementedError:  # there is no encoder for it: any bytes with sensible scales are blocks
            elements, size = gguf.GGML_QUANT_SIZES[kind]
            blocks = chance.integers(0, 256, (ROWS, COLUMNS // elements, size), dtype=np.uint8)
            scales = chance.standard_normal((2, ROWS, COLUMNS // elements, 1)).astype(np.float16).view(np.uint8)
            if name == "Q4_K":
                blocks[..., 0:2], blocks[..., 2:4] = scales
            else:
                blocks[..., 208:210] = scales[0]
            raw = blocks.reshape(ROWS, -1)
        writer.add_tensor(name, raw, raw_dtype=kind)
        want[name] = gguf.quants.dequantize(raw, kind).astype(np.float32)
    writer.add_array("tokenizer.ggml.tokens", ["a", "bc", "def"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return want


KINDS = ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_K", "Q6_K"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_multiplies_as_its_numbers_do_and_no_decoded_copy_is_made(tmp_path, kind):
    want = written(tmp_path / "w.gguf", [kind])[kind]
    tensor = read_gguf(tmp_path / "w.gguf").tensors[kind]
    assert tensor.shape == (ROWS, COLUMNS)
    with Graph("g", [TensorType("f32", ("M", COLUMNS)), TensorType("i64", (3,))]) as graph:
        x, rows = graph.inputs
        graph.output(x @ tensor.value().T, tensor.rows(rows))
    model = compile(graph)
    given = np.random.default_rng(0).standard_normal((4, COLUMNS), dtype=np.float32)
    chosen = np.array([7, 0, ROWS - 1])
    product, picked = model.execute(given, chosen)
    scale = np.abs(given @ want.T).max()
    assert np.abs(product - given @ want.T).max() < 1e-5 * scale
    assert np.array_equal(picked, want[chosen])
    held = [b for call in model.fusion.calls for b in call.results if b.kind == "temporary"]
    assert sum(b.bytes({"M": 4}) for b in held) < want.nbytes / 8 * 2, [b.name for b in held]


def test_a_quantised_product_is_one_kernel(tmp_path):
    written(tmp_path / "w.gguf", ["Q8_0"])
    tensor = read_gguf(tmp_path / "w.gguf").tensors["Q8_0"]
    with Graph("g", [TensorType("f32", ("M", COLUMNS))]) as graph:
        graph.output(graph.inputs[0] @ tensor.value().T)
    assert len(compile(graph).fusion.calls) == 1


def safetensors_file(path):
    safetensors = pytest.importorskip("safetensors.numpy")
    chance = np.random.default_rng(2)
    arrays = {
        "a": chance.standard_normal((6, 4), dtype=np.float32), "b": chance.standard_normal(5).astype(np.float16),
        "c": chance.integers(0, 9, (2, 3)), "none": np.zeros((0, 4), np.float32),
    }  # fmt: skip
    safetensors.save_file(arrays, path, metadata={"format": "np"})
    return arrays


def test_safetensors_are_what_was_saved(tmp_path):
    arrays = safetensors_file(tmp_path / "w.safetensors")
    found = read_safetensors(tmp_path / "w.safetensors")
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert np.array_equal(found[name].array(), array) and found[name].array().dtype == array.dtype


def head_of(entries, data=b""):
    text = json.dumps(entries).encode()
    return len(text).to_bytes(8, "little") + text + data


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "cannot read|is not a safetensors"),
        (b"\xff" * 64, "longer than the file"),
        (b"\x08\0\0\0\0\0\0\0notjson!", "does not read"),
        (head_of({"a": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}), "not within the file"),
        (head_of({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, b"1234"), "not within the file"),
        (head_of({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, b"1234"), "its shape takes 8"),
        (head_of({"a": {"dtype": "F4", "shape": [2], "data_offsets": [0, 4]}}, b"1234"), "does not read"),
    ],
)
def test_hostile_safetensors_are_told_in_one_line(tmp_path, content, words):
    (tmp_path / "w.safetensors").write_bytes(content)
    with pytest.raises(ParseError, match=words) as refused:
        read_safetensors(tmp_path / "w.safetensors")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"GGML" + bytes(64), "not a GGUF file"),
        (b"GGUF" + (9).to_bytes(4, "little") + bytes(32), "version 9"),
        (b"GGUF" + (3).to_bytes(4, "little") + (2**60).to_bytes(8, "little") * 2, "more than fit"),
        (b"GGUF\x03", "damaged|ends at"),
    ],
)
def test_hostile_gguf_is_told_in_one_line(tmp_path, content, words):
    (tmp_path / "w.gguf").write_bytes(content)
    with pytest.raises(ParseError, match=words) as refused:
        read_gguf(tmp_path / "w.gguf")
    assert "\n" not in str(refused.value)


def try_mutations(tmp_path, count):
    """Files with bytes changed in their heads: told or read, quickly, and with little memory."""
    written(tmp_path / "w.gguf", KINDS)
    safetensors_file(tmp_path / "w.safetensors")
    chance, slowest, most, refused = random.Random(4), 0.0, 0.0, 0
    for name, read in (("w.gguf", read_gguf), ("w.safetensors", read_safetensors)):
        whole = (tmp_path / name).read_bytes()
        for tensor in read_gguf(tmp_path / "w.gguf").tensors.values():  # what a first use imports is not the file's
            if tensor.encoding in ("f32", "f16"):
                tensor.array()
        for number in range(count // 2):
            data = bytearray(whole)
            for _ in range(chance.choice((1, 1, 2, 6))):
                at = chance.randrange(min(len(data), 1200))
                match chance.randrange(4):
                    case 0:
                        data[at] ^= 1 << chance.randrange(8)
                    case 1:
                        data[at : at + 8] = chance.choice((b"\xff" * 8, (1 << 40).to_bytes(8, "little"), bytes(8)))
                    case 2:
                        data[at : at + chance.randrange(6)] = chance.randbytes(chance.randrange(6))
                    case _:
                        del data[max(at, 1) :]
                if not data:
                    break
            path = tmp_path / f"changed.{name}"
            path.write_bytes(data)
            start = time.process_time()  # a machine that does something else is no hang
            if number % 20 == 0:
                tracemalloc.start()
            try:
                for tensor in read(path).values() if name != "w.gguf" else read(path).tensors.values():
                    if tensor.encoding in ("f32", "f16"):
                        tensor.array()
            except CompilerError as error:
                refused += 1
                assert "\n" not in str(error)
            slowest = max(slowest, time.process_time() - start)
            if number % 20 == 0:
                most = max(most, tracemalloc.get_traced_memory()[1] / max(len(data), 1 << 16))
                tracemalloc.stop()
    return refused, slowest, most


def test_mutated_weights_are_refused_or_read(tmp_path):
    refused, slowest, most = try_mutations(tmp_path, 600)
    assert refused > 150 and slowest < 1 and most < 4


@pytest.mark.slow
def test_twenty_thousand_mutated_files_of_weights(tmp_path):
    refused, slowest, most = try_mutations(tmp_path, 40_000)
    print(f"{refused} of 40,000 refused, slowest {slowest * 1e3:.0f} ms, at most {most:.2f} times the file allocated")
    assert slowest < 1 and most < 4


def test_a_gather_of_quantised_rows_decodes_only_them(tmp_path):
    written(tmp_path / "w.gguf", ["Q8_0"])
    tensor = read_gguf(tmp_path / "w.gguf").tensors["Q8_0"]
    with Graph("g", [TensorType("i64", ("T",))]) as graph:
        graph.output(ops.relu(tensor.rows(graph.inputs[0])))
    assert len(compile(graph).fusion.calls) == 1
