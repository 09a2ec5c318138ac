"""A model on a device whose sizes change from call to call, as a cache grows: its memory is taken once.

Buffers are laid out for the largest sizes; a call with others changes only what those launches are told that depend on
them, and calls the driver without its Python bindings. What it reads that lies on the device stays there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from profiler.measure.cuda.driver import check, driver
from profiler.measure.cuda.launching import Start, direct_start, make_current
from profiler.measure.cuda.program import DeviceProgram, program_of, ptx_of, steps_of, varying_steps
from profiler.measure.cuda.resident import Executable, Resident
from profiler.measure.cuda.weights import Weights

if TYPE_CHECKING:
    from compiler.model import Model
    from profiler.measure.cuda.device import Device


class GrowingModel:
    """A compiled model on a device, its constants among `weights`, which other models may share."""

    def __init__(self, model: Model, device: Device, weights: Weights) -> None:
        device.require(model.target.name)
        self.model = model
        self.device = device
        self._weights = weights
        self._ptx = ptx_of(model)
        self._executable: Executable | None = None

    def load(self, sizes: Mapping[str, int]) -> tuple[Executable, DeviceProgram]:
        """Its code and constants on the device, loaded once, and what it runs for given sizes of its symbols."""
        program = program_of(self.model, sizes, self._ptx)
        if self._executable is None:
            self._executable = Executable(self.device, program, weights=self._weights)
        return self._executable, program

    def up_to(self, largest: Mapping[str, int], given: Mapping[str, int]) -> Calls:
        """Calls with sizes of at most these; `given` are addresses on the device by the arguments' names."""
        return Calls(self.model, *self.load(largest), given)


class Calls:
    """Launches with memory for sizes up to the largest; `close` (or `with`) gives it back."""

    def __init__(
        self, model: Model, executable: Executable, program: DeviceProgram, given: Mapping[str, int]
    ) -> None:  # fmt: skip
        self._host = model.host
        self._slots = dict(zip(model.host.interface.names, program.inputs, strict=True))
        placed = {slot: given[name] for name, slot in self._slots.items() if slot is not None and name in given}
        self._resident = Resident(executable, program, placed)
        self._varying = varying_steps(model.host)
        self._starts = [_direct(start) for start in self._resident.steps]
        self._current = make_current(executable.device.context)

    def __enter__(self) -> Calls:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def resize(self, sizes: Mapping[str, int]) -> None:
        """The sizes of the next call."""
        for number in self._resident.resize(steps_of(self._host, sizes, self._varying)):
            self._starts[number] = _direct(self._resident.steps[number])

    def point(self, places: Mapping[str, int]) -> None:
        """Where arguments lie on the device from the next call on; one that no kernel reads lies nowhere."""
        for name, pointer in places.items():
            slot = self._slots[name]
            if slot is not None:
                self._resident.point(slot, pointer)

    def __call__(self, arrays: Sequence[np.ndarray | None]) -> list[np.ndarray]:
        """Copy these arguments to the device (None: it is there), run, and copy the outputs back."""
        self._resident.upload(arrays)
        self._current()
        for step in self._starts:
            if step is None:
                continue
            kernel, (start, arguments) = step
            status = start(*arguments)
            if status:
                check(driver().CUresult(status), f"launching {kernel}")
        return self._resident.download()

    def close(self) -> None:
        """Give the memory back."""
        self._resident.close()


def _direct(step: tuple[str, Start] | None) -> tuple[str, Start] | None:
    return None if step is None else (step[0], direct_start(step[1]))
