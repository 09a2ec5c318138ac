"""A compilation as plain frozen records: what the child process sends and what every view reads.

Passes and fusion decisions are the records that a store keeps, so that a stored compilation reads as a fresh one does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from compiler.options import COMMON_STAGES, MODEL_STAGES, STAGE_TABLE, CompileOptions
from compiler.targets import emission_of
from compiler.trace import PassRecord
from profiler.records import Decision

Nodes = tuple[str, ...]

STAGE_TITLES = {stage.name: stage.title for stage in STAGE_TABLE.values() if stage.text and not stage.same_as}
STAGES = tuple(STAGE_TITLES)
LIBRARY, MODEL_SOURCE = "library", "python"
READ_STAGES = {MODEL_SOURCE: "Model source", LIBRARY: "Kernel library"}
"""What panes show besides the stages: the texts that were written, which everything else was made of."""
EDITED_LIBRARY = "edited-library"
"""The folder of packages with edited files of the kernel library."""
EDITABLE = (*READ_STAGES, "source")
"""What can be edited and compiled in place."""
PANE_STAGES = (*READ_STAGES, *STAGES)
WHOLE_STAGES = (*MODEL_STAGES, MODEL_SOURCE)
"""Those that are of the whole model, and of no kernel."""
KERNEL_STAGES = ("source", *COMMON_STAGES)


def stage_title(stage: str, target: str = "cpu") -> str:
    """What a stage is called: the machine's text has a name of its own on each kind of target."""
    if stage == "asm" and (name := emission_of(target).assembly) != "asm":
        return name.upper()
    return READ_STAGES.get(stage) or STAGE_TITLES[stage]


def language_of(stage: str, target: str = "cpu") -> str:
    """How a stage's text is coloured and folded."""
    if stage in READ_STAGES:
        return "python"
    known = emission_of(target).assembly if stage == "asm" else stage
    return STAGE_TABLE[known if known in STAGE_TABLE else stage].language


@dataclass(frozen=True)
class NodeRecord:
    """One value-producing thing of the graph; `number` is what gutters show, `call` is its fusion group or -1."""

    name: str
    number: int
    op: str
    kind: str
    dtype: str
    shape: str
    attributes: str
    operands: Nodes
    call: int = -1
    role: str = ""
    bytes: int = 0
    flops: int = 0
    module: str = ""  # of the model it was imported from, as `encoder/layer.0/attention`


@dataclass(frozen=True)
class CallRecord:
    """One kernel launch: a fusion group."""

    index: int
    kernel: str
    nodes: Nodes
    bytes: int = 0
    flops: int = 0
    asks: tuple[tuple[str, str], ...] = ()  # of the device, and what the kernel chose: what, and in words


@dataclass(frozen=True)
class KernelRecord:
    """One kernel and its generated source."""

    name: str
    nodes: Nodes
    source: str
    calls: int


@dataclass(frozen=True)
class MemoryBlock:
    """A buffer of the memory plan: where it lies and from which call to which it lives."""

    name: str
    offset: int
    size: int
    first: int
    last: int
    nodes: Nodes = ()


@dataclass(frozen=True)
class LineText:
    """A text and the provenance of its lines: `line_sets` is int32, one a line, into `sets` (0 is always empty).

    `line_places` are two int32 a line: the file that its source line is in, into `files` (0 is none), and that line.
    `line_library` is the same of the line of the kernel library that it was made for, where the two differ.
    `kernel` is whose text it is, where that is another kernel than was asked for.
    """

    text: bytes
    sets: tuple[Nodes, ...] = ((),)
    line_sets: bytes = b""
    files: tuple[str, ...] = ("",)
    line_places: bytes = b""
    line_library: bytes = b""
    kernel: str = ""


@dataclass(frozen=True)
class Compilation:
    """Everything a compilation left behind except the stage texts, which are made on demand."""

    source: str
    path: str
    name: str
    choices: CompileOptions
    dims: tuple[tuple[str, int], ...]
    nodes: tuple[NodeRecord, ...]
    calls: tuple[CallRecord, ...]
    kernels: tuple[KernelRecord, ...]
    passes: tuple[PassRecord, ...]
    ledger: tuple[Decision, ...]
    blocks: tuple[MemoryBlock, ...] = ()
    peak: int = 0
    plan_note: str = ""
    unsized: Nodes = ()  # dims that neither the graph nor the source gives a size
    seconds: float = 0.0
    library: tuple[str, ...] = ()  # the files of the kernel library
    elapsed: float = 0.0  # from its beginning to its end, with the modules that were loaded on the way
    imports: tuple[tuple[float, float], ...] = ()  # (start, seconds) of those, where known
    tuned: tuple[tuple[str, str], ...] = ()  # kernels that are as they were tuned, and how

    @property
    def label(self) -> str:
        """How it was compiled, as a short line for tabs and reports."""
        chosen = self.choices
        edits = len(chosen.force_cut) + len(chosen.force_fuse) + len(chosen.sources)
        edits += sum(f"/{EDITED_LIBRARY}/" in file for file in self.library)
        return f"{chosen.target} {chosen.flow} -O{chosen.opt_level}" + (f" +{edits} edits" if edits else "")

    @cached_property
    def node_table(self) -> dict[str, NodeRecord]:
        """Nodes by name."""
        return {node.name: node for node in self.nodes}

    @cached_property
    def kernel_table(self) -> dict[str, KernelRecord]:
        """Kernels by name."""
        return {kernel.name: kernel for kernel in self.kernels}

    def number(self, node: str) -> int:
        """The number a node carries in every gutter; 0 for a name this graph does not have."""
        record = self.node_table.get(node)
        return record.number if record else 0

    def kernels_of(self, nodes: frozenset[str]) -> list[str]:
        """The kernels that compute any of these nodes, in order."""
        found = {self.calls[r.call].kernel for n in nodes if (r := self.node_table.get(n)) and r.call >= 0}
        return [kernel.name for kernel in self.kernels if kernel.name in found]


__all__ = [
    "EDITABLE", "EDITED_LIBRARY", "KERNEL_STAGES", "LIBRARY", "MODEL_SOURCE", "MODEL_STAGES", "PANE_STAGES",
    "READ_STAGES", "STAGES", "STAGE_TITLES", "WHOLE_STAGES", "CallRecord", "Compilation", "Decision", "KernelRecord",
    "LineText", "MemoryBlock", "NodeRecord", "Nodes", "language_of", "stage_title",
]  # fmt: skip
