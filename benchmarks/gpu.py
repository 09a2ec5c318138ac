"""GPU kernels side by side with Triton, torch.compile and a device copy, each figure a ratio taken in this run.

    python benchmarks/gpu.py [--only grayscale,softmax,...] [--repeats N] [--json FILE]

Inputs are random and rotate; times are medians of CUDA events, ours and the peer's in turn, with the GPU kept busy
while the host queues the next launch; results are checked against float64 on outputs that were poisoned before. A part
that fails prints its error and the others go on. The table comes last.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

BUSY_CYCLES = 400_000  # about 0.2 ms in which the host gets ahead of the device
WARMUP = 5


try:
    import triton
    import triton.language as tl
except ImportError:  # the part that needs it says so
    triton = None
else:

    @triton.jit
    def grey_kernel(x, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = at < n
        red = tl.load(x + at, mask=mask)
        green = tl.load(x + n + at, mask=mask)
        blue = tl.load(x + 2 * n + at, mask=mask)
        tl.store(out + at, red * 0.299 + green * 0.587 + blue * 0.114, mask=mask)


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
    """Takes turns between implementations, each rotating over its input sets."""

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
            for name, calls in ways.items():
                start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
                cuda._sleep(BUSY_CYCLES)
                start.record()
                calls[turn % len(calls)]()
                end.record()
                events[name].append((start, end))
            cuda.synchronize()
        return {name: [a.elapsed_time(b) for a, b in pairs] for name, pairs in events.items()}


class Bench:
    """What the parts share: torch, our device, the timer."""

    def __init__(self, repeats: int) -> None:
        import torch

        from profiler.launch.cuda import open_device

        self.torch = torch
        torch.cuda.init()
        torch.zeros(1, device="cuda")
        self.device = open_device(0)
        self.timer = Timer(torch, repeats)
        self.stream = torch.cuda.current_stream().cuda_stream

    def compiled(self, graph: Any) -> Any:
        """Our side: compiled for this very chip, launching on torch's stream."""
        from compiler import compile
        from profiler.launch.cuda_model import CudaModel

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


def grayscale(bench: Bench) -> list[Row]:
    """3x16000x16000 f32 to grey, against a Triton kernel (the best of a few block shapes)."""
    from compiler import Graph, TensorType

    if triton is None:
        raise RuntimeError("Triton is not installed")
    torch, height, width = bench.torch, 16000, 16000
    with Graph("grayscale", inputs=[TensorType("f32", (3, height, width))]) as graph:
        (x,) = graph.inputs
        graph.output(x[0] * 0.299 + x[1] * 0.587 + x[2] * 0.114)
    inputs = [bench.random(3, height, width) for _ in range(2)]
    outputs = [torch.empty(height, width, device="cuda") for _ in range(2)]
    count = height * width

    def peer(block: int, warps: int) -> list[Callable[[], Any]]:
        grid = (triton.cdiv(count, block),)
        return [
            lambda a=a, b=b: grey_kernel[grid](a, b, count, BLOCK=block, num_warps=warps)
            for a, b in zip(inputs, outputs)
        ]

    shapes = {f"{b}/{w}": peer(b, w) for b, w in ((1024, 4), (2048, 4), (2048, 8), (4096, 8), (8192, 8), (8192, 16))}
    tried = Timer(torch, 7)(shapes)
    best = min(tried, key=lambda name: statistics.median(tried[name]))
    model = bench.compiled(graph)
    residents = bench.residents(model, [(x,) for x in inputs])
    weights = torch.tensor([0.299, 0.587, 0.114], device="cuda", dtype=torch.float64)
    error = bench.check(residents[0], lambda p: torch.einsum("chw,c->hw", p, weights), inputs[0], axis=1)
    times = bench.timer({"ours": [r.launch for r in residents], "peer": shapes[best]})
    row = bench.bandwidth_row("grayscale", f"triton {best}", times, 4 * count * 4, 0.98, error)
    bench.close(model, residents)
    return [row]


