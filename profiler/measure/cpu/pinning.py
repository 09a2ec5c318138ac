"""Which processor each thread of a timed model runs on, and what else decides how it is scheduled.

A scheduler may put two threads of a model on one processor and leave another idle; their times then tell where they
were put, twice over. One thread on each processor is how a model is meant to run, so that is how it is timed where it
has a thread for every processor; with fewer, a scheduler finds the ones that are free, unless it is told otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def places_for(threads: int, usable: Sequence[int], pin: bool | None) -> tuple[int, ...]:
    """The processor of each thread; none where the scheduler is to choose. `pin` of None: if there is one for each."""
    wanted = pin if pin is not None else 1 < threads == len(usable)
    return tuple(spread_out(usable)[:threads]) if wanted and threads <= len(usable) else ()


def spread_out(usable: Sequence[int]) -> list[int]:
    """Processors in the order in which to fill them: one of each core first, then those that share one."""
    seen: dict[str, int] = {}
    ranks = []
    for cpu in sorted(usable):
        core = str(cpu)
        with suppress(OSError):
            core = Path(_TOPOLOGY.format(cpu)).read_text().strip()
        ranks.append((seen.setdefault(core, 0), cpu))
        seen[core] += 1
    return [cpu for _, cpu in sorted(ranks)]


@contextmanager
def pinned(threads: int, pin: bool | None) -> Iterator[tuple[int, ...]]:
    """Put this process's threads that run a model on processors of their own for a while; which, or nothing."""
    from compiler.backend.runtime import thread_pool

    if not hasattr(os, "sched_setaffinity"):
        yield ()
        return
    usable = os.sched_getaffinity(0)
    places = places_for(threads, sorted(usable), pin)
    known = thread_pool().thread_ids()[: len(places)]
    try:
        for thread, cpu in zip(known, places):
            os.sched_setaffinity(thread, {cpu})
    except OSError:  # a sandbox may forbid it: then the scheduler chooses
        places = ()
    try:
        yield places
    finally:
        with suppress(OSError):
            for thread in known:
                os.sched_setaffinity(thread, usable)


def scheduling() -> dict[str, Any]:
    """How this process is scheduled, as far as the system tells: niceness, and the processors it may use."""
    found: dict[str, Any] = {}
    with suppress(OSError, AttributeError):
        found["nice"] = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(OSError, AttributeError):
        found["affinity"] = sorted(os.sched_getaffinity(0))
    return found
