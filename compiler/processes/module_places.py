"""Where modules lie, kept from one process to the next, so that the next one does not look for them again.

To find a module Python looks into every folder of its path, and asks about its file several times: for the hundreds
that the compiler has, a tenth of the time in which it is loaded. Where a module was found it still is while no folder
that was looked into has changed, so places are kept with the states of those folders, in the user's cache, whose
signature says that nobody else wrote them. The files themselves are read and checked as ever.
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType
from typing import Any

from compiler.cache import default_cache, key_of

_KIND = "modules"
_HEAD = 16
"""Bytes before the code in a compiled file: of which Python, what kind, and its source's time and size."""


class ModulePlaces:
    """Places of the modules that processes of one kind load; from here on this process finds them there."""

    def __init__(self, name: str) -> None:
        self._key = key_of(name, sys.version, sys.flags.optimize, sys.pycache_prefix, sys.path)
        found = default_cache().get(_KIND, self._key)
        places, folders = marshal.loads(found) if found else ({}, {})
        self._kept: dict[str, tuple[str, bool, str]] = {} if _states(folders) != folders else places
        self._left = self._kept.keys() - sys.modules.keys()
        self._missed: set[str] = set()
        sys.meta_path.insert(0, self)  # type: ignore[arg-type]  finders need no more than what is here

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """What Python asks of a finder; None where another one has to look."""
        place = self._kept.get(name)
        if place is None:
            self._missed.add(name)
            return None
        self._left.discard(name)
        source, package, compiled = place
        spec = ModuleSpec(name, _Loader(name, source, compiled), origin=source, is_package=package)
        if package:
            spec.submodule_search_locations = [os.path.dirname(source)]
        spec.has_location = True
        spec.cached = compiled
        return spec

    def keep(self) -> None:
        """What is loaded now is what the next process finds, and no more, so that nothing old piles up."""
        if not self._left and not any(_place(name, sys.modules.get(name)) for name in self._missed):
            return  # as it was: to look at every module would copy what a fork of this process shares with it
        places = {name: place for name, module in list(sys.modules.items()) if (place := _place(name, module))}
        if places != self._kept:
            folders = _states([*sys.path, *(os.path.dirname(source) for source, _, _ in places.values())])
            default_cache().put(_KIND, self._key, marshal.dumps((places, folders)))
            self._kept = places


class _Loader(SourceFileLoader):
    """Code from the compiled file that is known, where it is of the source as it is now."""

    def __init__(self, name: str, source: str, compiled: str) -> None:
        super().__init__(name, source)
        self._compiled = compiled

    def get_code(self, fullname: str) -> CodeType | None:
        try:
            with open(self._compiled, "rb", 0) as file:
                content = file.read()
            status = os.stat(self.path)
        except OSError:
            return super().get_code(fullname)
        state = b"".join(number.to_bytes(8, "little")[:4] for number in (0, int(status.st_mtime), status.st_size))
        if content[:_HEAD] != importlib.util.MAGIC_NUMBER + state:  # or the file goes by something else than the time
            return super().get_code(fullname)
        return marshal.loads(memoryview(content)[_HEAD:])


def _place(name: str, module: Any) -> tuple[str, bool, str] | None:
    """The source of a module, whether it is a package, and its compiled file; None for one that is loaded in another
    way."""
    spec = getattr(module, "__spec__", None)
    if spec is None or spec.name != name or type(spec.loader) not in (SourceFileLoader, _Loader) or not spec.cached:
        return None
    package = spec.submodule_search_locations is not None
    return (spec.origin, package, spec.cached) if os.path.isabs(spec.origin) else None


def _states(folders: Any) -> dict[str, int]:
    """When a folder was last given or robbed of a file; of one that is not there, that it is not."""
    return {folder: _state(folder) for folder in folders}


def _state(folder: str) -> int:
    try:
        return os.stat(folder or os.curdir).st_mtime_ns
    except OSError:
        return -1
