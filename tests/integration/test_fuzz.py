"""Inputs nobody meant to give: graph texts, kernel sources, databases, sweeps and cache files, changed at random.

Each is answered or refused in one line, within a second of processor time; never another exception, never a hang. What
is drawn depends on the number of the slice alone, so that a failure comes again. All slices are 1,000,000 inputs.
"""

from __future__ import annotations

import random
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from compiler import Graph, TensorType, ops
from compiler.cache import Cache, key_of, pack
from compiler.errors import CompilerError

sys.path.insert(0, str(Path(__file__).parents[1] / "profiler"))
import records_for_tests as made

SLICES = 20
GRAPHS, SOURCES, DATABASES, SWEEPS, CACHES = 100_000, 200_000, 50_000, 50_000, 600_000  # of each kind, in all
LIMIT = 1.0  # seconds of processor time for one input: the machine may be busy

pytestmark = pytest.mark.slow


class Hang(BaseException):
    """An input took too long."""


@contextmanager
def _watched():
    def ended(number, frame):
        raise Hang

    before = signal.signal(signal.SIGPROF, ended)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


def fuzz(number: int, total: int, one: Callable[[random.Random], object]) -> None:
    """Try a slice's share of inputs; whatever is neither an answer nor a CompilerError of one line is listed."""
    wrong: list[str] = []
    with _watched():
        for turn in range(total // SLICES):
            seed = f"{number}-{turn}"
            rng = random.Random(seed)
            signal.setitimer(signal.ITIMER_PROF, LIMIT)
            try:
                one(rng)
            except CompilerError as error:
                if "\n" in str(error):
                    wrong.append(f"{seed}: not one line: {str(error)[:200]!r}")
            except Hang:
                wrong.append(f"{seed}: no end within {LIMIT} s of processor time")
            except Exception:
                wrong.append(f"{seed}: {traceback.format_exc()[-900:]}")
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            assert len(wrong) < 10, "\n".join(wrong)
    assert not wrong, "\n".join(wrong)


WORDS = [
    "{", "}", "(", ")", "[", "]", "<", ">", ",", ":", "=", "->", "%0", "%9", "@g", '"', "'", "#", "!", "?", "*", "-1",
    "0", "99999999999999999999", "1e999", "nan", "f32", "bf16", "i64", "mo.add", "mo.matmul", "mo.output", "mo.graph",
    "mo.constant", "!mo.tensor<[M, 8], f32>", "dense<", "\n", "\t", "\0", "\x1b[2J", "\ud800", "é", "M + N",
    "M floordiv 0", "def ", "return ", "for i in range(", "while True:", "lambda: ", "import os\n", "SIMD[", "if ",
    "else:\n", "@kernel\n", "    ", "__import__('os')", "x" * 300, "(" * 60, "**", "//", "<<", "~", "f'{x}'", "...",
    "1j", "b''", "yield ", "async ",
]  # fmt: skip


def changed_text(text: str, rng: random.Random) -> str:
    """A text with a few places cut, doubled, swapped or replaced."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(text) + 1)
        to = min(len(text), at + rng.choice((0, 1, 1, 2, 5, 20, 80)))
        piece = rng.choice((rng.choice(WORDS), "", text[at:to] * 2, chr(rng.randrange(1, 0x500)), text[to : to + 30]))
        text = text[:at] + piece + text[to:]
    return text


def changed_bytes(data: bytes, rng: random.Random) -> bytes:
    """Bytes with a bit flipped, some replaced, some cut off or some added."""
    kind, found = rng.randrange(6), bytearray(data)
    if kind == 0:
        return data[: rng.randrange(len(data) + 1)]
    if kind == 1:
        at = rng.randrange(len(data) + 1)
        return data[:at] + rng.randbytes(rng.randrange(1, 20)) + data[at:]
    if kind == 2 and len(data) > 8192:
        at = rng.randrange(len(data) // 4096) * 4096
        found[at : at + 4096] = rng.choice((bytes(4096), rng.randbytes(4096)))
        return bytes(found)
    for _ in range(rng.choice((1, 1, 2, 8, 100))):
        at = rng.randrange(len(found))
        found[at] = found[at] ^ (1 << rng.randrange(8)) if kind < 5 else rng.randrange(256)
    return bytes(found)


@pytest.fixture(scope="module")
def graph_texts() -> list[str]:

    texts = []
    for build in (
        lambda x: ops.relu(x @ ops.transpose(x, (1, 0))), lambda x: ops.softmax(x, axis=1), lambda x: x.reshape((-1,)),
        lambda x: ops.mean(x * 2 + 1, axis=0), lambda x: ops.concat([x, x], axis=0),
    ):  # fmt: skip
        with Graph("g", inputs=[TensorType("f32", ("M", 8))]) as graph:
            graph.output(build(graph.inputs[0]))
        texts.append(str(graph))
    return texts


@pytest.mark.parametrize("number", range(SLICES))
def test_graph_files(graph_texts, number):
    from compiler.importers.mlir_text import parse_graph

    fuzz(number, GRAPHS, lambda rng: parse_graph(changed_text(rng.choice(graph_texts), rng), "g.mlir"))


@pytest.fixture(scope="module")
def sources() -> list[str]:
    folder = Path(__file__).parents[2] / "kernels"
    texts = [path.read_text() for path in sorted(folder.glob("*.py")) if path.stem not in ("__init__", "driver")]
    return [text for text in texts if len(text) < 6000]


@pytest.mark.parametrize("number", range(SLICES))
def test_kernel_sources(sources, number):
    from compiler.language.library import Library
    from compiler.language.source import SourceFile

    def one(rng: random.Random) -> None:
        file = SourceFile("k.py", changed_text(rng.choice(sources), rng))
        library = Library([file])
        for op in library.operations():
            library.signature(op)
        for name in library.names()[:6]:
            library.find(name)

    fuzz(number, SOURCES, one)


@pytest.fixture(scope="module")
def database(tmp_path_factory) -> bytes:
    """Two small finished runs with their compilations, and what was tuned."""
    from profiler.store import open_store, writer
    from profiler.store.tuned import TunedRow, keep_tuned

    path = tmp_path_factory.mktemp("fuzz") / "t.db"
    with open_store(path) as store:
        for number in range(2):
            compilation = writer.add_compilation(store, made.compilation(), made.MACHINE)
            run = writer.begin_run(store, made.request(), made.MACHINE)
            writer.finish_run(store, run, made.result(tuple(range(1000 + number, 1060))), compilation)
        writer.tag_runs(store, [1], "x")
        lanes = ((("lanes", 16),), (("lanes", 8),))
        row = TunedRow("p", "k", "sample:mlp", "cpu", *lanes, {"f": "ab"}, {"M": 8}, 2, 0.9, 0.8, 1.0)
        keep_tuned(store, made.MACHINE, row)
        store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


@pytest.mark.parametrize("number", range(SLICES))
def test_databases(database, tmp_path, number):
    from profiler.analysis.compare import compare_runs
    from profiler.report.write import export_comparison, export_run
    from profiler.store import open_store, queries
    from profiler.store.tuned import tuned_rows

    path = tmp_path / "t.db"

    def one(rng: random.Random) -> None:
        for beside in ("", "-wal", "-shm"):
            path.with_name(path.name + beside).unlink(missing_ok=True)
        path.write_bytes(changed_bytes(database, rng))
        with open_store(path) as store:
            kind = rng.randrange(5)
            if kind == 0:
                queries.list_runs(store)
                queries.list_compilations(store)
            elif kind == 1:
                export_run(store, 1, rng.choice(("json", "csv", "md", "perfetto", "script")))
            elif kind == 2:
                export_comparison(compare_runs(store, [1, 2]), rng.choice(("text", "md", "csv", "json")))
            elif kind == 3:
                tuned_rows(store, rng.choice(("", made.MACHINE.fingerprint)))
            else:
                queries.find_run(store, rng.choice(("1", "x", "latest", "latest~1", "baseline", "'; --")))

    path.write_bytes(database)
    with open_store(path) as store:  # loading what compares and writes is no part of an input's time
        export_comparison(compare_runs(store, [1, 2]), "text")
    fuzz(number, DATABASES, one)


SWEEP = """name = "all"
sources = ["sample:mlp", "sample:many-kernels:4", "g.py"]
targets = ["cpu", "sm_90a"]
flows = ["all-kernel", "per-kernel"]
levels = [0, 3]
libraries = ["", "mine"]
devices = ["cpu"]
dims = [{ M = 64 }, { M = 128, N = 3 }]
repeat = 5
processes = 2
budget = 1.5
cache = true
"""


@pytest.mark.parametrize("number", range(SLICES))
def test_sweeps(tmp_path, number):
    from app.sweep.spec import read_spec

    path = tmp_path / "sweep.toml"

    def one(rng: random.Random) -> None:
        path.write_bytes(changed_text(SWEEP, rng).encode("utf-8", "surrogatepass"))
        read_spec(path)

    path.write_text(SWEEP)
    with suppress(CompilerError):  # what it loads is no part of an input's time
        read_spec(path)
    fuzz(number, SWEEPS, one)


@pytest.mark.parametrize("number", range(SLICES))
def test_cache_files(tmp_path, number):
    """Whatever was changed is a miss, and never an answer."""
    cache, key = Cache(tmp_path / "cache"), key_of("k")
    payload = pack({"a": [1, 2]}, [b"code" * 20])
    assert cache.put("object", key, payload)
    place = cache.path / "object" / key[:2] / key[2:]
    whole = place.read_bytes()

    def one(rng: random.Random) -> None:
        damaged = changed_bytes(whole, rng)
        place.write_bytes(damaged)
        found = cache.get("object", key)
        assert found is None if damaged != whole else found == payload

    fuzz(number, CACHES, one)
