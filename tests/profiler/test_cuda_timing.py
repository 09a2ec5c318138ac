"""Timing on a device: rotation, warm-up, when to stop. A made-up device keeps the clock; no driver is needed."""

from dataclasses import dataclass, field

import pytest

from profiler.measure.cpu.timing import BLOCKS, MOST_SETS
from profiler.measure.cuda.resident import KernelTime
from profiler.measure.cuda.timing import rotating_sets, time_residents


@dataclass
class Device:
    """Time passes only while something runs on it."""

    now: float = 0.0
    calls: list[int] = field(default_factory=list)


@dataclass
class Buffers:
    device: Device
    number: int
    milliseconds: tuple[float, ...] = (0.5, 1.5)
    noise: tuple[float, ...] = (1.0,)

    def launch(self):
        self._run()

    def synchronize(self):
        pass

    def trace(self):
        factor = self.noise[len(self.device.calls) % len(self.noise)]
        self._run(factor)
        return [KernelTime(f"k{at}", ms * factor) for at, ms in enumerate(self.milliseconds)]

    def _run(self, factor=1.0):
        self.device.now += sum(self.milliseconds) * factor * 1e-3
        self.device.calls.append(self.number)


def made(sets=3, **more):
    device = Device()
    return device, [Buffers(device, number, **more) for number in range(sets)]


def test_every_launch_of_every_call_has_a_time_and_buffers_take_turns():
    device, residents = made()
    heard = []
    found = time_residents(residents, repeat=30, width=0.01, budget=1.0, clock=lambda: device.now, report=heard.append)
    assert len(found.traces) == 30 == sum(found.blocks) and set(found.traces) == {(0.5, 1.5)} and found.reached
    assert device.calls == [number % 3 for number in range(len(device.calls))]
    assert heard == list(range(len(device.calls))), "each call is announced with its number"


def test_it_stops_when_the_median_is_known():
    device, residents = made()
    found = time_residents(residents, repeat=None, width=0.01, budget=100.0, clock=lambda: device.now)
    assert found.reached and len(found.blocks) == BLOCKS


def test_it_stops_when_the_budget_is_spent():
    device, residents = made(noise=(1.0, 3.0, 9.0, 2.0, 27.0))
    found = time_residents(residents, repeat=None, width=1e-9, budget=0.5, clock=lambda: device.now)
    assert not found.reached and len(found.blocks) >= 3 and device.now < 2.0


def test_a_slow_model_is_warmed_up_with_a_few_calls():
    device, residents = made(milliseconds=(400.0,))
    time_residents(residents, repeat=1, width=0.01, budget=1.0, clock=lambda: device.now)
    assert len(device.calls) == 3 + 3 + 1


@pytest.mark.parametrize(
    "size, cache, free, rotate, sets",
    [(1 << 20, 50 << 20, 1 << 37, True, MOST_SETS), (10 << 20, 50 << 20, 1 << 37, True, 10),
     (200 << 20, 50 << 20, 1 << 37, True, 1), (10 << 20, 50 << 20, 80 << 20, True, 3), (1, 50 << 20, 1 << 37, False, 1),
     (0, 50 << 20, 1 << 37, True, 1), (1 << 40, 50 << 20, 1, True, 1)],
)  # fmt: skip
def test_buffers_rotate_until_they_leave_the_cache_or_memory_is_short(size, cache, free, rotate, sets):
    assert rotating_sets(size, cache, free, rotate) == sets


def test_a_model_that_launches_nothing_is_timed_as_nothing():
    device = Device()
    found = time_residents(
        [Buffers(device, 0, ())], repeat=None, width=0.01, budget=0.1, clock=lambda: len(device.calls) * 1e-3
    )
    assert found.reached and sum(map(sum, found.traces)) == 0 and len(found.blocks) == BLOCKS
