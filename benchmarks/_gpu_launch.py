"""The part of the GPU benchmark that launching limits: a whole model replayed, against a torch CUDA graph."""

from __future__ import annotations

import statistics
import time
from typing import Any

from _gpu_bench import Bench, Row


def _tiny_kernels(rng: Any) -> tuple[str, Any, list[Any], bool]:
    """Sixteen kernels that do next to nothing, so that what a replay costs is what launching costs."""
    import numpy as np

    from compiler import Graph, TensorType

    with Graph("tiny", inputs=[TensorType("f32", (1024,))]) as graph:
        value = graph.inputs[0]
        for step in range(16):
            value = value * 1.5 if step % 2 else value + 0.25
        graph.output(value)
    return "tiny", graph, [rng.standard_normal(1024).astype(np.float32)], False


def _transformer_block(rng: Any) -> tuple[str, Any, list[Any], bool]:
    import numpy as np

    from app.sources import load_source

    source = load_source("sample:transformer-block")
    arrays = []
    for kind in source.graph.input_types:
        shape = tuple(source.dims.get(str(size), size) if not isinstance(size, int) else size for size in kind.shape)
        scale = shape[0] ** -0.5 if len(shape) == 2 else 1.0
        arrays.append((rng.standard_normal(shape) * scale).astype(np.float32))
    return "sample", source.graph, arrays, True


def launch(bench: Bench) -> list[Row]:
    """Microseconds a kernel of a whole-model replay, against a torch CUDA graph of as many tiny kernels."""
    import numpy as np

    from compiler import reference
    from compiler.importers.mlir_text import parse_graph
    from compiler.options import CompileOptions
    from compiler.pipeline import compile_graph
    from profiler.measure.cuda.model import CudaModel

    rng = np.random.default_rng(0)
    rows: list[Row] = []
    for label, graph, arrays, fuse in (_tiny_kernels(rng), _transformer_block(rng)):
        compiled = compile_graph(graph, CompileOptions(target=bench.device.target, cache=False, fuse=fuse))
        model = CudaModel(compiled, bench.device)
        wide = parse_graph(str(graph).replace("f32", "f64"), "<in float64>")
        (wanted,) = reference(wide, *[array.astype(np.float64) for array in arrays])
        resident = model.upload(arrays)
        resident.poison()
        resident.capture()
        resident.replay()
        (result,) = resident.download()
        error = float(np.linalg.norm(result - wanted) / np.linalg.norm(wanted))
        kernels = len(resident.program.steps)
        for _ in range(3):
            resident.time(20, replay=True)
        replay = statistics.median(resident.time(100, replay=True) for _ in range(9)) * 1e3 / kernels
        launches = statistics.median(resident.time(20) for _ in range(9)) * 1e3 / kernels
        start = time.perf_counter()
        for _ in range(100):
            resident.replay()
        host = (time.perf_counter() - start) * 1e6 / 100 / kernels
        resident.synchronize()
        traced = [min(times) for times in zip(*[[t.milliseconds * 1e3 for t in resident.trace()] for _ in range(10)])]
        peer = _torch_graph(bench, kernels)
        # A kernel's own time is part of the replay. Where it is small, the whole is a bound of the overhead; elsewhere
        # the traced times are taken off, which count about a launch gap too much.
        overhead = replay if label == "tiny" else max(replay - sum(traced) / kernels, host)
        notes = {
            "kernels": kernels, "replay_us_per_kernel": replay, "launch_us_per_kernel": launches,
            "host_us_per_kernel": host, "traced_us": dict(zip([s.kernel for s in resident.program.steps], traced)),
        }  # fmt: skip
        rows.append(
            Row(
                f"replay-{label}",
                "torch graph",
                "us/kernel",
                overhead,
                peer,
                overhead / 10.0,
                1.0,
                overhead < 10.0 and error < 1e-5,
                error,
                notes,
            )
        )
        resident.close()
        model.close()
    return rows


def _torch_graph(bench: Bench, kernels: int) -> float:
    torch = bench.torch
    x = torch.ones(1, device="cuda")
    x.add_(1.0)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(kernels):
            x.add_(1.0)
    taken = []
    for _ in range(9):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(100):
            graph.replay()
        end.record()
        torch.cuda.synchronize()
        taken.append(start.elapsed_time(end) * 1e3 / 100 / kernels)
    return statistics.median(taken)
