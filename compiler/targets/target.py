"""What a target is: one frozen record for every CPU and GPU the compiler can emit code for.

Nothing here touches LLVM until `machine()` is called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from compiler.targets.emission import Emission

if TYPE_CHECKING:
    from llvmlite.binding import TargetMachine


@dataclass(frozen=True)
class AddressSpaces:
    """LLVM address-space numbers of the five memory spaces; on a CPU they are all 0."""

    generic: int = 0
    global_: int = 0
    shared: int = 0
    constant: int = 0
    private: int = 0
    alloca: int = 0
    """Where LLVM's `alloca` puts its memory."""

    def of(self, memory_space: int) -> int:
        """LLVM's number for a memref memory space (0 generic, 1 global, 3 shared, 4 constant, 5 private)."""
        return {0: self.generic, 1: self.global_, 3: self.shared, 4: self.constant, 5: self.private}[memory_space]


@dataclass(frozen=True)
class Limits:
    """What one block of threads (GPU) may use; 0 where the notion does not exist."""

    threads_per_block: int = 0
    shared_memory_bytes: int = 0
    blocks_per_cluster: int = 1


@dataclass(frozen=True)
class Target:
    """One place to run: how LLVM names it and what the kernel library may count on."""

    name: str
    kind: str
    """"cpu", "nvidia" or "amd": what kernels may ask for, with `target.is_nvidia` and the like."""
    arch: str
    """LLVM's architecture: "aarch64", "x86_64", "nvptx64", "amdgcn"."""
    triple: str
    data_layout: str
    cpu: str
    features: str
    simd_bytes: int
    vector_registers: int
    warp_size: int
    spaces: AddressSpaces
    limits: Limits
    emission: Emission
    native_f16: bool = True
    """f16 <-> f32 are instructions; otherwise the emitter writes them with integer operations."""
    native_f16_fma: bool = True
    """a * b + c of f16 is rounded once by instructions; otherwise LLVM would call a function for each number."""
    native_bf16: bool = False
    """f32 -> bf16 is an instruction that rounds to nearest even and keeps subnormals."""
    native_f64_to_f16: bool = False
    """f64 -> f16 is an instruction that rounds once."""
    native_saturation: bool = True
    """A vector of floats becomes integers by instructions that saturate; otherwise LLVM would do it lane by lane."""
    generation: int = 0
    """The number by which kernels tell the chips of one vendor apart; 0 where they do not."""
    feature_set: frozenset[str] = field(default=frozenset(), compare=False)
    """Names of the features that are on, without their `+`."""

    @property
    def portable_name(self) -> str:
        """A name that means this target on every machine; `cpu` alone means the machine that hears it."""
        return f"cpu:{self.triple}:{self.cpu}:{self.features}" if self.name == "cpu" else self.name

    def simd(self, dtype_bits: int) -> int:
        """How many elements of `dtype_bits` one vector register (CPU) or one widest access (GPU) holds; at least 1."""
        return max(self.simd_bytes * 8 // max(dtype_bits, 8), 1)

    def machine(self, opt_level: int = 2) -> TargetMachine:
        """LLVM's machine for this target: made on first use, then shared by the whole process."""
        level = min(max(opt_level, self.emission.least_level), self.emission.most_level)
        return target_machine(self.triple, self.cpu, self.features, level)


@dataclass(frozen=True)
class Family:
    """The targets that one module of this package describes, which emit code alike."""

    order: int
    """Where its targets stand in a listing."""
    names: tuple[str, ...]
    emission: Emission
    make: Callable[[str], Target]
    described: str = ""
    """How names begin that describe a target, beside those that are listed."""

    def has(self, name: str) -> bool:
        """Whether a name is of this family."""
        return name in self.names or (bool(self.described) and name.startswith(self.described))


@cache
def target_machine(triple: str, cpu: str, features: str, opt_level: int) -> TargetMachine:
    """Create (once) the llvmlite TargetMachine; initialises LLVM's back ends on the first call."""
    import llvmlite.binding as llvm

    _initialise(triple)
    # PIC + small: what JITLink loads anywhere in memory, calls between objects go through its own stubs.
    machine = llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=opt_level, reloc="pic", codemodel="small"
    )
    machine.set_asm_verbosity(False)
    return machine


@cache
def _initialise_all() -> None:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


@cache
def _initialise_native() -> None:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()  # inline assembly in kernels
    # The library unrolls its own loops. LLVM's unroller keeps to short loops of constant length and to those that ask
    # for it; left to itself it unrolls every loop a second time, which doubles the time of all that comes after.
    # Four turns are what indexing a register tile comes to; rows of sixteen vectors cost three times as much to emit as
    # they do in a loop and run no faster.
    for option in ("-unroll-runtime=false", "-unroll-allow-partial=false", "-unroll-full-max-count=4"):
        llvm.set_option("kernelglass", option)


def _initialise(triple: str) -> None:
    import llvmlite.binding as llvm

    _initialise_native()
    if triple.split("-")[0] != llvm.get_process_triple().split("-")[0]:
        _initialise_all()
