"""A compiled model: executes on arrays, and shows every stage of what it was compiled from.

Texts are made when they are asked for, by elaborating one kernel again: compiling stays fast, and nothing is kept that
nobody reads.
"""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from compiler.errors import CompilerError, UnavailableError
from compiler.options import ir_stage
from compiler.passes.fusion.edits import used_of
from compiler.passes.fusion.records import FusedKernel, FusionDecision, KernelCall
from compiler.places import NO_PLACE, Nodes, Place, StageText, library_places, with_lost_places
from compiler.program.opaque_arguments import run_on_values
from compiler.statistics import cache_figures, funnel_of, operations_after
from compiler.trace import Snapshot, Trace

if TYPE_CHECKING:
    from compiler.backend.device_code import DeviceUnit
    from compiler.backend.llvm import CompiledUnit
    from compiler.backend.provenance import Written
    from compiler.backend.sass import SassReport
    from compiler.compilation import Compilation, Compiled, Known
    from compiler.graph.graph import Graph
    from compiler.language.context import Callers
    from compiler.language.kernel import ElaboratedKernel
    from compiler.lowering.llvm_text import LlvmText
    from compiler.options import ChoiceValue
    from compiler.passes.kernel.elaboration import KernelModule
    from compiler.program.execution import Program
    from compiler.program.memory_plan import MemoryPlan


