"""A program and its buffers on a device: launched, timed kernel by kernel, or replayed as a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.errors import ExecutionError
from compiler.graph.dtypes import numpy_dtype
from profiler.measure.cuda.device import Device
from profiler.measure.cuda.driver import call, check, driver, milliseconds
from profiler.measure.cuda.launching import Start, allow_shared, encoded_map, resident_blocks, start_of
from profiler.measure.cuda.memory import Allocation
from profiler.measure.cuda.module import Loaded, load, load_cubins
from profiler.measure.cuda.program import DeviceProgram, MapSlot, Packed, Step
from profiler.measure.cuda.weights import Weights


@dataclass(frozen=True)
class DeviceArray:
    """An array on the device that others can read without a copy."""

    pointer: int
    shape: tuple[int, ...]
    dtype: str

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        kind = numpy_dtype(self.dtype)
        if kind.kind == "V":
            raise ExecutionError(f"the CUDA array interface has no name for {self.dtype}")
        return {"shape": self.shape, "typestr": kind.str, "data": (self.pointer, False), "version": 3, "strides": None}


@dataclass(frozen=True)
class KernelTime:
    """One launch of a traced run."""

    kernel: str
    milliseconds: float


class Executable:
    """The loaded code and the constants of a program; serves every choice of sizes.

    `weights` is what several programs share, and belongs to whoever gave it.
    """

    def __init__(
        self, device: Device, program: DeviceProgram, cubins: Sequence[bytes] = (), weights: Weights | None = None
    ) -> None:
        device.require(program.target)
        device.activate()
        self.device = device
        self.loaded: Loaded = (
            load_cubins(device, cubins, program.kernels) if cubins else load(device, program.ptx, program.kernels)
        )
        for step in program.steps:
            allow_shared(self.loaded.functions[step.kernel], step)
        self._own = Weights(device) if weights is None else None
        held = weights or self._own
        assert held is not None
        self.constants = {number: held.place(data, program.slots[number].name) for number, data in program.constants}
        """The address of each constant by slot."""

    def close(self) -> None:
        """Give the constants' memory back."""
        if self._own is not None:
            self._own.close()


