"""Splitting a module for LLVM: one unit a kernel, and one a function that kernels share.

A unit is complete: it holds all that its entry calls, except that on the CPU outlined functions (which LLVM may not
inline) stand in units of their own, compiled once and linked by name. That name is made from the function's code, so
units from different compilations fit together, which is what lets the caches mix them.
"""
# pyright: reportPrivateUsage=false

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from compiler.lowering.emit_func import callee_name
from compiler.lowering.llvm_text import Debug, emit_module
from compiler.lowering.llvm_types import symbol
from compiler.targets.target import Target


@dataclass(frozen=True)
class Unit:
    """LLVM IR that is optimised and emitted alone; `needs` are the units of the functions it calls elsewhere."""

    name: str
    text: str
    needs: tuple[Unit, ...] = ()
    shared: bool = False

    @property
    def closure(self) -> dict[str, Unit]:
        """This unit and all it needs, by name."""
        found: dict[str, Unit] = {}
        for unit in self.needs:
            found |= unit.closure
        return found | {self.name: self}


def whole_unit(name: str, module: ModuleOp, target: Target, debug: Debug) -> Unit:
    """A module with one kernel as one unit."""
    return Unit(name, emit_module(module, target, debug).text)


def split_module(module: ModuleOp, target: Target, debug: Debug) -> dict[str, Unit]:
    """The unit of each kernel of a module; the module is taken apart."""
    return _Split(module, target, debug).units()


class _Split:
    def __init__(self, module: ModuleOp, target: Target, debug: Debug) -> None:
        self._target = target
        self._debug: Debug = debug
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

    def units(self) -> dict[str, Unit]:
        kernels = [name for name, function in self._functions.items() if "kg.kernel" in function.attributes]
        return {name: self._unit(name) for name in kernels}

    def _stands_alone(self, name: str) -> bool:
        return self._target.is_cpu and "kg.outlined" in self._functions[name].attributes

    def _unit(self, entry: str) -> Unit:
        """Emit an entry with everything it reaches, up to functions that stand alone."""
        inside, outside = [entry], dict[str, None]()
        for name in inside:  # grows while it is walked
            for used in self._uses.get(name, ()):
                if used in self._functions and self._stands_alone(used):
                    outside[used] = None
                elif (used in self._functions or used in self._tables) and used not in inside:
                    inside.append(used)
        needs = {name: self._shared_unit(name) for name in outside if name != entry}
        operations: list[Operation] = [self._tables[name] for name in inside if name in self._tables]
        operations += [self._functions[name] for name in inside if name in self._functions]
        text = emit_module(ModuleOp(operations), self._target, self._debug).text
        for operation in operations:
            operation.detach()
        for name, unit in needs.items():
            text = text.replace(f"{symbol(name)}(", f"{symbol(unit.name)}(")
        return Unit(entry, text, tuple(needs.values()))

    def _shared_unit(self, name: str) -> Unit:
        unit = self._shared.get(name)
        if unit is None:
            plain = self._unit(name)
            # The instance's number depends on what else was compiled; its code does not.
            text = plain.text.replace(f"{symbol(name)}(", "@kg_shared(")
            called = f"kg_shared_{hashlib.blake2b(text.encode(), digest_size=12).hexdigest()}"
            unit = self._shared[name] = Unit(called, text.replace("@kg_shared(", f"@{called}("), plain.needs, shared=True)
        return unit


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