class Kernel:
    """One fused kernel of a model: its source, its nodes and the IR of every stage."""

    def __init__(self, model: Model, fused: FusedKernel, calls: tuple[KernelCall, ...]) -> None:
        self._model = model
        self.fused = fused
        self.calls = calls
        self._callers: Callers | None = None  # of its source's lines, once it was elaborated

    def __repr__(self) -> str:
        return f"Kernel({self.name!r}, nodes={self.nodes!r})"

    @property
    def name(self) -> str:
        """Its name, unique in the model."""
        return self.fused.name

    @property
    def nodes(self) -> Nodes:
        """The graph nodes it computes, over all of its calls."""
        return tuple(dict.fromkeys(node for call in self.calls for node in call.all_nodes))

    @property
    def source(self) -> str:
        """The kernel as kernel-language source; it compiles back to the same kernel."""
        return self.fused.source

    def ir(self, stage: str) -> str:
        """The text of one stage: kgen, kernel, llvm, llvm-opt, asm (or ptx), sass."""
        return self.stage(stage).text

    def stage(self, stage: str) -> StageText:
        """The text of one stage with the nodes of each line."""
        known, target = ir_stage(stage), self._model.target
        if known.text == "model":
            return self._model.stage(stage)
        if known.special and stage not in target.emission.stages:
            raise CompilerError(f"{target.name} has no {stage}; its machine stage is asm")
        return self._texts(known.same_as or stage)

    def places(self, stage: str) -> tuple[str, list[Written]]:
        """The text of kgen, kernel, llvm, llvm-opt or asm, with the place in the kernel language of each line.

        From LLVM IR on, only a model with line tables knows any.
        """
        from compiler.backend.provenance import line_places
        from compiler.dialects.printing import print_with_places

        if stage in ("kgen", "kernel"):
            module = (self._elaborated() if stage == "kgen" else self.kernel_ir()).module
            text, provenance, places = print_with_places(module)
            return text, [(*place, number) for place, number in zip(places, provenance, strict=True)]
        text = self.ir(stage)
        return text, line_places(text, stage)

    @cached_property
    def unit(self) -> CompiledUnit:
        """This kernel alone, through LLVM."""
        from compiler.backend.llvm import compile_llvm

        text = self._lowered_text.text
        return compile_llvm(text, self._model.target, self._model.options.opt_level, record_passes=True)

    @cached_property
    def machine(self) -> SassReport:
        """NVIDIA machine code with its registers, spills, shared memory and occupancy; needs the `sass` extra."""
        from compiler.backend.sass import sass_of

        if "sass" not in self._model.target.emission.stages:
            raise CompilerError(f"{self._model.target.name} has no sass; its machine stage is asm")
        launch = self.record.launch
        asked = (launch.threads, launch.shared) if launch else (None, 0)
        return sass_of(self.device_unit.code, self._model.target.cpu, *asked)

    @property
    def device_unit(self) -> DeviceUnit:
        """The part of the model's device code that this kernel is in; of a model that is only read, made now."""
        if not self._model.compiled:
            from compiler.backend.device_code import device_unit

            return device_unit(self.unit.object, self._model.target)
        for unit in self._model.device_code():
            if self.name in unit.kernels:
                return unit
        raise CompilerError(f"{self.name} is not in the device code of {self._model.graph.name}")

    @property
    def record(self) -> ElaboratedKernel:
        """What elaboration found out: arguments, workspaces, symbols, launch."""
        return self._model.record(self.name)

    def kernel_ir(self) -> KernelModule:
        """The kernel in the `kernel` stage as operations rather than text, made anew at each call."""
        from compiler.passes.kernel.run import kernel_passes

        return kernel_passes(self._elaborated(), self._model.target, Trace(), self._model.options.opt_level)

    @cached_property
    def _lowered_text(self) -> LlvmText:
        from compiler.lowering.llvm_text import emit_module

        return emit_module(self.kernel_ir().module, self._model.target, self._model.options.debug)

    def _elaborated(self) -> KernelModule:
        from compiler.passes.kernel.elaboration import elaborate

        found = elaborate([self.fused], self._model.library, self._model.target, Trace())
        self._callers = found.callers
        return found

    def _texts(self, stage: str) -> StageText:
        from compiler.dialects.printing import print_with_places

        if stage == "kgen":
            return self._placed("mlir", *print_with_places(self._elaborated().module))
        if stage == "kernel":
            return self._placed("mlir", *print_with_places(self.kernel_ir().module))
        if stage == "llvm":
            lowered = self._lowered_text
            return self._placed("llvm", lowered.text, lowered.line_prov, lowered.places)
        if stage == "sass":
            ptx = self._texts("asm").places
            places = [ptx[line - 1] if 0 < line <= len(ptx) else NO_PLACE for line in self.machine.ptx_lines]
            return self._placed("", self.machine.text, list(self.machine.provenance), places)
        from compiler.backend.provenance import line_locations

        if stage == "llvm-opt":
            text, language = self.unit.llvm_opt, "llvm"
        else:
            text = self.device_unit.ptx if self._model.target.emission.emits_text else self.unit.asm
            language = self._model.target.emission.assembly
        found = line_locations(text, stage)
        return self._placed(language, text, [number for number, _ in found], [place for _, place in found])

    def _placed(self, language: str, text: str, provenance: list[int], places: list[Place]) -> StageText:
        whole = with_lost_places(text, places, language) if language else tuple(places)
        if self._callers is None:
            self._elaborated()
        known = library_places(whole, provenance, self._callers or {})
        return replace(self.with_nodes(text, provenance), places=whole, library=known)

    def with_nodes(self, text: str, provenance: list[int]) -> StageText:
        """A text of this kernel with the nodes behind the provenance id of each of its lines."""
        slots = self.record.provenance
        nodes_of_slot: list[Nodes] = [
            tuple(dict.fromkeys(node for call in self.calls for node in call.nodes[slot]))
            for slot in range(len(self.fused.slots))
        ]
        table = [tuple(dict.fromkeys(n for slot in ids for n in nodes_of_slot[slot])) for ids in slots]
        lines = tuple(table[number] if number < len(table) else () for number in provenance)
        return StageText(text, lines)


