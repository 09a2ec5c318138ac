"""The IR after every pass that changed it: the compiler's own passes, and LLVM's.

`snapshots_of` makes them on demand for one kernel of a compiled model, so that compiling pays nothing for them; it
changes nothing in the model and may run in any thread or process. A compilation with `CompileOptions.snapshots` keeps
those of all its modules as they were really compiled: its trace is given a `Snapshots` as sink. Both have LLVM's passes
run again, by a process of its own (`backend/llvm_steps.py`), so the code that is made is the same with and without.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from compiler.dialects.operations import count_operations
from compiler.dialects.printing import print_module
from compiler.options import LLVM_PASS
from compiler.passes.kernel.elaboration import elaborate
from compiler.passes.kernel.run import kernel_passes
from compiler.trace import PassRecord, Snapshot, Span, Trace

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from compiler.backend.llvm_steps import LlvmStep
    from compiler.language.library import Library
    from compiler.options import CompileOptions
    from compiler.passes.fusion.records import FusedKernel
    from compiler.targets.target import Target

KERNEL, LLVM = "kernel", "llvm"


def snapshots_of(
    kernel: FusedKernel, library: Library, target: Target, options: CompileOptions
) -> tuple[Snapshot, ...]:
    """Every step that changed the IR of a kernel, in the order they ran: first `kernel` snapshots, then `llvm` ones.

    The kernel goes through elaboration and kernel passes alone, as in `Kernel.ir`: the first `kernel` snapshot is
    `ir("kgen")` and the last one `ir("kernel")`. The first `llvm` snapshot is `ir("llvm")` as LLVM prints it, the last
    one what LLVM optimised it to.
    """
    from compiler.lowering.llvm_text import emit_module

    trace = Trace(sink=Snapshots())
    elaborated = elaborate([kernel], library, target, trace)
    lowered = kernel_passes(elaborated, target, trace, options.opt_level)
    text = emit_module(lowered.module, target, options.debug).text
    trace.llvm_compiled([(kernel.name, text)], target, options.opt_level)
    return tuple(trace.snapshots[kernel.name])


class Snapshots:
    """Keeps the IR after each graph pass, kernel pass and LLVM pass that changed something.

    `taken` has it by module: a kernel's or shared function's name, and "" for the graph and for the module of all
    kernels. Graph passes are there in the stage `mo`.
    """

    def __init__(self) -> None:
        self.taken: dict[str, list[Snapshot]] = {}
        self._texts: dict[str, str] = {}
        self._last: dict[str, Snapshot] = {}

    def started(self, kernel: str, module: Operation, stage: str) -> None:
        """Keep what the passes of a stage start from."""
        self._last.pop(kernel, None)
        made_by = "elaborate" if stage == KERNEL else "copy"
        self._keep(kernel, stage, made_by, "module", 0.0, count_operations(module), *_printed(module, stage))

    def ended(self, name: str, stage: str, kernel: str, seconds: float, span: Span) -> None:
        """Compare and count the text of the module that a pass left."""
        assert span.module is not None
        before = self._last.get(kernel)
        if before is None or span.changed is not False:  # printing takes longer than any pass
            text, lines = _printed(span.module, stage)
            span.changed = before is None or before.text != text
            if span.changed:
                self._keep(kernel, stage, name, "module", seconds, count_operations(span.module), text, lines)
        span.bytes_before = -1 if before is None else before.bytes_after
        span.bytes_after = self._last[kernel].bytes_after

    def compiled(self, modules: Sequence[tuple[str, str]], target: Target, opt_level: int) -> list[PassRecord]:
        """What LLVM's passes do to modules (name, LLVM IR); a record for each run of each pass."""
        from compiler.backend.llvm_steps import llvm_steps

        watched = llvm_steps([text for _, text in modules], target, opt_level)
        return [
            record
            for (name, _), steps in zip(modules, watched, strict=True) for record in self._llvm_passes(name, steps)
        ]  # fmt: skip

    def _llvm_passes(self, kernel: str, steps: Sequence[LlvmStep]) -> list[PassRecord]:
        from compiler.backend.llvm_steps import START, count_instructions

        self._last.pop(kernel, None)
        records: list[PassRecord] = []
        at = 0.0
        for step in steps:
            before = self._last.get(kernel)
            if step.name == START or (step.changed and step.text):
                count, name = count_instructions(step.text), "emit-llvm" if step.name == START else step.name
                self._keep(kernel, LLVM, name, step.scope, step.seconds, count, step.text)
            after = self._last.get(kernel)
            if before is not None and after is not None:
                records.append(
                    PassRecord(step.name, LLVM_PASS, kernel, at, step.seconds, before.ops_after, after.ops_after,
                               after.bytes_after, before.bytes_after, step.changed)
                )  # fmt: skip
            at += step.seconds
        return records

    def _keep(
        self, kernel: str, stage: str, name: str, scope: str, seconds: float, operations: int, text: str,
        lines: Sequence[int] = (),
    ) -> None:  # fmt: skip
        text = self._texts.setdefault(text, text)
        last = self._last.get(kernel)
        before = (operations, len(text)) if last is None else (last.ops_after, last.bytes_after)
        made = Snapshot(stage, name, scope, seconds, before[0], operations, before[1], len(text), text, tuple(lines))
        self._last[kernel] = made
        self.taken.setdefault(kernel, []).append(made)


def _printed(module: Operation, stage: str) -> tuple[str, Sequence[int]]:
    """The text of a module, and the provenance id of each line where lines have one; a graph's lines have nodes."""
    if stage != "mo":
        return print_module(module)
    from compiler.dialects.mo import print_with_nodes

    return print_with_nodes(module, elide=True)[0], ()  # type: ignore[arg-type]
