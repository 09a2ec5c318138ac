"""Targets: records that are complete, agree with LLVM, and cost nothing until used."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from compiler.errors import CompilerError
from compiler.language.values.methods import TARGET_FIELDS
from compiler.targets import get_target, known_targets


@pytest.mark.parametrize("name", known_targets())
def test_llvm_knows_every_target_and_agrees_on_its_layout(name):
    target = get_target(name)
    machine = target.machine(2)
    assert target.name == name
    assert str(machine.target_data) == target.data_layout
    assert machine is target.machine(2), "machines are shared"
    assert target.simd(32) * 4 == target.simd_bytes
    assert [TARGET_FIELDS[f"is_{kind}"](target) for kind in ("cpu", "nvidia", "amd")].count(True) == 1
    assert TARGET_FIELDS["is_gpu"](target) == (target.warp_size > 1)


def test_the_host_is_described():
    target = get_target("cpu")
    assert TARGET_FIELDS["is_cpu"](target) and target.cpu and target.features
    assert target.simd_bytes in (16, 32, 64)
    assert target.vector_registers in (16, 32)
    assert target.simd(8) == target.simd_bytes
    assert target.simd(1) == target.simd_bytes, "a bool takes a byte"


def test_gpu_limits():
    hopper = get_target("sm_90a")
    assert (hopper.warp_size, hopper.limits.threads_per_block) == (32, 1024)
    assert hopper.limits.shared_memory_bytes == 227 * 1024
    assert get_target("gfx942").warp_size == 64
    assert get_target("gfx1100").warp_size == 32
    assert hopper.spaces.of(3) == 3 and get_target("cpu").spaces.of(3) == 0


def test_records_are_values():
    target = get_target("sm_80")
    assert target == get_target("sm_80")
    assert hash(target) == hash(get_target("sm_80"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        target.name = "other"  # pyright: ignore[reportAttributeAccessIssue]


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(CompilerError, match=r"unknown target 'sm_35'; the targets are cpu .*sm_90a.*gfx942"):
        get_target("sm_35")


def test_importing_and_asking_for_a_gpu_does_not_load_llvm():
    code = "import sys, compiler.targets as t; t.get_target('sm_90a'); sys.exit('llvmlite' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
