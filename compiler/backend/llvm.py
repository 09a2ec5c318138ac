"""LLVM's part: parse, verify, optimise, emit. One module goes through all of it without being printed or re-read.

Everything here is a function of text and target: it can run in this process or in a worker, and what comes back
(`CompiledUnit`) is plain bytes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Literal

from compiler.errors import CompilerError, LoweringError
from compiler.targets import get_target
from compiler.targets.target import Target

if TYPE_CHECKING:
    from llvmlite.binding import ModulePassManager, ModuleRef, PassBuilder


Pipeline = Literal["kernel", "llvm"]


@dataclass(frozen=True)
class PassTime:
    """Seconds LLVM spent in one of its passes."""

    name: str
    seconds: float


@dataclass
class Optimised:
    """An optimised module that is still in memory, ready to be emitted once."""

    module: ModuleRef
    target: Target
    opt_level: int
    pass_times: tuple[PassTime, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    _bitcode: bytes | None = None

    @property
    def bitcode(self) -> bytes:
        """The module before emission changed it; taken at the latest by the first `emit_*`."""
        if self._bitcode is None:
            self._bitcode = self.module.as_bitcode()
        return self._bitcode


@dataclass(frozen=True)
class CompiledUnit:
    """What LLVM made of one module. `object` is an ELF object, or the assembly text in bytes."""

    target: str
    opt_level: int
    object: bytes
    bitcode: bytes
    seconds: dict[str, float]
    """Seconds of `parse`, `optimise`, `emit`."""
    pass_times: tuple[PassTime, ...] = ()
    _texts: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def asm(self) -> str:
        """Assembly (PTX, AMDGCN): emitted again from the optimised module when first asked for."""
        if "asm" not in self._texts:
            target = get_target(self.target)
            if target.emission.emits_text and self.object:
                self._texts["asm"] = self.object.decode()
            else:
                self._texts["asm"] = _emit(_module_of(self.bitcode), target, self.opt_level, as_object=False).decode()
        return self._texts["asm"]

    @property
    def llvm_opt(self) -> str:
        """LLVM IR after optimisation."""
        if "llvm-opt" not in self._texts:
            self._texts["llvm-opt"] = str(_module_of(self.bitcode))
        return self._texts["llvm-opt"]


NO_INTRINSIC = "LLVM has no intrinsic "
"""How the error begins that ends with the intrinsic's name."""
_INTRINSIC = re.compile(r'\ndeclare [^@\n]*@"?(llvm\.[^\s"(]+)')
_KNOWN_INTRINSICS: set[str] = set()  # that LLVM was seen to know; asking it takes longer than parsing the declaration


def parse(text: str, *, verify: bool = True) -> ModuleRef:
    """Read LLVM IR; what LLVM rejects is a LoweringError with its message."""
    import llvmlite.binding as llvm

    try:
        module = llvm.parse_assembly(text, llvm.create_context())
        if verify:
            module.verify()
    except RuntimeError as error:
        raise LoweringError(f"LLVM rejects the module: {_first_lines(str(error))}") from error
    unsure = set(_INTRINSIC.findall(f"\n{text}")) - _KNOWN_INTRINSICS
    for function in module.functions if unsure else ():
        # LLVM gives every intrinsic that it knows attributes; what it does not know it takes for a function elsewhere.
        if function.name in unsure and function.is_declaration and not any(function.attributes):
            raise LoweringError(f"{NO_INTRINSIC}{function.name}")
    _KNOWN_INTRINSICS.update(unsure)  # also those that it has replaced by newer ones
    return module


def _first_lines(message: str, count: int = 4) -> str:
    return " | ".join(line.strip() for line in message.strip().splitlines()[:count])


def optimise(
    source: str | ModuleRef,
    target: Target,
    opt_level: int = 3,
    *,
    record_passes: bool = False,
    pipeline: Pipeline = "kernel",
    without: Collection[str] = (),
    unroll: bool | None = None,
) -> Optimised:
    """Optimise for `opt_level` (0..3).

    Kernels come vectorised, hoisted and cleaned up, so the `kernel` pipeline is the few passes that still find
    something to do: level 1 tidies up, 2 and 3 also unroll short loops where there are any (`unroll`; the text tells if
    it is not given) and differ in the back end's effort, where more of it finds more. The `llvm` pipeline is LLVM's own
    for the level, with its vectorisers off: several times as long for code that is hardly ever faster. Level 0, and
    targets that need it, always take that one. Of the `kernel` pipeline, passes named in `without` are left out.
    """
    if opt_level not in (0, 1, 2, 3):
        raise CompilerError(f"optimisation level {opt_level!r} is not one of 0 1 2 3")
    start = perf_counter()
    target.machine(opt_level)  # LLVM must be initialised before anything is parsed
    parsed = perf_counter()
    module = parse(source) if isinstance(source, str) else source
    if unroll is None:
        unroll = not isinstance(source, str) or has_short_loops([source], target)
    begun = perf_counter()
    report = run_passes(
        module, target, opt_level, timed=record_passes, pipeline=pipeline, without=without, unroll=unroll
    )
    times = _pass_times(report) if record_passes else ()
    seconds = {"initialise": parsed - start, "parse": begun - parsed, "optimise": perf_counter() - begun}
    return Optimised(module, target, opt_level, times, seconds)


def has_short_loops(texts: Iterable[str], target: Target) -> bool:
    """Whether LLVM's unroller has anything to do in one of these modules, as far as their texts say."""
    said = target.emission.short_loops
    return not said or any(said in text for text in texts)


