"""A model on a device that takes and gives arrays of any framework, on the stream of whoever calls.

Tensors that lie on the device are used in place, and so are the new ones that the results are written to. A call like
the one before costs little more than its launches: the tensors are compared with those, their addresses put where the
launches have them, and the driver is called without its Python bindings.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

from compiler.errors import ExecutionError
from compiler.frameworks.arrays import as_numpy, framework_taker, immutable
from compiler.frameworks.dlpack import CUDA, Lent, Offered
from compiler.frameworks.lending import is_tensor, torch_dtype
from compiler.frameworks.tensors import TensorsLike, bind_tensors, overlapping, tensors_like
from compiler.program.opaque_arguments import run_on_values
from profiler.measure.cuda.device import Device
from profiler.measure.cuda.driver import check, driver
from profiler.measure.cuda.launching import direct_start, make_current
from profiler.measure.cuda.memory import Allocation
from profiler.measure.cuda.model import CudaModel
from profiler.measure.cuda.resident import Resident

if TYPE_CHECKING:
    from compiler.model import Model

_KEPT = 8  # streams whose temporaries are kept


@dataclass(frozen=True, eq=False)
class _Again:
    """How to run again on tensors like those of the call before, on the same stream."""

    stream: int
    like: TensorsLike
    results: tuple[Any, ...]  # each makes a tensor
    outputs: tuple[int, ...]  # which of them is each output
    resident: Resident
    starts: tuple[Any, ...]  # kernel, function of the driver, arguments
    current: Callable[[], int]


class PlacedModel:
    """A model on a CUDA device: call it with arrays."""

    def __init__(self, model: Model, device: Device) -> None:
        self.model = model
        self.device = device
        self._cuda = CudaModel(model, device)
        self._lock = Lock()
        self._again: _Again | None = None
        self._residents: dict[tuple[int, tuple[Any, ...]], Resident] = {}

    def __repr__(self) -> str:
        return f"PlacedModel({self.model.graph.name!r}, cuda:{self.device.index})"

    def __call__(self, *arrays: Any) -> list[Any]:
        """Run on arrays; results are of the kind that was given, and lie where that lay.

        Tensors on the device are read on PyTorch's current stream and the results are ready on it, which is not waited
        for; with arrays of other frameworks, and with arrays on the host, the results are there when this returns.
        """
        interface = self.model.host.interface
        if interface.opaques is not None:
            return run_on_values(interface.opaques, interface.types, interface.names, arrays, self._call)
        return self._call(arrays)

    def _call(self, arrays: Sequence[Any]) -> list[Any]:
        again = self._again
        if again is not None:
            outputs = self._call_again(again, arrays)
            if outputs is not None:
                return outputs
        with self._lock:
            first = next((array for array in arrays if _on_device(array)), None)
            if first is None:
                views, back = as_numpy(arrays, self.model.host.interface.names)
                made = self._cuda.execute(*views)
                return made if back is None else [back(array) for array in made]
            return self._call_tensors(arrays) if is_tensor(first) else self._call_lent(arrays, first)

    def execute(self, arrays: Sequence[Any]) -> list[Any]:
        """Run on arrays, as a program for the CPU does."""
        return self(*arrays)

    def again(self, arrays: Sequence[Any]) -> Sequence[Any] | None:
        """Run on tensors like those of the call before, with new ones as results; None where they are not so."""
        known = self._again
        return None if known is None else self._call_again(known, arrays)

    def again_into(self, results: Sequence[Any], arrays: Sequence[Any]) -> bool:
        """Run on tensors like those of the call before, into given ones; False where they are not so."""
        again = self._again
        return again is not None and self._call_again(again, arrays, results) is not None

    def execute_into(self, results: Sequence[Any], arrays: Sequence[Any]) -> None:
        """Run and write the outputs to given tensors."""
        if self.again_into(results, arrays):
            return
        for result, made in zip(results, self(*arrays), strict=True):
            result.copy_(made)

    def _call_again(self, again: _Again, arrays: Sequence[Any], given: Sequence[Any] | None = None) -> Any:
        if _current_stream(self.device.index) != again.stream:
            return None
        outputs = [make() for make in again.results] if given is None else given
        table: dict[int, int] = {}
        if not bind_tensors(again.like, (*arrays, *outputs), table):
            return None
        if given is not None and overlapping(again.like, table):
            return None
        with self._lock:
            if again is not self._again:
                return None
            for slot, pointer in table.items():
                again.resident.point(slot, pointer)
            _launch(again)
        if given is not None:
            return given
        return outputs if len(outputs) == len(again.outputs) else _spread(outputs, again.outputs)

    def _call_tensors(self, arrays: Sequence[Any]) -> list[Any]:
        """Tensors on the device, maybe with others on the host among them, which are copied there."""
        torch: Any = sys.modules["torch"]
        stream = _current_stream(self.device.index)
        arrays = [array.detach() if is_tensor(array) else array for array in arrays]
        arrays = [
            array.numpy()
            if is_tensor(array) and not array.is_cuda
            else array.contiguous()
            if is_tensor(array)
            else array
            for array in arrays
        ]
        self._refuse_copies_of_mutable(arrays)
        lent = self._cuda.lend(arrays, stream)
        program = self._cuda.program(lent)
        slots = tuple(dict.fromkeys(program.outputs))
        device = torch.device("cuda", self.device.index)
        makers = tuple(
            _maker(torch, program.slots[slot].shape, torch_dtype(program.slots[slot].dtype), device) for slot in slots
        )
        outputs = [make() for make in makers]
        given = {slot: tensor.data_ptr() for slot, tensor in zip(slots, outputs, strict=True)}
        resident = self._resident(stream, lent, given)
        resident.launch()
        places = tuple(slots.index(slot) for slot in program.outputs)
        like = tensors_like(arrays, outputs, (*program.inputs, *slots), self.device.index)
        if like is not None:
            starts = tuple((kernel, *direct_start(start)) for kernel, start in resident.starts)
            self._again = _Again(stream, like, makers, places, resident, starts, make_current(self.device.context))
        return _spread(outputs, places)

    def _refuse_copies_of_mutable(self, arrays: Sequence[Any]) -> None:
        for buffer, array in zip(self.model.host.fusion.inputs, arrays):
            if buffer is None or buffer.kind != "mutable":
                continue
            if not _on_device(array) or immutable(array):
                where = f"lie on cuda:{self.device.index} as the rest, and be one that can change"
                raise ExecutionError(f"{buffer.name}: a mutable buffer must {where}")

    def _resident(self, stream: int, lent: Sequence[Any], outputs: dict[int, int]) -> Resident:
        """The launches and temporaries for such arguments on a stream, with these addresses."""
        program = self._cuda.program(lent)
        for key in [key for key, known in self._residents.items() if known.program is not program]:
            self._forget(key)  # sizes that were used before
        on_device = tuple(isinstance(array, Lent) for array in lent)
        key = (stream, on_device)
        known = self._residents.get(key)
        if known is None:
            while len(self._residents) >= _KEPT:
                self._forget(next(iter(self._residents)))
            self._residents[key] = known = self._cuda.upload(lent, stream, outputs)
            return known
        for slot, pointer in {**self._cuda.given(lent), **outputs}.items():
            known.point(slot, pointer)
        known.upload(lent)
        return known

    def _forget(self, key: tuple[int, tuple[Any, ...]]) -> None:
        closed = self._residents.pop(key)
        if self._again is not None and self._again.resident is closed:
            self._again = None
        closed.close()

    def _call_lent(self, arrays: Sequence[Any], first: Any) -> list[Any]:
        """Arrays of another framework on the device: read where they lie, results in memory that it takes over."""
        take = framework_taker(first)
        self._refuse_copies_of_mutable(arrays)
        lent = self._cuda.lend(arrays)
        program = self._cuda.program(lent)
        owned = {slot: _Owned(self.device, program.slots[slot].bytes) for slot in dict.fromkeys(program.outputs)}
        resident = self._resident(0, lent, {slot: memory.pointer for slot, memory in owned.items()})
        resident.launch()
        resident.synchronize()
        offers = [
            Offered(
                owned[slot].pointer, program.slots[slot].dtype, program.slots[slot].shape,
                (CUDA, self.device.index), owned[slot],
            )
            for slot in program.outputs
        ]  # fmt: skip
        return offers if take is None else [take(offer) for offer in offers]

    def close(self) -> None:
        """Give all memory back."""
        with self._lock:
            self._again = None
            for resident in self._residents.values():
                resident.close()
            self._residents = {}
            self._cuda.close()


class _Owned:
    """Memory of a result that another framework holds, given back when that lets go of it."""

    def __init__(self, device: Device, size: int) -> None:
        self._device = device
        self._made: Allocation = device.pool.allocate(size, "result")
        self.pointer = self._made.pointer

    def __del__(self) -> None:
        self._device.activate()
        self._device.synchronize()  # its last reader may not be done
        self._device.pool.free(self._made)


def _on_device(array: Any) -> bool:
    if is_tensor(array):
        return bool(array.is_cuda)
    if hasattr(array, "__dlpack_device__"):
        return array.__dlpack_device__()[0] == CUDA
    return hasattr(array, "__cuda_array_interface__")


def _current_stream(index: int) -> int:
    """PyTorch's current stream of a device, as the driver knows it."""
    torch: Any = sys.modules["torch"]
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return int(raw(index) if raw is not None else torch.cuda.current_stream(index).cuda_stream)


def _maker(torch: Any, shape: tuple[int, ...], dtype: Any, device: Any) -> Callable[[], Any]:
    """What makes a new tensor of this kind, in half the time that naming all of it takes: like one that has a single
    element in memory. Axes of one element or none would have other strides, so tensors with such are named."""
    if min(shape, default=2) < 2:
        return partial(torch.empty, shape, dtype=dtype, device=device)
    return partial(torch.empty_like, torch.empty((), dtype=dtype, device=device).expand(shape))


def _spread(outputs: Sequence[Any], places: Sequence[int]) -> list[Any]:
    """Each output, where two are the same value a copy of it."""
    seen: set[int] = set()
    spread: list[Any] = []
    for place in places:
        spread.append(outputs[place].clone() if place in seen else outputs[place])
        seen.add(place)
    return spread


def _launch(again: _Again) -> None:
    again.current()
    for kernel, start, arguments in again.starts:
        status = start(*arguments)
        if status:
            check(driver().CUresult(status), f"launching {kernel}")
