"""Compile time side by side: this compiler, JAX's jit and torch.compile on one transformer block, in one run.

    python benchmarks/compile_time.py [--repeat N] [--json]

Figures are ratios within the run. Peers that are not installed are left out and named. "cold" means: no cache of any
kind, the kernel library parsed anew each time, the process's imports done.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from _byte_code import keep_byte_code  # noqa: E402

BATCH, LENGTH, MODEL, HEADS, HIDDEN = 1, 128, 256, 4, 1024
SHAPES = [
    (BATCH, LENGTH, MODEL), (MODEL,), (MODEL,), (MODEL, 3 * MODEL), (3 * MODEL,), (MODEL, MODEL), (MODEL,),
    (MODEL,), (MODEL,), (MODEL, HIDDEN), (HIDDEN,), (HIDDEN, MODEL), (MODEL,),
]  # fmt: skip


def arguments() -> list[np.ndarray]:
    """Random weights and activations of the block."""
    random = np.random.default_rng(0)
    return [(random.standard_normal(shape) * 0.1).astype(np.float32) for shape in SHAPES]


def ours() -> tuple[Callable[[], dict[str, float]], Callable[[list[np.ndarray]], np.ndarray]]:
    """A cold compilation's seconds (total, front, LLVM), and the compiled block."""
    from app.sources import load_source
    from compiler.language import library as libraries
    from compiler.options import CompileOptions
    from compiler.pipeline import compile_graph

    last: dict[str, object] = {}

    def compile_once() -> dict[str, float]:
        source = load_source("sample:transformer-block")
        seconds = []
        for jobs in (None, 1):  # as it comes, like the peers; and in one process, where stages add up to the whole
            libraries.default_library.cache_clear()
            start = time.perf_counter()
            model = compile_graph(source.graph, CompileOptions(cache=False, jobs=jobs))
            seconds.append(time.perf_counter() - start)
        total, alone = seconds
        last["model"] = model
        stages = model.stats["seconds"]
        front = sum(stages.get(name, 0.0) for name in ("mo", "mogg", "kgen", "kernel", "llvm"))
        link = stages.get("link", 0.0)
        return {"total": total, "alone": alone, "llvm": stages["machine"], "front": front, "link": link}

    return compile_once, lambda arrays: last["model"].execute(*arrays)[0]  # type: ignore[attr-defined]