def run_passes(
    module: ModuleRef, target: Target, opt_level: int, *, timed: bool = False, pipeline: Pipeline = "kernel",
    without: Collection[str] = (), unroll: bool = True,
) -> str:  # fmt: skip
    """Run the level's passes over a module; LLVM's report of their times where they are `timed`."""
    builder = _pass_builder(target, opt_level)
    if timed:
        builder.start_pass_timing()
    own = pipeline == "kernel" and _is_short(target, opt_level)
    level = opt_level if unroll else min(opt_level, 1)
    passes = _kernel_passes(level, without) if own else builder.getModulePassManager()
    passes.run(module, builder)  # which uses the pass manager up
    return builder.finish_pass_timing() if timed else ""


def _pass_builder(target: Target, opt_level: int) -> PassBuilder:
    import llvmlite.binding as llvm

    options = llvm.create_pipeline_tuning_options(speed_level=opt_level)
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_interleaving = False
    return llvm.create_pass_builder(target.machine(opt_level), options)


_TIDY = ("sroa", "instruction_combine", "simplify_cfg")
_PASSES = ("always_inliner", "global_dead_code_eliminate", *_TIDY)
_MORE_PASSES = ("loop_unroll", *_TIDY)
"""What the second list finds besides: arrays that only constants index any more."""


def _is_short(target: Target, opt_level: int) -> bool:
    return opt_level > 0 and target.emission.short_pipeline


def _pass_names(opt_level: int) -> list[tuple[str, str]]:
    """The passes of a level in order, each with the name it is left out by: that of a second run has its number."""
    found: list[tuple[str, str]] = []
    for name in (*_PASSES, *(_MORE_PASSES if opt_level > 1 else ())):
        before = sum(name == known for known, _ in found)
        words = f"llvm:{name.replace('_', '-')}"
        found.append((name, f"{words}:{before + 1}" if before else words))
    return found


def optional_llvm_passes(target: Target, opt_level: int) -> tuple[str, ...]:
    """LLVM's passes that code can be made without, as `without` names them."""
    return tuple(words for _, words in _pass_names(opt_level)) if _is_short(target, opt_level) else ()


def _kernel_passes(opt_level: int, without: Collection[str] = ()) -> ModulePassManager:
    import llvmlite.binding as llvm

    passes = llvm.create_new_module_pass_manager()
    for name, words in _pass_names(opt_level):
        if words not in without:
            getattr(passes, f"add_{name}_pass")()
    return passes


def _pass_times(report: str) -> tuple[PassTime, ...]:
    """The wall-clock column of LLVM's report, largest first: one sum for each pass or analysis.

    llvmlite counts everything twice and so lists each name twice, with times that differ in the last digit.
    """
    found: dict[str, float] = {}
    for line in report.split("\n"):
        times, _, name = line.rpartition("%)  ")
        if times and name[:1].isalpha() and " " not in name and name != "Total":
            found[name] = max(found.get(name, 0.0), float(times[: times.rindex(" (")].rpartition(" ")[2]))
    return _longest_first(found)


def together(times: Iterable[tuple[PassTime, ...]]) -> tuple[PassTime, ...]:
    """The times of several modules' passes, added up."""
    found: dict[str, float] = {}
    for each in times:
        for timed in each:
            found[timed.name] = found.get(timed.name, 0.0) + timed.seconds
    return _longest_first(found)


def _longest_first(times: dict[str, float]) -> tuple[PassTime, ...]:
    return tuple(PassTime(name, seconds) for name, seconds in sorted(times.items(), key=lambda item: -item[1]))


def emit_object(optimised: Optimised) -> bytes:
    """Object code, or the assembly text as bytes where the target has that loaded."""
    optimised.bitcode  # noqa: B018 - emission changes the module, so keep what it was
    return _emit(optimised.module, optimised.target, optimised.opt_level, as_object=True)


def _emit(module: ModuleRef, target: Target, opt_level: int, *, as_object: bool) -> bytes:
    machine = target.machine(opt_level)
    try:
        if as_object and not target.emission.emits_text:
            return machine.emit_object(module)
        return _rewritten(machine.emit_assembly(module), target).encode()
    except RuntimeError as error:
        raise LoweringError(f"LLVM cannot emit code for {target.name}: {_first_lines(str(error))}") from error


def _rewritten(text: str, target: Target) -> str:
    """Assembly without what the target's own assembler gets wrong."""
    for wrong, right in target.emission.rewritten:
        text = re.sub(wrong, right, text, flags=re.MULTILINE)
    return text


def _module_of(bitcode: bytes) -> ModuleRef:
    import llvmlite.binding as llvm

    return llvm.parse_bitcode(bitcode, llvm.create_context())


def compile_llvm(
    text: str,
    target: Target,
    opt_level: int = 3,
    *,
    with_object: bool = True,
    record_passes: bool = False,
    pipeline: Pipeline = "kernel",
    without: Collection[str] = (),
) -> CompiledUnit:
    """Text in, machine code out, unless texts alone are asked for: `asm` and `llvm-opt` can always be had later."""
    optimised = optimise(text, target, opt_level, record_passes=record_passes, pipeline=pipeline, without=without)
    bitcode = optimised.bitcode
    start = perf_counter()
    code = emit_object(optimised) if with_object else b""
    seconds = {**optimised.seconds, "emit": perf_counter() - start}
    return CompiledUnit(target.name, opt_level, code, bitcode, seconds, optimised.pass_times)
