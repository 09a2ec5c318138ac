"""Kernels in the cache: the LLVM IR of each, by its source and the library names it looks up, and objects by that IR.

A function that kernels share is kept once, under its own name, which is made from its code; an object that LLVM made of
several units is kept once, and each unit has the key of the object it is in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from time import perf_counter

from compiler.artifact.kernel_records import read_record, record_document
from compiler.backend.emission import Lowered
from compiler.backend.split import Unit, only
from compiler.cache import Cache, key_of, pack, producer, target_identity, unpack
from compiler.compilation import Compilation
from compiler.flows import flow_of
from compiler.language.library import definition_digest
from compiler.passes.fusion.records import FusedKernel
from compiler.passes.kernel.elaboration import KernelModule

# LLVM IR


def find_ir(kernels: Sequence[FusedKernel], run: Compilation) -> dict[str, Lowered]:
    """Kernels whose IR is known for the library as it is now."""
    found: dict[str, Lowered] = {}
    if run.cache is None or run.options.snapshots:
        return found
    with run.trace.span("find-ir", "cache"):
        for kernel in kernels:
            key = _ir_key(kernel, run)
            names = run.cache.get("ir", key)
            payload = names and run.cache.get("ir", _used_key(key, unpack(names)[0], run))
            lowered = _read_ir(payload, run.cache) if payload else None
            if lowered is not None:
                found[kernel.name] = lowered
    return found


def keep_ir(module: KernelModule, lowered: Mapping[str, Lowered], run: Compilation) -> None:
    """Keep each kernel's IR, with the library names it looked up and the functions it shares with others."""
    if run.cache is None:
        return
    for kernel in module.sources:
        key, uses, made = _ir_key(kernel, run), module.uses[kernel.name], lowered[kernel.name]
        for unit in made.unit.closure.values():
            if unit.shared:
                run.cache.put("ir", key_of("shared", unit.name, producer()), _packed(unit))
        document = pack({"record": record_document(made.record)}, [_packed(made.unit)])
        run.cache.put("ir", _used_key(key, uses, run), document)
        run.cache.put("ir", key, pack(sorted(uses)))


def _ir_key(kernel: FusedKernel, run: Compilation) -> str:
    options, split = run.options, flow_of(run.options).together
    return key_of(
        "ir", kernel.name, kernel.source, kernel.line_slots, kernel.inplace, len(kernel.inputs), len(kernel.outputs),
        options.debug, min(options.opt_level, 2), split, target_identity(run.target), producer(),
    )  # fmt: skip


def _used_key(key: str, names: Iterable[str], run: Compilation) -> str:
    """The key of a kernel's IR: its own, and the state of every library name it looks up."""
    placed = run.options.debug != "none"  # line tables hold the lines of library functions
    return key_of(key, [(name, definition_digest(run.library, name, placed)) for name in sorted(names)])


def _packed(unit: Unit) -> bytes:
    return pack({"name": unit.name, "shared": unit.shared, "needs": [n.name for n in unit.needs]}, [unit.text.encode()])


def _read_ir(payload: bytes, cache: Cache) -> Lowered | None:
    document, (packed,) = unpack(payload)
    unit = _read_unit(packed, cache)
    return None if unit is None else Lowered(read_record(document["record"]), unit)


def _read_unit(packed: bytes, cache: Cache) -> Unit | None:
    document, (text,) = unpack(packed)
    needs: list[Unit] = []
    for name in document["needs"]:
        payload = cache.get("ir", key_of("shared", name, producer()))
        needed = _read_unit(payload, cache) if payload else None
        if needed is None:
            return None
        needs.append(needed)
    return Unit(document["name"], text.decode(), tuple(needs), document["shared"])


# Objects


class KnownObjects:
    """Objects in the cache that have units of a compilation, which are asked for as they are made."""

    def __init__(self, run: Compilation) -> None:
        self._run = run
        self._asked: set[str] = set()
        self._found: dict[str, tuple[str, bytes]] = {}

    def missing(self, units: Sequence[Unit]) -> list[Unit]:
        """Of the units that were not asked for before, those that no object has."""
        run, new = self._run, [unit for unit in units if unit.name not in self._asked]
        self._asked.update(unit.name for unit in new)
        if run.cache is None:
            return new
        found = {} if run.options.recompiles else _known_objects(new, run.cache, run)
        for unit in new:
            if not unit.shared:
                name = "object-hit" if unit.name in found else "object-miss"
                run.trace.add(name, "cache", unit.name, perf_counter(), 0.0)
        self._found |= found
        return [unit for unit in new if unit.name not in found]

    def objects(self) -> list[bytes]:
        """Objects that offer the units that are known, each once."""
        return [only(image, wanted, self._asked) for image, wanted in _by_object(self._found)]


def keep_objects(groups: Sequence[Sequence[Unit]], images: Sequence[bytes], run: Compilation) -> None:
    """Each object once, then for each of its units the key of the object it is in."""
    if run.cache is None:
        return
    for group, image in zip(groups, images, strict=True):
        keys = [_object_key(unit, run) for unit in group]
        whole = key_of("bundle", keys)
        run.cache.put("object", whole, image)
        for key in keys:
            run.cache.put("object", key, whole.encode())


def _object_key(unit: Unit, run: Compilation) -> str:
    return key_of("object", unit.text, target_identity(run.target), run.options.opt_level, producer())


def _known_objects(units: Sequence[Unit], cache: Cache, run: Compilation) -> dict[str, tuple[str, bytes]]:
    """For each unit that is known, the key and the bytes of the object it is in."""
    found: dict[str, tuple[str, bytes]] = {}
    images: dict[str, bytes | None] = {}
    with run.trace.span("find-objects", "cache"):
        for unit in units:
            named = cache.get("object", _object_key(unit, run))
            if named is None:
                continue
            whole = named.decode()
            if whole not in images:
                images[whole] = cache.get("object", whole)
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
