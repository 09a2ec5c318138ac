"""The child process: reads a request, compiles, runs, measures, and writes records, one JSON line each.

If a kernel crashes or hangs, this process dies and nothing else does. A page shared with the parent holds the phase,
the number of the call and the step every thread is in, so that the parent can tell which kernel it was, in any call.
Run as `python -m profiler.measure.cpu.child FOLDER`, where FOLDER holds
`request.json`, `graph.mlir`, `inputs.bin` and `shared.bin`.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any, BinaryIO

STARTING, COMPILING, PREPARING, PROBING, TIMING, DONE = range(6)
PHASES = ("starting", "compiling", "preparing", "making the first call", "timing", "finishing")
PHASE_WORD, CALL_WORD, PLACES_WORD, WORDS_PER_PLACE = 0, 1, 8, 8
SHARED_BYTES = 8 * (PLACES_WORD + WORDS_PER_PLACE * 1024)
"""The phase, the number of the current call (from 1), then a cache line for the place of every possible thread."""


def main(folder: str) -> int:
    """Do what the request in `folder` asks; errors a user can cause become records."""
    end_with_parent()
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what a library prints must not get between the records
    shared = _Shared(Path(folder) / "shared.bin")
    from compiler.errors import CompilerError

    try:
        _work(Path(folder), out, shared)
    except CompilerError as error:
        where = error.location
        place = [where.file, where.line, where.column] if where else None
        _send(out, "error", {"type": type(error).__name__, "message": error.message, "location": place})
    except MemoryError:
        _send(out, "error", {"type": "MemoryError", "message": f"out of memory while {shared.doing}", "location": None})
    return 0


def end_with_parent() -> None:
    """A kernel that never ends must not outlive a parent that was killed; Linux sees to it when asked."""
    if sys.platform.startswith("linux"):
        import ctypes
        import signal

        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)


class _Shared:
    def __init__(self, path: Path) -> None:
        import numpy as np

        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), SHARED_BYTES)
        self.words = np.frombuffer(self._map, np.int64)

    def phase(self, number: int) -> None:
        self.words[PHASE_WORD] = number

    @property
    def doing(self) -> str:
        return PHASES[int(self.words[PHASE_WORD])]

    @property
    def watch(self) -> Any:
        """Where native code notes the call and the step it is in."""
        from profiler.measure.cpu.native import Watch

        start = self.words.ctypes.data
        return Watch(start + 8 * CALL_WORD, start + 8 * PLACES_WORD)


def _send(out: BinaryIO, kind: str, body: Mapping[str, Any]) -> None:
    out.write(json.dumps({"kind": kind, **body}, separators=(",", ":"), allow_nan=False).encode() + b"\n")


def _work(folder: Path, out: BinaryIO, shared: _Shared) -> None:
    from profiler.records import request_from_json

    document = json.loads((folder / "request.json").read_text())
    request = request_from_json(json.dumps(document["request"]))
    _limit_memory(request.memory_limit)
    shared.phase(COMPILING)
    model = _compile(folder, request, out, texts=document["texts"], brief=document["brief"])
    shared.phase(PREPARING)
    arrays = _inputs(folder, document["inputs"])
    _run(folder, request, model, arrays, out, shared, keep_outputs=document["outputs"], brief=document["brief"])
    shared.phase(DONE)
    _send(out, "done", {})


def _limit_memory(limit: int | None) -> None:
    if limit is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _compile(folder: Path, request: Any, out: BinaryIO, *, texts: bool, brief: bool) -> Any:
    from compiler import load_library
    from compiler.importers.mlir_text import parse_graph
    from compiler.options import CompileOptions
    from compiler.pipeline import compile_graph
    from profiler.model_records import compilation_record, stage_records

    graph = parse_graph((folder / "graph.mlir").read_text(), request.source)
    options = CompileOptions(
        request.target, request.flow, request.opt_level, request.debug, request.jobs, request.cache, request.fuse,
        frozenset(request.force_cut), frozenset(request.force_fuse), request.sources,
    )  # fmt: skip
    library = load_library(*(Path(p) for p in request.libraries)) if request.libraries else None
    start = perf_counter()
    model = compile_graph(graph, options, library)
    seconds = perf_counter() - start
    # Writing a compilation down takes longer than finding it in the cache, and an earlier process has done so.
    record = None if brief else asdict(compilation_record(model, request.source, seconds, request.libraries))
    _send(out, "compiled", {"record": record, "calls": [call.kernel.name for call in model.fusion.calls]})
    if texts:
        for stage in stage_records(model):
            _send(out, "stage", {"record": asdict(stage)})
    return model


def _inputs(folder: Path, described: list[list[Any]]) -> list[Any]:
    import numpy as np

    from compiler.graph.dtypes import numpy_dtype

    data = (
        np.memmap(folder / "inputs.bin", np.uint8, "r")
        if any(size for *_, size in described)
        else np.zeros(0, np.uint8)
    )
    arrays, at = [], 0
    for dtype, shape, size in described:
        arrays.append(np.array(data[at : at + size]).view(numpy_dtype(dtype)).reshape(shape))
        at += size
    return arrays


def _run(
    folder: Path, request: Any, model: Any, arrays: list[Any], out: BinaryIO, shared: _Shared, *, keep_outputs: bool,
    brief: bool,
) -> None:  # fmt: skip
    from compiler.graph.dtypes import from_numpy
    from profiler.measure.counters import HardwareCounters, Usage, resident_bytes
    from profiler.measure.cpu.native import BoundProgram
    from profiler.measure.machine import conditions
    from profiler.measure.timing import buffer_sets, time_program

    hardware = HardwareCounters()  # before any worker thread starts, so that those are counted too
    before = conditions()
    resident = {"before": resident_bytes()}
    probe = BoundProgram(model.program, [arrays], request.threads, shared.watch)
    resident["bound"] = resident_bytes()
    shared.phase(PROBING)
    probe.measure(1)
    outputs = probe.outputs[0]
    described = [[from_numpy(y.dtype), list(y.shape), y.nbytes] for y in outputs]
    if keep_outputs:
        with (folder / "outputs.bin").open("wb") as file:
            for array in outputs:
                file.write(array.tobytes())
    _send(out, "probed", {"outputs": described, "threads": probe.threads})
    shared.phase(PREPARING)
    copies = buffer_sets(arrays, sum(y.nbytes for y in outputs), request.rotate)
    bound = BoundProgram(model.program, copies, request.threads, shared.watch, probe.made)
    resident["rotating"] = resident_bytes()
    shared.phase(TIMING)
    usage = Usage()
    hardware.start()
    timing = time_program(
        bound, len(copies), repeat=request.repeat, width=request.width, budget=request.budget,
        report=lambda block: _send(out, "block", {"number": block}),
    )  # fmt: skip
    counted = [*hardware.stop(), *usage.stop()]
    resident["after"] = resident_bytes()
    _send_results(model, request, timing, before, counted, resident, bound, out, brief)


def _send_results(
    model: Any, request: Any, timing: Any, before: dict[str, Any], counted: list[Any], resident: dict[str, int],
    bound: Any, out: BinaryIO, brief: bool,
) -> None:  # fmt: skip
    from profiler.analysis.memory import memory_record
    from profiler.analysis.statistics import lost_share
    from profiler.analysis.work import count_call
    from profiler.measure.machine import conditions
    from profiler.model_records import kernel_key

    after = conditions()
    lost = lost_share(timing.samples, timing.lost, bound.threads)
    if lost >= 0.01:
        before["notes"] = [*before["notes"], f"other programs took {lost:.0%} of the processor time while it was timed"]
    kinds = {note.split("(")[0]: note for note in (*after["notes"], *before["notes"])}
    noted = dict(before) | {
        "load_after": after["load"], "notes": list(kinds.values()), "buffer_sets": timing.sets,
        "interval_reached": timing.reached, "threads": bound.threads, "lost_share": round(lost, 4),
        "disturbed_calls": int((timing.lost > 0).sum()),
    }  # fmt: skip
    keys = {kernel.name: kernel for kernel in model.kernels}
    sizes = dict(request.dims)
    threads = timing.threads
    for position, call in enumerate(model.fusion.calls):
        kernel = keys[call.kernel.name]
        known = {} if brief else count_call(call, kernel, sizes, traffic=request.count)
        known |= {"key": "" if brief else kernel_key(kernel), "nodes": [] if brief else list(call.all_nodes)}
        shares = [float(x) for x in _medians(threads[:, :, position])]
        _send(out, "launch", {"record": {
            "position": position, "kernel": call.kernel.name, "samples": timing.launches[:, position].tolist(),
            "thread_seconds": shares, **known,
        }})  # fmt: skip
    timeline = timing.timeline - timing.timeline.min() if timing.timeline.size else timing.timeline
    _send(out, "timed", {
        "samples": timing.samples.tolist(), "blocks": list(timing.blocks), "conditions": noted,
        "counters": [asdict(c) for c in counted], "timeline": timeline.tolist(), "lost": timing.lost.tolist(),
        "lost_traced": timing.lost_traced.tolist(),
        "memory": {} if brief else memory_record(model, sizes, resident, bound.arena_bytes),
    })  # fmt: skip


def _medians(spans: Any) -> Any:
    import numpy as np

    return np.median(spans, axis=0) * 1e-9 if spans.size else np.zeros(0)


if __name__ == "__main__":
    from compiler.collector_pauses import end_without_collection

    end_without_collection()
    sys.exit(main(sys.argv[1]))
