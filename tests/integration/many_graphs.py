"""Large random graphs, each from one number: all families of ops, all dtypes, symbolic and empty sizes, views of views,
several outputs, mutable buffers. Run as a program it checks a range of them and prints what disagrees:

    python tests/integration/many_graphs.py FIRST COUNT [--processes N] [--seconds S] [--target sm_90a] [--every]

Each graph is compiled two opposite ways, so that it is seen at O0 and O3, fused and not, in both flows; which goes with
which depends on its number; with `--every`, all eight ways. Each runs on one thread and on two; with a target of
NVIDIA's, on the card, and again as a CUDA graph. Graphs are dealt out to processes one by one, so that one that crashes
or hangs is one graph that failed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from compiler import Graph, TensorType, compile, reference
from compiler.errors import ExecutionError, GraphError
from compiler.graph.binding import bind, resolve
from compiler.graph.dtypes import numpy_dtype
from compiler.graph.types import BufferType
from compiler.model import Model
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph
from compiler.reference.walk import REFERENCES

Way = tuple[int, bool, str]
ALL, PER = "all-kernel", "per-kernel"
WAYS: tuple[Way, ...] = tuple((level, fuse, flow) for level in (3, 0) for fuse in (True, False) for flow in (ALL, PER))
OPPOSITE: tuple[tuple[Way, ...], ...] = tuple(
    ((3, fuse, flow), (0, not fuse, PER if flow == ALL else ALL)) for fuse in (True, False) for flow in (ALL, PER)
)
ON_CARD: tuple[tuple[Way, ...], ...] = (
    ((3, True, ALL), (0, False, PER)), ((3, True, PER), (3, False, ALL)), ((3, True, ALL), (3, False, PER)),
    ((0, True, PER), (3, False, ALL)),
)  # fmt: skip
ROUNDING = frozenset(
    f"mo.{name}" for name in (
        "exp", "exp2", "expm1", "sigmoid", "tanh", "erf", "sin", "cos", "gelu", "silu", "rsqrt", "log", "log2", "log1p",
        "pow", "reduce_sum", "reduce_mean", "matmul", "softmax", "log_softmax", "layer_norm", "rms_norm", "conv2d",
        "scaled_dot_product_attention", "avg_pool2d", "cumsum", "rope", "var", "reduce_var",
    )
)  # fmt: skip
REFUSED = "refused"  # sizes that the graph cannot take, and that both refuse
PATIENCE = 300.0  # seconds for one graph before it counts as hanging


def _sibling(name: str) -> Any:
    known = f"kg_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None and spec.loader is not None
        sys.modules[known] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[known])
    return sys.modules[known]


agreement, single, models = _sibling("agreement"), _sibling("op_families"), _sibling("model_families")
FAMILIES = (*single.FAMILIES, *models.FAMILIES)


def elements(shape: Sequence[Any]) -> int:
    """How many elements a shape has with the sizes used here."""
    total = 1
    for size in shape:
        total *= size if isinstance(size, int) else size.evaluate(single.SYMBOLS)
    return total


def draw(number: int) -> Any:
    """The graph of a number."""
    drawn = single.Drawn(np.random.default_rng(number), [])
    large = drawn.chance(0.15)
    drawn.most, sizes = (single.MOST_OF_LARGE, single.LARGE_SIZES) if large else (single.MOST, single.SIZES)
    for _ in range(int(drawn.random.integers(1, 5))):
        shape: tuple[int | str, ...] = tuple(
            drawn.pick(list(single.SYMBOLS)) if drawn.chance(0.25) else drawn.pick(sizes)
            for _ in range(int(drawn.random.integers(0, 5)))
        )
        while np.prod([single.SYMBOLS[s] if isinstance(s, str) else s for s in shape], initial=1) > drawn.most:
            shape = shape[1:]
        drawn.inputs.append((drawn.pick(single.TYPES), shape, drawn.chance(0.12)))
    if all(mutable for _, _, mutable in drawn.inputs):
        drawn.inputs.append(("f32", (8, 8), False))
    types = [(BufferType if mutable else TensorType)(d, s) for d, s, mutable in drawn.inputs]
    with Graph("draft", inputs=types) as graph:
        drawn.values, drawn.exact = list(graph.inputs), [True] * len(graph.inputs)
        wanted, attempts = int(drawn.random.integers(10, 61)), 0
        while len(drawn.steps) < wanted and attempts < 400:
            attempts += 1
            _add(drawn, drawn.pick(FAMILIES))
    drawn.outputs = _outputs(drawn, graph)
    return drawn


def _outputs(drawn: Any, graph: Graph) -> list[int]:
    """The last value and some of those that nothing else uses, now and then all of them."""
    made = list(range(len(drawn.inputs), len(drawn.values))) or drawn.tensors()
    used = {id(operand) for op in graph.ops for operand in op.operands}
    ends = [k for k in made if id(drawn.values[k]) not in used] or made
    if drawn.chance(0.15):
        return sorted({made[-1], *ends})
    return sorted({made[-1], *(drawn.pick(ends) for _ in range(int(drawn.random.integers(0, 4))))})


def _add(drawn: Any, family: Callable[[Any, int], Any]) -> None:
    late = drawn.tensors()
    index = late[-1 - min(int(drawn.random.exponential(3)), len(late) - 1)] if drawn.chance(0.7) else drawn.pick(late)
    found = family(drawn, index)
    if found is None:
        return
    step, exact = found
    try:
        value = step(drawn.values, {})
    except GraphError:
        return
    if value is None:
        drawn.steps.append((step, False))
        return
    if elements(value.shape) > drawn.most or len(value.shape) > 6:
        return
    if min((elements([size]) for size in value.shape), default=0) < 0 and drawn.chance(0.95):
        return  # a slice longer than its axis: refused
    drawn.steps.append((step, True))
    drawn.values.append(value)
    drawn.exact.append(exact)


def check(number: int, target: str = "cpu", every: bool = False) -> str:
    """What is wrong with the graph of a number, in words; empty when nothing is."""
    drawn = draw(number)
    graph, arrays = drawn.build({}), drawn.arrays(number, {})
    written, wide_written = [a.copy() for a in arrays], drawn.arrays(number, single.WIDER)
    with np.errstate(all="ignore"):
        try:
            expected = reference(graph, *written)
        except ExecutionError:  # sizes the graph cannot take: the model must refuse them too
            try:
                compile(graph, opt_level=0, cache=False).execute(*arrays)
            except ExecutionError:
                return REFUSED
            return "the reference refuses what the model takes"
        wide = reference(drawn.build(single.WIDER), *wide_written)
    coarse, spread = _coarsest(drawn), None
    for level, fuse, flow in WAYS if every else (OPPOSITE if target == "cpu" else ON_CARD)[number % 4]:
        options = CompileOptions(target, flow, level, fuse=fuse, cache=False, jobs=1)
        model = compile_graph(graph, options)
        for how, results in (_runs if target == "cpu" else _runs_on_card)(model, arrays):
            for place, (found, truth, wider) in enumerate(
                zip(results, [*expected, *written], [*wide, *wide_written], strict=True)
            ):
                problem = agreement.disagreement(found, truth, wider if truth.dtype.kind not in "iub" else None)
                if problem:
                    spread = spread or spread_of(graph, arrays, [*expected, *written])
                if problem and spread is not None and (most := spread[place]) is not None:
                    wrong = ~(np.abs(found.astype(np.float64) - truth.astype(np.float64)) <= most)
                    problem = problem if (wrong & np.isfinite(most)).any() else ""
                if problem and coarse is not None and _bits(truth.dtype) > _bits(coarse):
                    # It may be made of something coarser: then it is as good as that can be.
                    narrow = [x.astype(coarse) for x in (found, truth)]
                    problem = agreement.disagreement(*narrow, wider.astype(truth.dtype))
                if problem:
                    what = f"output {place}" if place < len(expected) else f"input {place - len(expected)}"
                    return f"-O{level} fuse={fuse} {flow} {how} {what}: {problem}"
    return ""


@np.errstate(all="ignore")
def spread_of(graph: Graph, arrays: Sequence[np.ndarray], truths: Sequence[np.ndarray]) -> list[np.ndarray | None]:
    """How far each element of each result may be off, from several disturbed evaluations; None for exact results."""
    tries = [disturbed(graph, [a.copy() for a in arrays], seed) for seed in range(3)]
    found: list[np.ndarray | None] = []
    for place, truth in enumerate(truths):
        if not _bits(truth.dtype):
            found.append(None)
            continue
        drifts = [np.abs(one[place].astype(np.float64) - truth.astype(np.float64)) for one in tries]
        found.append(16 * np.max(drifts, axis=0) + np.median(np.max(drifts, axis=0)) if truth.size else None)
    return found


def disturbed(graph: Graph, arrays: Sequence[np.ndarray], seed: int) -> list[np.ndarray]:
    """The reference's outputs, then arguments, with every result that another order of sums or another polynomial may
    round differently moved by some units in its last place: how far apart two right answers may lie."""
    random = np.random.default_rng(seed)
    sizes = bind(list(graph.input_types), list(arrays), graph.input_names)
    values: dict[Any, Any] = dict(zip(graph.inputs, arrays, strict=True))
    for op in graph.ops:
        attrs = {name: resolve(value, sizes) for name, value in op.all_attrs.items()}
        operands = [values[x] for x in op.operands]
        if op.name in ROUNDING:  # what an op rounds inside is no more than what moves its operands by a little
            operands = [_moved(x, random) if _bits(x.dtype) else x for x in operands]
        made = REFERENCES[op.name](*operands, **attrs)
        if op.name in ROUNDING and _bits(np.asarray(made).dtype):
            made = _moved(np.asarray(made), random)
        values.update(zip(op.results, made if isinstance(made, tuple) else (made,), strict=True))
    return [*(np.array(values[x]) for x in graph.outputs), *arrays]


def _moved(made: np.ndarray, random: np.random.Generator) -> np.ndarray:
    wide = made.astype(np.float64)
    scale = np.abs(wide[np.isfinite(wide)]).max(initial=0.0)  # what cancels in a sum is as large as its neighbours
    step = 4 * 2.0 ** -_bits(made.dtype) * (np.abs(wide) + 0.25 * scale)
    return (wide + random.choice((-1.0, 1.0), made.shape) * step).astype(made.dtype)


def _runs(model: Model, arrays: Sequence[np.ndarray]) -> Iterator[tuple[str, list[np.ndarray]]]:
    """Outputs, then arguments, on one thread and on two."""
    for threads in (1, 2):
        given = [a.copy() for a in arrays]
        yield f"threads={threads}", [*model.execute(*given, threads=threads), *given]


def _runs_on_card(model: Model, arrays: Sequence[np.ndarray]) -> Iterator[tuple[str, list[np.ndarray]]]:
    """The same on this process's CUDA device, kernel by kernel; as a CUDA graph it must give the same bits."""
    from profiler.measure.cuda.child import run
    from profiler.measure.cuda.messages import CudaRequest
    from profiler.measure.cuda.program import program_of

    program = program_of(model, bind(model.graph.input_types, arrays, model.graph.input_names))
    response = run(CudaRequest(program, tuple(arrays), replays=1, poison=True), 0, lambda kernel, call: None)
    if not response.replay_equal:
        raise AssertionError("another result as a CUDA graph")
    yield f"on {model.target.name}", [*response.outputs, *(response.mutable.get(k, a) for k, a in enumerate(arrays))]


