"""What a worker was sent and keeps: models, graphs and arrays by their content, so that each travels once."""

from __future__ import annotations

import hashlib

from app.cluster.errands import asked_of
from app.cluster.joining import Cluster, Worker
from compiler.errors import UnavailableError

HELD_BYTES = 2 << 30
"""How much of what it was sent a worker keeps for later; what was used longest ago goes first."""
_held: dict[str, bytes] = {}


def digest(blob: bytes) -> str:
    """What a blob is held under."""
    return hashlib.sha256(blob).hexdigest()


def held(name: str) -> bool:
    """Whether a blob is here already; it counts as used just now."""
    if name in _held:
        _held[name] = _held.pop(name)
    return name in _held


def hold(blob: bytes) -> None:
    """Keep a blob for this task and later ones."""
    name = digest(blob)
    _held.pop(name, None)
    _held[name] = bytes(blob)
    while len(_held) > 2 and sum(map(len, _held.values())) > HELD_BYTES:  # a run needs two at a time
        del _held[next(iter(_held))]


def held_blob(name: str) -> bytes:
    """A blob that is here; UnavailableError where others came in its place meanwhile."""
    try:
        return _held[name]
    except KeyError:
        raise UnavailableError("the worker does not have what it was sent any more") from None


def sent(cluster: Cluster, worker: Worker, blob: bytes) -> str:
    """A blob's digest, once the worker has it; it is sent only where it is not there from before."""
    name = digest(blob)
    if not asked_of(cluster, worker, held, name):
        asked_of(cluster, worker, hold, blob)
    return name
