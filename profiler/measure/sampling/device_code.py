"""NVIDIA machine code to be sampled, and from samples of it to lines: SASS, PTX, the kernel language, nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from compiler.backend.provenance import NOWHERE, Written, line_places
from compiler.backend.sass import SassReport, cubin_of, sass_offsets
from compiler.errors import UnavailableError
from profiler.measure.sampling.mapping import OwnLines, sampled_record
from profiler.records import Launch
from profiler.sampled import SampledKernel, Sampling

if TYPE_CHECKING:
    from compiler.backend.device_code import DeviceUnit
    from compiler.model import Kernel, Model

Found = Sequence[tuple[str, int, tuple[tuple[str, int], ...]]]
_REASONS = 6


class DeviceListings:
    """The listings of a model that was compiled with line tables, by kernel."""

    def __init__(self, model: Model) -> None:
        if "sass" not in model.target.emission.stages:
            raise UnavailableError(f"machine code of {model.target.name} cannot be sampled")
        self._model = model

    @cached_property
    def cubins(self) -> tuple[bytes, ...]:
        """The machine code of every unit that has a kernel."""
        return tuple(cubin_of(unit.code, self._model.target.cpu) for unit in self._units)

    @property
    def _units(self) -> list[DeviceUnit]:
        return [unit for unit in self._model.device_code() if unit.kernels]

    def sampling(self, found: Found, figures: Mapping[str, Any], launches: Sequence[Launch]) -> Sampling:
        """Samples by function and offset as lines of every stage."""
        seconds: dict[str, list[float]] = {}
        for launch in launches:
            mean = sum(launch.samples) / len(launch.samples) if launch.samples else 0.0
            seconds.setdefault(launch.kernel, []).append(mean)
        kernels: list[SampledKernel] = []
        own = {kernel.name: kernel for kernel in self._model.kernels}
        by_function: dict[str, list[tuple[int, tuple[tuple[str, int], ...]]]] = {}
        for function, offset, stalls in found:
            by_function.setdefault(function, []).append((offset, stalls))
        for name, kernel in own.items():
            if name in by_function:
                kernels.append(_kernel(kernel, by_function[name], seconds.get(name, ())))
        total = sum(count for _, _, stalls in found for _, count in stalls)
        inside = sum(kernel.samples for kernel in kernels)
        kernels.sort(key=lambda kernel: -kernel.samples)
        return Sampling(tuple(kernels), total, inside, **figures)


def _kernel(
    kernel: Kernel, samples: Sequence[tuple[int, tuple[tuple[str, int], ...]]], seconds: Sequence[float]
) -> SampledKernel:
    report, ptx = kernel.machine, kernel.device_unit.ptx
    ptx_places = line_places(ptx, "ptx")
    places = [_place(ptx_places, number) for number in report.ptx_lines]
    at = sass_offsets(report.text)
    sass: Counter[int] = Counter()
    stalls: dict[int, Counter[str]] = {}
    total = 0
    for offset, reasons in samples:
        count = sum(each for _, each in reasons)
        total += count
        line = at.get((kernel.name, offset), -1)
        if line >= 0:
            sass[line] += count
            stalls.setdefault(line, Counter()).update(dict(reasons))
    own = [
        OwnLines("sass", report.text, places, sass, _most(stalls)),
        _ptx(report, ptx, ptx_places, sass, stalls),
    ]
    return sampled_record(kernel, total, own, kernel.places, seconds)


def _ptx(
    report: SassReport, ptx: str, places: Sequence[Written], sass: Mapping[int, int], stalls: Mapping[int, Counter[str]]
) -> OwnLines:
    """The same by the PTX line that each instruction was made from."""
    counts: Counter[int] = Counter()
    reasons: dict[int, Counter[str]] = {}
    for line, count in sass.items():
        number = report.ptx_lines[line] - 1
        if number >= 0:
            counts[number] += count
            reasons.setdefault(number, Counter()).update(stalls[line])
    return OwnLines("asm", ptx, places, counts, _most(reasons))


def _place(places: Sequence[Written], number: int) -> Written:
    return places[number - 1] if 0 < number <= len(places) else NOWHERE


def _most(stalls: Mapping[int, Counter[str]]) -> dict[int, tuple[tuple[str, int], ...]]:
    return {line: tuple(reasons.most_common(_REASONS)) for line, reasons in stalls.items()}
