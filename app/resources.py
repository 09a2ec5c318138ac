"""The files that ship with the program: samples, icons, styles."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from compiler.errors import UnavailableError


@cache
def resource_folder() -> Path:
    """Asked of the import system: `importlib.resources` would load zipfile, tempfile and more at every start."""
    found = find_spec("resources")
    folders = list(found.submodule_search_locations or ()) if found is not None else []
    if not folders:
        raise UnavailableError("the program's own files (resources) are not installed; install kernelglass again")
    return Path(folders[0])
