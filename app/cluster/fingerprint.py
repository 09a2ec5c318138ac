"""What a worker says of its machine: the processor that code is made for, its cards, and which version runs there."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from compiler.cache import producer_versions
from compiler.errors import UnavailableError
from compiler.processes.frames import named
from profiler.records import Machine


@dataclass(frozen=True)
class Card:
    """A CUDA device of a worker."""

    index: int
    name: str
    target: str


@dataclass(frozen=True)
class Fingerprint:
    """A machine as a worker on it sees it. `target` is what code for its processor is compiled for, by any machine."""

    machine: Machine
    arch: str
    triple: str
    features: str
    target: str
    cards: tuple[Card, ...]
    release: str
    """Which compiler is there; only the same one gives the same bits."""


KNOWN = named(Fingerprint)


@cache
def this_worker() -> Fingerprint:
    """This machine."""
    from compiler.targets import get_target
    from profiler.measure.machine import this_machine

    host = get_target("cpu")
    return Fingerprint(this_machine(), host.arch, host.triple, host.features, host.portable_name, _cards(), release())


def _cards() -> tuple[Card, ...]:
    from profiler.measure.devices import cuda_devices

    try:
        return tuple(Card(each.index, each.name, each.target) for each in cuda_devices())
    except UnavailableError:
        return ()


@cache
def release() -> str:
    """The content of the compiler and its kernels, and the versions of what does the work, wherever they lie."""
    import compiler

    root = Path(compiler.__file__).resolve().parents[1]
    digest = hashlib.sha256(repr(sorted(producer_versions().items())).encode())
    for file in sorted(path for top in ("compiler", "kernels") for path in (root / top).rglob("*.py")):
        digest.update(f"{file.relative_to(root)} {file.stat().st_size} ".encode() + file.read_bytes())
    return digest.hexdigest()[:16]
