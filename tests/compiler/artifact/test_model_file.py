"""A compiled model in a file: it runs as it did, elsewhere it is refused, and damage is found before code is loaded."""

from __future__ import annotations

import hashlib
import random
import time
import tracemalloc

import msgspec
import numpy as np
import pytest

from compiler import Graph, TensorType, compile, load, ops
from compiler.artifact import model_file
from compiler.artifact.model_file import read_model
from compiler.compilation import Compilation
from compiler.constants.digests import digest_of
from compiler.constants.file_arrays import MappedFile, place_of
from compiler.errors import CompilerError, ParseError, UnavailableError
from compiler.language.library import default_library
from compiler.loading import restored_file
from compiler.targets import get_target
from compiler.trace import Trace


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path / "cache"))


def mlp(width=64, weights=None):
    numbers = np.random.default_rng(0)
    with Graph("mlp", [TensorType("f32", ("M", width))]) as graph:
        held = numbers.standard_normal((width, width), dtype=np.float32) if weights is None else weights
        bias = numbers.standard_normal(width, dtype=np.float32)
        graph.output(ops.relu(graph.inputs[0] @ ops.constant(held) + ops.constant(bias)))
    return graph


def test_a_saved_model_gives_the_same_bits_and_compiles_nothing(tmp_path, monkeypatch):
    model = compile(mlp())
    model.save(tmp_path / "m.kgx", source="mlp.py")
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path / "another"))
    again = load(tmp_path / "m.kgx")
    x = np.random.default_rng(1).standard_normal((5, 64), dtype=np.float32)
    assert again.execute(x)[0].tobytes() == model.execute(x)[0].tobytes()
    assert {record.stage for record in again.trace.passes} <= {"cache", "link"}
    assert str(again.graph) == str(model.graph) and again.ir("mogg") == model.ir("mogg")
    assert again.options == model.options
    assert read_model(tmp_path / "m.kgx").provenance.source == "mlp.py"


@pytest.mark.parametrize("how", ["inline", "reference"])
def test_large_weights_are_mapped_from_the_file_or_stay_where_they_are(tmp_path, how):
    values = np.random.default_rng(2).standard_normal((640, 640), dtype=np.float32)
    (tmp_path / "w.bin").write_bytes(values.tobytes())
    model = compile(mlp(640, MappedFile(tmp_path / "w.bin").array(np.dtype("f4"), (640, 640), 0)))
    model.save(tmp_path / "m.kgx", weights=how)
    again = load(tmp_path / "m.kgx")
    (held,) = [b.array for b in again.fusion.constants if b.array.nbytes > 1 << 20]
    assert place_of(held).file.path == str(tmp_path / ("m.kgx" if how == "inline" else "w.bin"))
    assert ((tmp_path / "m.kgx").stat().st_size > values.nbytes) == (how == "inline")
    x = np.ones((2, 640), np.float32)
    assert again.execute(x)[0].tobytes() == model.execute(x)[0].tobytes()
    if how == "reference":
        (tmp_path / "w.bin").write_bytes((-values).tobytes())
        with pytest.raises(ParseError, match="has other weights now"):
            load(tmp_path / "m.kgx")


def test_a_model_for_another_target_is_refused_in_one_line(tmp_path, monkeypatch):
    compile(mlp()).save(tmp_path / "m.kgx")
    monkeypatch.setattr(model_file, "target_identity", lambda target: ("cpu", "x86_64", "e", "zen9", "+avx9"))
    with pytest.raises(UnavailableError, match="was compiled for another target") as refused:
        load(tmp_path / "m.kgx")
    assert "\n" not in str(refused.value)


