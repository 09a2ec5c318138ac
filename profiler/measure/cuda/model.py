"""Compiled models on a CUDA device: NumPy arrays in and out, or arguments that stay on the device.

device_model = CudaModel(compile(graph, target=open_device(0).target))
(y,) = device_model.execute(x)                      # NumPy in, NumPy out
resident = device_model.upload([x])                 # or keep everything on the device
resident.launch(); resident.synchronize(); (y,) = resident.download()
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.errors import ExecutionError
from compiler.frameworks.dlpack import CUDA, Lent
from compiler.frameworks.lending import lent
from compiler.graph.binding import as_arrays, bind
from compiler.graph.dtypes import numpy_dtype
from profiler.measure.cuda.device import Device, open_device
from profiler.measure.cuda.program import DeviceProgram, program_of, ptx_of
from profiler.measure.cuda.resident import Executable, Resident

if TYPE_CHECKING:
    from compiler.model import Model


class CudaModel:
    """A compiled model on a device. One run at a time; a second caller waits.

    `stream` is a stream of somebody else's, as a number.
    """

    def __init__(self, model: Model, device: int | Device = 0, stream: int | None = None) -> None:
        self.device = device if isinstance(device, Device) else open_device(device)
        self.device.require(model.target.name)
        self.model = model
        self._stream = stream
        self._lock = threading.Lock()
        self._ptx = ptx_of(model)
        self._executable: Executable | None = None
        self._programs: dict[tuple[int, ...], DeviceProgram] = {}
        self._current: Resident | None = None

    @property
    def functions(self) -> dict[str, Any]:
        """Registers, shared and local bytes of each loaded kernel."""
        return dict(self._executable.loaded.functions) if self._executable else {}

    def program(self, arrays: Sequence[Any]) -> DeviceProgram:
        """The program for the sizes of these arguments; arguments that do not fit are an ExecutionError."""
        interface = self.model.host.interface
        arrays = as_arrays(interface.types, arrays, interface.names)
        sizes = bind(interface.types, [_shaped(array) for array in arrays], interface.names)
        key = tuple(sizes[name] for name in interface.symbols)
        if key not in self._programs:
            self._programs = {key: program_of(self.model, sizes, self._ptx)}  # the sizes used last
        return self._programs[key]

    def lend(self, arrays: Sequence[Any], stream: int = 0) -> Sequence[Any]:
        """The arguments with lists and numbers made arrays, and what lies on a device as `Lent`."""
        interface = self.model.host.interface
        made = as_arrays(interface.types, arrays, interface.names)
        return [
            array if isinstance(array, (np.ndarray, Lent)) else lent(array, name, stream) or array
            for array, name in zip(made, interface.names)
        ] if len(made) == len(interface.names) else made  # fmt: skip

    def given(self, arrays: Sequence[Any]) -> dict[int, int]:
        """The addresses of lent arrays by slot; one that lies elsewhere, or with gaps, is an ExecutionError."""
        program = self.program(arrays)
        return {
            number: _pointer(array, program.slots[number].name, self.device.index)
            for number, array in zip(program.inputs, arrays, strict=True)
            if number is not None and isinstance(array, Lent)
        }

    def upload(
        self, arrays: Sequence[Any], stream: int | None = None, outputs: Mapping[int, int] | None = None
    ) -> Resident:
        """Arguments onto the device, ready to launch; the caller closes what comes back, and keeps what he gave.

        An argument on the device (a `DeviceArray`, a tensor, whatever has DLPack or the CUDA array interface) is used
        in place; `outputs` are addresses of outputs by slot.
        """
        stream = self._stream if stream is None else stream
        arrays = self.lend(arrays, stream or 0)
        program = self.program(arrays)
        if self._executable is None:
            self._executable = Executable(self.device, program)
        resident = Resident(self._executable, program, {**self.given(arrays), **(outputs or {})}, stream)
        try:
            resident.upload(arrays)
        except BaseException:
            resident.close()
            raise
        return resident

    def execute(self, *arrays: Any) -> list[np.ndarray]:
        """Run on NumPy arrays and return new ones; mutable buffers change in place. Buffers of the last sizes stay."""
        interface = self.model.host.interface
        arrays = tuple(as_arrays(interface.types, arrays, interface.names))
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
    if not isinstance(array, Lent):
        return array  # binding says what is wrong with it, if it is no NumPy array
    return np.broadcast_to(np.zeros((), numpy_dtype(array.dtype)), array.shape)


def _pointer(array: Lent, name: str, index: int) -> int:
    kind, number = array.device
    if kind != CUDA or number not in (-1, index):
        where = f"cuda:{number}" if kind == CUDA else "the host"
        raise ExecutionError(f"{name} lies on {where}, and the model on cuda:{index}")
    if not array.contiguous:
        raise ExecutionError(f"{name}: an array on the device must be contiguous")
    return array.pointer
