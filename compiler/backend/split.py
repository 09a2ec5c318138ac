"""Splitting a module for LLVM: one unit a kernel, and one a function that kernels share.

A unit is complete: it holds all that its entry calls, except that on the CPU outlined functions (which LLVM may not
inline) stand in units of their own, compiled once and linked by name. That name is made from the function's code, so
units from different compilations fit together, which is what lets the caches mix them. Units are compiled in bundles,
as emitting an object has a fixed cost.
"""
# pyright: reportPrivateUsage=false

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from compiler.backend.elf import LOCAL, WEAK, bound, symbols
from compiler.dialects.operations import count_operations, release
from compiler.lowering.emit_func import callee_name
from compiler.lowering.llvm_text import module_text
from compiler.lowering.llvm_types import symbol
from compiler.targets.target import Target


@dataclass(frozen=True)
class Unit:
    """LLVM IR that is optimised and emitted alone; `needs` are the units of the functions it calls elsewhere."""

    name: str
    text: str
    needs: tuple[Unit, ...] = ()
    shared: bool = False
    operations: int = -1
    """Of the MLIR it was printed from; -1 where that was in another compilation."""

    @property
    def closure(self) -> dict[str, Unit]:
        """This unit and all it needs, by name."""
        found: dict[str, Unit] = {}
        for unit in self.needs:
            found |= unit.closure
        return found | {self.name: self}


SHARED_PREFIX = "kg_shared_"
# How much LLVM IR goes into one object: enough to make its fixed cost small; where several processes share the work,
# little enough to share it evenly.
MOST_BYTES, MOST_SHARED_BYTES, LEAST_BYTES = 256 << 10, 64 << 10, 12 << 10


