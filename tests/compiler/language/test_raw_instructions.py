"""The low-level door: raw intrinsics and assembly, and what is wrong with them at the line where it stands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from compiler import Graph, TensorType, compile, load_library, ops
from compiler.errors import KernelError


def compiled(tmp_path: Path, line: str, target: str = "cpu") -> None:
    (tmp_path / "k.py").write_text(
        '@kernel("raw")\ndef raw(out: FusedOutput, x: FusedInput):\n'
        f"    for i in range(*split(out.shape[0])):\n        out[i] = {line}\n"
    )
    graph = Graph("raw", [TensorType("f32", (8,))])
    with graph:
        graph.output(ops.custom("raw", [graph.inputs[0]], TensorType("f32", (8,))))
    model = compile(graph, library=load_library(tmp_path), target=target, cache=False)
    if target == "cpu":
        np.testing.assert_array_equal(model.execute(np.full(8, 4, np.float32))[0], 2)


def test_an_intrinsic_is_called(tmp_path: Path) -> None:
    compiled(tmp_path, 'intrinsic("llvm.sqrt.f32", f32, 1, x[i])')


@pytest.mark.parametrize("target", ["cpu", "sm_80"])
def test_an_unknown_intrinsic_is_told_at_its_line(tmp_path: Path, target: str) -> None:
    with pytest.raises(KernelError, match=r"k\.py:4:\d+: LLVM has no intrinsic llvm\.squirt\.f32"):
        compiled(tmp_path, 'intrinsic("llvm.squirt.f32", f32, 1, x[i])', target)


@pytest.mark.parametrize(
    ("constraints", "words"),
    [
        ("=w,w,w", "has 2 inputs, and 1 are given"),
        ("w", "has 0 outputs, and 1 results are asked for"),
        ("=w,=w,w", "has 2 outputs, and 1 results"),
        ("=zz,w", "'=zz' is no constraint"),
        ("=w,w,~memory", "'~memory' is no constraint"),
    ],
)
def test_wrong_constraints_are_told_at_their_line(tmp_path: Path, constraints: str, words: str) -> None:
    with pytest.raises(KernelError, match=rf"k\.py:4:\d+: .*{words}"):
        compiled(tmp_path, f'asm("nop", "{constraints}", f32, 1, x[i])')
