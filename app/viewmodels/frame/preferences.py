"""What the user can set, as one frozen record. Settings keep it, a controller makes it hold."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, fields
from typing import Any, Protocol

THEMES = (("system", "As the system has it"), ("dark", "Dark"), ("light", "Light"))
TRUST = (("once", "Ask once for each file before it is run"), ("always", "Ask every time before one is run"))
CACHE_MIB = 512


class Kept(Protocol):
    """Where preferences are kept."""

    def get(self, key: str, default: Any) -> Any: ...
    def set(self, key: str, value: Any) -> None: ...


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


def load(kept: Kept) -> Preferences:
    """What was set; a value of the wrong kind is its default."""
    return Preferences(**{f.name: kept.get(f.name, f.default) for f in fields(Preferences)})


def save(kept: Kept, before: Preferences, after: Preferences) -> list[str]:
    """Keep what changed; the names of it."""
    old = asdict(before)
    changed = [name for name, value in asdict(after).items() if old[name] != value]
    for name in changed:
        kept.set(name, getattr(after, name))
    return changed
