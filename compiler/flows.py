"""The two ways from kernel sources to machine code, and the caches on that way.

`per-kernel` slices each kernel out and takes it through elaboration, kernel passes and LLVM alone. `all-kernel` puts
all kernels into one module, so that what they have in common is elaborated and optimised once, and splits it for LLVM.
Both compile equal kernels once, with the same passes, and give bit-identical results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, cast

from compiler.artifact.kernel_records import read_record, record_document
from compiler.cache import Cache, key_of, pack, producer, target_identity, unpack
from compiler.pipeline import CompileOptions, KernelModule, elaborate, kernel_passes
from compiler.trace import LLVM_PASS, PassRecord, Span, Trace

if TYPE_CHECKING:
    from compiler.backend.split import Unit
    from compiler.backend.workers import Done
    from compiler.language.kernel import ElaboratedKernel
    from compiler.language.library import Library
    from compiler.language.syntax.source import SourceFile
    from compiler.lowering.llvm_text import Debug
    from compiler.passes.fusion.records import FusedKernel
    from compiler.targets.target import Target


@dataclass(frozen=True)
class UnitRecord(PassRecord):
    """LLVM's work on one unit; `worker` is the process that did it, 0 being this one."""

    worker: int = 0


@dataclass(frozen=True)
class Compilation:
    """What both flows get: options, library, target, where to note times, and the cache if there is one."""

    options: CompileOptions
    library: Library
    target: Target
    trace: Trace
    cache: Cache | None


@dataclass(frozen=True)
class Lowered:
    """A kernel ready for LLVM."""

    record: ElaboratedKernel
    unit: Unit


def compile_kernels(
    kernels: Sequence[FusedKernel], run: Compilation
) -> tuple[dict[str, ElaboratedKernel], list[bytes]]:
    """Kernel sources to objects; objects come with those of the functions that kernels share."""
    found = _cached_ir(kernels, run) if run.cache is not None and not run.options.snapshots else {}
    missing = [kernel for kernel in kernels if kernel.name not in found]
    for lowered, uses in _lower(missing, run):
        found[lowered.record.name] = lowered
        if run.cache is not None:
            kernel = next(kernel for kernel in missing if kernel.name == lowered.record.name)
            _keep_ir(kernel, lowered, uses, run)
    units: dict[str, Unit] = {}
    for kernel in kernels:
        units |= found[kernel.name].unit.closure
    objects = _through_llvm(list(units.values()), run)
    return {kernel.name: found[kernel.name].record for kernel in kernels}, objects


# From source to LLVM IR


def _lower(kernels: Sequence[FusedKernel], run: Compilation) -> Iterable[tuple[Lowered, frozenset[str]]]:
    if run.options.flow == "per-kernel":
        for kernel in kernels:
            yield from _slice([kernel], run)
    elif kernels:
        yield from _slice(kernels, run)


def _slice(kernels: Sequence[FusedKernel], run: Compilation) -> Iterable[tuple[Lowered, frozenset[str]]]:
    """Some kernels together through elaboration and kernel passes, then each as LLVM IR."""
    table = {kernel.name: kernel for kernel in kernels}
    elaborated = elaborate(kernels, run.library, run.target, run.trace)
    run.trace.start(kernels[0].name if len(kernels) == 1 else "", elaborated.module)
    module = kernel_passes(elaborated, table, run.target, run.trace, run.options.opt_level)
    units = _emit(module, run)
    for record in module.kernels:
        yield Lowered(record, units[record.name]), module.uses[record.name]


def _emit(module: KernelModule, run: Compilation) -> dict[str, Unit]:
    """LLVM IR of each kernel; what kernels share is printed once, before them."""
    from compiler.backend.split import Split, whole_unit

    trace, debug = run.trace, cast("Debug", run.options.debug)
    if run.options.flow == "per-kernel":
        (record,) = module.kernels
        return {
            record.name: _timed(record.name, run, lambda: whole_unit(record.name, module.module, run.target, debug))
        }
    owner = module.kernels[0].name if len(module.kernels) == 1 else ""
    with trace.span("split", "llvm", owner):
        split = Split(module.module, run.target, debug)
    for name in split.shared:
        _timed(name, run, lambda name=name: split.shared_unit(name))
    return {name: _timed(name, run, lambda name=name: split.unit(name)) for name in split.kernels}


