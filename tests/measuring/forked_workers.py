"""Workers of clusters, for tests that are not about how one starts: forks of a process that has loaded what they need.

Dask starts each worker as a fresh interpreter, which takes seconds of a processor. A command that starts a cluster in a
process of its own has workers as users have them, and so has everybody where forking is not as safe as on Linux.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import forkserver
from pathlib import Path

import pytest

_SERVER, _FRESH = "multiprocessing.forkserver", "multiprocessing.spawn"


@contextmanager
def forked_workers() -> Iterator[None]:
    """Clusters that this process starts meanwhile have such workers, around which is what is around us now."""
    if sys.platform != "linux":
        yield
        return
    import dask.config
    import distributed.utils

    from app.cluster.joining import _LOGGING
    from app.cluster.preload import LED

    distributed.utils._forkserver_preload_set = True  # it would have the process load what else is installed
    multiprocessing.get_context("forkserver").set_forkserver_preload(["distributed", "ready_worker"])
    path = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[2])])
    with pytest.MonkeyPatch.context() as patch:  # what is read as it loads
        patch.setenv("PYTHONPATH", path)
        patch.setenv("DASK_LOGGING", repr(_LOGGING))
        forkserver.ensure_running()
    around = {**os.environ, LED: "1"}
    method = {"distributed.worker.multiprocessing-method": "forkserver", "distributed.nanny.environ": around}
    with dask.config.set(method):
        yield


def worker_processes() -> list[int]:
    """The workers of clusters that this process started."""
    import psutil

    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            above = process.parent()
            forked = above is not None and _begins(process, _SERVER) and _begins(above, _SERVER)
            if forked or _begins(process, _FRESH):
                found.append(process.pid)
    return found


def _begins(process, module: str) -> bool:
    return module in " ".join(process.cmdline())
