"""NVIDIA targets: sm_70 to sm_121, with the `a` variants that unlock one generation's own instructions."""

from __future__ import annotations

from functools import cache

from compiler.targets.emission import Code, Emission, Grid, number_from
from compiler.targets.target import AddressSpaces, Family, Limits, Target

_LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
_SPACES = AddressSpaces(generic=0, global_=1, shared=3, constant=4, private=5, alloca=0)
# The PTX version is what drivers of CUDA 12.3 read, or the first one that knows the chip.
_PTX = {
    "sm_70": 83,
    "sm_72": 83,
    "sm_75": 83,
    "sm_80": 83,
    "sm_86": 83,
    "sm_87": 83,
    "sm_89": 83,
    "sm_90": 83,
    "sm_90a": 83,
    "sm_100": 86,
    "sm_100a": 86,
    "sm_103": 88,
    "sm_103a": 88,
    "sm_120": 87,
    "sm_120a": 87,
    "sm_121": 88,
    "sm_121a": 88,
}
NAMES = tuple(_PTX)
PTX_ENTRIES = r"^\s*\.visible\s+\.entry\s+([\w$.]+)"
"""Finds the kernels in a PTX text."""
MULTIPROCESSORS = {
    70: (64, 32, 96),
    72: (64, 32, 96),
    75: (32, 16, 64),
    80: (64, 32, 164),
    86: (48, 16, 100),
    87: (48, 16, 164),
    89: (48, 24, 100),
    90: (64, 32, 228),
    100: (64, 32, 228),
    103: (64, 32, 228),
    120: (48, 24, 100),
    121: (48, 24, 100),
}
"""By compute capability: (warps, blocks, KiB of shared memory) of one multiprocessor."""


def _by_axis(register: str) -> tuple[Code, ...]:
    return tuple(number_from(f"@llvm.nvvm.read.ptx.sreg.{register}.{axis}") for axis in "xyz")


_EMISSION = Emission(
    grid=Grid(
        thread_id=_by_axis("tid"),
        block_id=_by_axis("ctaid"),
        block_dim=_by_axis("ntid"),
        grid_dim=_by_axis("nctaid"),
        lane_id=number_from("@llvm.nvvm.read.ptx.sreg.laneid"),
        barrier=Code(
            ("  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",),
            (("@llvm.nvvm.barrier.cta.sync.aligned.all", "void", "i32"),),
        ),
    ),
    convention="ptx_kernel",
    block_limit='"nvvm.maxntid"="{}"',
    atomic_order="monotonic",
    # Anything more than directives marks the PTX as a debug build, which ptxas then does not optimise.
    debug="DebugDirectivesOnly",
    intrinsics=(("nvvm", "nvptx64"),),
    in_process=False,
    entries=PTX_ENTRIES,
    assembly="ptx",
    stages=("asm", "ptx", "sass"),
)


@cache
def nvptx_target(name: str) -> Target:
    """The record of one NVIDIA chip."""
    capability = compute_capability(name)
    return Target(
        name=name,
        kind="nvidia",
        arch="nvptx64",
        triple="nvptx64-nvidia-cuda",
        data_layout=_LAYOUT,
        cpu=name,
        features=f"+ptx{_PTX[name]}",
        simd_bytes=16,
        vector_registers=0,
        warp_size=32,
        spaces=_SPACES,
        limits=Limits(1024, MULTIPROCESSORS[capability][2] * 1024 - system_shared(capability)),
        emission=_EMISSION,
        native_f16=True,
        native_bf16=capability >= 80,
        native_f64_to_f16=True,
        generation=capability,
        feature_set=frozenset({f"ptx{_PTX[name]}"}),
    )


def compute_capability(name: str) -> int:
    """`sm_90a` -> 90."""
    return int(name.removeprefix("sm_").rstrip("af"))


def system_shared(capability: int) -> int:
    """Bytes that the system takes of each block's shared memory."""
    return 1024 if capability >= 80 else 0


FAMILY = Family(order=1, names=NAMES, emission=_EMISSION, make=nvptx_target)