def jax_peer() -> tuple[Callable[[], dict[str, float]], Callable[[list[np.ndarray]], np.ndarray]]:
    """The same block through jax.jit, lowered and compiled ahead of time."""
    import jax
    import jax.numpy as jnp

    def norm(x, gain, shift):
        mean = x.mean(-1, keepdims=True)
        return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * gain + shift

    def heads(t):
        return t.reshape(BATCH, LENGTH, HEADS, MODEL // HEADS).transpose(0, 2, 1, 3)

    def block(x, g1, s1, w_qkv, b_qkv, w_out, b_out, g2, s2, w_up, b_up, w_down, b_down):
        q, k, v = (heads(t) for t in jnp.split(norm(x, g1, s1) @ w_qkv + b_qkv, 3, axis=-1))
        scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(MODEL // HEADS).astype(np.float32)
        scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -jnp.inf)
        seen = (jax.nn.softmax(scores, -1) @ v).transpose(0, 2, 1, 3).reshape(BATCH, LENGTH, MODEL)
        x = x + (seen @ w_out + b_out)
        return x + (jax.nn.gelu(norm(x, g2, s2) @ w_up + b_up, approximate=True) @ w_down + b_down)

    arrays = arguments()
    jax.jit(lambda x: x + 1)(arrays[0])  # the back end's own start-up is not compile time
    last: dict[str, object] = {}

    def compile_once() -> dict[str, float]:
        jax.clear_caches()
        start = time.perf_counter()
        last["run"] = jax.jit(block).lower(*arrays).compile()
        return {"total": time.perf_counter() - start}

    return compile_once, lambda given: np.asarray(last["run"](*given))  # type: ignore[operator]


def torch_peer() -> tuple[Callable[[], dict[str, float]], Callable[[list[np.ndarray]], np.ndarray]]:
    """The same block through torch.compile, caches off; its first call is what compiles."""
    import torch
    import torch.nn.functional as f

    def block(x, g1, s1, w_qkv, b_qkv, w_out, b_out, g2, s2, w_up, b_up, w_down, b_down):
        qkv = f.layer_norm(x, (MODEL,), g1, s1, 1e-5) @ w_qkv + b_qkv
        q, k, v = (t.reshape(BATCH, LENGTH, HEADS, -1).transpose(1, 2) for t in qkv.split(MODEL, -1))
        seen = f.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(BATCH, LENGTH, MODEL)
        x = x + (seen @ w_out + b_out)
        return x + (f.gelu(f.layer_norm(x, (MODEL,), g2, s2, 1e-5) @ w_up + b_up, approximate="tanh") @ w_down + b_down)

    torch._inductor.config.force_disable_caches = True
    last: dict[str, object] = {}

    def compile_once() -> dict[str, float]:
        torch._dynamo.reset()
        given = [torch.from_numpy(array) for array in arguments()]
        start = time.perf_counter()
        last["run"] = torch.compile(block, dynamic=False)
        with torch.no_grad():
            last["run"](*given)  # type: ignore[operator]
        return {"total": time.perf_counter() - start}

    def run(arrays: list[np.ndarray]) -> np.ndarray:
        with torch.no_grad():
            return last["run"](*[torch.from_numpy(a) for a in arrays]).numpy()  # type: ignore[operator]

    return compile_once, run


IMPORTS = (
    "import numpy, llvmlite.binding;"
    "from xdsl.dialects import arith, builtin, func, gpu, llvm, math, memref, scf, vector"
)
COLD_START = (
    "from compiler.collector_pauses import end_without_collection; end_without_collection();"  # as our programs do
    "from app.sources import load_source; from compiler import compile;"
    "compile(load_source('sample:mlp').graph, cache=False)"
)
MEMORY = (
    "import resource; {imports};"
    "import compiler.pipeline, compiler.graph.ops, compiler.program.execution, compiler.lowering.llvm_text;"
    "from app.sources import load_source; from compiler import compile;"
    "graph = load_source('sample:transformer-block').graph;"
    "status = lambda key: int(next(l for l in open('/proc/self/status') if l.startswith(key)).split()[1]);"
    "open('/proc/self/clear_refs', 'w').write('5'); base = status('VmRSS');"  # the high-water mark starts again here
    "compile(graph, cache=False, jobs=1);"
    "print(status('VmHWM') - base)"
)


def wall(code: str) -> float:
    """Seconds a fresh interpreter needs for `code`."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    return time.perf_counter() - start


def cold_start(repeat: int) -> dict[str, float]:
    """Start to compiled mlp against importing the dependencies alone, alternating."""
    keep_byte_code()
    for code in (IMPORTS, COLD_START):
        wall(code)  # byte code and page cache
    pairs = [(wall(IMPORTS), wall(COLD_START)) for _ in range(repeat)]
    imports, start = (statistics.median(column) for column in zip(*pairs, strict=True))
    return {"imports_s": imports, "compile_mlp_s": start, "ratio": start / imports}


def peak_memory() -> float:
    """MB above the imports while compiling the transformer block."""
    code = MEMORY.format(imports=IMPORTS)
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    return int(done.stdout) / 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--torch-repeat", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    report: dict[str, object] = {}
    compile_ours, run_ours = ours()
    first = compile_ours()
    peers = {"jax": (jax_peer, options.repeat), "torch.compile": (torch_peer, options.torch_repeat)}
    samples = [compile_ours() for _ in range(options.repeat)]
    mine = {key: statistics.median(s[key] for s in samples) for key in samples[0]}
    totals = [sample["total"] for sample in samples]
    report["ours"] = {**mine, "first": first["total"], "spread": [min(totals), max(totals)]}
    for name, (peer, repeat) in peers.items():
        try:
            compile_peer, run_peer = peer()
        except ImportError as problem:
            report[name] = f"not measured: {problem}"
            continue
        theirs, again = [], []
        for _ in range(repeat):  # alternating, so that a slow moment of the machine hits both
            theirs.append(compile_peer()["total"])
            again.append(compile_ours()["total"])
        error = float(np.abs(run_peer(arguments()) - run_ours(arguments())).max())
        report[name] = {
            "total": statistics.median(theirs), "ratio": statistics.median(theirs) / statistics.median(again),
            "spread": [min(theirs), max(theirs)], "max_difference": error,
        }  # fmt: skip
    report["front_over_llvm"] = mine["front"] / mine["llvm"]
    report["cold_start"] = cold = cold_start(options.repeat)
    report["peak_memory_mb"] = peak_memory()
    if options.json:
        print(json.dumps(report, indent=1))
        return
    print(f"transformer-block, {options.repeat} repeats, medians; ratios within this run")
    parts = ", ".join(f"{key} {mine[key] * 1e3:.1f}" for key in ("front", "llvm", "link"))
    print(f"  ours            {mine['total'] * 1e3:8.1f} ms   first in process {first['total'] * 1e3:.1f}")
    print(f"    with one job  {mine['alone'] * 1e3:8.1f} ms   {parts}")
    for name in peers:
        entry = report[name]
        if isinstance(entry, dict):
            difference = f"results differ by {entry['max_difference']:.1e}"
            print(f"  {name:<15} {entry['total'] * 1e3:8.1f} ms   {entry['ratio']:.2f} times ours; {difference}")
        else:
            print(f"  {name:<15} {entry}")
    print(f"  front half / LLVM            {report['front_over_llvm']:.2f}   (at most 1)")
    times = f"{cold['compile_mlp_s'] * 1e3:.0f} ms / {cold['imports_s'] * 1e3:.0f} ms"
    print(f"  cold start: mlp / imports    {cold['ratio']:.2f}   (under 2; {times})")
    print(f"  peak memory above imports    {report['peak_memory_mb']:.0f} MB (under 150)")


if __name__ == "__main__":
    main()
