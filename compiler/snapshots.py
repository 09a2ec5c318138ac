"""The IR after every pass that changed it: the compiler's own passes, and LLVM's.

`snapshots_of` makes them on demand for one kernel of a compiled model, so that compiling pays nothing for them; it
changes nothing in the model and may run in any thread or process. A compilation with `CompileOptions.snapshots` keeps
those of all its modules as they were really compiled (`SnapshotTrace`). Both have LLVM's passes run again, by a process
of its own (`backend/llvm_steps.py`), so the code that is made is the same with and without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compiler.dialects.printing import print_module
from compiler.pipeline import elaborate, kernel_passes
from compiler.trace import LLVM_PASS, PassRecord, Span, Trace, count_operations

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from compiler.backend.llvm_steps import LlvmStep
    from compiler.model import Model
    from compiler.targets.target import Target

KERNEL, LLVM = "kernel", "llvm"


@dataclass(frozen=True)
class Snapshot:
    """The IR after one pass that changed it.

    The first snapshot of each stage is what its passes start from: it took no time and its sizes before and after are
    equal. Operations are MLIR operations in the stage `kernel`, instructions in `llvm`.
    """

    stage: str
    """`kernel` (MLIR, the compiler's own passes), `llvm` (LLVM IR, LLVM's passes), or `mo` (the graph's passes)."""
    name: str
    """The pass: `mem2reg`, `InstCombinePass`; of a stage's first snapshot what made it: `elaborate`, `emit-llvm`."""
    scope: str
    """What the pass ran on: a function's name, `loop %header in function NAME`, or `module`."""
    seconds: float
    """What this run of the pass took; LLVM tells it in steps of 0.1 ms."""
    ops_before: int
    ops_after: int
    bytes_before: int
    bytes_after: int
    text: str
    """The whole module after the pass; snapshots with equal texts share one string."""
    provenance: tuple[int, ...] = ()
    """The provenance id of each line of an MLIR text; of LLVM IR its own debug locations tell."""


def snapshots_of(model: Model, kernel: str) -> tuple[Snapshot, ...]:
    """Every step that changed the IR of `kernel`, in the order they ran: first `kernel` snapshots, then `llvm` ones.

    The kernel goes through elaboration and kernel passes alone, as in `Kernel.ir`: the first `kernel` snapshot is
    `ir("kgen")` and the last one `ir("kernel")`. The first `llvm` snapshot is `ir("llvm")` as LLVM prints it, the last
    one what LLVM optimised it to. Raises CompilerError for a name that is no kernel of the model.
    """
    from compiler.lowering.llvm_text import emit_module

    fused, options, target = model.kernel(kernel).fused, model.options, model.target
    trace = SnapshotTrace()
    elaborated = elaborate([fused], model.library, target, trace)
    trace.start(kernel, elaborated.module)
    lowered = kernel_passes(elaborated, {kernel: fused}, target, trace, options.opt_level)
    text = emit_module(lowered.module, target, options.debug).text  # type: ignore[arg-type]
    trace.watch_llvm([(kernel, text)], target, options.opt_level)
    return tuple(trace.snapshots[kernel])


@dataclass
class SnapshotTrace(Trace):
    """A trace that also keeps the IR after each kernel pass and each LLVM pass that changed something.

    `snapshots` has them by module: a kernel's or shared function's name, and "" for the graph and for the module of all
    kernels. Graph passes are there in the stage `mo`.
    """

    _texts: dict[str, str] = field(default_factory=dict)
    _last: dict[str, Snapshot] = field(default_factory=dict)

    def start(self, kernel: str, module: Operation, stage: str = KERNEL) -> None:
        """Keep what the passes of a stage start from."""
        self._last.pop(kernel, None)
        made_by = "elaborate" if stage == KERNEL else "copy"
        self._keep(kernel, stage, made_by, "module", 0.0, count_operations(module), *_printed(module, stage))

    def add(self, name: str, stage: str, kernel: str, start: float, seconds: float, span: Span | None = None) -> None:
        """Keep the record; a pass that left its module has the module's text compared and counted."""
        if span is not None and span.module is not None:
            before = self._last.get(kernel)
            if before is None or span.changed is not False:  # printing takes longer than any pass
                text, lines = _printed(span.module, stage)
                span.changed = before is None or before.text != text
                if span.changed:
                    self._keep(kernel, stage, name, "module", seconds, count_operations(span.module), text, lines)
            span.bytes_before = -1 if before is None else before.bytes_after
            span.bytes_after = self._last[kernel].bytes_after
        super().add(name, stage, kernel, start, seconds, span)

    def watch_llvm(self, modules: Sequence[tuple[str, str]], target: Target, opt_level: int) -> None:
        """What LLVM's passes do to modules (name, LLVM IR); with a record for each run of each pass."""
        from compiler.backend.llvm_steps import llvm_steps

        watched = llvm_steps([text for _, text in modules], target, opt_level)
        for (name, _), steps in zip(modules, watched, strict=True):
            self._add_steps(name, steps)

    def _add_steps(self, kernel: str, steps: Sequence[LlvmStep]) -> None:
        from compiler.backend.llvm_steps import START, count_instructions

        self._last.pop(kernel, None)
        at = 0.0
        for step in steps:
            before = self._last.get(kernel)
            if step.name == START or (step.changed and step.text):
                count, name = count_instructions(step.text), "emit-llvm" if step.name == START else step.name
                self._keep(kernel, LLVM, name, step.scope, step.seconds, count, step.text)
            after = self._last.get(kernel)
            if before is not None and after is not None:
                self.passes.append(
                    PassRecord(step.name, LLVM_PASS, kernel, at, step.seconds, before.ops_after, after.ops_after,
                               after.bytes_after, before.bytes_after, step.changed)
                )  # fmt: skip
            at += step.seconds

    def _keep(
        self, kernel: str, stage: str, name: str, scope: str, seconds: float, operations: int, text: str,
        lines: Sequence[int] = (),
    ) -> None:  # fmt: skip
        text = self._texts.setdefault(text, text)
        last = self._last.get(kernel)
        before = (operations, len(text)) if last is None else (last.ops_after, last.bytes_after)
        made = Snapshot(stage, name, scope, seconds, before[0], operations, before[1], len(text), text, tuple(lines))
        self._last[kernel] = made
        self.snapshots.setdefault(kernel, []).append(made)


def _printed(module: Operation, stage: str) -> tuple[str, Sequence[int]]:
    """The text of a module, and the provenance id of each line where lines have one; a graph's lines have nodes."""
    if stage != "mo":
        return print_module(module)
    from compiler.dialects.mo import print_with_nodes

    return print_with_nodes(module, elide=True)[0], ()  # type: ignore[arg-type]