class Resident:
    """A program with its buffers on the device. `close` (or `with`) gives the memory back.

    `given` maps slots to addresses of memory that belongs to somebody else. `stream` is a stream of somebody else's,
    as a number.
    """

    def __init__(
        self,
        executable: Executable,
        program: DeviceProgram,
        given: dict[int, int] | None = None,
        stream: int | None = None,
    ) -> None:
        self.device = executable.device
        self.program = program
        self.device.activate()
        api = driver()
        self.stream: Any = self.device.stream() if stream is None else api.CUstream(stream)
        self._own_stream = stream is None
        self._taken: list[Allocation] = []
        self._graph: Any = None
        self._events: list[Any] = []
        try:
            self.pointers = self._place(executable, given or {})
        except BaseException:
            self.close()
            raise
        self._packed: list[Packed] = []
        self._uses: dict[int, list[tuple[Any, int]]] = {}  # where a slot's address stands among launches' parameters
        self._maps: dict[int, list[MapSlot]] = {}
        self._functions = executable.loaded.functions
        self._steps = list(program.steps)
        self.steps: list[tuple[str, Start] | None] = []
        """The launches by step: the kernel's name, and the driver's call that starts it; None for nothing to do."""
        for step in program.steps:
            for asked in step.maps:
                self._write_map(asked)
                self._maps.setdefault(asked.source, []).append(asked)
            packed = Packed([self.pointers[slot] for slot in step.slots], step.dims)
            self._packed.append(packed)
            for place, slot in enumerate(step.slots):
                self._uses.setdefault(slot, []).append((packed.values, place))
            self.steps.append(self._start(step, packed))
        self.starts = [start for start in self.steps if start is not None]

    def __enter__(self) -> Resident:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _place(self, executable: Executable, given: dict[int, int]) -> list[int]:
        constants = executable.constants
        arena = self._take(self.program.arena, "temporaries") if self.program.arena else 0
        pointers: list[int] = []
        for number, slot in enumerate(self.program.slots):
            if number in given:
                pointers.append(given[number])
            elif slot.kind == "constant":
                pointers.append(constants[number])
            elif slot.kind == "temporary":
                pointers.append(arena + slot.offset)
            else:
                pointers.append(self._take(slot.bytes, slot.name))
                if slot.kind == "workspace" and slot.bytes:
                    call(driver().cuMemsetD8Async, pointers[-1], 0, slot.bytes, self.stream)
        self._arena = arena
        return pointers

    def _start(self, step: Step, packed: Packed) -> tuple[str, Start] | None:
        if not all(step.blocks):  # a grid without blocks is an error to the driver, and nothing to do
            return None
        function = self._functions[step.kernel]
        blocks = resident_blocks(self.device, function, step) if step.resident else step.blocks
        return step.kernel, start_of(step, function, blocks, self.stream, packed)

    def resize(self, steps: Mapping[int, Step]) -> list[int]:
        """Let launches have other sizes from the next one on, for which the memory that was taken is enough.

        Gives the numbers of those that are started otherwise than before, not only told other sizes.
        """
        changed: list[int] = []
        for number, step in steps.items():
            packed, before = self._packed[number], self._steps[number]
            for place, size in enumerate(step.dims, len(step.slots)):
                packed.values[place] = size % (1 << 64)
            for asked in step.maps:
                kept = self._maps[asked.source]
                kept[:] = [asked if known.slot == asked.slot else known for known in kept]
                self._write_map(asked)
            if step.blocks != before.blocks:
                self.steps[number] = self._start(step, packed)
                changed.append(number)
            self._steps[number] = step
        if changed:
            self.starts = [start for start in self.steps if start is not None]
        return changed

    def point(self, slot: int, pointer: int) -> None:
        """Let a buffer that was given lie elsewhere from the next launch on."""
        if self.pointers[slot] == pointer:
            return
        self.pointers[slot] = pointer
        for values, place in self._uses.get(slot, ()):
            values[place] = pointer
        for asked in self._maps.get(slot, ()):
            self._write_map(asked)

    def _write_map(self, asked: MapSlot) -> None:
        """Tell the copy engine of a tensor, where the kernel will look for it."""
        slot = self.program.slots[asked.source]
        words = encoded_map(asked, slot.dtype, self.pointers[asked.source])
        self.device.transfers.to_device(self.pointers[asked.slot], words, "tensor map", self.stream)

    def _take(self, size: int, label: str) -> int:
        made = self.device.pool.allocate(size, label)
        self._taken.append(made)
        return made.pointer

    def upload(self, arrays: Sequence[Any]) -> None:
        """Copy the arguments to their buffers; those that are on the device already stay where they are."""
        self.device.activate()
        for number, array in zip(self.program.inputs, arrays, strict=True):
            if number is not None and isinstance(array, np.ndarray):
                slot = self.program.slots[number]
                self.device.transfers.to_device(self.pointers[number], array, slot.name, self.stream)

    def launch(self) -> None:
        """Start every kernel in order; does not wait."""
        self.device.activate()
        for kernel, (start, arguments) in self.starts:
            (status,) = start(*arguments)
            if status.value:
                check(status, f"launching {kernel}")

    def launch_carefully(self, before: Callable[[str], None] | None = None) -> None:
        """Launch and wait kernel by kernel, so that an error names the kernel it happened in."""
        self.device.activate()
        api = driver()
        for kernel, (start, arguments) in self.starts:
            if before is not None:
                before(kernel)
            (status,) = start(*arguments)
            if status.value == 0:
                (status,) = api.cuStreamSynchronize(self.stream)
            check(status, kernel)

    def synchronize(self) -> None:
        """Wait for what was started."""
        self.device.activate()
        call(driver().cuStreamSynchronize, self.stream)

    def download(self) -> list[np.ndarray]:
        """The outputs as new arrays."""
        self.device.activate()
        made: dict[int, np.ndarray] = {}
        outputs: list[np.ndarray] = []
        for number in self.program.outputs:
            outputs.append(made[number].copy() if number in made else self._fetch(number))
            made[number] = outputs[-1]
        return outputs

    def download_mutable(self) -> dict[int, np.ndarray]:
        """What the graph's mutable buffers hold now, by argument position."""
        self.device.activate()
        found: dict[int, np.ndarray] = {}
        for position, number in enumerate(self.program.inputs):
            if number is not None and self.program.slots[number].kind == "mutable":
                found[position] = self._fetch(number)
        return found

    def _fetch(self, number: int) -> np.ndarray:
        slot = self.program.slots[number]
        array = np.empty(slot.shape, numpy_dtype(slot.dtype))
        self.device.transfers.to_host(array, self.pointers[number], slot.name, self.stream)
        return array

    def outputs(self) -> list[DeviceArray]:
        """The outputs where they are."""
        slots = self.program.slots
        return [DeviceArray(self.pointers[n], slots[n].shape, slots[n].dtype) for n in self.program.outputs]

    def poison(self) -> None:
        """Fill outputs and temporaries with 0xFF (NaN, -1), so that an element nobody writes is seen."""
        self.device.activate()
        places = [(self.pointers[n], self.program.slots[n].bytes) for n in dict.fromkeys(self.program.outputs)]
        for pointer, size in (*places, (self._arena, self.program.arena)):
            if size:
                call(driver().cuMemsetD8Async, pointer, 0xFF, size, self.stream)
        self.synchronize()

    def trace(self) -> list[KernelTime]:
        """Run once with an event before and after each launch; small kernels look longer than they are (about 2 us)."""
        self.device.activate()
        api = driver()
        while len(self._events) <= len(self.starts):
            self._events.append(self.device.event())
        call(api.cuEventRecord, self._events[0], self.stream)
        for (_, (start, arguments)), event in zip(self.starts, self._events[1:], strict=True):
            call(start, *arguments)
            call(api.cuEventRecord, event, self.stream)
        self.synchronize()
        return [
            KernelTime(kernel, milliseconds(self._events[k], self._events[k + 1]))
            for k, (kernel, _) in enumerate(self.starts)
        ]

    def time(self, repeats: int = 1, *, replay: bool = False) -> float:
        """Milliseconds of one run, by events around `repeats` of them."""
        self.device.activate()
        api = driver()
        start, end = self.device.event(), self.device.event()
        run = self.replay if replay else self.launch
        call(api.cuEventRecord, start, self.stream)
        for _ in range(repeats):
            run()
        call(api.cuEventRecord, end, self.stream)
        self.synchronize()
        spent = milliseconds(start, end) / repeats
        call(api.cuEventDestroy, start)
        call(api.cuEventDestroy, end)
        return spent

    def capture(self) -> None:
        """Record the whole model as a CUDA graph; `replay` then starts it with one call."""
        if self._graph is not None:
            return
        self.device.activate()
        api = driver()
        call(api.cuStreamBeginCapture, self.stream, api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
        try:
            self.launch()
        finally:
            graph = call(api.cuStreamEndCapture, self.stream)
        self._graph = call(api.cuGraphInstantiate, graph, 0)
        call(api.cuGraphDestroy, graph)

    def replay(self) -> None:
        """Start the captured model; does not wait."""
        if self._graph is None:
            self.capture()
        self.device.activate()
        (status,) = driver().cuGraphLaunch(self._graph, self.stream)
        check(status, "cuGraphLaunch")

    def close(self) -> None:
        """Wait, and give the memory back to the pool."""
        self.device.activate()
        api = driver()
        if not self._taken and self._graph is None:
            return
        api.cuStreamSynchronize(self.stream)  # its error, if any, was or will be somebody else's to report
        if self._graph is not None:
            api.cuGraphExecDestroy(self._graph)
            self._graph = None
        for event in self._events:
            api.cuEventDestroy(event)
        self._events = []
        for made in self._taken:
            self.device.pool.free(made)
        self._taken = []
        if self._own_stream:
            api.cuStreamDestroy(self.stream)
