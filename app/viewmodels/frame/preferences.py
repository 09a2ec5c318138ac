"""What the user can set, as one frozen record. Settings keep it, a controller makes it hold."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

THEMES = (("system", "As the system has it"), ("dark", "Dark"), ("light", "Light"))
TRUST = (("once", "Ask once for each file before it is run"), ("always", "Ask every time before one is run"))
CACHE_MIB = 512


@dataclass(frozen=True)
class Preferences:
    """Every preference with its default. Zero and empty mean: as the program sees fit."""

    theme: str = "system"
    ui_family: str = ""
    ui_pixels: int = 13
    code_family: str = ""
    code_pixels: int = 12
    jobs: int = 0
    use_cache: bool = True
    libraries: str = ""  # folders of kernels, as a PATH lists them
    cache_mib: int = CACHE_MIB
    target: str = "cpu"
    flow: str = "all-kernel"
    opt_level: int = 3
    threads: int = 0
    repeats: int = 0
    check: bool = True
    database: str = ""
    ask_trust: str = "once"
    restore: bool = True
    reload: bool = True

    @property
    def kernel_folders(self) -> tuple[str, ...]:
        """The folders of more kernels."""
        return tuple(folder for folder in self.libraries.split(os.pathsep) if folder)


def load(get: Callable[[str, Any], Any]) -> Preferences:
    """What was set, as `get(name, default)` finds it: a value of the wrong kind is the default."""
    return Preferences(**{f.name: get(f.name, f.default) for f in fields(Preferences)})


def save(put: Callable[[str, Any], object], before: Preferences, after: Preferences) -> list[str]:
    """Keep what changed; the names of it."""
    changed = [f.name for f in fields(Preferences) if getattr(before, f.name) != getattr(after, f.name)]
    for name in changed:
        put(name, getattr(after, name))
    return changed
