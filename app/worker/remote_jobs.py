"""Devices of other machines as the window asks for them, inside a worker: whether one is there, and what it can do."""

from __future__ import annotations

from app.viewmodels.frame.devices import DeviceRow, remote_row
from app.viewmodels.requests import CeilingsTold, Progress, RemoteDeviceRequest, Report
from compiler.errors import CompilerError


def reached(request: RemoteDeviceRequest, _report: Report) -> DeviceRow:
    """A device with what it is, or with why it cannot be reached."""
    from app.cluster.devices import remote_device

    place = request.place
    try:
        with remote_device(place) as there:
            return remote_row(place, there.target, f"{there.machine.name}, by the worker {there.worker.address}")
    except CompilerError as error:
        return remote_row(place, missing=error.message)


def ceilings_there(place: str, measure: bool, report: Report) -> CeilingsTold:
    """What a device of another machine can do: measured there now and kept with its machine, or as it was kept."""
    from app.cluster.devices import remote_device
    from profiler.measure.ceilings.measured import ceiling_threads, keep_ceilings, stored_ceilings
    from profiler.store import open_store

    report(Progress(f"measuring {place}", 0.1))
    with remote_device(place) as there, open_store(None) as store:
        if not measure:
            threads = ceiling_threads(there.device, None)
            return CeilingsTold(place, tuple(stored_ceilings(store, there.machine.fingerprint, threads)))
        found = there.ceilings(None)
        keep_ceilings(store, there.machine, found)
    return CeilingsTold(place, found)
