import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from compiler import Graph, TensorType, ops
from compiler.cache import Cache, cache_folder, key_of, pack, producer_versions, unpack
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph

KEY = key_of("something")


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path)


def entry_of(cache, kind="object", key=KEY):
    return cache.path / kind / key[:2] / key[2:]


def test_what_is_put_is_found(cache):
    assert cache.get("object", KEY) is None
    assert cache.put("object", KEY, b"code")
    assert cache.get("object", KEY) == b"code"
    assert cache.get("ir", KEY) is None


@pytest.mark.parametrize(
    "damage", [lambda d: d[:-1], lambda d: d + b"x", lambda d: d[:40] + b"?" + d[41:], lambda d: b""]
)
def test_a_damaged_entry_is_a_miss_and_goes(cache, damage):
    cache.put("object", KEY, b"a payload of some length, long enough to be cut")
    entry = entry_of(cache)
    entry.write_bytes(damage(entry.read_bytes()))
    assert cache.get("object", KEY) is None
    assert not entry.exists()


def test_a_folder_that_cannot_be_written_keeps_nothing_and_fails_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file")
    assert not cache.put("object", KEY, b"code")
    assert cache.get("object", KEY) is None
    assert cache.info().entries == 0


def test_the_least_recently_used_go_first(tmp_path):
    cache = Cache(tmp_path, limit=10_000)
    keys = [key_of(number) for number in range(8)]
    for age, key in enumerate(keys):
        cache.put("object", key, bytes(1000))
        if entry_of(cache, key=key).exists():
            os.utime(entry_of(cache, key=key), (age, age))
    assert cache.get("object", keys[0])  # used again just now
    for number in range(8, 12):
        cache.put("object", key_of(number), bytes(1000))
    assert cache.info().bytes <= 10_000
    assert cache.get("object", keys[0]) and cache.get("object", keys[1]) is None


def test_clear_takes_everything_also_what_was_left_half_written(cache):
    cache.put("object", KEY, b"code")
    entry_of(cache).with_suffix(".77.0.tmp").write_bytes(b"half")
    assert cache.info().entries == 1
    assert cache.clear() == 2
    assert cache.info().entries == 0


def test_many_users_at_once_see_whole_entries(cache):
    wrong = []

    def use(number):
        for turn in range(50):
            key = key_of(turn % 7)
            found = cache.get("object", key)
            if found not in (None, bytes([turn % 7]) * 5000):
                wrong.append((number, turn))
            cache.put("object", key, bytes([turn % 7]) * 5000)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_documents_and_blobs_come_back_as_they_were():
    assert unpack(pack({"a": [1, "x", None]}, [b"", b"\0\1"])) == ({"a": [1, "x", None]}, [b"", b"\0\1"])


def test_the_environment_moves_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path


CHILD = """
import sys
import numpy as np
from app.sources import load_source
from app.inputs import graph_sizes, random_inputs
from compiler import compile
source = load_source("sample:many-kernels:3")
x = random_inputs(source.graph, graph_sizes(source.graph, source.dims, {}), 0)
print("ready", flush=True)
model = compile(source.graph)
print(model.stats["cache"]["hits"], *[float(y.astype(np.float64).sum()).hex() for y in model.execute(*x)], flush=True)
"""


def child(cache):
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "KERNELGLASS_CACHE": str(cache), "PYTHONPATH": str(root)}
    return subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, text=True, env=environment)


@pytest.mark.slow
def test_a_process_killed_at_any_moment_leaves_no_wrong_entry(tmp_path):
    cache = tmp_path / "shared"
    whole = child(tmp_path / "own")
    assert whole.stdout.readline() == "ready\n"
    start = time.monotonic()
    expected = whole.stdout.readline().split()[1:]
    took = time.monotonic() - start
    whole.wait()
    generator = np.random.default_rng(4)
    for turn in range(50):
        process = child(cache)
        assert process.stdout.readline() == "ready\n"
        threading.Event().wait(float(generator.uniform(0, took)))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        if turn % 10 == 9:  # what the killed ones left is used: whatever is found must be right
            finished = child(cache)
            assert finished.stdout.readline() == "ready\n"
            assert finished.stdout.readline().split()[1:] == expected
            finished.wait()
            Cache(cache).clear() if turn % 20 == 19 else None


def test_a_model_whose_entries_are_all_damaged_is_compiled_again(monkeypatch, tmp_path):
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path))
    with Graph("g", inputs=[TensorType("f32", ("M",))]) as graph:
        graph.output(ops.tanh(graph.inputs[0]))
    x = np.linspace(-3, 3, 100, dtype=np.float32)
    (expected,) = compile_graph(graph, CompileOptions()).execute(x)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    for path in files:
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
    model = compile_graph(graph, CompileOptions())
    assert model.stats["cache"] == {"hits": 0, "misses": 1}
    np.testing.assert_array_equal(model.execute(x)[0], expected)


def test_versions_are_those_that_are_installed():
    from importlib.metadata import version

    found = producer_versions()
    assert {name: found[name] for name in ("llvmlite", "xdsl", "numpy")} == {
        name: version(name) for name in ("llvmlite", "xdsl", "numpy")
    }
    code = "import sys, compiler.cache; compiler.cache.producer_versions(); print('importlib.metadata' in sys.modules)"
    root = Path(__file__).parents[2]
    said = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True).stdout
    assert said.strip() == str(found["kernelglass"] == "not installed")
