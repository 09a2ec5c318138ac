"""A kernel in the library, before and after elaboration, as plain records: whoever lists, keeps or launches kernels
needs nothing else."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from compiler.graph.dims import Dim
from compiler.options import ChoiceValue


@dataclass(frozen=True)
class KernelSource:
    """A kernel to elaborate: generated (or edited) source, and the graph slots behind each of its lines."""

    name: str
    text: str
    line_slots: tuple[tuple[int, ...], ...] = ()
    file: str = ""
    symbols: tuple[str, ...] = ()  # sizes it is given besides those its tensors' shapes name
    outputs: int | None = None  # how many of its tensors, the first ones, it stores to; None: nobody said


@dataclass(frozen=True)
class BufferArgument:
    """A tensor argument of a kernel."""

    name: str
    dtype: str
    shape: tuple[int | Dim, ...]


@dataclass(frozen=True)
class Launch:
    """The grid a GPU kernel asks for."""

    blocks: tuple[int | Dim, ...]
    threads: int
    shared: int = 0  # bytes of shared memory that the launch sets aside for each block
    resident: bool = False  # no more blocks than the device runs at once: each takes several shares of the work
    together: bool = False  # all blocks run at once, so that they may wait for each other
    per_processor: int = 0  # blocks that a multiprocessor shall have registers for at once; 0: the compiler's choice
    cluster: int = 1  # blocks, side by side in the grid, that run at once and reach each other's shared memory


@dataclass(frozen=True)
class TensorMap:
    """A tensor as the copy engine is told of it; the launcher writes it into a workspace of the kernel.

    Sizes and strides (in elements) are of the axes that are not repeated, the contiguous one last.
    """

    workspace: int
    argument: int
    shape: tuple[int | Dim, ...]
    strides: tuple[int | Dim, ...]
    offset: int | Dim
    box: tuple[int, ...]


@dataclass(frozen=True)
class Choice:
    """Something a kernel leaves to choose: what it would take by itself, what was taken, and all that will do."""

    name: str
    default: ChoiceValue
    taken: ChoiceValue
    candidates: tuple[ChoiceValue, ...]


@dataclass(frozen=True)
class ElaboratedKernel:
    """What elaboration found out about a kernel besides its code."""

    name: str
    arguments: tuple[BufferArgument, ...]
    workspaces: tuple[BufferArgument, ...]
    symbols: tuple[str, ...]
    provenance: tuple[tuple[int, ...], ...]  # provenance id -> slots; id 0 is no slot at all
    launch: Launch | None
    maps: tuple[TensorMap, ...] = ()
    choices: tuple[Choice, ...] = ()


@dataclass(frozen=True)
class KernelEntry:
    """One definition that is registered for an op."""

    op: str
    kind: str
    name: str
    inputs: tuple[str, ...]
    """The names of its operands."""
    variadic: bool
    outputs: int
    parameters: tuple[str, ...]
    """The compile-time parameters; those with a default end in `=`."""
    fused_inputs: tuple[str, ...]
    """The operands that others may be fused into."""
    fused_output: bool
    only: tuple[tuple[str, str | int], ...]
    """The dtype, rank and target it is for alone."""
    overloads: int
    """How many definitions there are for the op."""
    file: str
    line: int
    description: str
    own: bool = False
    """Whether it is of the user's folders."""

    @property
    def fuses(self) -> str:
        """What may be fused into it and out of it, in words."""
        if self.kind == "opaque":
            return ""  # a type, which whole kernels work on
        if self.kind in ("elementwise", "view", "pointwise"):
            return "into anything"
        parts = []
        if self.fused_inputs:
            parts.append("before " + ", ".join(self.fused_inputs))
        if self.fused_output:
            parts.append("after it")
        return " and ".join(parts) or "nothing"

    @property
    def row(self) -> dict[str, str]:
        """What is told by several words, each as a table shows it."""
        return {
            "inputs": ", ".join(self.inputs) + (", ..." if self.variadic else ""),
            "parameters": ", ".join(self.parameters),
            "only for": ", ".join(f"{key} {value}" for key, value in self.only),
        }

    @property
    def where(self) -> str:
        """File and line, without the folder."""
        return f"{self.file.replace(chr(92), '/').rsplit('/', 1)[-1]}:{self.line}"

    def document(self) -> dict[str, Any]:
        """The record as plain values."""
        plain = {name: value for name, value in asdict(self).items() if name != "own"}
        return plain | {"only": dict(self.only), "fuses": self.fuses}
