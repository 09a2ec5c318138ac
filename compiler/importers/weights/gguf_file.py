"""GGUF files: metadata and where each tensor's bytes are. Nothing but the head is read.

Read here rather than by the `gguf` package, whose reader believes every count that a file states and makes an array of
each string: a vocabulary takes it seconds, and a hostile file all memory.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from compiler.constants.file_arrays import MappedFile
from compiler.errors import ParseError
from compiler.importers.weights.stored_tensor import StoredTensor, encoded_bytes

_ENCODINGS = {
    0: "f32", 1: "f16", 2: "q4_0", 8: "q8_0", 12: "q4_k", 14: "q6_k", 24: "i8", 25: "i16", 26: "i32", 27: "i64",
    28: "f64", 30: "bf16",
}  # fmt: skip
_SCALARS = {0: "B", 1: "b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_MOST_DIMS = 8


@dataclass(frozen=True, eq=False)
class GgufFile:
    """What a GGUF file says of itself, and its tensors by name."""

    metadata: dict[str, Any]
    tensors: dict[str, StoredTensor]


def read_gguf(path: str | os.PathLike[str]) -> GgufFile:
    """A GGUF file; a ParseError for one that is damaged or in a format that this program does not read."""
    file, name = MappedFile(path), os.fspath(path)
    try:
        return _read(file)
    except ParseError as error:
        raise ParseError(f"{name}: {error.message}") from None
    except (struct.error, ValueError, OverflowError, IndexError) as error:
        raise ParseError(f"{name} is damaged: its head does not read ({error})") from None


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

    def bytes(self, count: int) -> bytes:
        if count > self.size - self.at:
            raise ParseError(f"it ends at {self.size} bytes, before {count} that it says are at {self.at}")
        self.at += count
        return bytes(self.data[self.at - count : self.at])

    def text(self) -> str:
        return self.bytes(self.number("<Q")).decode("utf-8", "replace")

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
        return [self.text() for _ in range(count)]


def _read(file: MappedFile) -> GgufFile:
    cursor = _Cursor(file)
    if cursor.bytes(4) != b"GGUF":
        raise ParseError("this is not a GGUF file")
    version = cursor.number("<I")
    if version not in (2, 3):
        raise ParseError(f"this is GGUF of version {version}; versions 2 and 3 are read")
    tensors, pairs = cursor.number("<Q"), cursor.number("<Q")
    if max(tensors, pairs) > file.state.size // 12:
        raise ParseError(f"it says it has {tensors} tensors and {pairs} entries, more than fit in it")
    metadata: dict[str, Any] = {}
    for _ in range(pairs):
        key = cursor.text()
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
        found[name] = StoredTensor(name, shape, encoding, file, start + offset)
    return GgufFile(metadata, found)


def _listed(cursor: _Cursor) -> tuple[str, tuple[int, ...], int, int]:
    name, dims = cursor.text(), cursor.number("<I")
    if dims > _MOST_DIMS:
        raise ParseError(f"{name[:80]} says it has {dims} axes")
    shape = tuple(cursor.number("<Q") for _ in range(dims))[::-1]  # ggml counts axes from the innermost
    return name, shape, cursor.number("<I"), cursor.number("<Q")