def _timed(name: str, run: Compilation, emit: Callable[[], Unit]) -> Unit:
    """A unit, recorded under the name that it has from now on."""
    run.trace.tell("llvm", "emit-llvm", name)
    start = perf_counter()
    unit = emit()
    seconds = perf_counter() - start
    instructions = unit.text.count("\n  ")  # nothing else is indented
    span = Span(unit.operations, instructions, len(unit.text))
    run.trace.add("emit-llvm", "llvm", unit.name, start, seconds, span)
    return unit


# From LLVM IR to objects


def _through_llvm(units: Sequence[Unit], run: Compilation) -> list[bytes]:
    """Objects that together offer every unit once."""
    found = _cached_objects(units, run) if run.cache is not None and not run.options.recompiles else {}
    missing = [unit for unit in units if unit.name not in found]
    objects: list[bytes] = []
    if found:
        from compiler.backend.split import only

        present = {unit.name for unit in units}
        objects = [only(image, wanted, present) for image, wanted in _by_object(found)]
    if missing:
        objects += _compile(missing, run)
    if run.cache is not None:
        absent = {unit.name for unit in missing}
        for unit in units:
            if not unit.shared:
                name = "object-miss" if unit.name in absent else "object-hit"
                run.trace.add(name, "cache", unit.name, perf_counter(), 0.0)
    return objects


def _compile(units: Sequence[Unit], run: Compilation) -> list[bytes]:
    from compiler.backend.runtime import default_threads
    from compiler.backend.split import bundles
    from compiler.backend.workers import Task, compile_tasks

    options, target = run.options, run.target
    jobs = options.jobs or default_threads()
    groups = [(unit,) for unit in units] if options.flow == "per-kernel" else bundles(units, target, jobs)
    tasks = [
        Task(", ".join(unit.name for unit in group), tuple(unit.text for unit in group), target.name, options.opt_level,
             record_passes=not options.snapshots)
        for group in groups
    ]  # fmt: skip
    run.trace.tell("machine", "llvm", tasks[0].name if len(tasks) == 1 else f"{len(units)} units")
    done = compile_tasks(tasks, jobs)
    for group, result in zip(groups, done, strict=True):
        _note(group, result, run)
        if run.cache is not None:
            _keep_object(group, result.unit.object, run)
    run.trace.watch_llvm([(unit.name, unit.text) for unit in units], target, options.opt_level)
    return [result.unit.object for result in done]


def _note(group: Sequence[Unit], done: Done, run: Compilation) -> None:
    """A record for each unit, with its part of the bundle's time by its size; and one for each of LLVM's passes.

    Both are known by their length only, so they are laid end to end.
    """
    start = begun = done.start - run.trace.begun
    total = sum(len(unit.text) for unit in group)
    size = len(done.unit.object)
    for unit in group:
        share = len(unit.text) / total
        part = (share * done.seconds, -1, -1, round(share * size))
        run.trace.passes.append(UnitRecord("llvm", "machine", unit.name, start, *part, worker=done.worker))
        start += share * done.seconds
    owner, start = group[0].name if len(group) == 1 else "", begun
    for timed in done.unit.pass_times:
        if timed.seconds:
            run.trace.passes.append(
                UnitRecord(timed.name, LLVM_PASS, owner, start, timed.seconds, -1, -1, -1, worker=done.worker)
            )
            start += timed.seconds


# The caches of kernels


def _object_key(unit: Unit, run: Compilation) -> str:
    return key_of("object", unit.text, target_identity(run.target), run.options.opt_level, producer())


def _keep_object(group: Sequence[Unit], image: bytes, run: Compilation) -> None:
    """The object once, then for each unit the name of the object it is in."""
    assert run.cache is not None
    keys = [_object_key(unit, run) for unit in group]
    whole = key_of("bundle", keys)
    run.cache.put("object", whole, image)
    for key in keys:
        run.cache.put("object", key, whole.encode())


