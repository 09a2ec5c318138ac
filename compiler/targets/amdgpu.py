"""AMD targets: the CDNA chips (wave64) and RDNA3 (wave32)."""

from __future__ import annotations

from functools import cache

from compiler.targets.target import AddressSpaces, Limits, Target

_LAYOUT = (
    "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-"
    "p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-"
    "n32:64-S32-A5-G1-ni:7:8:9"
)
_SPACES = AddressSpaces(generic=0, global_=1, shared=3, constant=4, private=5, alloca=5)
# name: (wave size, LDS KiB, vector registers a thread may use)
_CHIPS = {
    "gfx90a": (64, 64, 512),
    "gfx942": (64, 64, 512),
    "gfx950": (64, 160, 512),
    "gfx1100": (32, 64, 256),
}
NAMES = tuple(_CHIPS)


@cache
def amdgpu_target(name: str) -> Target:
    """The record of one AMD chip."""
    wave, lds_kib, registers = _CHIPS[name]
    return Target(
        name=name,
        kind="amd",
        arch="amdgcn",
        triple="amdgcn-amd-amdhsa",
        data_layout=_LAYOUT,
        cpu=name,
        features="+wavefrontsize32" if wave == 32 else "",
        simd_bytes=16,
        vector_registers=0,
        warp_size=wave,
        spaces=_SPACES,
        limits=Limits(1024, lds_kib * 1024, 65536 * 2, registers),
        native_f16=True,
        native_bf16=False,
    )
