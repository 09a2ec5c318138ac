"""Questions about this machine, inside a worker: its devices, ceilings and cache, and how fast it compiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.cluster.places import is_elsewhere
from app.viewmodels import requests
from app.viewmodels.frame.devices import DeviceRow
from app.viewmodels.runs.bisecting import BisectRequest
from app.viewmodels.runs.serving import GenerateRequest
from app.viewmodels.runs.tuning import TuneRequest
from app.worker.bisecting import bisect_runs
from app.worker.generating import generate_text
from app.worker.remote_jobs import ceilings_there, reached
from app.worker.tuning import tune_source
from compiler.errors import CompilerError, UnavailableError


def devices() -> tuple[DeviceRow, ...]:
    """The CPU, then every CUDA device; where there is none, an entry that says what is missing."""
    from app.viewmodels.frame.formats import size
    from compiler.targets.nvptx import best_target
    from profiler.measure.devices import cpu_device, cuda_devices

    cpu = cpu_device()
    words = f"{cpu.name}, {cpu.usable_cores} of {cpu.logical_cores} cores, {size(cpu.memory_bytes)}"
    rows = [DeviceRow("cpu", f"CPU ({cpu.usable_cores} cores)", "cpu", words)]
    try:
        found = cuda_devices()
    except UnavailableError as error:
        return (*rows, DeviceRow("cuda", "CUDA: none", "", "", str(error)))
    for card in found:
        try:
            target, missing = best_target(card.target), ""
        except UnavailableError as error:
            target, missing = "", str(error)
        words = f"{card.name}, {card.target}, {card.multiprocessors} multiprocessors, {size(card.memory_bytes)}"
        rows.append(DeviceRow(f"cuda:{card.index}", f"cuda:{card.index} {card.name}", target, words, missing))
    return tuple(rows)


def _ceilings(request: requests.CeilingsRequest, report: requests.Report) -> requests.CeilingsTold:
    from profiler.measure.ceilings.measured import ceiling_threads, measured_ceilings, stored_ceilings
    from profiler.measure.machine import machine_with
    from profiler.store import StoreError, ask, open_store

    device = request.device
    if is_elsewhere(device):
        return ceilings_there(device, request.measure, report)
    if not request.measure:
        threads = ceiling_threads(device, None)
        found = ask(lambda store: stored_ceilings(store, machine_with(device).fingerprint, threads), [])
        return requests.CeilingsTold(device, tuple(found))
    where = "this machine" if device == "cpu" else device

    def progress(words: str, share: float) -> None:
        report(requests.Progress(f"measuring {where}: {words}", share))

    try:
        store = open_store(None)
    except (StoreError, OSError):  # they can be measured all the same; they are not kept then
        store = None
    try:
        found = measured_ceilings(store, device=device, again=True, progress=progress)
    finally:
        if store is not None:
            store.close()
    return requests.CeilingsTold(device, tuple(found))


def _storage(request: requests.StorageRequest, _report: requests.Report) -> requests.StorageTold:
    from compiler.cache import Cache, cache_folder, default_cache
    from profiler.store import default_path

    cache = default_cache()
    if request.clear:
        cache.clear()
        left = cache.info().entries
        if left:
            raise CompilerError(f"{left} entries of {cache.path} could not be removed")
    if request.limit:
        cache = Cache(cache_folder(), request.limit)
        cache.evict()
    found = cache.info()
    return requests.StorageTold(str(found.path), found.entries, found.bytes, str(default_path()))


def _flows(request: requests.FlowsRequest, report: requests.Report) -> tuple[str, int]:
    """The machine and its cores come back at the end; every sample is sent as it is taken: stopping loses nothing."""
    from app.flows.cells import BASE, Request, take_samples
    from compiler.backend.runtime import default_threads
    from profiler.measure.machine import this_machine

    machine = this_machine().name, default_threads()
    total = len(request.cells) * request.repeat
    done = 0
    report(requests.FlowsBegun("flows: loading the source in a fresh process", 0.0, *machine))
    asked = Request(request.source, request.options, request.libraries)
    for cell, sample in take_samples(asked, request.cells, request.repeat, request.folder or None):
        done += cell != BASE and sample is not None
        words = f"flows: {done + (sample is None)} of {total}{f', {cell}' if sample is None else ''}"
        report(requests.FlowProgress(words, done / total if total else 1.0, cell, sample))
    return machine


def _again(request: requests.AgainRequest, report: requests.Report) -> tuple[int, int]:
    from app.stored.again import contenders
    from profiler.measure.in_turns import run_in_turns
    from profiler.store import open_store

    begun = 0

    def told(words: str) -> None:
        nonlocal begun
        report(requests.Progress(f"in turns: {words}", min(begun / request.pairs, 0.95)))
        begun += 1

    with open_store(None, create=False) as store, contenders(store, request.runs) as sides:
        return run_in_turns(store, sides, request.pairs, progress=told)


MACHINE_JOBS: dict[type, Callable[[Any, requests.Report], Any]] = {
    requests.DevicesRequest: lambda _request, _report: devices(),
    requests.RemoteDeviceRequest: reached,
    requests.CeilingsRequest: _ceilings,
    requests.StorageRequest: _storage,
    requests.FlowsRequest: _flows,
    GenerateRequest: generate_text,
    BisectRequest: bisect_runs,
    requests.AgainRequest: _again,
    TuneRequest: tune_source,
}
