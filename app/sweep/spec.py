"""What a sweep is asked for: a TOML file of lists, of which every combination is a cell."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from math import prod
from pathlib import Path
from typing import Any

from app.cluster.places import check_place
from app.compilation import device_index
from app.sources import looks_like_source, stored_name
from app.trust import content_digest
from compiler.cache import producer
from compiler.errors import CompilerError, ParseError
from compiler.importers.files import read_file
from compiler.options import CompileOptions
from profiler.store.writer import check_tag

MOST = 100_000
COMPILE = ""
"""The device of a cell that is only compiled."""


@dataclass(frozen=True)
class Cell:
    """One combination: a compilation for a target, or, where there is a device, a run there that is timed."""

    source: str
    target: str = "cpu"
    flow: str = "all-kernel"
    opt_level: int = 3
    library: str = ""
    device: str = COMPILE
    dims: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        where = f"on {self.device}" if self.device else f"for {self.target}"
        sizes = "".join(f" {name}={size}" for name, size in self.dims.items())
        more = f" with {Path(self.library).name}" if self.library else ""
        return f"{Path(self.source).name} {where} {self.flow} -O{self.opt_level}{sizes}{more}"


@dataclass(frozen=True)
class Spec:
    """A sweep: its name, its cells, and how runs are timed."""

    name: str
    cells: tuple[Cell, ...]
    repeat: int | None = None
    processes: int = 5
    budget: float = 2.0
    cache: bool = False
    """Whether compilations may be had from the cache, whose seconds then say nothing."""
    _contents: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    _keys: dict[int, tuple[Cell, str]] = field(default_factory=dict, compare=False, repr=False)

    def key(self, cell: Cell) -> str:
        """What a cell is known by in the store: all that decides what comes of it, with the content of its files as
        they were when the sweep was read."""
        known = self._keys.get(id(cell))
        if known is None:
            known = self._keys[id(cell)] = cell, self._key(cell)  # with the cell, so that its identity stays its own
        return known[1]

    def _key(self, cell: Cell) -> str:
        how = (self.repeat, self.processes, self.budget) if cell.device else (self.cache,)
        content = "" if cell.source.startswith("sample:") else self._content(cell.source, content_digest)
        parts = [asdict(cell), content, self._content(cell.library, _kernels_digest), how, producer()]
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:32]

    def _content(self, path: str, digest: Callable[[str], str]) -> str:
        if path not in self._contents:
            self._contents[path] = digest(path)
        return self._contents[path]


def _kernels_digest(folder: str) -> str:
    """The content of a folder of kernels."""
    digest = hashlib.sha256()
    for file in sorted(path for name in ("*.py", "library.toml") for path in Path(folder).glob(name)) if folder else ():
        digest.update(f"{file.name} {file.stat().st_size} ".encode() + file.read_bytes())
    return digest.hexdigest()


_MOST_BYTES = 1 << 20
_LISTS = {"sources": str, "targets": str, "flows": str, "levels": int, "libraries": str, "devices": str, "dims": dict}
_FIGURES = {"name": str, "repeat": int, "processes": int, "budget": (int, float), "cache": bool}


def read_spec(path: Path) -> Spec:
    """The sweep in a file; paths in it are relative to the file. What is wrong with it is one line that names it."""
    try:
        found = tomllib.loads(read_file(path, _MOST_BYTES).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ParseError(f"{path} is not TOML: {error}") from None
    try:
        return _spec(found, path)
    except CompilerError as error:
        raise ParseError(f"{path}: {error}") from None


def _spec(found: dict[str, Any], path: Path) -> Spec:
    for name in found:
        if name not in _LISTS and name not in _FIGURES:
            raise ParseError(f"there is no entry {name!r}; there are {', '.join([*_LISTS, *_FIGURES])}")
    lists = {name: _list(found, name) for name in _LISTS}
    figures = {name: _figure(found, name) for name in _FIGURES if name in found}
    if not lists["sources"]:
        raise ParseError("it needs sources, as in sources = ['sample:mlp']")
    name = figures.pop("name", None)
    if name is None:
        name = _name_of(path)
    else:
        _check_name(name)
    folder = path.absolute().parent
    common = (
        [_source(text, folder) for text in lists["sources"]],
        lists["flows"] or ["all-kernel"],
        lists["levels"] or [3],
        [str(folder / text) if text else "" for text in lists["libraries"] or [""]],
    )
    targets = lists["targets"] or ([] if lists["devices"] else ["cpu"])
    timed = len(lists["devices"]) * max(len(lists["dims"]), 1)
    if (count := prod(map(len, common)) * (len(targets) + timed)) > MOST:  # before any is made
        raise ParseError(f"these are {count:,} cells; a sweep has at most {MOST:,}")
    cells = [
        Cell(source, target, flow, level, library)
        for source, flow, level, library, target in itertools.product(*common, targets)
    ]
    cells += [
        Cell(source, device, flow, level, library, device, dims)
        for source, flow, level, library, device, dims in itertools.product(
            *common, lists["devices"], lists["dims"] or [{}]
        )
    ]
    for cell in cells:
        _check(cell)
    once = {json.dumps(asdict(cell), sort_keys=True): cell for cell in cells}  # a list may name a thing twice
    return Spec(name, tuple(once.values()), **figures)


def _check_name(name: str) -> None:
    try:
        check_tag(name)
    except CompilerError as error:
        raise ParseError(f"its name is the tag of its runs, and {error}") from None


def _name_of(path: Path) -> str:
    """What a sweep is called that has no name: as its file, as far as runs can have that for a tag."""
    name = "-".join(path.stem.split()).encode(errors="replace").decode()  # names of files need not be UTF-8
    try:
        check_tag(name)
    except CompilerError:  # a number, or what means a run already
        return f"sweep-{name}"
    return name


def _list(found: Mapping[str, Any], name: str) -> list[Any]:
    value = found.get(name, [])
    kind = _LISTS[name]
    if not isinstance(value, list) or any(not isinstance(item, kind) or isinstance(item, bool) for item in value):
        kinds = {str: "texts", int: "numbers", dict: "tables, as in [{ M = 64 }]"}
        raise ParseError(f"{name} is a list of {kinds[kind]}")
    for item in value:
        if kind is dict and not all(type(size) is int and 0 < size < 1 << 40 for size in item.values()):
            raise ParseError("dims are sizes by name, as in [{ M = 64 }]")
    return value


def _figure(found: Mapping[str, Any], name: str) -> Any:
    value, kind = found[name], _FIGURES[name]
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        raise ParseError(f"{name} cannot be {value!r}")
    if name in ("repeat", "processes", "budget") and not 0 < value <= 1_000_000:
        raise ParseError(f"{name} is a number of at least 1, not {value!r}")
    return value


def _source(text: str, folder: Path) -> str:
    if "\0" in text or not looks_like_source(text):  # no file has a null in its name
        raise ParseError(f"cannot tell what {text!r} is: use sample:NAME or a file, as the other commands do")
    return text if text.startswith("sample:") else stored_name(str(folder / text))


def _check(cell: Cell) -> None:
    """Raise for what can be told to be wrong before anything is done."""
    from compiler.targets import known_targets

    CompileOptions(flow=cell.flow, opt_level=cell.opt_level).check()
    if "://" in cell.device:
        check_place(cell.device)
    elif cell.device:
        device_index(cell.device)
    elif cell.target not in known_targets():
        raise ParseError(f"unknown target {cell.target!r}; the targets are {' '.join(known_targets())}")
    if cell.library and not os.path.isdir(cell.library):
        raise ParseError(f"there is no folder of kernels {cell.library}")
