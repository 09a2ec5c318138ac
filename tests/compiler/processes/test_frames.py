"""Messages between processes: typed, checked, arrays by reference; nothing that a broken child sends breaks us."""

import os
import signal
import socket
import struct
import threading
import time
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compiler.errors import Location, LoweringError
from compiler.processes.frames import Channel, NotWanted, TimeIsUp, Unreadable, Wait, named
from compiler.processes.messages import Refusal, refusal, remade


@dataclass(frozen=True)
class Sized:
    name: str
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Filled:
    arrays: tuple[np.ndarray | None, ...]
    more: Any = None
    pairs: frozenset[tuple[str, str]] = frozenset()


KNOWN = {**named(Sized, Filled, Refusal), "words": tuple[str, ...]}


@pytest.fixture
def ends():
    pair = [Channel(end, KNOWN) for end in socket.socketpair()]
    yield pair
    for end in pair:
        end.close()


def test_a_message_arrives_as_the_record_it_was(ends):
    ends[0].send(Sized("a", (1, 2)), job=7)
    ends[0].send(("x", "y"), "words")
    first, second = ends[1].receive(), ends[1].receive()
    assert (first.kind, first.job, first.value) == ("Sized", 7, Sized("a", (1, 2)))
    assert (second.kind, second.value) == ("words", ("x", "y"))


@pytest.mark.parametrize("count", [3, 1 << 20])
@pytest.mark.parametrize("dtype", ["f4", "i8", "?", ml_dtypes.bfloat16])
def test_arrays_come_whole_and_may_be_written(ends, count, dtype):
    array = (np.arange(count) % 7).astype(dtype).reshape(1, -1)
    message = Filled(
        (None, array, np.zeros((0, 3), "f4"), array[:, ::2], np.array(2, "f4")),
        {"deep": [array]},
        frozenset({("a", "b")}),
    )
    threading.Thread(target=ends[0].send, args=(message,)).start()
    found = ends[1].receive().value
    assert (
        found.arrays[4].shape == ()
        and found.arrays[0] is None
        and found.arrays[2].shape == (0, 3)
        and found.pairs == message.pairs
    )
    for came, sent in ((found.arrays[1], array), (found.arrays[3], array[:, ::2]), (found.more["deep"][0], array)):
        assert came.dtype == sent.dtype and came.shape == sent.shape and came.tobytes() == sent.tobytes()
        came[0, 0] = came[0, 1]
    assert all(a.ctypes.data % a.dtype.itemsize == 0 for a in found.arrays[1:])


def test_a_text_that_is_no_utf8_comes_through(ends):
    name = os.fsdecode(b"sc\xffle") + " é.py"
    ends[0].send(Sized(name, (3,)))
    ends[0].send(Filled((np.ones(2),), name))
    assert ends[1].receive().value == Sized(name, (3,))
    found = ends[1].receive().value
    assert found.more == name and found.arrays[0].tolist() == [1, 1]


def test_what_cannot_be_sent_is_said_by_the_sender(ends):
    with pytest.raises(TypeError, match="function cannot be sent"):
        ends[0].send(lambda: None, "words")


def frame(body: Any, kind="Sized", arrays=(), total=0):
    message = msgspec.msgpack.encode([kind, 0, list(arrays), body, False])
    return struct.pack("<4sBxxxQQ", b"kgf1", 0, len(message), total) + message + bytes(total)


@given(st.binary(max_size=200))
@example(frame({"name": 3}))
@example(frame({}))
@example(frame({"name": "x"}, "Nobody"))
@example(frame({"arrays": [msgspec.msgpack.Ext(1, b"\5")]}, "Filled"))
@example(frame({"arrays": [msgspec.msgpack.Ext(1, b"\0")]}, "Filled", [("f4", (1 << 40,), 0)], 64))
@example(frame({"arrays": [msgspec.msgpack.Ext(1, b"\0")]}, "Filled", [("nonesuch", (1,), 0)], 64))
@example(frame({"arrays": [msgspec.msgpack.Ext(9, b"")]}, "Filled"))
@example(struct.pack("<4sBxxxQQ", b"kgf1", 0, 100_000, 0) + b"\x91" * 100_000)
@example(struct.pack("<4sBxxxQQ", b"kgf1", 1, 0, 1 << 40))
@example(b"a kernel printed this, and it is longer than the head of a frame\n")
def test_whatever_a_broken_child_sends_is_an_error_or_its_end(data):
    ours, theirs = socket.socketpair()
    channel = Channel(ours, KNOWN)
    with theirs:
        theirs.sendall(data)
    with pytest.raises((Unreadable, EOFError)) as caught:
        channel.receive()
    assert "\n" not in str(caught.value)
    channel.close()


def test_a_child_that_dies_in_the_middle_of_a_message_is_gone(ends):
    ends[0]._socket.setblocking(True)
    ends[0]._socket.sendall(frame({"name": "x"})[:-2])
    ends[0].close()
    with pytest.raises(EOFError):
        ends[1].receive()


def test_waiting_ends_when_it_must(ends):
    start = time.monotonic()
    with pytest.raises(TimeIsUp):
        ends[0].receive(Wait(until=start + 0.05))
    with pytest.raises(NotWanted):
        ends[0].receive(Wait(cancelled=lambda: time.monotonic() > start + 0.1))
    with pytest.raises(TimeIsUp):  # nobody reads at the other end, and a pipe holds little
        ends[0].send(("x" * (8 << 20),), "words", wait=Wait(until=time.monotonic() + 0.1))
    assert time.monotonic() - start < 5


def test_an_error_comes_back_as_itself():
    error = LoweringError("it does not fit", Location("a.py", 3))
    found = remade(refusal(error))
    assert type(found) is LoweringError and str(found) == str(error)
    for name in ("__name__", "dataclass", "Location", "signal", str(signal.SIGINT)):
        assert str(remade(Refusal(name, "m"))) == "m"
