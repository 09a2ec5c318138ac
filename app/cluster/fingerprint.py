"""What a worker says of its machine: the processor that code is made for, its cards, and which version runs there."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cache

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

    root = os.path.dirname(os.path.dirname(os.path.abspath(compiler.__file__)))
    digest = hashlib.sha256(repr(sorted(producer_versions().items())).encode())
    # Paths as texts: whoever sends work waits for this.
    walked = (found for top in ("compiler", "kernels") for found in os.walk(os.path.join(root, top)))
    files = [os.path.join(folder, name) for folder, _, names in walked for name in names if name.endswith(".py")]
    for file in sorted(files):
        with open(file, "rb", 0) as opened:
            content = opened.read()
        digest.update(f"{file[len(root) + 1 :]} {len(content)} ".encode() + content)
    return digest.hexdigest()[:16]
