"""NVIDIA targets: sm_70 to sm_121, with the `a` variants that unlock one generation's own instructions."""

from __future__ import annotations

from functools import cache

from compiler.targets.target import AddressSpaces, Limits, Target

_LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
_SPACES = AddressSpaces(generic=0, global_=1, shared=3, constant=4, private=5, alloca=0)
# name: (PTX version, shared memory a block may ask for, in KiB). The PTX version is what drivers of CUDA 12.3 read,
# or the first one that knows the chip.
_CHIPS = {
    "sm_70": (83, 96),
    "sm_72": (83, 96),
    "sm_75": (83, 64),
    "sm_80": (83, 163),
    "sm_86": (83, 99),
    "sm_87": (83, 163),
    "sm_89": (83, 99),
    "sm_90": (83, 227),
    "sm_90a": (83, 227),
    "sm_100": (86, 227),
    "sm_100a": (86, 227),
    "sm_103": (88, 227),
    "sm_103a": (88, 227),
    "sm_120": (87, 99),
    "sm_120a": (87, 99),
    "sm_121": (88, 99),
    "sm_121a": (88, 99),
}
NAMES = tuple(_CHIPS)


@cache
def nvptx_target(name: str) -> Target:
    """The record of one NVIDIA chip."""
    ptx, shared_kib = _CHIPS[name]
    return Target(
        name=name,
        kind="nvidia",
        arch="nvptx64",
        triple="nvptx64-nvidia-cuda",
        data_layout=_LAYOUT,
        cpu=name,
        features=f"+ptx{ptx}",
        simd_bytes=16,
        vector_registers=0,
        warp_size=32,
        spaces=_SPACES,
        limits=Limits(1024, shared_kib * 1024, 65536, 255),
        native_f16=True,
        native_bf16=compute_capability(name) >= 80,
        feature_set=frozenset({f"ptx{ptx}"}),
    )


def compute_capability(name: str) -> int:
    """`sm_90a` -> 90."""
    return int(name.removeprefix("sm_").rstrip("af"))
