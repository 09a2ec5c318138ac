"""Safetensors files: a JSON head that says where each tensor's bytes are. Nothing but the head is read.

Read here rather than by the library of that name, which hands out copies: a tensor stays a part of the mapped file.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from compiler.constants.file_arrays import MappedFile
from compiler.errors import ParseError
from compiler.importers.config_file import quoted, read_json
from compiler.importers.files import check_fetched
from compiler.importers.weights.stored_tensor import StoredTensor
from compiler.processes.known_types import readable

_DTYPES = {
    "F64": "f64", "F32": "f32", "F16": "f16", "BF16": "bf16", "I64": "i64", "I32": "i32", "I16": "i16", "I8": "i8",
    "U64": "u64", "U32": "u32", "U16": "u16", "U8": "u8", "BOOL": "bool",
}  # fmt: skip
_MOST_HEAD = 100 << 20  # the format's own limit


class _Entry(msgspec.Struct):
    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


def read_safetensors(path: str | os.PathLike[str]) -> dict[str, StoredTensor]:
    """The tensors of a file by name; a ParseError for one that is damaged."""
    file, name = MappedFile(path), os.fspath(path)
    check_fetched(file.data[:64], name)
    length = int.from_bytes(file.data[:8], "little")
    if file.state.size < 8 or length > min(file.state.size - 8, _MOST_HEAD):
        raise ParseError(f"{name} is not a safetensors file, or a part of one: its head is longer than the file")
    try:
        entries = msgspec.json.decode(file.data[8 : 8 + length], type=dict[str, msgspec.Raw])
        entries.pop("__metadata__", None)
        readable(_Entry)
        read = {key: msgspec.json.decode(entry, type=_Entry) for key, entry in entries.items()}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ParseError(f"{name}: the head of the safetensors file does not read: {error}") from None
    return {key: _tensor(key, entry, file, 8 + length, name) for key, entry in read.items()}


def _tensor(key: str, entry: _Entry, file: MappedFile, start: int, name: str) -> StoredTensor:
    begin, end = entry.data_offsets
    if entry.dtype not in _DTYPES:
        raise ParseError(f"{name}: {key[:80]} has the dtype {entry.dtype[:20]!r}, which this program does not read")
    made = StoredTensor(key, entry.shape, _DTYPES[entry.dtype], file, start + begin)
    if any(size < 0 for size in entry.shape) or not 0 <= begin <= end or start + end > file.state.size:
        raise ParseError(f"{name}: {key[:80]} is not within the file")
    if made.bytes != end - begin:
        raise ParseError(f"{name}: {key[:80]} says {end - begin} bytes, and its shape takes {made.bytes}")
    return made


def read_folder(folder: Path) -> dict[str, StoredTensor]:
    """The tensors of every safetensors file of a folder; a name that two of them have is an error."""
    _check_whole(folder)
    found: dict[str, StoredTensor] = {}
    for path in sorted(folder.glob("*.safetensors")):
        for key, tensor in read_safetensors(path).items():
            if key in found:
                raise ParseError(f"{path} and {found[key].file.state.path} both have {key[:80]}")
            found[key] = tensor
    if not found:
        raise ParseError(f"{folder} has no .safetensors file")
    return found


def _check_whole(folder: Path) -> None:
    """Raise where an index names files of weights that are not here, as after a download that was cut short."""
    index = folder / "model.safetensors.index.json"
    if not index.is_file():
        return
    listed = read_json(index).get("weight_map")
    if not isinstance(listed, dict):
        raise ParseError(f"{index}: weight_map must be an object, not {quoted(listed)}")
    there = {path.name for path in folder.glob("*.safetensors")}
    missing = sorted({name if isinstance(name, str) else quoted(name) for name in listed.values()} - there)
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ParseError(f"{folder} lacks {' '.join(missing[0].split())[:80]}{more}, which {index.name} names")
