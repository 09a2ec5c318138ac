"""`kernelglass run SRC`: compile a graph, run it on random inputs, time it and check it."""

from __future__ import annotations

import statistics
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from app.commands.options import Dims, db_option, json_option, note_unkept, source_argument
from app.errors import CheckFailed
from app.output import print_json
from app.tables import seconds

if TYPE_CHECKING:
    import numpy as np

    from app.checking import OutputCheck
    from app.compilation import Compiled


@click.command("run")
@source_argument
@click.option("--device", default="cpu", metavar="cpu|cuda:N", show_default=True)
@click.option("--threads", type=click.IntRange(1, 1024), metavar="N", help="CPU threads; all usable cores by default.")
@click.option("--repeat", default=20, type=click.IntRange(1, 1_000_000), metavar="N", show_default=True)
@click.option("--dim", "dims", multiple=True, type=Dims(), help="The size of a symbolic dim; repeat for more.")
@click.option("--seed", default=0, type=click.IntRange(min=0), metavar="S", show_default=True)
@click.option("--check", is_flag=True, help="Compare with the NumPy reference; a difference exits with 5.")
@db_option
@json_option
def command(
    src: str,
    device: str,
    threads: int | None,
    repeat: int,
    dims: tuple[tuple[str, int], ...],
    seed: int,
    check: bool,
    db: str | None,
    as_json: bool,
) -> None:
    """Run SRC on random inputs and say how long a call takes."""
    from app.compilation import Options, compile_source, device_index
    from app.inputs import graph_sizes, random_inputs
    from app.sources import load_source

    index = device_index(device)
    note_unkept(db)
    source = load_source(src)
    sizes = graph_sizes(source.graph, source.dims, dict(dims))
    if index is not None:
        _refuse_cuda(index)
    inputs = random_inputs(source.graph, sizes, seed)
    compiled = compile_source(source, Options())
    checks = _check(compiled, inputs, threads) if check else None
    times, outputs = _time(compiled, inputs, threads, repeat)
    document = {
        "source": source.name,
        "device": device,
        "threads": threads,
        "dims": sizes,
        "seed": seed,
        "compile_seconds": compiled.seconds,
        "kernels": [kernel.name for kernel in compiled.model.kernels],
        "outputs": outputs,
        "repeat": repeat,
        "seconds": {"median": statistics.median(times), "min": min(times), "max": max(times), "all": times},
        "check": None if checks is None else [asdict(c) | {"ok": c.ok} for c in checks],
    }
    if as_json:
        print_json(document)
    else:
        click.echo(_text(document, checks))
    wrong = [c for c in checks or () if not c.ok]
    if wrong:
        raise CheckFailed(str(wrong[0]))


def _refuse_cuda(index: int) -> None:
    from compiler.errors import UnavailableError
    from profiler.devices import cuda_devices

    devices = cuda_devices()
    if index >= len(devices):
        raise UnavailableError(f"there is no device cuda:{index}; this machine has {len(devices)}")
    raise UnavailableError(f"this version compiles for {devices[index].target} but does not launch on CUDA devices yet")


def _check(compiled: Compiled, inputs: list[np.ndarray], threads: int | None) -> list[OutputCheck]:
    """Run both on their own copies: a graph with buffers writes to its inputs."""
    from app.checking import check_outputs, error_bound
    from app.compilation import execute
    from compiler import reference

    graph = compiled.source.graph
    got = execute(compiled, [x.copy() for x in inputs], threads)
    wanted = reference(graph, *(x.copy() for x in inputs))
    return check_outputs(got, wanted, error_bound(graph))


def _time(
    compiled: Compiled, inputs: list[np.ndarray], threads: int | None, repeat: int
) -> tuple[list[float], list[dict[str, Any]]]:
    """Seconds of each of `repeat` calls, after one that does not count."""
    from app.compilation import execute
    from compiler.graph.dtypes import from_numpy

    outputs = execute(compiled, inputs, threads)
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        execute(compiled, inputs, threads)
        times.append(time.perf_counter() - start)
    return times, [{"dtype": from_numpy(y.dtype), "shape": list(y.shape)} for y in outputs]


def _text(document: dict[str, Any], checks: list[OutputCheck] | None) -> str:
    took = document["seconds"]
    sizes = ", ".join(f"{name}={size}" for name, size in document["dims"].items())
    shapes = ", ".join(f"{y['dtype']}[{'x'.join(map(str, y['shape']))}]" for y in document["outputs"])
    lines = [
        f"{document['source']} on {document['device']}{f' ({sizes})' if sizes else ''}: "
        f"{len(document['kernels'])} kernels, compiled in {seconds(document['compile_seconds'])}",
        f"per call   median {seconds(took['median'])}, min {seconds(took['min'])}, {document['repeat']} calls",
        f"outputs    {shapes}",
    ]
    lines += [f"check      {check}" for check in checks or () if check.ok]
    return "\n".join(lines)
