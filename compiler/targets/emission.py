"""What a family of processors can do, where kernels are lowered, emitted and loaded: nobody asks which family it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Code:
    """Lines of LLVM IR, in which `%it` is what they make and `!empty` the empty node.

    `calls` are the functions in them: (symbol, result type, types of the parameters).
    """

    text: str
    calls: tuple[tuple[str, str, str], ...]


def number_from(intrinsic: str) -> Code:
    """An i32 from an intrinsic, as an index."""
    text = f"  %it.i32 = call i32 {intrinsic}()\n  %it = zext nneg i32 %it.i32 to i64"
    return Code(text, ((intrinsic, "i32", ""),))


@dataclass(frozen=True)
class Grid:
    """How a thread of a grid of blocks finds its place (one code for each axis), and how those of a block meet."""

    thread_id: tuple[Code, ...]
    block_id: tuple[Code, ...]
    block_dim: tuple[Code, ...]
    grid_dim: tuple[Code, ...]
    barrier: Code


@dataclass(frozen=True)
class Emission:
    """How code for a target is written, made and loaded. The fields as they stand are a CPU's."""

    grid: Grid | None = None
    """None where threads enter a kernel with arguments that say which they are."""
    convention: str = ""
    """LLVM's calling convention of a kernel."""
    block_limit: str = ""
    """The function attribute that promises how many threads a block has at most; `{}` stands for the number."""
    blocks_at_once: str = ""
    """The one that asks for registers for so many blocks on a multiprocessor at once, where there is such a thing."""
    cluster: str = ""
    """The one that says of how many blocks a cluster is."""
    atomic_order: str = "acq_rel"
    debug: str = "LineTablesOnly"
    """LLVM's emission kind of line tables."""
    intrinsics: tuple[tuple[str, str], ...] = ()
    """(namespace, architecture) of the intrinsics that only its architectures have."""
    least_level: int = 0
    """The lowest optimisation level that LLVM's back end works at."""
    most_level: int = 3
    """The highest at which it finds more than below."""
    short_pipeline: bool = True
    """The few passes that kernels need are enough; otherwise LLVM's own pipeline runs."""
    short_loops: str = ""
    """The attribute of functions with loops that LLVM's unroller shall look at; "" where it looks at all of them."""
    rewritten: tuple[tuple[str, str], ...] = ()
    """What the device's own assembler gets wrong: regular expressions for lines of the text that LLVM emits, and what
    stands there instead."""
    in_process: bool = True
    """Objects are loaded into this process and linked there by name; otherwise each is complete, and is device code."""
    entries: str = ""
    """For code that is text: the regular expression that finds the kernels in it. Empty where code is an ELF object."""
    descriptor: str = ""
    """For device code in ELF objects: what the symbol of a kernel's descriptor has behind the kernel's name."""
    assembly: str = "asm"
    """What its assembly text is called."""
    stages: tuple[str, ...] = ("asm",)
    """The machine stages that its kernels have."""

    @property
    def emits_text(self) -> bool:
        """Whether what LLVM makes, and a device loads, is the assembly text itself."""
        return bool(self.entries)
