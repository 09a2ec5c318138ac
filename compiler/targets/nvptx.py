"""NVIDIA targets: sm_70 to sm_121, with the `a` variants that unlock one generation's own instructions."""

from __future__ import annotations

from functools import cache

from compiler.errors import UnavailableError
from compiler.targets.emission import Code, Emission, Grid, number_from
from compiler.targets.target import AddressSpaces, Family, Limits, Target

_LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
_SPACES = AddressSpaces(generic=0, global_=1, shared=3, constant=4, private=5, alloca=0)
# By compute capability: PTX version; warps, blocks and KiB of shared memory of one multiprocessor. The version is what
# drivers of CUDA 12.3 read, or the first one that knows the chip.
CHIPS = {
    70: (83, 64, 32, 96),
    72: (83, 64, 32, 96),
    75: (83, 32, 16, 64),
    80: (83, 64, 32, 164),
    86: (83, 48, 16, 100),
    87: (83, 48, 16, 164),
    89: (83, 48, 24, 100),
    90: (83, 64, 32, 228),
    100: (86, 64, 32, 228),
    103: (88, 64, 32, 228),
    120: (87, 48, 24, 100),
    121: (88, 48, 24, 100),
}
NAMES = tuple(f"sm_{chip}{variant}" for chip in CHIPS for variant in ("", "a") if chip >= 90 or not variant)
PTX_ENTRIES = r"^\s*\.visible\s+\.entry\s+([\w$.]+)"
"""Finds the kernels in a PTX text."""
# ptxas of CUDA 13.0 adds zero in place of a constant to two halves of which only one is used afterwards; that of 13.4
# does not. In one line, so that lines stay where line tables say they are.
_HALVES = (
    r"^([ \t]*)add\.[su]16x2[ \t]+(%\w+), (%\w+), (%\w+);$",
    r"\1{ .reg .b16 a, b, c, d; mov.b32 {a, b}, \3; mov.b32 {c, d}, \4; add.s16 a, a, c; add.s16 b, b, d; "
    r"mov.b32 \2, {a, b}; }",
)
_CLUSTER = 8  # blocks that every chip with clusters runs as one
_BARRIER = "@llvm.nvvm.barrier.cta.sync.aligned.all"


def _by_axis(register: str) -> tuple[Code, ...]:
    return tuple(number_from(f"@llvm.nvvm.read.ptx.sreg.{register}.{axis}") for axis in "xyz")


_EMISSION = Emission(
    grid=Grid(
        thread_id=_by_axis("tid"),
        block_id=_by_axis("ctaid"),
        block_dim=_by_axis("ntid"),
        grid_dim=_by_axis("nctaid"),
        barrier=Code(f"  call void {_BARRIER}(i32 0)", ((_BARRIER, "void", "i32"),)),
    ),
    convention="ptx_kernel",
    block_limit='"nvvm.maxntid"="{}"',
    blocks_at_once='"nvvm.minctasm"="{}"',
    cluster='"nvvm.cluster_dim"="{}"',
    atomic_order="monotonic",
    # Anything more than directives marks the PTX as a debug build, which ptxas then does not optimise.
    debug="DebugDirectivesOnly",
    intrinsics=(("nvvm", "nvptx64"),),
    # Level 3 looks in more places for values that are there already, of which kernels have none left: it takes up to a
    # tenth longer, and the text is the same or longer.
    most_level=2,
    rewritten=(_HALVES,),
    in_process=False,
    entries=PTX_ENTRIES,
    assembly="ptx",
    stages=("asm", "ptx", "sass"),
)


@cache
def nvptx_target(name: str) -> Target:
    """The record of one NVIDIA chip."""
    capability = compute_capability(name)
    ptx, _, _, shared_kib = CHIPS[capability]
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
        limits=Limits(1024, shared_kib * 1024 - system_shared(capability), _CLUSTER if capability >= 90 else 1),
        emission=_EMISSION,
        native_f16=True,
        native_bf16=capability >= 80,
        native_f64_to_f16=True,
        generation=capability,
        feature_set=frozenset({f"ptx{ptx}"}),
    )


def compute_capability(name: str) -> int:
    """`sm_90a` -> 90."""
    return int(name.removeprefix("sm_").rstrip("af"))


def best_target(chip: str) -> str:
    """The target that unlocks all of a chip, which is known by its plain name: with the `a` where there is one."""
    if f"{chip}a" in NAMES:
        return f"{chip}a"
    capability = compute_capability(chip)
    known = [older for older in CHIPS if older <= capability]
    if not known:
        raise UnavailableError(f"{chip} is older than every chip this compiler knows")
    return f"sm_{max(known)}"


def runs_on(target: str, chip: str) -> bool:
    """Whether PTX for `target` loads on a chip: `a` variants on their own chip alone, others on later ones too."""
    if not target.startswith("sm_"):
        return False
    wanted, capability = compute_capability(target), compute_capability(chip)
    return capability == wanted if target.endswith("a") else capability >= wanted


def system_shared(capability: int) -> int:
    """Bytes that the system takes of each block's shared memory."""
    return 1024 if capability >= 80 else 0


FAMILY = Family(order=1, names=NAMES, emission=_EMISSION, make=nvptx_target)
