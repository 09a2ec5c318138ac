"""Folders of kernels that travel: their files go along, and lie in a temporary folder of the worker."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from compiler.processes.messages import Refusal
from compiler.temporary import make_folder


@dataclass(frozen=True)
class KernelFolder:
    """The files of a folder of kernels, by name, and where it lies on the machine that sent it."""

    path: str
    files: tuple[tuple[str, str], ...]


def kernel_folder(path: Path) -> KernelFolder:
    """A folder of this machine, to be sent."""
    files = tuple((file.name, file.read_text(encoding="utf-8")) for file in sorted(path.glob("*.py")))
    return KernelFolder(str(path), files)


def written(folders: Iterable[KernelFolder]) -> dict[str, str]:
    """Where folders that were sent lie here, each with where it lies there."""
    return {_written(folder): folder.path for folder in folders}


@lru_cache(maxsize=64)
def _written(folder: KernelFolder) -> str:
    place = make_folder("kernels")
    for name, text in folder.files:
        Path(place, Path(name).name).write_text(text, encoding="utf-8")
    return place


def with_their_names(found: Refusal, places: dict[str, str]) -> Refusal:
    """A refusal that names files as whoever sent them knows them."""
    for here, there in places.items():
        found = replace(found, message=found.message.replace(here, there))
        if found.location is not None:
            found = replace(found, location=replace(found.location, file=found.location.file.replace(here, there)))
    return found
