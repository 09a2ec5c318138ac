"""Parcels: messages as bytes for another machine, which may name no file of whoever opens them."""

from dataclasses import dataclass

import numpy as np
import pytest

from compiler.constants.file_arrays import MappedFile, place_of
from compiler.processes.frames import Unreadable, named, opened, parcel


@dataclass(frozen=True, eq=False)
class Sent:
    name: str
    arrays: tuple[np.ndarray, ...]
    code: bytes = b""


KNOWN = named(Sent)


def test_what_is_sent_is_what_is_opened():
    arrays = (np.arange(12, dtype=np.float32).reshape(3, 4), np.zeros((0, 2), np.int8))
    found = opened(parcel(Sent("caf\u00e9", arrays, b"\0\1")), KNOWN)
    assert (found.name, found.code) == ("caf\u00e9", b"\0\1")
    for sent, came in zip(arrays, found.arrays, strict=True):
        assert sent.dtype == came.dtype and np.array_equal(sent, came)


def test_arrays_of_files_go_along(tmp_path):
    path = tmp_path / "weights.bin"
    path.write_bytes(np.arange(1 << 19, dtype=np.float32).tobytes())
    array = MappedFile(path).array(np.dtype("f4"), (1 << 19,), 0)
    assert place_of(array) is not None
    data = parcel(Sent("w", (array,)))
    path.unlink()
    assert opened(data, KNOWN).arrays[0][1023] == 1023


@pytest.mark.parametrize("spoil", [lambda d: d[:-1], lambda d: d + b"x", lambda d: b"nope" + d[4:], lambda d: b""])
def test_what_is_damaged_is_unreadable(spoil):
    with pytest.raises(Unreadable):
        opened(spoil(parcel(Sent("a", (np.ones(3),)))), KNOWN)


def test_only_known_records_are_opened():
    with pytest.raises(Unreadable):
        opened(parcel(Sent("a", ())), {})
