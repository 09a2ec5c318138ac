"""GGUF files: metadata and where each tensor's bytes are. Nothing but the head is read.

Read here rather than by the `gguf` package, whose reader believes every count that a file states and makes an array of
each string: a vocabulary takes it seconds, and a hostile file all memory.
"""

from __future__ import annotations

import os
import struct
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, overload

import numpy as np

from compiler.constants.file_arrays import MappedFile
from compiler.errors import ParseError
from compiler.importers.files import check_fetched
from compiler.importers.weights.stored_tensor import StoredTensor, encoded_bytes

_ENCODINGS = {
    0: "f32", 1: "f16", 2: "q4_0", 8: "q8_0", 12: "q4_k", 14: "q6_k", 24: "i8", 25: "i16", 26: "i32", 27: "i64",
    28: "f64", 30: "bf16",
}  # fmt: skip
_SCALARS = {0: "B", 1: "b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_MOST_DIMS = 8
_LONGEST_NAME = 65535
_TENSOR_BYTES = 64  # a tensor takes no less: what is said of it, and its own bytes at a multiple of 32
_PAIR_BYTES, _MOST_PAIRS = 13, 10_000


@dataclass(frozen=True, eq=False)
class GgufFile:
    """What a GGUF file says of itself, and its tensors by name."""

    metadata: dict[str, Any]
    tensors: dict[str, StoredTensor]


def read_gguf(path: str | os.PathLike[str]) -> GgufFile:
    """A GGUF file; a ParseError for one that is damaged or in a format that this program does not read."""
    file, name = MappedFile(path), os.fspath(path)
    check_fetched(file.data[:64], name)
    try:
        return _read(file)
    except ParseError as error:
        raise ParseError(f"{name}: {error.message}") from None
    except (struct.error, ValueError, OverflowError, IndexError) as error:
        raise ParseError(f"{name} is damaged: its head does not read ({error})") from None


class Texts(Sequence[str]):
    """A list of strings as it lies in the file: a vocabulary of short ones would take six times as much as strings."""

    def __init__(self, data: Any, places: array[int]) -> None:
        self._data, self._places = data, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        at = self._places[index]
        (count,) = struct.unpack_from("<Q", self._data, at)
        return bytes(self._data[at + 8 : at + 8 + count]).decode("utf-8", "replace")


class _Cursor:
    """The head, read from front to back; whatever it states is checked against what is left of the file."""

    def __init__(self, file: MappedFile) -> None:
        self.data = file.data
        self.at = 0
        self.size = file.state.size

    def number(self, form: str) -> Any:
        (found,) = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return found

    def skip(self, count: int) -> None:
        if count > self.size - self.at:
            raise ParseError(f"it ends at {self.size} bytes, before {count} that it says are at {self.at}")
        self.at += count

    def bytes(self, count: int) -> bytes:
        self.skip(count)
        return bytes(self.data[self.at - count : self.at])

    def text(self, longest: int | None = None) -> str:
        count = self.number("<Q")
        if longest is not None and count > longest:
            raise ParseError(f"a name of {count} bytes at {self.at} is none")
        self.skip(count)
        return str(memoryview(self.data)[self.at - count : self.at], "utf-8")

    def value(self, kind: int) -> Any:
        if kind in _SCALARS:
            return self.number(_SCALARS[kind])
        if kind == _STRING:
            return self.text()
        if kind != _ARRAY:
            raise ParseError(f"metadata of kind {kind} is none that this program knows")
        of, count = self.number("<I"), self.number("<Q")
        if of in _SCALARS:
            form = _SCALARS[of]
            return np.frombuffer(self.bytes(count * struct.calcsize(form)), form)  # a list takes eight times as much
        if of != _STRING or count > (self.size - self.at) // 8:
            raise ParseError(f"a list of {count} of kind {of} is not within the file")
        places = array("Q")
        for _ in range(count):
            places.append(self.at)
            self.skip(self.number("<Q"))
        return Texts(self.data, places)


def _read(file: MappedFile) -> GgufFile:
    cursor = _Cursor(file)
    if cursor.bytes(4) != b"GGUF":
        raise ParseError("this is not a GGUF file")
    version = cursor.number("<I")
    if version not in (2, 3):
        raise ParseError(f"this is GGUF of version {version}; versions 2 and 3 are read")
    tensors, pairs = cursor.number("<Q"), cursor.number("<Q")
    if tensors > file.state.size // _TENSOR_BYTES or pairs > min(file.state.size // _PAIR_BYTES, _MOST_PAIRS):
        raise ParseError(f"it says it has {tensors} tensors and {pairs} entries, more than fit in it")
    metadata: dict[str, Any] = {}
    for _ in range(pairs):
        key = cursor.text(_LONGEST_NAME)
        if key in metadata:
            raise ParseError(f"it says twice what {key[:80]!r} is")
        metadata[key] = cursor.value(cursor.number("<I"))
    listed = [_listed(cursor) for _ in range(tensors)]
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1) or alignment > 1 << 20:
        raise ParseError(f"an alignment of {alignment} is no power of two")
    start = -(-cursor.at // alignment) * alignment
    found: dict[str, StoredTensor] = {}
    for name, shape, kind, offset in listed:
        if kind not in _ENCODINGS:
            raise ParseError(f"{name[:80]} is in ggml's format {kind}, which this program does not read")
        encoding = _ENCODINGS[kind]
        if prod(shape) > 1 << 60 or start + offset + encoded_bytes(shape, encoding) > file.state.size:
            raise ParseError(f"{name[:80]} is not within the file")
        if name in found:
            raise ParseError(f"it has two tensors called {name[:80]!r}")
        found[name] = StoredTensor(name, shape, encoding, file, start + offset)
    return GgufFile(metadata, found)


def _listed(cursor: _Cursor) -> tuple[str, tuple[int, ...], int, int]:
    name, dims = cursor.text(_LONGEST_NAME), cursor.number("<I")
    if dims > _MOST_DIMS:
        raise ParseError(f"{name[:80]} says it has {dims} axes")
    shape = tuple(cursor.number("<Q") for _ in range(dims))[::-1]  # ggml counts axes from the innermost
    return name, shape, cursor.number("<I"), cursor.number("<Q")
