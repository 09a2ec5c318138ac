"""Weights of any size: compiling and keeping a record reads none of them, and processes map one copy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from compiler import Graph, TensorType, ops
from compiler.artifact.graph_document import GraphDocument, document_of, graph_of
from compiler.constants.digests import digest_of
from compiler.constants.file_arrays import FileArray, MappedFile, array_at, place_of
from compiler.constants.sharing import shared_array
from compiler.errors import ParseError
from compiler.importers.mlir_text import parse_graph
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph
from compiler.processes.frames import Channel, named

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path / "cache"))


def weights_file(tmp_path, count=2, side=512):
    values = np.random.default_rng(3).standard_normal((count, side, side), dtype=np.float32)
    path = tmp_path / "w.bin"
    path.write_bytes(b"\0" * 64 + values.tobytes())
    return path, values


def layers(path, count=2, side=512):
    file = MappedFile(path)
    with Graph("layers", [TensorType("f32", ("M", side))]) as graph:
        x = graph.inputs[0]
        for k in range(count):
            x = ops.relu(x @ ops.constant(file.array(np.dtype("f4"), (side, side), 64 + k * side * side * 4)))
        graph.output(x)
    return graph


def constants(graph):
    return [op.attrs["value"] for op in graph.ops if op.name == "mo.constant"]


def sent(document):
    import socket
    import threading

    ends = [Channel(end, named(GraphDocument)) for end in socket.socketpair()]
    threading.Thread(target=ends[0].send, args=(document,)).start()
    found = ends[1].receive().value
    for end in ends:
        end.close()
    return found


def test_a_model_reads_its_weights_where_they_lie(tmp_path):
    path, values = weights_file(tmp_path)
    model = compile_graph(layers(path), CompileOptions())
    x = np.random.default_rng(0).standard_normal((3, 512), dtype=np.float32)
    (y,) = model.execute(x)
    want = np.maximum(np.maximum(x @ values[0], 0) @ values[1], 0)
    assert np.allclose(y, want, rtol=1e-4, atol=1e-3)
    assert all(isinstance(buffer.array, FileArray) for buffer in model.fusion.constants)


def test_the_cache_knows_a_model_by_its_shapes_and_holds_no_weights(tmp_path):
    path, _ = weights_file(tmp_path)
    compile_graph(layers(path), CompileOptions())
    kept = sum(f.stat().st_size for f in (tmp_path / "cache" / "model").rglob("*") if f.is_file())
    assert 0 < kept < 1 << 20
    other = tmp_path / "other"
    other.mkdir()
    path, values = weights_file(other)
    values = -values
    path.write_bytes(b"\0" * 64 + values.tobytes())
    model = compile_graph(layers(path), CompileOptions())
    assert model.stats["cache"]["misses"] == 0
    x = np.ones((1, 512), np.float32)
    assert np.allclose(model.execute(x)[0], np.maximum(np.maximum(x @ values[0], 0) @ values[1], 0), atol=1e-2)


def test_weights_used_twice_are_one_buffer_and_another_model_than_two(tmp_path):
    path, _ = weights_file(tmp_path)
    first = MappedFile(path).array(np.dtype("f4"), (512, 512), 64)
    second = MappedFile(path).array(np.dtype("f4"), (512, 512), 64)
    with Graph("twice", [TensorType("f32", ("M", 512))]) as graph:
        graph.output(graph.inputs[0] @ ops.constant(first) @ ops.constant(second))
    assert len(compile_graph(graph, CompileOptions()).fusion.constants) == 1


def test_text_names_weights_by_digest_and_finds_them_again(tmp_path):
    path, _ = weights_file(tmp_path)
    graph = layers(path)
    text = str(graph)
    assert len(text) < 2000 and text.count("blake2b:") == 2 and "[512, 512], f32" in text
    again = parse_graph(text)
    assert [place_of(array) for array in constants(again)] == [place_of(array) for array in constants(graph)]
    os.utime(path, (1, 1))
    with pytest.raises(ParseError, match="in no file that this machine has seen and still has"):
        parse_graph(text)


def test_a_digest_is_of_the_content_wherever_it_lies(tmp_path):
    path, values = weights_file(tmp_path)
    (first, second) = constants(layers(path))
    assert digest_of(first) == digest_of(values[0]) != digest_of(second) == digest_of(values[1])


def test_a_digest_is_not_computed_twice(tmp_path, monkeypatch):
    path, _ = weights_file(tmp_path)
    (first, _) = constants(layers(path))
    found = digest_of(first)
    monkeypatch.setattr(os, "pread", None)
    assert digest_of(first) == found


def test_another_process_maps_the_same_file(tmp_path):
    path, values = weights_file(tmp_path)
    found = constants(graph_of(sent(document_of(layers(path)))))
    assert [place_of(array).file.path for array in found] == [str(path)] * 2
    assert np.array_equal(found[1], values[1])


def test_a_file_that_changed_is_refused(tmp_path):
    path, _ = weights_file(tmp_path)
    (first, _) = constants(layers(path))
    path.write_bytes(b"short")
    with pytest.raises(ParseError, match="was changed or removed"):
        array_at(place_of(first), first.dtype, first.shape)


def test_many_large_arrays_in_memory_are_shared_as_files(tmp_path, monkeypatch):
    import compiler.artifact.graph_document as documents

    monkeypatch.setattr(documents, "_MOST_IN_MEMORY", 1 << 20)
    values = np.random.default_rng(1).standard_normal((640, 640), dtype=np.float32)
    with Graph("g", [TensorType("f32", ("M", 640))]) as graph:
        graph.output(graph.inputs[0] @ values)
    (found,) = constants(graph_of(sent(document_of(graph))))
    assert place_of(found) is not None and np.array_equal(found, values)
    assert place_of(found).file.path.startswith(str(tmp_path / "cache" / "weights"))


def test_an_array_that_is_shared_again_stays_where_others_have_it(monkeypatch):
    values = np.random.default_rng(2).standard_normal((640, 640), dtype=np.float32)
    first = shared_array(values)
    os.utime(place_of(first).file.path, ns=(1, first_modified := place_of(first).file.modified))
    second = shared_array(values)
    assert place_of(first).file.holds() and place_of(second) == place_of(first)
    assert os.stat(place_of(first).file.path).st_atime_ns > first_modified, "its last use is noted"


_COMPILE = """
import json, resource, sys
import numpy as np
from compiler import Graph, TensorType, compile, ops
from compiler.constants.file_arrays import MappedFile
from profiler.recording import record_compilation, keep_stages
from profiler.store import open_store

