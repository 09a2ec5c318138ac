"""Work handed to a cluster: parcels in, parcels out, each done by a function of ours on whichever worker is free."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any

from app.cluster.joining import Cluster, Worker
from compiler.errors import UnavailableError

Work = Callable[[bytes], bytes]
"""Done on a worker: a function of a module that is there, too, so that only its name travels."""

KILLED = 20
"""How often a task is tried whose workers were killed."""
_GROUPS = 50
_PAUSE, _LOOK, _PATIENCE = 0.005, 2.0, 60.0
"""Seconds between two looks at what is done and at who is there, and to wait for somebody where nobody is."""


@dataclass(frozen=True)
class Answer:
    """What came of a parcel: the answer, or in words why there is none."""

    number: int
    parcel: bytes = b""
    failure: str = ""


def answers(cluster: Cluster, work: Work, parcels: Sequence[bytes], workers: Sequence[Worker]) -> Iterator[Answer]:
    """The answer to each parcel as it comes; those first in line begin first. All are handed over before this returns.

    A task is known by its content: the same asked twice is done once. What a lost worker had is done again by another.
    UnavailableError where the scheduler is lost.
    """
    import distributed

    client = cluster.client
    # Named only where some are of no use: workers that join later are welcome otherwise, and so are those that came in
    # place of a useful one since it was found, at another address. If it were named, nobody would ever do its tasks.
    useful, alike = [worker.address for worker in workers], [worker.fingerprint for worker in workers]
    others = [worker for worker in cluster.workers() if worker.address not in useful]
    useless = any(worker.fingerprint not in alike for worker in others)
    where = {"workers": useful, "allow_other_workers": False} if useless else {}
    numbers: dict[str, list[int]] = {}
    for number, parcel in enumerate(parcels):
        numbers.setdefault(f"{work.__name__}-{hashlib.sha256(parcel).hexdigest()}", []).append(number)
    waiting = distributed.as_completed(_submitted(client, work, parcels, numbers, where), loop=client.loop)
    return _answers(cluster, work, parcels, numbers, where, waiting)


def _answers(
    cluster: Cluster, work: Work, parcels: Sequence[bytes], numbers: Mapping[str, Sequence[int]],
    where: dict[str, Any], waiting: Any,
) -> Iterator[Answer]:  # fmt: skip
    import distributed

    client, tries = cluster.client, dict.fromkeys(numbers, 1)
    for batch in _batches(cluster, waiting):
        for future, result in zip(batch, _results(client, batch)):
            key = future.key.partition("+")[0]
            if isinstance(result, bytes):
                yield from (Answer(number, result) for number in numbers[key])
            elif future.status in ("cancelled", "lost"):
                raise UnavailableError(f"the connection to the scheduler at {cluster.address} is lost")
            elif isinstance(result, distributed.KilledWorker) and tries[key] < KILLED:
                tries[key] += 1
                again = f"{key}+{tries[key]}"
                waiting.add(client.submit(work, parcels[numbers[key][0]], key=again, **where))
            else:
                words = "its workers ended" if isinstance(result, distributed.KilledWorker) else _words(result)
                yield from (Answer(number, failure=words) for number in numbers[key])


def _batches(cluster: Cluster, waiting: Any) -> Iterator[list[Any]]:
    """Futures as they are done, some at a time; UnavailableError where nobody is left to do the others."""
    looked = seen = monotonic()
    while not waiting.is_empty():
        if batch := waiting.next_batch(block=False):
            yield batch
            continue
        sleep(_PAUSE)
        if monotonic() - looked > _LOOK:
            looked = monotonic()
            seen = looked if cluster.addresses() else seen
            if looked - seen > _PATIENCE:
                raise UnavailableError(f"the scheduler at {cluster.address} has no worker any more")


def _submitted(
    client: Any, work: Work, parcels: Sequence[bytes], numbers: Mapping[str, Sequence[int]], where: dict[str, Any]
) -> list[Any]:
    """All tasks under way, the first in line first; many are sent some at a time, which have the same place in line."""
    keys = list(numbers)
    size = max(len(keys) // _GROUPS, 1)
    futures: list[Any] = []
    for first in range(0, len(keys), size):
        some = keys[first : first + size]
        given = [parcels[numbers[key][0]] for key in some]
        futures += client.map(work, given, key=some, priority=-first, **where)
    return futures


def _results(client: Any, futures: Sequence[Any]) -> list[Any]:
    """What each future came to: its result, or the error."""
    if all(future.status == "finished" for future in futures):
        try:
            return client.gather(list(futures))
        except Exception:  # one of them was lost since, and failed as it was done again: look at each
            pass
    return [_result(future) for future in futures]


def _result(future: Any) -> Any:
    try:
        return future.result()
    except Exception as error:  # also an error of the worker's own, of whatever kind
        return error


def _words(error: BaseException | None) -> str:
    return f"the worker failed: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