def _rows(bench: Bench, part: str, graph: Any, function: Any, double: Any, extra: tuple[Any, ...]) -> list[Row]:
    """A row-wise op on 16384x4096 f32, against torch.compile."""
    torch = bench.torch
    inputs = [bench.random(16384, 4096) for _ in range(3)]
    model = bench.compiled(graph)
    residents = bench.residents(model, [(x, *extra) for x in inputs])
    error = bench.check(residents[0], double, inputs[0])
    copies = [torch.empty_like(x) for x in inputs]
    with torch.no_grad():
        compiled = torch.compile(function)
        ways = {
            "ours": [r.launch for r in residents],
            "peer": [lambda x=x: compiled(x, *extra) for x in inputs],
            "copy": [lambda a=a, b=b: b.copy_(a) for a, b in zip(inputs, copies)],
        }
        times = bench.timer(ways)
    row = bench.bandwidth_row(part, "torch.compile", times, 2 * inputs[0].nbytes, 1.0, error)
    bench.close(model, residents)
    return [row]


def softmax(bench: Bench) -> list[Row]:
    """Softmax of 16384 rows of 4096."""
    from compiler import Graph, TensorType, ops

    with Graph("softmax", inputs=[TensorType("f32", (16384, 4096))]) as graph:
        graph.output(ops.softmax(graph.inputs[0], axis=-1))
    function = lambda x: bench.torch.softmax(x, -1)  # noqa: E731
    return _rows(bench, "softmax", graph, function, function, ())


def layernorm_gelu(bench: Bench) -> list[Row]:
    """Layer norm and (erf) GELU of 16384 rows of 4096."""
    from compiler import Graph, TensorType, ops

    types = [TensorType("f32", (16384, 4096)), TensorType("f32", (4096,)), TensorType("f32", (4096,))]
    with Graph("layernorm_gelu", inputs=types) as graph:
        x, w, b = graph.inputs
        graph.output(ops.gelu(ops.layer_norm(x, w, b, 1e-5)))
    nn = bench.torch.nn.functional
    weight, bias = bench.random(4096), bench.random(4096)

    def function(x: Any, w: Any, b: Any) -> Any:
        return nn.gelu(nn.layer_norm(x, (4096,), w, b, 1e-5))

    double = lambda x: function(x, weight.double(), bias.double())  # noqa: E731
    return _rows(bench, "layernorm-gelu", graph, function, double, (weight, bias))


def _chain(
    bench: Bench, part: str, apply: Callable[[Any, Any], Any], double: Callable[[Any], Any], target: float
) -> list[Row]:
    """Ten elementwise ops over 1 GiB, against a device copy of it."""
    from compiler import Graph, TensorType, ops

    rows, columns = 16384, 16384
    with Graph(part.replace("-", "_"), inputs=[TensorType("f32", (rows, columns))]) as graph:
        graph.output(apply(graph.inputs[0], ops))
    inputs = [bench.random(rows, columns) for _ in range(2)]
    copies = [bench.torch.empty_like(x) for x in inputs]
    model = bench.compiled(graph)
    residents = bench.residents(model, [(x,) for x in inputs])
    error = bench.check(residents[0], double, inputs[0])
    copying = [lambda a=a, b=b: b.copy_(a) for a, b in zip(inputs, copies)]
    times = bench.timer({"ours": [r.launch for r in residents], "peer": copying})
    row = bench.bandwidth_row(part, "device copy", times, 2 * inputs[0].nbytes, target, error)
    bench.close(model, residents)
    return [row]


def chain(bench: Bench) -> list[Row]:
    """Ten plain arithmetic ops."""
    torch = bench.torch

    def apply(x: Any, ops: Any) -> Any:
        y = ops.abs(x * 1.5 + 0.25)
        y = ops.sqrt(ops.maximum(y - 0.125, 0.5))
        return ops.minimum(ops.square(y) * 0.75, 8.0) - 1.0

    def double(x: Any) -> Any:
        y = ((x * 1.5 + 0.25).abs() - 0.125).clamp(min=0.5).sqrt()
        return torch.clamp(y * y * 0.75, max=8.0) - 1.0

    return _chain(bench, "chain", apply, double, 0.95)


