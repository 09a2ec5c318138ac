"""A new target is one file in compiler/targets: here files are put beside the ones that are there, and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compiler import Graph, TensorType, compile, ops, targets
from compiler.errors import CompilerError
from compiler.model import Model

# A chip of a vendor who has others: its family's emission, its own limits.
CHIP = """
from dataclasses import replace

from compiler.targets import nvptx
from compiler.targets.target import Family

_EMISSION = replace(nvptx.FAMILY.emission, block_limit='"nvvm.maxntid"="{}" "nvvm.minctasm"="2"')


def _made(name):
    return replace(nvptx.nvptx_target("sm_80"), name=name, warp_size=32, emission=_EMISSION)


FAMILY = Family(order=9, names=("glass_1",), emission=_EMISSION, make=_made)
"""
# An architecture that nobody knew: a CPU, described from nothing.
PROCESSOR = """
from functools import cache

from compiler.targets.emission import Emission
from compiler.targets.target import AddressSpaces, Family, Limits, Target, target_machine

_EMISSION = Emission(intrinsics=(("riscv", "riscv64"),))


@cache
def _made(name):
    triple, features = "riscv64-unknown-linux-gnu", "+m,+a,+f,+d,+c"
    return Target(
        name=name, kind="cpu", arch="riscv64", triple=triple,
        data_layout=str(target_machine(triple, "generic-rv64", features, 2).target_data), cpu="generic-rv64",
        features=features, simd_bytes=16, vector_registers=32, warp_size=1, spaces=AddressSpaces(), limits=Limits(),
        emission=_EMISSION, native_f16=False,
    )


FAMILY = Family(order=8, names=("rv64",), emission=_EMISSION, make=_made)
"""

Add = Callable[[str, str], None]


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Add]:
    """Puts a file into the folder of targets, as far as Python can see."""
    monkeypatch.setattr(targets, "__path__", [*targets.__path__, str(tmp_path)])
    names: list[str] = []

    def put(name: str, text: str) -> None:
        (tmp_path / f"{name}.py").write_text(text)
        names.append(name)
        targets.families.cache_clear()

    yield put
    for name in names:
        sys.modules.pop(f"compiler.targets.{name}", None)
        delattr(targets, name)
    targets.families.cache_clear()


def compiled(target: str) -> Model:
    types = [TensorType("f16", ("M", 64)), TensorType("f16", (64, 32)), TensorType("f16", (32,))]
    with Graph("layer", inputs=types) as graph:
        x, w, b = graph.inputs
        graph.output(ops.softmax(ops.relu(x @ w + b), axis=-1))
    return compile(graph, target=target, jobs=1, cache=False)


def test_a_chip_in_a_file_of_its_own(add: Add):
    add("glass", CHIP)
    assert targets.known_targets()[-1] == "glass_1"
    model = compiled("glass_1")
    usual = compiled("sm_80")
    for kernel, other in zip(model.kernels, usual.kernels, strict=True):
        assert f".visible .entry {kernel.name}(" in kernel.ir("ptx") == kernel.ir("asm")
        assert kernel.ir("ptx").replace(".minnctapersm 2\n", "") == other.ir("ptx")
    assert b".minnctapersm 2" in model.device_module(), "what the file says of its kernels is in their code"
    assert {name for unit in model.device_code() for name in unit.kernels} == {k.name for k in model.kernels}


def test_a_processor_in_a_file_of_its_own(add: Add):
    add("risc_v", PROCESSOR)
    assert targets.known_targets()[-1] == "rv64"
    model = compiled("rv64")
    for kernel in model.kernels:
        text = kernel.ir("asm")
        assert f"{kernel.name}:" in text and "fadd.s" in text
        with pytest.raises(CompilerError, match="rv64 has no ptx; its machine stage is asm"):
            kernel.ir("ptx")
    assert all(kernel.unit.object[18:20] == b"\xf3\x00" for kernel in model.kernels), "the objects are RISC-V's"


def test_without_its_file_it_is_unknown():
    for name in ("glass_1", "rv64"):
        with pytest.raises(CompilerError, match=f"unknown target '{name}'"):
            targets.get_target(name)
