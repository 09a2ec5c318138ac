"""A scheduler to work with: one that runs elsewhere, or one that is started here with workers of its own.

What is started here listens on the loopback address only and ends with this process. Encryption is Dask's own: its
configuration (`distributed.comm.tls`) says which certificates a `tls://` address is reached with.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any

from app.cluster.fingerprint import KNOWN, Fingerprint, release, this_worker
from app.cluster.loading import load_dask
from app.cluster.preload import ANNOUNCED, LED
from app.cluster.termination import terminated_in_order
from compiler.errors import CompilerError, UnavailableError
from compiler.processes.frames import Unreadable, opened, parcel

LOCAL = "local"
"""The address that means a scheduler of our own."""
LOOPBACK = "127.0.0.1"
_CONNECT = 10.0  # seconds for a scheduler to answer
_GREETING = 32, 1 << 20  # bytes that a scheduler's first message has at least, and at most
_SILENT = {"handlers": ["none"], "propagate": False}
_LOGGING = {
    "version": 1, "disable_existing_loggers": False, "handlers": {"none": {"class": "logging.NullHandler"}},
    "loggers": {name: _SILENT for name in ("distributed", "tornado", "asyncio")},
}  # fmt: skip
_QUIET = {
    "logging": _LOGGING,
    "distributed.worker.profile.enabled": False,
    # Workers and scheduler share a machine with what they have timed there: they wake up seldom.
    "distributed.admin.tick.interval": "5s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.scheduler.work-stealing-interval": "500ms",
}
_OURS = {
    "distributed.scheduler.allowed-failures": 20,
    "distributed.scheduler.worker-saturation": 1.0,  # what waits, waits for whoever is free first
    "distributed.worker.memory.terminate": False,
    "distributed.worker.memory.pause": False,
    "distributed.nanny.pre-spawn-environ.DASK_LOGGING": repr(_LOGGING),  # read as Dask is imported there
    f"distributed.nanny.pre-spawn-environ.{LED}": "1",
}


@dataclass(frozen=True)
class Worker:
    """A worker: where it is, what it is called, how many tasks it does at a time, and what it says of its machine."""

    address: str
    name: str
    threads: int
    fingerprint: Fingerprint | None
    resources: dict[str, float]

    @property
    def refusal(self) -> str:
        """Why nothing is sent to it; empty where it is of use."""
        if self.fingerprint is None:
            return "it has no kernelglass"
        return "" if self.fingerprint.release == release() else "it has another version of kernelglass"


@dataclass(frozen=True)
class Cluster:
    """A scheduler that we are joined with. `client` is Dask's."""

    address: str
    client: Any

    def workers(self) -> list[Worker]:
        """Who is there now, by address."""
        found = self._told()
        silent = [address for address, facts in found.items() if ANNOUNCED not in facts]
        asked = self.client.run(announce, workers=silent, on_error="return") if silent else {}
        return [
            Worker(
                address, str(facts["name"]), facts["nthreads"], _read(facts.get(ANNOUNCED, asked.get(address))),
                dict(facts.get("resources") or {}),
            )
            for address, facts in sorted(found.items())
        ]  # fmt: skip

    def addresses(self) -> list[str]:
        """Where they are, whoever they are."""
        return list(self.client.nthreads())

    def _told(self) -> dict[str, Any]:
        """What the scheduler says of each worker, asked of itself.

        Its `scheduler_info` gives what the client heard last. By itself that asks every two seconds, for no worker at
        all: where that answer comes between ours and us, everybody seems to be gone.
        """
        return self.client.sync(self.client.scheduler.identity, n_workers=-1)["workers"]

    def useful(self) -> list[Worker]:
        """Those that can be given work; UnavailableError where there is none."""
        found = self.workers()
        good = [worker for worker in found if not worker.refusal]
        if not good:
            why = (
                f": {found[0].address} is refused, as {found[0].refusal}" if found else "; start some with dask worker"
            )
            raise UnavailableError(f"the scheduler at {self.address} has no worker for us{why}")
        return good


def announce() -> bytes:
    """This worker's fingerprint, asked of one that did not load `app.cluster.preload`."""
    return parcel(this_worker())


def _read(said: Any) -> Fingerprint | None:
    try:
        return opened(said, KNOWN) if isinstance(said, bytes) else None
    except Unreadable:
        return None


