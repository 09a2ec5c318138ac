"""AMD targets: the CDNA chips (wave64) and RDNA3 (wave32)."""

from __future__ import annotations

from functools import cache

from compiler.targets.emission import Code, Emission, Grid, number_from
from compiler.targets.target import AddressSpaces, Family, Limits, Target

_LAYOUT = (
    "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-"
    "p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-"
    "n32:64-S32-A5-G1-ni:7:8:9"
)
_SPACES = AddressSpaces(generic=0, global_=1, shared=3, constant=4, private=5, alloca=5)
# name: (wave size, LDS KiB)
_CHIPS = {
    "gfx90a": (64, 64),
    "gfx942": (64, 64),
    "gfx950": (64, 160),
    "gfx1100": (32, 64),
}
# Sizes are in the dispatch packet: block sizes as u16 at byte 4, grid sizes (in threads) as u32 at byte 12.
_BLOCK_DIM = """\
  %it.packet = call ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
  %it.at = getelementptr inbounds i8, ptr addrspace(4) %it.packet, i64 {at}
  %it.u16 = load i16, ptr addrspace(4) %it.at, align 2, !invariant.load !empty
  {result} = zext i16 %it.u16 to i64"""
_GRID_DIM = """
  %it.at2 = getelementptr inbounds i8, ptr addrspace(4) %it.packet, i64 {at}
  %it.u32 = load i32, ptr addrspace(4) %it.at2, align 4, !invariant.load !empty
  %it.threads = zext i32 %it.u32 to i64
  %it = udiv i64 %it.threads, %it.block"""
_PACKET = (("@llvm.amdgcn.dispatch.ptr", "ptr addrspace(4)", ""),)
_BARRIER = """\
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire"""


def _by_axis(place: str) -> tuple[Code, ...]:
    return tuple(number_from(f"@llvm.amdgcn.{place}.{axis}") for axis in "xyz")


def _block_dim(axis: int, result: str = "%it") -> str:
    return _BLOCK_DIM.format(at=4 + 2 * axis, result=result)


def _grid_dim(axis: int) -> str:
    return _block_dim(axis, "%it.block") + _GRID_DIM.format(at=12 + 4 * axis)


_EMISSION = Emission(
    grid=Grid(
        thread_id=_by_axis("workitem.id"),
        block_id=_by_axis("workgroup.id"),
        block_dim=tuple(Code(_block_dim(axis), _PACKET) for axis in range(3)),
        grid_dim=tuple(Code(_grid_dim(axis), _PACKET) for axis in range(3)),
        barrier=Code(_BARRIER, (("@llvm.amdgcn.s.barrier", "void", ""),)),
    ),
    convention="amdgpu_kernel",
    block_limit='"amdgpu-flat-work-group-size"="1,{}"',
    atomic_order='syncscope("agent") monotonic',
    intrinsics=(("amdgcn", "amdgcn"),),
    # LLVM's AMDGPU back end aborts on some 8-bit divisions at level 0: a pass it needs for them does not run there.
    least_level=1,
    short_pipeline=False,  # its address spaces are inferred by LLVM's own
    in_process=False,
    descriptor=".kd",
    assembly="amdgcn",
)


@cache
def amdgpu_target(name: str) -> Target:
    """The record of one AMD chip."""
    wave, lds_kib = _CHIPS[name]
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
        limits=Limits(1024, lds_kib * 1024),
        emission=_EMISSION,
        native_f16=True,
        native_bf16=False,
    )


FAMILY = Family(order=2, names=tuple(_CHIPS), emission=_EMISSION, make=amdgpu_target)
