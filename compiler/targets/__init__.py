"""Targets by name: `get_target("cpu")`, `get_target("sm_90a")`, `get_target("gfx942")`.

A module of this package that has a `FAMILY` adds its targets; nothing else names them. Importing this package does not
load LLVM; asking for a CPU target (it looks at the host) or a machine does.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from compiler.errors import CompilerError
from compiler.targets.emission import Emission
from compiler.targets.target import Family, Target


@cache
def families() -> tuple[Family, ...]:
    """What the modules of this package offer, in the order in which targets are listed."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    found: list[Family] = [module.FAMILY for module in modules if hasattr(module, "FAMILY")]
    return tuple(sorted(found, key=lambda family: family.order))


def known_targets() -> tuple[str, ...]:
    """Every target name, CPU first."""
    return tuple(name for family in families() for name in family.names)


def get_target(name: str) -> Target:
    """The target called `name`; an unknown name is a CompilerError that lists the known ones."""
    for family in families():
        if family.has(name):
            return family.make(name)
    raise CompilerError(f"unknown target {name!r}; the targets are {' '.join(known_targets())}")


def emission_of(name: str) -> Emission:
    """What the target's family can do, without looking at the host. One that is not known (any more) can do nothing
    that is special: what was compiled for it may still be shown."""
    return next((family.emission for family in families() if family.has(name)), Emission())


def intrinsic_owners() -> dict[str, str]:
    """The architecture of each namespace of intrinsics that only one has: `nvvm` is of `nvptx64`."""
    return dict(pair for family in families() for pair in family.emission.intrinsics)