def _bits(dtype: np.dtype) -> int:
    return {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}.get(dtype.name, 0)


def _coarsest(drawn: Any) -> np.dtype | None:
    """The float dtype with the fewest digits among the values that are rounded."""
    rounded = [numpy_dtype(v.dtype) for v, exact in zip(drawn.values, drawn.exact, strict=True) if not exact]
    return min((d for d in rounded if _bits(d)), key=_bits, default=None)


@dataclass
class Worker:
    """A process that checks the graphs it is told, one at a time."""

    command: list[str]
    process: subprocess.Popen[str] | None = None
    number: int | None = None
    since: float = 0.0

    def give(self, number: int) -> None:
        if self.process is None:
            alone = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "CUDA_CACHE_DISABLE")}
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                env=os.environ | alone,
            )  # fmt: skip
        assert self.process.stdin is not None
        self.number, self.since = number, time.monotonic()
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()

    def end(self) -> int:
        """End the process; how it ended."""
        assert self.process is not None
        self.process.kill()
        code, self.process = self.process.wait(), None
        return code


def serve(target: str, every: bool) -> None:
    """Answer each number on standard input with a line: what is wrong with its graph."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what anything else prints is no answer
    for line in sys.stdin:
        try:
            problem = check(int(line), target, every)
        except Exception as error:  # any error at all is what is looked for
            problem = f"{type(error).__name__}: {error}"
        answers.write(" ".join(problem.split())[:400] + "\n")
        answers.flush()


def results(workers: Sequence[Worker], numbers: Iterator[int], until: float) -> Iterator[tuple[int, str]]:
    """Deal the numbers out until none is left or time is up; each with what is wrong, as it comes."""
    with selectors.DefaultSelector() as selector:

        def give(worker: Worker) -> bool:
            number = next(numbers, None) if time.monotonic() < until else None
            if number is not None:
                fresh = worker.process is None
                worker.give(number)
                if fresh and worker.process is not None and worker.process.stdout is not None:
                    selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
            else:
                worker.number = None
            return number is not None

        busy = [worker for worker in workers if give(worker)]
        while busy:
            told = {key.data.number: key for key, _ in selector.select(1.0)}
            for worker in list(busy):
                number, process, late = worker.number, worker.process, time.monotonic() - worker.since > PATIENCE
                assert number is not None and process is not None and process.stdout is not None
                if number not in told and not late:
                    continue
                words = process.stdout.readline() if number in told else ""
                if not words:
                    selector.unregister(process.stdout)
                    code = worker.end()
                    words = "it hangs" if late else f"its process ended with {code}"
                yield number, words.strip()
                if not give(worker):
                    busy.remove(worker)
    for worker in workers:
        if worker.process is not None:
            worker.end()


def main() -> int:
    """Check a range of graphs and say which fail."""
    parser = argparse.ArgumentParser(description="Check random graphs against the reference.")
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no graph after so many")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--every", action="store_true", help="all eight ways instead of two")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        serve(asked.target, asked.every)
        return 0
    command = [sys.executable, __file__, "0", "0", "--serve", "--target", asked.target]
    workers = [Worker(command + ["--every"] * asked.every) for _ in range(asked.processes)]
    begun, done, refused, failed = time.monotonic(), 0, 0, 0
    numbers = iter(range(asked.first, asked.first + asked.count))
    for number, problem in results(workers, numbers, begun + asked.seconds):
        done += 1
        refused += problem == REFUSED
        if problem and problem != REFUSED:
            failed += 1
            print(f"graph {number}: {problem}", flush=True)
        if done % 100 == 0:
            print(f"{done} graphs after {time.monotonic() - begun:.0f} s, {failed} failed", flush=True)
    print(
        f"{done} graphs from {asked.first} on {asked.target} in {time.monotonic() - begun:.0f} s: {failed} failed, "
        f"{refused} refused as the reference refuses them"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
