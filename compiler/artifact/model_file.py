"""A compiled model as one file (`.kgx`): how it is laid out, written and checked. docs/artifact.md is the contract.

A head of fixed size, a document (msgpack), then sections: the stored model, and the graph's arrays, each at a place
that can be mapped. Whatever is read is checked first: lengths, then checksums, then types. None of it is code here.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from compiler.artifact.graph_document import GraphDocument, document_of, graph_of
from compiler.cache import target_identity
from compiler.constants.digests import digest_of
from compiler.constants.file_arrays import MappedFile, array_at, place_of
from compiler.errors import CompilerError, ExecutionError, ParseError, UnavailableError
from compiler.graph.dtypes import from_numpy, numpy_dtype
from compiler.graph.graph import Graph
from compiler.options import CompileOptions
from compiler.processes.known_types import readable
from compiler.targets.target import Target

MAGIC = b"KGX\r\n\x1a\n\0"
VERSION = 1
"""Of the layout, of the stored model within, and of how a host program calls its kernels: any change is a new one."""
_HEAD = struct.Struct("<8sIIQQ32s")  # magic, version, zero, bytes of the file, bytes of the document, its checksum
_PAGE = 4096
INLINE, REFERENCE = "inline", "reference"
_ARRAY = 1
_MOST_DOCUMENT = 1 << 30


@dataclass(frozen=True)
class Section:
    """A part of this file, or of another where `path` names one; `digest` is of its bytes."""

    offset: int
    bytes: int
    digest: str
    path: str = ""


@dataclass(frozen=True)
class Provenance:
    """Where a model came from: told, not trusted."""

    source: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    created: str = ""


@dataclass(frozen=True)
class Document:
    """What the file holds. `sections[0]` is the stored model; the graph's arrays name theirs by number."""

    options: CompileOptions
    target: tuple[str, ...]
    provenance: Provenance
    sections: tuple[Section, ...]
    graph: msgspec.Raw


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A file that was read and is whole: the graph, the stored model as the cache has it, what was asked for."""

    graph: Graph
    payload: bytes
    options: CompileOptions
    provenance: Provenance


# Writing


def write_model(
    path: str | os.PathLike[str], graph: Graph, payload: bytes, options: CompileOptions, target: Target,
    provenance: Provenance, weights: str = INLINE,
) -> None:  # fmt: skip
    """Write a model, whole or not at all. `weights` says whether arrays that lie in files are copied or referred to."""
    if weights not in (INLINE, REFERENCE):
        raise ExecutionError(f"weights are kept {INLINE} or by {REFERENCE}, not {weights!r}")
    arrays: list[np.ndarray] = []
    body = msgspec.msgpack.encode(document_of(graph), enc_hook=_aside(arrays))
    contents: list[Any] = [payload, *arrays]
    length = 0

    def document(start: int) -> tuple[bytes, int]:
        sections, at = [], start
        for content in contents:
            place = place_of(content) if isinstance(content, np.ndarray) else None
            if place is not None and weights == REFERENCE:
                sections.append(Section(place.offset, content.nbytes, digest_of(content), place.file.path))
                continue
            at = -(-at // _PAGE) * _PAGE
            size = len(content) if isinstance(content, bytes) else content.nbytes
            sections.append(Section(at, size, _digest(content)))
            at += size
        made = Document(options, target_identity(target), provenance, tuple(sections), msgspec.Raw(body))
        return msgspec.msgpack.encode(made), at

    text, end = document(0)
    while length != len(text):  # where sections begin depends on how long the text is that says so
        length = len(text)
        text, end = document(_HEAD.size + length)
    head = _HEAD.pack(MAGIC, VERSION, 0, end, len(text), hashlib.blake2b(text, digest_size=32).digest())
    sections = msgspec.msgpack.decode(text, type=readable(Document)).sections
    _write(Path(path), head + text, [(s.offset, c) for s, c in zip(sections, contents, strict=True) if not s.path], end)


def _aside(arrays: list[np.ndarray]) -> Callable[[Any], Any]:
    def hook(found: Any) -> Any:
        if isinstance(found, np.ndarray):
            arrays.append(found)
            told = msgspec.msgpack.encode((len(arrays), from_numpy(found.dtype), found.shape))
            return msgspec.msgpack.Ext(_ARRAY, told)
        raise TypeError(f"a {type(found).__name__} cannot be kept in a file")

    return hook


def _digest(content: bytes | np.ndarray) -> str:
    return digest_of(np.frombuffer(content, np.uint8) if isinstance(content, bytes) else content)


def _write(path: Path, start: bytes, contents: list[tuple[int, Any]], end: int) -> None:
    waiting = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with open(waiting, "wb") as file:
            file.write(start)
            for offset, content in contents:
                file.seek(offset)
                if isinstance(content, bytes):
                    file.write(content)
                elif content.nbytes:
                    file.write(np.ascontiguousarray(content).reshape(-1).view(np.uint8).data)
            file.truncate(end)
        os.replace(waiting, path)
    except OSError as error:
        raise ExecutionError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        waiting.unlink(missing_ok=True)


# Reading


def read_model(path: str | os.PathLike[str], target_of: Callable[[str], Target] | None = None) -> ModelFile:
    """The model in a file; a ParseError for one that is damaged, an UnavailableError for one of another target.

    With `target_of` (the target of a name, as it is here) code for another processor is refused.
    """
    file = MappedFile(path)
    name = os.fspath(path)
    try:
        document = _document(file, name)
        if target_of is not None:
            _check_target(name, document, target_of)
        arrays = [_section(file, section, name) for section in document.sections]
        found = msgspec.msgpack.decode(document.graph, type=readable(GraphDocument), ext_hook=_arrays(arrays))
        graph = graph_of(found, name)
        for op in graph.ops:
            op.check()
    except CompilerError as error:
        if isinstance(error, UnavailableError) or str(error).startswith(name):
            raise
        raise ParseError(f"{name} is damaged: {error}") from None
    except (msgspec.MsgspecError, LookupError, ValueError, TypeError, ArithmeticError, RecursionError) as error:
        raise ParseError(
            f"{name} is damaged: what it says of its graph does not read ({type(error).__name__})"
        ) from None
    return ModelFile(graph, arrays[0].tobytes(), document.options, document.provenance)


def _document(file: MappedFile, name: str) -> Document:
    size = file.state.size
    start = bytes(file.data[: _HEAD.size])
    if len(start) < _HEAD.size or not start.startswith(MAGIC):
        raise ParseError(f"{name} is not a compiled model")
    _, version, zero, whole, length, checksum = _HEAD.unpack(start)
    if version != VERSION:
        raise ParseError(f"{name} is a compiled model of version {version}; this program reads version {VERSION}")
    if whole != size or zero or length > min(size - _HEAD.size, _MOST_DOCUMENT):
        raise ParseError(f"{name} is damaged: it has {size} bytes and says {whole}; compile it again")
    text = bytes(file.data[_HEAD.size : _HEAD.size + length])
    if hashlib.blake2b(text, digest_size=32).digest() != checksum:
        raise ParseError(f"{name} is damaged: its checksum does not fit; compile it again")
    document = msgspec.msgpack.decode(text, type=readable(Document))
    if not document.sections:
        raise ParseError(f"{name} is damaged: it has no sections")
    document.options.check()
    return document


def _check_target(name: str, document: Document, target_of: Callable[[str], Target]) -> None:
    here = target_identity(target_of(document.options.target))
    if here != document.target:
        was = [part for part, now in zip(document.target, here, strict=False) if part != now] or list(document.target)
        raise UnavailableError(
            f"{name} was compiled for another target ({' '.join(was)[:160]}) than this machine's "
            f"{document.options.target}; compile its source here"
        )


def _section(file: MappedFile, section: Section, name: str) -> np.ndarray:
    """The bytes of a section, whose digest is as it says: mapped where there are many."""
    if section.path:
        try:
            held = MappedFile(section.path)
        except ParseError as error:
            raise ParseError(f"{name} needs weights that are elsewhere: {error}") from None
    else:
        held = file
    found = held.array(np.dtype(np.uint8), (section.bytes,), section.offset)
    if digest_of(found) != section.digest:
        where = f"{section.path}, which it needs, has other weights now" if section.path else "it is damaged"
        raise ParseError(f"{name}: {where}: the checksum of {section.bytes} bytes does not fit")
    return found


def _arrays(sections: list[np.ndarray]) -> Callable[[int, memoryview], Any]:
    def hook(code: int, data: memoryview) -> Any:
        if code != _ARRAY:
            raise ValueError(f"no extension {code}")
        number, dtype, shape = msgspec.msgpack.decode(data, type=tuple[int, str, tuple[int, ...]])
        raw = sections[number]
        kind = numpy_dtype(dtype)
        place = place_of(raw)
        if place is not None:
            return array_at(place, kind, shape)
        return np.frombuffer(raw.tobytes(), kind).reshape(shape)

    return hook
