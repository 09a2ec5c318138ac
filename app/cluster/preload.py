"""What a Dask worker loads first: `dask worker tcp://HOST:8786 --nthreads 1 --preload app.cluster.preload`.

It tells the scheduler the fingerprint of its machine, and offers the resource `GPU` where there is a card.
"""

from __future__ import annotations

import os
import signal
from typing import Any

from app.cluster.fingerprint import this_worker
from compiler.processes.frames import parcel

ANNOUNCED = "kernelglass"
"""Where a scheduler has a worker's fingerprint, as a parcel."""
GPU = "GPU"
"""The resource that a worker with a card offers, one for each."""
_WARM = (
    "compiler.passes.graph.run", "compiler.passes.fusion.run", "compiler.passes.kernel.run", "compiler.pipeline",
    "compiler.backend.emission", "profiler.model_records",
)  # fmt: skip


LED = "KERNELGLASS_LED_WORKER"
"""Set for workers that a command started: when they end is its to say, not Ctrl+C's."""


def dask_setup(worker: Any) -> None:
    """Dask calls this before the worker joins."""
    if os.environ.pop(LED, ""):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    found = this_worker()
    worker.startup_information[ANNOUNCED] = lambda _: parcel(found)
    if found.cards:
        for table in (worker.state.total_resources, worker.state.available_resources):
            table.setdefault(GPU, float(len(found.cards)))
    _warm()


def _warm() -> None:
    """What every compilation loads, before the first one comes."""
    from importlib import import_module

    from compiler.targets import get_target

    for module in _WARM:
        import_module(module)
    get_target("cpu").machine(3)
