"""Packages of kernels that take the place of files of the library: what `library.toml` in a folder says, and writing
such a folder.

    replaces = ["elementwise_unary.py"]

Without it a definition that the library has already is an error, so that nothing is replaced by accident.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from compiler.errors import KernelError, Location

MANIFEST = "library.toml"
_NAME = re.compile(r"^\w+\.py$")


def replaced_names(folder: Path) -> frozenset[str]:
    """The files of a folder that take the place of those of their name; none where nothing says so."""
    manifest = folder / MANIFEST
    if not manifest.is_file():
        return frozenset()
    import tomllib

    try:
        names = tomllib.loads(manifest.read_text(encoding="utf-8")).get("replaces", [])
    except (OSError, ValueError) as problem:
        raise KernelError(f"this cannot be read: {problem}", Location(str(manifest))) from None
    if not isinstance(names, list) or not all(isinstance(name, str) and _NAME.match(name) for name in names):
        raise KernelError('replaces is a list of names of files, as ["matmul.py"]', Location(str(manifest)))
    for name in names:
        if not (folder / name).is_file():
            raise KernelError(f"replaces names {name!r}, but there is no such file beside it", Location(str(manifest)))
    return frozenset(names)


def write_package(folder: Path, texts: Mapping[str, str]) -> None:
    """Write files, by their names, as a package that replaces the library's; a package that is there is added to.

    A file that is there and replaces nothing is not written over.
    """
    known = replaced_names(folder)
    for name in texts:
        if not _NAME.match(name):
            raise KernelError(f"{name!r} is no name of a kernel file", Location(str(folder)))
        if name not in known and (folder / name).exists():
            raise KernelError(f"{name} is there already; choose another folder", Location(str(folder)))
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    names = ", ".join(f'"{name}"' for name in sorted(known | set(texts)))
    (folder / MANIFEST).write_text(
        f"# Files here that take the place of the kernel library's files of the same names.\nreplaces = [{names}]\n",
        encoding="utf-8",
    )