def _cached_objects(units: Sequence[Unit], run: Compilation) -> dict[str, tuple[str, bytes]]:
    """For each unit that is known, the key and the bytes of the object it is in."""
    assert run.cache is not None
    found: dict[str, tuple[str, bytes]] = {}
    images: dict[str, bytes | None] = {}
    with run.trace.span("find-objects", "cache"):
        for unit in units:
            named = run.cache.get("object", _object_key(unit, run))
            if named is None:
                continue
            whole = named.decode()
            if whole not in images:
                images[whole] = run.cache.get("object", whole)
            image = images[whole]
            if image is not None:
                found[unit.name] = (whole, image)
    return found


def _by_object(found: dict[str, tuple[str, bytes]]) -> list[tuple[bytes, set[str]]]:
    """Each object with the units that are wanted of it."""
    wanted: dict[str, tuple[bytes, set[str]]] = {}
    for name, (whole, image) in found.items():
        wanted.setdefault(whole, (image, set()))[1].add(name)
    return list(wanted.values())


def _ir_key(kernel: FusedKernel, run: Compilation) -> str:
    options, split = run.options, run.options.flow == "all-kernel"
    return key_of(
        "ir", kernel.name, kernel.source, kernel.line_slots, kernel.inplace, len(kernel.inputs), len(kernel.outputs),
        options.debug, min(options.opt_level, 2), split, target_identity(run.target), producer(),
    )  # fmt: skip


def _cached_ir(kernels: Sequence[FusedKernel], run: Compilation) -> dict[str, Lowered]:
    """Kernels whose IR is known for the library as it is now."""
    assert run.cache is not None
    found: dict[str, Lowered] = {}
    with run.trace.span("find-ir", "cache"):
        for kernel in kernels:
            key = _ir_key(kernel, run)
            names = run.cache.get("ir", key)
            payload = names and run.cache.get("ir", _used_key(key, unpack(names)[0], run))
            lowered = _read_ir(payload, run.cache) if payload else None
            if lowered is not None:
                found[kernel.name] = lowered
    return found


def _used_key(key: str, names: Iterable[str], run: Compilation) -> str:
    """The key of a kernel's IR: its own, and the state of every library name it looks up."""
    placed = run.options.debug != "none"  # line tables hold the lines of library functions
    return key_of(key, [(name, definition_digest(run.library, name, placed)) for name in sorted(names)])


@lru_cache(maxsize=8192)
def definition_digest(library: Library, name: str, placed: bool) -> str:
    """Changes when the definition of `name`, or the constants of its file, change; with `placed` when it moves, too."""
    for file in library.files:
        piece = file.pieces.get(name)
        if piece is not None:
            return key_of(piece.text, _constants_text(file), (file.file, piece.line) if placed else ())
    return ""


def _constants_text(file: SourceFile) -> str:
    text: str | None = file.__dict__.get("_constants_text")  # a file is read once and never changes
    if text is None:
        text = file.text
        for piece in file.pieces.values():
            text = text.replace(piece.text, "", 1)
        text = file.__dict__["_constants_text"] = "\n".join(line for line in text.splitlines() if line.strip())
    return text


def _keep_ir(kernel: FusedKernel, lowered: Lowered, uses: frozenset[str], run: Compilation) -> None:
    assert run.cache is not None
    key = _ir_key(kernel, run)
    units = list(lowered.unit.closure.values())
    for unit in units:
        if unit.shared:
            run.cache.put("ir", key_of("shared", unit.name, producer()), _packed(unit))
    run.cache.put(
        "ir", _used_key(key, uses, run), pack({"record": record_document(lowered.record)}, [_packed(lowered.unit)])
    )
    run.cache.put("ir", key, pack(sorted(uses)))


def _packed(unit: Unit) -> bytes:
    return pack({"name": unit.name, "shared": unit.shared, "needs": [n.name for n in unit.needs]}, [unit.text.encode()])


def _read_ir(payload: bytes, cache: Cache) -> Lowered | None:
    document, (packed,) = unpack(payload)
    unit = _read_unit(packed, cache)
    return None if unit is None else Lowered(read_record(document["record"]), unit)


def _read_unit(packed: bytes, cache: Cache) -> Unit | None:
    from compiler.backend.split import Unit

    document, (text,) = unpack(packed)
    needs: list[Unit] = []
    for name in document["needs"]:
        payload = cache.get("ir", key_of("shared", name, producer()))
        needed = _read_unit(payload, cache) if payload else None
        if needed is None:
            return None
        needs.append(needed)
    return Unit(document["name"], text.decode(), tuple(needs), document["shared"])
