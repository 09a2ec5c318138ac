"""Kernelglass inside PyTorch, beside PyTorch: grayscale against torch.compile, and what a call on a small tensor takes.

    python benchmarks/frameworks.py [SIZE]

Both sides take turns in one process; figures are medians, and the ratio is that of the medians with the smallest and
largest of the rounds. Where torch has a CUDA device, calls on a small tensor there are timed too, beside a bare launch
of a kernel that does nothing through the driver: what is beyond it is ours.
"""

from __future__ import annotations

import ctypes
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

KERNELS = """from kernels.language import *


@elementwise("gray")
def gray(red, green, blue):
    return roundeven(red.cast(f32) * 0.299 + green.cast(f32) * 0.587 + blue.cast(f32) * 0.114).cast(u8)


@elementwise("twice")
def twice(x):
    return x * 2
"""
ROUNDS, SMALL_CALLS, CARD_CALLS = 15, 3000, 400


def seconds(call: Callable[[], object], times: int = 1) -> float:
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def in_turns(calls: dict[str, Callable[[], object]], times: int = 1) -> dict[str, list[float]]:
    for call in calls.values():
        call()
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            found[name].append(seconds(call, times))
    return found


def main(size: int) -> None:
    import torch

    from compiler import ops
    from compiler.torch import CustomOpLibrary, graph_op

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "kernels.py").write_text(KERNELS)
        library = CustomOpLibrary(folder)

    @graph_op
    def gray(image):  # type: ignore[no-untyped-def]
        colours = ops.cast(image, "f32")
        return ops.cast(ops.round(colours[0] * 0.299 + colours[1] * 0.587 + colours[2] * 0.114), "u8")

    def plain(image):  # type: ignore[no-untyped-def]
        colours = image.float()
        return torch.round(colours[0] * 0.299 + colours[1] * 0.587 + colours[2] * 0.114).to(torch.uint8)

    image = torch.randint(0, 256, (3, size, size), dtype=torch.uint8)
    compiled, result = torch.compile(plain), torch.empty(size, size, dtype=torch.uint8)
    calls = {
        "graph_op": lambda: gray(image),
        "CustomOpLibrary": lambda: library.gray(result, image[0], image[1], image[2]),
        "torch.compile": lambda: compiled(image),
    }
    found = in_turns(calls)
    assert torch.equal(gray(image), plain(image)) and torch.equal(result, plain(image))
    base = found["torch.compile"]
    for name, times in found.items():
        ratios = [b / t for b, t in zip(base, times, strict=True)]
        print(
            f"grayscale {size}x{size}  {name:16} {statistics.median(times) * 1e3:8.2f} ms   torch.compile / this: "
            f"{statistics.median(base) / statistics.median(times):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        )
    x, out = torch.ones(16), torch.empty(16)
    small = in_turns(
        {
            "CustomOpLibrary": lambda: library.twice(out, x),
            "torch.mul(out=)": lambda: torch.mul(x, 2, out=out),
            "nothing": lambda: None,
        },
        SMALL_CALLS,
    )
    for name, times in small.items():
        print(f"call on 16 elements  {name:16} {statistics.median(times) * 1e6:6.2f} us (least {min(times) * 1e6:.2f})")
    if torch.cuda.is_available():
        on_card(library)


NOTHING = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry nothing(.param .u64 to) { ret; }\n"


def on_card(library: Any) -> None:
    """What a call on a small tensor takes on the first CUDA device, from Python until the next one can begin."""
    import torch
    from cuda.bindings import driver

    from compiler import Graph, TensorType, compile
    from profiler import place

    with Graph("twice", inputs=[TensorType("f32", (16,))]) as graph:
        graph.output(graph.inputs[0] * 2)
    placed = place(compile(graph), "cuda:0")
    x, out = torch.ones(16, device="cuda"), torch.empty(16, device="cuda")
    stream = torch.cuda.current_stream().cuda_stream
    _, module = driver.cuModuleLoadData(NOTHING.encode() + b"\0")
    _, kernel = driver.cuModuleGetFunction(module, b"nothing")
    arguments = ((out.data_ptr(),), (ctypes.c_void_p,))
    calls: dict[str, Callable[[], object]] = {
        "CustomOpLibrary": lambda: library.twice(out, x),
        "place": lambda: placed(x),
        "torch.mul(out=)": lambda: torch.mul(x, 2, out=out),
        "bare launch": lambda: driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, arguments, 0),
    }
    (doubled,) = placed(x)
    library.twice(out, x)
    assert torch.equal(doubled, x * 2) and torch.equal(out, x * 2)
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            torch.cuda.synchronize()
            seconds(call, CARD_CALLS // 10)
            torch.cuda.synchronize()
            found[name].append(seconds(call, CARD_CALLS))  # few enough that the queue of launches never fills
    bare = statistics.median(found["bare launch"])
    for name, times in found.items():
        median = statistics.median(times)
        print(
            f"call on 16 elements on the card  {name:16} {median * 1e6:6.2f} us, "
            f"{(median - bare) * 1e6:5.2f} beyond a launch"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4000)
