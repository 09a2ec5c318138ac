"""What the parts of the GPU benchmark share: torch beside our own device, a timer that takes turns, a check, a row."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

BUSY_CYCLES = 400_000  # about 0.2 ms in which the host gets ahead of the device
WARMUP = 5


@dataclass(frozen=True)
class Row:
    """One figure: ours and the peer's in `unit`. A rate's ratio must reach `target`, a time's stay under it."""

    part: str
    peer: str
    unit: str
    ours: float
    theirs: float
    ratio: float
    target: float
    met: bool
    error: float
    notes: dict[str, Any] = field(default_factory=dict)


class Timer:
    """Takes turns between implementations, each rotating over its input sets.

    One begins with the set after the one that the implementation before it had: what that left in the device's cache
    would be a present to the next, and not to every next alike.
    """

    def __init__(self, torch: Any, repeats: int) -> None:
        self.torch = torch
        self.repeats = repeats

    def __call__(self, ways: dict[str, list[Callable[[], Any]]]) -> dict[str, list[float]]:
        """Milliseconds of every repeat of every way."""
        cuda = self.torch.cuda
        for calls in ways.values():
            for k in range(max(WARMUP, len(calls))):
                calls[k % len(calls)]()
        cuda.synchronize()
        events: dict[str, list[tuple[Any, Any]]] = {name: [] for name in ways}
        for turn in range(self.repeats):
            for place, (name, calls) in enumerate(ways.items()):
                start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
                cuda._sleep(BUSY_CYCLES)
                start.record()
                calls[(turn + place) % len(calls)]()
                end.record()
                events[name].append((start, end))
            cuda.synchronize()
        return {name: [a.elapsed_time(b) for a, b in pairs] for name, pairs in events.items()}


class Bench:
    """What the parts share: torch, our device, the timer."""

    def __init__(self, repeats: int) -> None:
        import torch

        from profiler.measure.cuda.device import open_device

        self.torch = torch
        torch.cuda.init()
        torch.zeros(1, device="cuda")
        self.device = open_device(0)
        self.timer = Timer(torch, repeats)
        self.stream = torch.cuda.current_stream().cuda_stream

    def compiled(self, graph: Any) -> Any:
        """Our side: compiled for this very chip, launching on torch's stream."""
        from compiler import compile
        from profiler.measure.cuda.model import CudaModel

        model = compile(graph, target=self.device.target, cache=False)
        for kernel in model.kernels:
            launch = model.record(kernel.name).launch
            print(f"  {kernel.name}: launch {launch or 'default'}")
        return CudaModel(model, self.device, stream=self.stream)

    def residents(self, model: Any, sets: list[tuple[Any, ...]]) -> list[Any]:
        """One resident for each set of input tensors, used in place."""
        made = [model.upload(list(tensors)) for tensors in sets]
        for f in model.functions.values():
            print(f"  {f.name}: {f.registers} registers, {f.shared_bytes} B shared, {f.local_bytes} B local")
        return made

    def random(self, *shape: int) -> Any:
        return self.torch.randn(*shape, device="cuda", dtype=self.torch.float32)

    def check(self, resident: Any, truth: Callable[[Any], Any], source: Any, axis: int = 0, chunk: int = 1024) -> float:
        """||ours - float64|| / ||float64||, in pieces along `axis` of the source (the outputs' first axis)."""
        torch = self.torch
        resident.poison()
        resident.launch()
        resident.synchronize()
        out = torch.as_tensor(resident.outputs()[0], device="cuda")
        wrong = right = 0.0
        for start in range(0, source.shape[axis], chunk):
            piece = source.narrow(axis, start, min(chunk, source.shape[axis] - start)).double()
            wanted = truth(piece)
            wrong += float((out[start : start + wanted.shape[0]].double() - wanted).square().sum())
            right += float(wanted.square().sum())
        return (wrong / right) ** 0.5

    def close(self, model: Any, residents: list[Any]) -> None:
        for resident in residents:
            resident.close()
        model.close()
        self.device.pool.trim()
        self.torch.cuda.empty_cache()

    def bandwidth_row(
        self, part: str, peer: str, times: dict[str, list[float]], moved: int, target: float, error: float, **notes: Any
    ) -> Row:
        ours, theirs = statistics.median(times["ours"]), statistics.median(times["peer"])
        quarters = {name: [round(q, 4) for q in statistics.quantiles(taken, n=4)] for name, taken in times.items()}
        rates = {name: moved / statistics.median(taken) / 1e9 for name, taken in times.items()}
        ratio = theirs / ours
        met = ratio >= target and error < 1e-5
        notes = {**notes, "ms": round(ours, 4), "peer_ms": round(theirs, 4), "quartiles_ms": quarters, "TB/s": rates}
        return Row(part, peer, "TB/s", moved / ours / 1e9, moved / theirs / 1e9, ratio, target, met, error, notes)


def conditions(bench: Bench) -> dict[str, Any]:
    from compiler.errors import UnavailableError
    from profiler.measure.cuda.nvml import conditions as read

    try:
        return asdict(read(bench.device.pci_bus_id))
    except UnavailableError as missing:
        return {"note": str(missing)}
