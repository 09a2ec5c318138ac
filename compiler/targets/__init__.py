"""Targets by name: `get_target("cpu")`, `get_target("sm_90a")`, `get_target("gfx942")`.

Importing this package does not load LLVM; asking for a CPU target (it looks at the host) or a machine does.
"""

from __future__ import annotations

from compiler.errors import CompilerError
from compiler.targets import amdgpu, cpu, nvptx
from compiler.targets.target import AddressSpaces, Limits, Target

__all__ = ["AddressSpaces", "Limits", "Target", "get_target", "known_targets"]


def known_targets() -> tuple[str, ...]:
    """Every target name, CPU first."""
    return (*cpu.NAMES, *nvptx.NAMES, *amdgpu.NAMES)


def get_target(name: str) -> Target:
    """The target called `name`; an unknown name is a CompilerError that lists the known ones."""
    if name in cpu.NAMES:
        return cpu.cpu_target(name)
    if name in nvptx.NAMES:
        return nvptx.nvptx_target(name)
    if name in amdgpu.NAMES:
        return amdgpu.amdgpu_target(name)
    raise CompilerError(f"unknown target {name!r}; the targets are {' '.join(known_targets())}")
