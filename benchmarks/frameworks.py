"""Kernelglass inside PyTorch, beside PyTorch: grayscale against torch.compile, and what a call on a small tensor takes.

python benchmarks/frameworks.py [SIZE]. Both sides take turns in one process; figures are medians, and the ratio is that
of the medians with the smallest and largest of the rounds.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

KERNELS = """from kernels.language import *


@elementwise("gray")
def gray(red, green, blue):
    return roundeven(red.cast(f32) * 0.299 + green.cast(f32) * 0.587 + blue.cast(f32) * 0.114).cast(u8)


@elementwise("twice")
def twice(x):
    return x * 2
"""
ROUNDS, SMALL_CALLS = 15, 3000


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


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4000)