def chain_exp(bench: Bench) -> list[Row]:
    """Ten ops of which three are transcendental."""
    torch = bench.torch

    def apply(x: Any, ops: Any) -> Any:
        y = ops.tanh(x * 0.5 + 0.25) * 2.0
        y = ops.exp(-ops.abs(y)) + 1.0
        return ops.log(y) - 0.125

    return _chain(
        bench, "chain-exp", apply,
        lambda x: torch.log(torch.exp(-(torch.tanh(x * 0.5 + 0.25) * 2).abs()) + 1) - 0.125, 0.95,
    )  # fmt: skip


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
    from compiler.pipeline import CompileOptions
    from compiler.session import compile_graph
    from profiler.launch.cuda_model import CudaModel

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


PARTS: dict[str, Callable[[Bench], list[Row]]] = {
    "grayscale": grayscale,
    "softmax": softmax,
    "layernorm-gelu": layernorm_gelu,
    "chain": chain,
    "chain-exp": chain_exp,
    "launch": launch,
}


def conditions(bench: Bench) -> dict[str, Any]:
    from compiler.errors import UnavailableError
    from profiler.nvml import conditions as read

    try:
        return asdict(read(bench.device.pci_bus_id))
    except UnavailableError as missing:
        return {"note": str(missing)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts, of {','.join(PARTS)}")
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--json", metavar="FILE", help="where to write everything that was measured")
    options = parser.parse_args()
    from compiler.errors import UnavailableError

    try:
        bench = Bench(options.repeats)
    except (ImportError, UnavailableError, RuntimeError, AssertionError) as missing:
        print(f"gpu: skipped, {str(missing).splitlines()[0]}")
        return
    print(
        f"{bench.device.name}, {bench.device.target}, driver {bench.device.record.driver}, "
        f"torch {bench.torch.__version__}"
    )
    before = conditions(bench)
    rows: list[Row] = []
    failures: dict[str, str] = {}
    for name in options.only.split(","):
        start = time.perf_counter()
        print(f"{name} ...", flush=True)
        try:
            rows += PARTS[name](bench)
        except Exception as error:  # the other parts go on
            failures[name] = f"{type(error).__name__}: {error}"
            traceback.print_exc(limit=-6)
        print(f"  {time.perf_counter() - start:.1f} s", flush=True)
        bench.torch.cuda.empty_cache()
    if options.json:
        document = {
            "device": bench.device.name, "target": bench.device.target, "driver": bench.device.record.driver,
            "conditions": {"before": before, "after": conditions(bench)},
            "rows": [asdict(row) for row in rows], "failures": failures,
        }  # fmt: skip
        Path(options.json).write_text(json.dumps(document, indent=1))
    print(table(rows, failures))


def table(rows: list[Row], failures: dict[str, str]) -> str:
    lines = [f"{'part':<16}{'ours':>10}{'peer':>10} {'unit':<10}{'ratio':>7}{'target':>8}{'error':>10}  peer"]
    for row in rows:
        if row.unit == "us/kernel":
            ratio, goal = f"{row.ours / row.theirs:.2f}", "<10 us"
        else:
            ratio, goal = f"{row.ratio:.3f}", f"{row.target:.2f}"
        verdict = "" if row.met else "   MISSED"
        lines.append(
            f"{row.part:<16}{row.ours:>10.3f}{row.theirs:>10.3f} {row.unit:<10}{ratio:>7}{goal:>8}{row.error:>10.1e}  "
            f"{row.peer}{verdict}"
        )
    lines += [f"{name:<16}FAILED {' '.join(words.split())[:200]}" for name, words in failures.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