def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(name))

def built(path, count, side):
    file = MappedFile(path)
    with Graph("sparse", [TensorType("f32", ("M", side))]) as graph:
        x = graph.inputs[0]
        for k in range(count):
            x = ops.relu(x @ ops.constant(file.array(np.dtype("f4"), (side, side), k * side * side * 4)))
        graph.output(x)
    return graph

path, count, side, db = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
small = sys.argv[5]
model = compile(built(small, 1, 512), cache=False)  # so that what a first compilation loads does not count
before = status("VmRSS")
model = compile(built(path, count, side), cache=False)
after, peak = status("VmRSS"), status("VmHWM")
with open_store(db) as store:
    keep_stages(store, record_compilation(store, model, "sparse", 0.0), model)
print(json.dumps({"compiled": peak - before, "recorded": status("VmHWM") - before}))
"""


def _compiled_apart(tmp_path, count, side):
    path, small = tmp_path / "weights.bin", tmp_path / "small.bin"
    for file, size in ((path, count * side * side * 4), (small, 512 * 512 * 4)):
        with open(file, "wb") as out:
            out.truncate(size)
    db = tmp_path / "runs.db"
    ended = subprocess.run(
        [sys.executable, "-c", _COMPILE, path, str(count), str(side), db, small],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    written = sum(f.stat().st_size for f in tmp_path.rglob("*") if f.is_file() and f not in (path, small))
    return json.loads(ended.stdout) | {"written": written}


def test_compiling_256_megabytes_of_weights_makes_few_of_them_resident(tmp_path):
    found = _compiled_apart(tmp_path, 4, 4096)
    assert found["compiled"] < 100 << 20 and found["recorded"] < 150 << 20 and found["written"] < 8 << 20, found


@pytest.mark.slow
def test_compiling_8_gigabytes_of_weights_adds_less_than_200_megabytes(tmp_path):
    found = _compiled_apart(tmp_path, 128, 4096)
    print(found)
    assert found["compiled"] < 200 << 20 and found["recorded"] < 200 << 20 and found["written"] < 16 << 20, found
