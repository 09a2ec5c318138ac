"""Compiled models on a CUDA device: NumPy arrays in and out, or arguments that stay on the device.

device_model = CudaModel(compile(graph, target=open_device(0).target))
(y,) = device_model.execute(x)                      # NumPy in, NumPy out
resident = device_model.upload([x])                 # or keep everything on the device
resident.launch(); resident.synchronize(); (y,) = resident.download()
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.errors import ExecutionError
from compiler.graph.binding import bind
from profiler.measure.cuda.device import Device, open_device
from profiler.measure.cuda.memory import MemoryReport, Transfer
from profiler.measure.cuda.program import DEFAULT_LAUNCH as DEFAULT_LAUNCH
from profiler.measure.cuda.program import DeviceProgram, program_of, ptx_of
from profiler.measure.cuda.resident import DeviceArray as DeviceArray
from profiler.measure.cuda.resident import Executable, Resident

if TYPE_CHECKING:
    from compiler.language.kernel import Launch
    from compiler.model import Model


class CudaModel:
    """A compiled model on a device. One run at a time; a second caller waits.

    `stream` is a stream of somebody else's, as a number; `launches` overrides grids by kernel name.
    """

    def __init__(
        self,
        model: Model,
        device: int | Device = 0,
        stream: int | None = None,
        launches: Mapping[str, Launch] | None = None,
    ) -> None:
        self.device = device if isinstance(device, Device) else open_device(device)
        self.device.require(model.target.name)
        self.model = model
        self._stream = stream
        self._launches = launches
        self._lock = threading.Lock()
        self._ptx = ptx_of(model)
        self._executable: Executable | None = None
        self._programs: dict[tuple[int, ...], DeviceProgram] = {}
        self._current: Resident | None = None

    @property
    def log(self) -> str:
        """What the driver's compiler said about the kernels."""
        return self._executable.log if self._executable else ""

    @property
    def functions(self) -> dict[str, Any]:
        """Registers, shared and local bytes of each loaded kernel."""
        return dict(self._executable.loaded.functions) if self._executable else {}

    def program(self, arrays: Sequence[Any]) -> DeviceProgram:
        """The program for the sizes of these arguments; arguments that do not fit are an ExecutionError."""
        interface = self.model.host.interface
        sizes = bind(interface.types, [_shaped(array) for array in arrays], interface.names)
        key = tuple(sizes[name] for name in interface.symbols)
        if key not in self._programs:
            self._programs = {key: program_of(self.model, sizes, self._ptx, self._launches)}  # the sizes used last
        return self._programs[key]

    def upload(self, arrays: Sequence[Any]) -> Resident:
        """Arguments onto the device, ready to launch; the caller closes what comes back.

        An argument that has a CUDA array interface (DeviceArray, a torch or CuPy array) is used in place.
        """
        program = self.program(arrays)
        if self._executable is None:
            self._executable = Executable(self.device, program)
        given = {
            number: _pointer(array, program.slots[number].name)
            for number, array in zip(program.inputs, arrays, strict=True)
            if number is not None and not isinstance(array, np.ndarray)
        }
        resident = Resident(self._executable, program, given, self._stream)
        try:
            resident.upload(arrays)
        except BaseException:
            resident.close()
            raise
        return resident

    def execute(self, *arrays: np.ndarray) -> list[np.ndarray]:
        """Run on NumPy arrays and return new ones; mutable buffers change in place. Buffers of the last sizes stay."""
        with self._lock:
            resident = self._resident(arrays)
            resident.launch()
            resident.synchronize()
            for position, array in resident.download_mutable().items():
                if not arrays[position].flags.writeable:
                    raise ExecutionError(
                        f"{self.model.host.interface.names[position]}: a mutable buffer must be writeable"
                    )
                np.copyto(arrays[position], array)
            return resident.download()

    def _resident(self, arrays: Sequence[np.ndarray]) -> Resident:
        for array in arrays:
            if not isinstance(array, np.ndarray):
                raise ExecutionError(f"execute takes NumPy arrays, not {type(array).__name__}; use upload")
        program = self.program(arrays)
        if self._current is not None and self._current.program is program:
            self._current.upload(arrays)
            return self._current
        if self._current is not None:
            self._current.close()
            self._current = None
        self._current = self.upload(arrays)
        return self._current

    def memory(self) -> MemoryReport:
        """The device's counters."""
        return self.device.memory()

    @property
    def transfers(self) -> tuple[Transfer, ...]:
        """The copies made so far on the device, oldest first."""
        return tuple(self.device.transfers.done)

    def close(self) -> None:
        """Give all memory back."""
        if self._current is not None:
            self._current.close()
            self._current = None
        if self._executable is not None:
            self._executable.close()
            self._executable = None


def _shaped(array: Any) -> Any:
    """A NumPy array of the same shape and dtype as something on the device, of no size itself."""
    if isinstance(array, np.ndarray):
        return array
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is None:
        return array  # binding says what is wrong with it
    return np.broadcast_to(np.zeros((), np.dtype(interface["typestr"])), interface["shape"])


def _pointer(array: Any, name: str) -> int:
    interface = array.__cuda_array_interface__
    strides, size = interface.get("strides"), np.dtype(interface["typestr"]).itemsize
    shape = tuple(interface["shape"])
    dense = tuple(size * prod(shape[k + 1 :]) for k in range(len(shape)))
    if strides is not None and tuple(strides) != dense and prod(shape):
        raise ExecutionError(f"{name}: an array on the device must be contiguous")
    return int(interface["data"][0])