def bundles(units: Sequence[Unit], target: Target, jobs: int) -> list[tuple[Unit, ...]]:
    """Units in groups that are emitted together, about as large as each other; for a device each stands alone."""
    if not target.emission.in_process or "linux" not in target.triple:  # `only` knows ELF
        return [(unit,) for unit in units]
    total = sum(len(unit.text) for unit in units)
    most = MOST_BYTES
    if jobs > 1:
        pieces = jobs * (2 if total < MOST_BYTES else 4)
        most = max(min(MOST_SHARED_BYTES, total // pieces), LEAST_BYTES)
    groups: list[list[Unit]] = []
    sizes: list[int] = []
    for unit in sorted(units, key=lambda unit: -len(unit.text)):
        fitting = [number for number, size in enumerate(sizes) if size + len(unit.text) <= most]
        if fitting:
            groups[fitting[0]].append(unit)
            sizes[fitting[0]] += len(unit.text)
        else:
            groups.append([unit])
            sizes.append(len(unit.text))
    return [tuple(group) for group in groups]


def only(image: bytes, wanted: Collection[str], present: Collection[str] = ()) -> bytes:
    """An ELF object that offers the wanted symbols and keeps its others to itself.

    An object from the cache may hold kernels that have changed since, or functions that another object brings as well.
    What only those others call may be missing: shared functions that are not `present` need not be found.
    """
    patched = bytearray(image)
    for each in symbols(image):
        unneeded = each.name.startswith(SHARED_PREFIX) and each.name not in present
        if each.binding != LOCAL and (each.name not in wanted if each.defined else unneeded):
            at, byte = bound(each, LOCAL if each.defined else WEAK)
            patched[at] = byte
    return bytes(patched)


def whole_unit(name: str, module: ModuleOp, target: Target, debug: str) -> Unit:
    """A module with one kernel as one unit; the module is used up."""
    operations = count_operations(module)
    unit = Unit(name, module_text(module, target, debug), operations=operations)
    release(module)
    return unit


class Split:
    """A module taken apart; units are printed when they are asked for, each once, which uses its entry up."""

    def __init__(self, module: ModuleOp, target: Target, debug: str) -> None:
        self._target = target
        self._debug = debug
        self._functions: dict[str, func.FuncOp] = {}
        self._tables: dict[str, memref.GlobalOp] = {}
        for operation in list(module.body.block.ops):
            operation.detach()
            if isinstance(operation, func.FuncOp):
                self._functions[operation.sym_name.data] = operation
            elif isinstance(operation, memref.GlobalOp):
                self._tables[operation.sym_name.data] = operation
        self._uses = {name: _symbols_used(function) for name, function in self._functions.items()}
        self._shared: dict[str, Unit] = {}

    @property
    def kernels(self) -> list[str]:
        """The entries, in order."""
        return [name for name, function in self._functions.items() if "kg.kernel" in function.attributes]

    @property
    def shared(self) -> list[str]:
        """The functions that stand alone, in order."""
        return [name for name in self._functions if self._stands_alone(name)]

    def _stands_alone(self, name: str) -> bool:
        return self._target.emission.in_process and "kg.outlined" in self._functions[name].attributes

    def unit(self, entry: str) -> Unit:
        """An entry with everything it reaches, up to functions that stand alone, which it needs."""
        inside, outside = [entry], dict[str, None]()
        for name in inside:  # grows while it is walked
            for used in self._uses.get(name, ()):
                if used in self._functions and self._stands_alone(used):
                    outside[used] = None
                elif (used in self._functions or used in self._tables) and used not in inside:
                    inside.append(used)
        needs = {name: self.shared_unit(name) for name in outside if name != entry}
        operations: list[Operation] = [self._tables[name] for name in inside if name in self._tables]
        operations += [self._functions[name] for name in inside if name in self._functions]
        count = len(operations) + sum(map(count_operations, operations))
        text = module_text(ModuleOp(operations), self._target, self._debug)
        for operation in operations:
            operation.detach()
        release(self._functions[entry])  # no other unit has it inside
        text = _renumbered(text, [name for name in inside if name in self._tables])
        for name, unit in needs.items():
            text = text.replace(f"{symbol(name)}(", f"{symbol(unit.name)}(")
        distinct = {unit.name: unit for unit in needs.values()}
        if len(distinct) < len(needs):
            text = _declared_once(text)
        return Unit(entry, text, tuple(distinct.values()), operations=count)

    def shared_unit(self, name: str) -> Unit:
        """A function that stands alone, under the name that its code gives it."""
        unit = self._shared.get(name)
        if unit is None:
            plain = self.unit(name)
            # The instance's number depends on what else was compiled; its code does not.
            text = plain.text.replace(f"{symbol(name)}(", "@kg_shared(")
            called = f"{SHARED_PREFIX}{hashlib.blake2b(text.encode(), digest_size=12).hexdigest()}"
            unit = self._shared[name] = Unit(
                called, text.replace("@kg_shared(", f"@{called}("), plain.needs, True, plain.operations
            )
        return unit


def _declared_once(text: str) -> str:
    """Functions whose code is equal have one name now, and LLVM takes one declaration of a name."""
    seen: set[str] = set()
    kept: list[str] = []
    for line in text.split("\n"):
        if not line.startswith("declare ") or line not in seen:
            kept.append(line)
            seen.add(line)
    return "\n".join(kept)


_NUMBERED = re.compile(r"^(.*?)(\d+)$")


def _renumbered(text: str, tables: Sequence[str]) -> str:
    """Tables numbered within their unit: by the module they came from, equal kernels would differ in name only."""
    named = [found for found in map(_NUMBERED.match, tables) if found]
    counts: dict[str, int] = {}
    new: dict[str, str] = {}
    for found in sorted(named, key=lambda found: int(found[2])):
        counts[found[1]] = number = counts.get(found[1], -1) + 1
        new[found[0]] = f"{found[1]}{number}"
    if all(old == name for old, name in new.items()):
        return text
    known = re.compile(rf"@({'|'.join(map(re.escape, new))})(?![\w.$])")
    return known.sub(lambda found: f"@{new[found[1]]}", text)


def _symbols_used(function: func.FuncOp) -> tuple[str, ...]:
    found: dict[str, None] = {}
    block = function.body._first_block
    if block is not None:
        _collect(block, found)
    return tuple(found)


def _collect(block: Block, found: dict[str, None]) -> None:
    operation = block._first_op
    while operation is not None:
        kind = type(operation)
        if kind is func.CallOp:
            found[callee_name(operation)] = None
        elif kind is memref.GetGlobalOp:
            found[operation.properties["name"].string_value()] = None  # pyright: ignore[reportAttributeAccessIssue]
        elif operation.regions:
            for region in operation.regions:
                for inner in region.blocks:
                    _collect(inner, found)
        operation = operation._next_op
