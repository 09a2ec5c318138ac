"""What one worker is to do and no other: asked at once, or as a task that is never tried again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.cluster.joining import Cluster, Worker
from compiler.errors import CompilerError, ExecutionError, UnavailableError

_LOOK = 1.0  # seconds between two looks at whether the worker is still there


class Lost(UnavailableError):
    """The worker, or the scheduler between us, is gone."""


def asked_of(cluster: Cluster, worker: Worker, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function says there, beside whatever the worker does; for what takes no time."""
    try:
        return cluster.client.run(function, *arguments, workers=[worker.address])[worker.address]
    except CompilerError:
        raise
    except Exception:  # whatever Dask raises where a worker or the scheduler is gone
        raise _lost(worker) from None


def done_by(
    cluster: Cluster, worker: Worker, function: Callable[..., Any], *arguments: Any,
    meanwhile: Callable[[], None] = lambda: None, **needs: Any,
) -> Any:  # fmt: skip
    """What a task comes to; `Lost` where the worker is. One that nobody waits for any more is cancelled.

    `meanwhile` is called now and then, by whoever waits.
    """
    from distributed import KilledWorker
    from distributed import TimeoutError as NotYet

    future: Any = None
    try:
        future = cluster.client.submit(
            function, *arguments, workers=[worker.address], allow_other_workers=False, pure=False, retries=0, **needs
        )
        while True:
            try:
                return future.result(timeout=_LOOK)
            except NotYet:
                meanwhile()
                if future.status == "pending" and worker.address not in cluster.addresses():
                    raise _lost(worker) from None
    except CompilerError:
        raise
    except Exception as error:  # the task's own, or whatever Dask raises where a worker or the scheduler is gone
        if future is None or future.status != "error" or isinstance(error, KilledWorker):
            raise _lost(worker) from None
        words = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        raise ExecutionError(f"the worker {worker.address} failed: {words}") from None
    finally:
        if future is not None:
            future.cancel()  # also after Ctrl+C: the worker ends its child


def _lost(worker: Worker) -> Lost:
    return Lost(f"the connection to the worker {worker.address} was lost")


def unwanted_task() -> Callable[[], bool]:
    """On a worker: whether nobody waits for its current task any more. Whoever asked has cancelled it, or is gone."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def asked() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    return asked