@contextmanager
def joined(address: str, workers: int | None = None, port: int = 0) -> Iterator[Cluster]:
    """The cluster at an address, for the time of the block; `local` starts one, with so many workers, at a port."""
    check_address(address)
    with ExitStack() as stack:
        if address == LOCAL:
            heed = stack.enter_context(terminated_in_order())
            cluster = _local(stack, workers, port)
            heed()
            yield cluster
        else:
            yield _elsewhere(stack, address)


def check_address(address: str) -> None:
    """Raise for what can be no scheduler."""
    scheme, found, rest = address.partition("://")
    if address != LOCAL and not (found and rest and scheme in ("tcp", "tls", "ucx", "ws", "wss")):
        raise CompilerError(f"a scheduler is tcp://HOST:PORT, tls://HOST:PORT or local, not {address[:60]!r}")


def _dask(sending: bool) -> tuple[Any, Any]:
    """Dask's configuration and its distributed part, kept quiet: what goes wrong is told in our words."""
    try:
        settings, distributed = load_dask(_QUIET, sending)
    except ImportError:
        raise UnavailableError("Dask is not installed (pip install 'kernelglass[cluster]')") from None
    return settings, distributed


def _elsewhere(stack: ExitStack, address: str) -> Cluster:
    _, distributed = _dask(sending=True)
    try:
        security = distributed.Security()
        _knock(address, security)
        client = distributed.Client(address, security=security, timeout=_CONNECT, set_as_default=False)
    except Exception as error:  # whatever comes of an address that a user typed, and of whoever listens there
        raise UnavailableError(f"there is no scheduler at {address[:200]}: {_why(address, error)}") from None
    stack.callback(_closed, client)
    return Cluster(address, client)


def _why(address: str, error: Exception) -> str:
    if address.startswith("tls://") and isinstance(error, TypeError):  # there is no configuration to make a context of
        return "tls:// needs certificates, and distributed.comm.tls of Dask's configuration names none"
    if isinstance(error, TimeoutError):
        return f"whoever listens there did not answer as a scheduler does within {_CONNECT:g} s"
    return " ".join(str(error).split())[:200] or type(error).__name__


def _knock(address: str, security: Any) -> None:
    """Raise at once where nobody listens, and soon where whoever does is no scheduler, which speaks first.

    Dask would try again and again, and wait for good for somebody who says nothing.
    """
    found = re.fullmatch(r"(tcp|tls)://\[?([^\]]+?)\]?:(\d+)", address)
    if found is None:
        return
    with ExitStack() as stack:
        limit = monotonic() + _CONNECT
        line = stack.enter_context(socket.create_connection((found[2], int(found[3])), _CONNECT))
        if found[1] == "tls":
            context = security.get_connection_args("client")["ssl_context"]
            if context is None:
                raise TypeError("there is no certificate")
            line = stack.enter_context(context.wrap_socket(line, server_hostname=found[2]))
        said = b""
        while len(said) < 8:
            line.settimeout(max(limit - monotonic(), 0.001))  # also for somebody who says a little now and then
            if not (more := line.recv(8 - len(said))):
                break
            said += more
        if len(said) < 8 or not _GREETING[0] <= int.from_bytes(said, "little") <= _GREETING[1]:
            raise OSError("whoever listens there does not talk as a scheduler does")


def _local(stack: ExitStack, workers: int | None, port: int) -> Cluster:
    from compiler.backend.runtime import default_threads

    settings, distributed = _dask(sending=False)
    settings.set(_OURS)
    count = workers or default_threads()
    try:
        cluster = distributed.LocalCluster(
            n_workers=count, threads_per_worker=1, processes=True, host=LOOPBACK,
            scheduler_port=port, dashboard_address=f"{LOOPBACK}:0", memory_limit=0, preload=["app.cluster.preload"],
            silence_logs=False,
        )  # fmt: skip
    except (OSError, RuntimeError) as error:
        raise UnavailableError(f"no scheduler can be started on {LOOPBACK}:{port}: {_first_cause(error)}") from None
    stack.callback(cluster.close, timeout=5)
    # Each is started again by its nanny, unless it dies as it starts: then another takes its place.
    cluster.adapt(minimum=count, maximum=count, interval="2s")
    client = distributed.Client(cluster, timeout=_CONNECT, set_as_default=False)
    stack.callback(_closed, client)
    return Cluster(cluster.scheduler_address, client)


def _first_cause(error: BaseException) -> str:
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return " ".join(str(error).split())[:200] or type(error).__name__


def _closed(client: Any) -> None:
    client.close(timeout=2)