def test_a_model_for_a_gpu_keeps_its_device_code(tmp_path):
    model = compile(mlp(), target="sm_80")
    model.save(tmp_path / "m.kgx")
    again = load(tmp_path / "m.kgx")
    assert again.device_module() == model.device_module()
    with pytest.raises(UnavailableError):
        again.execute(np.ones((1, 64), np.float32))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: b"", "cannot read|is not a compiled model"),
        (lambda data: b"not a model" * 20, "is not a compiled model"),
        (lambda data: data[:8] + b"\x07\0\0\0" + data[12:], "version 7"),
        (lambda data: data[:-1], "is damaged"),
        (lambda data: data[:100] + b"\xff" + data[101:], "is damaged"),
        (lambda data: data[:-20000] + bytes([data[-20000] ^ 1]) + data[-19999:], "damaged"),
    ],
)
def test_damage_is_told_before_anything_is_loaded(tmp_path, monkeypatch, change, words):
    compile(mlp()).save(tmp_path / "m.kgx")
    data = (tmp_path / "m.kgx").read_bytes()
    (tmp_path / "m.kgx").write_bytes(change(data))
    monkeypatch.setattr("compiler.loading.linked", None)  # nothing gets so far
    with pytest.raises(ParseError, match=words):
        load(tmp_path / "m.kgx")


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The file with some bytes changed, dropped or doubled."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8))):
        at = chance.randrange(len(data))
        match chance.randrange(4):
            case 0:
                data[at] ^= 1 << chance.randrange(8)
            case 1:
                data[at : at + chance.randrange(1, 9)] = chance.randbytes(chance.randrange(9))
            case 2:
                del data[at:]
            case _:
                data[at : at + 8] = chance.choice((b"\xff" * 8, b"\0" * 8, (1 << 62).to_bytes(8, "little")))
        if not data:
            break
    return bytes(data)


def resealed(data: bytes, chance: random.Random) -> bytes:
    """The file with its document or its model changed, and with the checksums that fit."""
    whole = model_file._HEAD.unpack(data[:64])
    text = data[64 : 64 + whole[4]]
    document = msgspec.msgpack.decode(text, type=model_file.Document)
    first = document.sections[0]
    payload = data[first.offset : first.offset + first.bytes]
    if chance.random() < 0.5:
        text = mutated(text, chance)
    else:
        payload = mutated(payload[: len(payload) // 4], chance) + payload[len(payload) // 4 :]
        kept = model_file.Section(first.offset, len(payload), digest_of(np.frombuffer(payload, np.uint8)))
        text = msgspec.msgpack.encode(
            model_file.Document(
                document.options, document.target, document.provenance, (kept, *document.sections[1:]), document.graph
            )
        )
    made = bytearray(data)
    made[64 : 64 + whole[4]] = text.ljust(whole[4], b"\0") if len(text) < whole[4] else text
    size = max(len(made), first.offset + len(payload))
    made = made.ljust(size, b"\0")
    made[first.offset : first.offset + len(payload)] = payload
    head = model_file._HEAD.pack(
        whole[0],
        whole[1],
        0,
        len(made),
        len(text),
        hashlib.blake2b(bytes(made[64 : 64 + len(text)]), digest_size=32).digest(),
    )
    made[:64] = head
    return bytes(made)


def try_mutations(tmp_path, count, seed):
    path = tmp_path / "m.kgx"
    compile(mlp(16)).save(path)
    data = path.read_bytes()
    chance = random.Random(seed)
    run = Compilation(read_model(path).options, default_library(), get_target("cpu"), Trace(), None)
    refused, slowest, most = 0, 0.0, 0.0
    for number in range(count):
        changed = (mutated if number % 2 else resealed)(data, chance)
        path.write_bytes(changed)
        start = time.perf_counter()
        if number % 50 == 0:
            tracemalloc.start()
        try:
            restored_file(read_model(path, get_target), run, "m.kgx")
        except CompilerError as error:
            refused += 1
            assert "\n" not in str(error)
        slowest = max(slowest, time.perf_counter() - start)
        if number % 50 == 0:
            most = max(most, tracemalloc.get_traced_memory()[1] / max(len(changed), 1 << 16))
            tracemalloc.stop()
    return refused, slowest, most


def test_mutated_files_are_refused_or_read_as_data(tmp_path):
    refused, slowest, most = try_mutations(tmp_path, 400, 1)
    assert refused > 300 and slowest < 1 and most < 4


@pytest.mark.slow
def test_twenty_thousand_mutated_files(tmp_path):
    refused, slowest, most = try_mutations(tmp_path, 20_000, 2)
    print(f"{refused} of 20,000 refused, slowest {slowest * 1e3:.0f} ms, at most {most:.2f} times the file allocated")
    assert slowest < 1 and most < 4
