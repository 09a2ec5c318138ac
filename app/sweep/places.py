"""Where a run is timed: a device of this machine, or one of a cluster's worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from app.cluster.places import is_elsewhere
from app.compilation import device_index, device_target
from profiler.measure.machine import machine_with
from profiler.measure.measuring import measure, measure_once
from profiler.measure.outcome import Outcome
from profiler.records import Machine


@dataclass(frozen=True)
class Place:
    """A place to run: the device as its machine knows it, what to compile for, and what measures there, in as many
    processes as a request asks for or in one."""

    device: str
    target: str
    machine: Machine
    measure: Callable[..., Outcome]
    measure_once: Callable[..., Outcome]


@contextmanager
def place_of(device: str) -> Iterator[Place]:
    """The place behind a device's name, for the time of the block."""
    if not is_elsewhere(device):
        yield Place(device, device_target(device_index(device)), machine_with(device), measure, measure_once)
        return
    from app.cluster.devices import remote_device

    with remote_device(device) as there:
        yield Place(there.device, there.target, there.machine, there.measure, there.measure_once)