class Model:
    """What `compile` returns."""

    def __init__(self, graph: Graph, made: Compiled, run: Compilation, program: Program | None) -> None:
        self.graph = graph
        self.host = made.host
        self.fusion = made.host.fusion
        self.options = run.options
        self.target = run.target
        self.library = run.library
        self.trace = run.trace
        self._program = program
        self._run = run
        self.known: Known = lambda about, find: find()  # of a model in the cache, what lies beside it there
        self._optimised = made.graph
        self._objects = made.objects
        calls: dict[str, list[KernelCall]] = {}
        for call in self.fusion.calls:
            calls.setdefault(call.kernel.name, []).append(call)
        self.kernels = tuple(Kernel(self, kernel, tuple(calls[kernel.name])) for kernel in made.kernels)

    def __repr__(self) -> str:
        return f"Model({self.graph.name!r}, target={self.target.name!r}, kernels={len(self.kernels)})"

    @property
    def ledger(self) -> tuple[FusionDecision, ...]:
        """Every fusion candidate: accepted or not, by which rule, why, and the bytes saved."""
        return self.fusion.ledger

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was asked for and could not be done: edges that were to be fused or cut and are not, and why."""
        wanted = {"forced-fuse": "fused", "forced-cut": "cut"}
        return tuple(
            f"{d.producer} -> {d.consumer} is not {wanted[d.rule]} as asked: {d.reason}"
            for d in self.ledger if d.rule in wanted
        )  # fmt: skip

    @property
    def compiled(self) -> bool:
        """Whether there is machine code; a model that is only read has none."""
        return bool(self._objects)

    @property
    def tuned(self) -> dict[str, dict[str, ChoiceValue]]:
        """What is chosen otherwise than a kernel would by itself, by kernel and name."""
        found = {k.name: {c.name: c.taken for c in k.record.choices if c.taken != c.default} for k in self.kernels}
        return {name: chosen for name, chosen in found.items() if chosen}

    def record(self, kernel: str) -> ElaboratedKernel:
        """What elaboration found out about a kernel."""
        return self.host.records[kernel]

    def kernel(self, name: str) -> Kernel:
        """The kernel called `name`."""
        for kernel in self.kernels:
            if kernel.name == name:
                return kernel
        raise CompilerError(f"no kernel is called {name!r}; there are {', '.join(k.name for k in self.kernels)}")

    def execute(self, *arrays: Any, threads: int | None = None) -> list[Any]:
        """Run the model on arrays, lists or numbers; sizes are checked and symbols bound.

        Arrays of PyTorch, JAX and whatever else speaks DLPack or NumPy's array interface are read where they lie, and
        the results are of the first such one's kind, otherwise NumPy's. They carry no gradient. Mutable buffers, which
        must be arrays that lie apart from each other, change in place.
        """
        interface = self.host.interface
        if interface.opaques is not None:
            run = partial(self.program.execute, threads=threads)
            return run_on_values(interface.opaques, interface.types, interface.names, arrays, run)
        program = self._program  # not the property: a call of a small model is a matter of microseconds
        return (self.program if program is None else program).execute(arrays, threads)

    @property
    def program(self) -> Program:
        """The loaded host program."""
        if self._program is None:
            raise UnavailableError(f"a model for {self.target.name} cannot be launched on this machine's CPU")
        return self._program

    def save(self, path: str | os.PathLike[str], *, weights: str = "inline", source: str = "") -> None:
        """Write the model to a file that `compiler.load` runs without compiling, on the same target.

        `weights="reference"` leaves weights that lie in files where they are; `source` says where the graph came from.
        """
        from datetime import UTC, datetime

        from compiler.artifact.model_file import Provenance, write_model
        from compiler.artifact.stored_model import store_model
        from compiler.cache import producer_versions

        payload = store_model(self.host, self._objects, self.graph)
        if payload is None:
            raise CompilerError(f"{self.graph.name} has constants that are not its graph's and too large to be kept")
        created = datetime.now(UTC).isoformat(timespec="seconds")
        provenance = Provenance(source or self.graph.name, producer_versions(), created)
        options = replace(self.options, tuned=used_of(self.options.tuned, self.fusion.kernels, self.target))
        write_model(path, self.graph, payload, options, self.target, provenance, weights)

    def device_code(self) -> tuple[DeviceUnit, ...]:
        """The code that was made for a GPU, as it was made; linked together it is what the device loads."""
        if self.target.emission.in_process:
            raise CompilerError(f"a model for {self.target.name} has no device code: its kernels are in this process")
        return self._device_units

    def device_module(self) -> bytes:
        """The device code linked to one module of PTX, every kernel in it as it was made."""
        from compiler.backend.device_code import link_ptx

        if "ptx" not in self.target.emission.stages:
            raise CompilerError(f"a model for {self.target.name} has no PTX to link")
        return link_ptx([unit.ptx for unit in self.device_code()]).encode()

    @cached_property
    def _device_units(self) -> tuple[DeviceUnit, ...]:
        from compiler.backend.device_code import device_unit

        return tuple(device_unit(code, self.target) for code in self._objects)

    def plan(self, **sizes: int) -> MemoryPlan:
        """The memory plan for given sizes of the symbolic dims: lifetimes, offsets, peak."""
        from compiler.program.memory_plan import plan

        missing = sorted(set(self.symbols) - set(sizes))
        if missing:
            raise CompilerError(f"the plan depends on the size of {', '.join(missing)}")
        return plan(self.host, sizes)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbolic dims of the graph's inputs."""
        return self.host.interface.symbols

    def ir(self, stage: str) -> str:
        """Whole-model text: mo, mogg or mgp; for later stages ask a kernel."""
        return self.stage(stage).text

    def stage(self, stage: str) -> StageText:
        """Whole-model text with the nodes of each line; later stages are the kernels' texts one after another."""
        if ir_stage(stage).text == "kernel":
            texts = [kernel.stage(stage) for kernel in self.kernels]
            return StageText("".join(t.text for t in texts), tuple(n for t in texts for n in t.nodes))
        if stage == "mo":
            from compiler.dialects.mo import print_with_nodes

            text, nodes = print_with_nodes(self._optimised())
        elif stage == "mogg":
            from compiler.passes.fusion.module import mogg_text

            text, nodes = mogg_text(self.fusion.origin.fused)
        else:
            from compiler.program.mgp_text import mgp_text

            if len(self.host.calls) < len(self.fusion.calls):
                raise CompilerError(f"{self.graph.name} is only read: its host program needs a compilation")
            text, nodes = mgp_text(self.host)
        return StageText(text, tuple(nodes))

    def module_text(self, stage: str) -> str:
        """A kernels' stage with all kernels in one module, which the stage's own tools read.

        NVIDIA's machine stage is the device code as it was made, linked; others are made anew of all kernels together.
        """
        from compiler.whole_module import whole_module

        known = ir_stage(stage)
        stage = known.same_as or stage
        if known.text != "kernel" or stage == "sass":
            raise CompilerError(f"{stage} is no stage with one module of all kernels")
        if known.special and known.name not in self.target.emission.stages:
            raise CompilerError(f"{self.target.name} has no {known.name}; its machine stage is asm")
        if len(self.kernels) == 1:
            return self.kernels[0].ir(stage)
        if stage == "asm" and "ptx" in self.target.emission.stages:
            return self.device_module().decode()
        return whole_module([kernel.fused for kernel in self.kernels], stage, self._run)

    def snapshot(self, kernel: str) -> tuple[Snapshot, ...]:
        """The IR of one kernel after each of the compiler's and LLVM's passes that changed it; made when asked for."""
        from compiler.snapshots import snapshots_of

        return snapshots_of(self.kernel(kernel).fused, self.library, self.target, self.options)

    @cached_property
    def stats(self) -> dict[str, Any]:
        """Seconds by stage and in all, IR sizes, counts, peak memory (None while it depends on symbolic dims)."""
        passes = self.trace.passes
        steps = funnel_of(passes, printed=self.trace.printed)
        stages = {step.stage: step.seconds for step in steps}
        accepted = sum(decision.accepted for decision in self.ledger)
        return {
            "seconds": {**stages, "total": sum(stages.values())},
            "kernels": len(self.kernels),
            "calls": len(self.fusion.calls),
            "ops": operations_after(passes),
            "bytes": {step.stage: step.bytes for step in steps if step.bytes is not None},
            "funnel": [asdict(step) for step in steps],
            "llvm_share": next((step.share for step in steps if step.stage == "machine"), 0.0),
            "fusion": {"accepted": accepted, "rejected": len(self.ledger) - accepted},
            "warnings": list(self.warnings),
            "cache": cache_figures(passes, len(self.kernels)),
            "peak_memory": None if self.symbols else self.plan().peak,
        }
