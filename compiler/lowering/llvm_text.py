"""Standard dialects -> LLVM IR text: the table of emitters and the frame of a module.

`emit_module` walks the functions that kernels reach; each dialect's ops are in its own `emit_*.py`.
"""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation

from compiler.dialects import std
from compiler.errors import LoweringError
from compiler.lowering import (
    emit_arith,
    emit_casts,
    emit_func,
    emit_math,
    emit_memref,
    emit_scf,
    emit_vector,
)
from compiler.lowering.emitter import EmitTable, Emitter
from compiler.lowering.llvm_types import symbol
from compiler.lowering.locations import DebugInfo, Locations, resolve
from compiler.places import NO_PLACE, Place
from compiler.targets.target import Target

_MODULES = (emit_arith, emit_casts, emit_math, emit_vector, emit_memref, emit_scf, emit_func)


def _gpu():
    from compiler.lowering.emit_gpu import EMITTERS

    return EMITTERS


def _llvm():
    from compiler.lowering.emit_llvm import EMITTERS

    return EMITTERS


_EMITTERS = {op: emit for module in _MODULES for op, emit in module.EMITTERS.items()}
TABLE = EmitTable(_EMITTERS, late={"gpu": _gpu, "llvm": _llvm})
_BY_NAME = {op.name: emit for op, emit in TABLE.items()}
TABLE.update({op: _BY_NAME[op.name] for op in std.OPS})  # the vector forms that xDSL's own classes leave out


@dataclass(frozen=True)
class LlvmText:
    """LLVM IR and, for each of its lines, the provenance id (0: none) and the line of kernel source it was made of,
    whether or not debug info was asked for."""

    text: str
    line_prov: list[int]
    places: list[Place]


def module_text(module: ModuleOp, target: Target, debug: str = "none") -> str:
    """The text of `emit_module`, in less time: where lines come from is noted only where the text says it."""
    return emit_module(module, target, debug, placed=debug != "none").text


def emit_module(module: ModuleOp, target: Target, debug: str = "none", *, placed: bool = True) -> LlvmText:
    """Print the kernels of `module`, and the functions they call, as LLVM IR for `target`.

    A module without any `kg.kernel` function is printed whole, with external linkage.
    """
    functions: dict[str, func.FuncOp] = {}
    tables: list[memref.GlobalOp] = []
    op = module.body.block._first_op
    while op is not None:
        if isinstance(op, func.FuncOp):
            functions[op.sym_name.data] = op
        elif isinstance(op, memref.GlobalOp):
            tables.append(op)
        else:
            raise LoweringError(f"{op.name} cannot stand at the top of a kernel module")
        op = op._next_op

    e = Emitter(target, functions, TABLE)
    e.placed = placed
    info = DebugInfo(e.metadata, target.emission.debug) if debug == "line-tables" else None
    for table in tables:
        emit_memref.define_global(e, table)

    kernels = [name for name, function in functions.items() if "kg.kernel" in function.attributes]
    defined = [name for name, f in functions.items() if f.body._first_block is not None]
    entries = kernels or [name for name in defined if "kg.inline" not in functions[name].attributes]
    e.called.extend(entries)
    printed: dict[str, _Function] = {}
    for name in e.called:  # grows while functions are printed
        printed[name] = _function(e, functions[name], info, name in entries)
    waiting = _reaching_barriers(printed)
    return _assemble(e, target, [(body.head(name in waiting), body) for name, body in printed.items()])


@dataclass(frozen=True)
class _Function:
    """A printed function; its first line waits until it is known whether it reaches a barrier."""

    head: Callable[[bool], str]
    lines: list[str]
    line_prov: list[int]
    places: list[Place]
    calls: set[str]
    has_barrier: bool


def _reaching_barriers(printed: dict[str, _Function]) -> set[str]:
    """Functions with a barrier in them or in anything they call."""
    found = {name for name, body in printed.items() if body.has_barrier}
    while more := {name for name, body in printed.items() if name not in found and body.calls & found}:
        found |= more
    return found


def _function(e: Emitter, function: func.FuncOp, info: DebugInfo | None, external: bool) -> _Function:
    name = function.sym_name.data
    body = function.body._first_block
    assert body is not None
    if body.next_block is not None:
        raise LoweringError(f"function {name} has several blocks; control flow is structured (scf) at this stage")
    file, line = _source_of(function, body._first_op)
    e.start_function()
    e.locations = Locations(info, name, file, line)
    kernel = "kg.kernel" in function.attributes
    arguments = emit_func.parameters(e, function, kernel)
    e.block(body)
    if e.lines[-1:] == [] or not e.lines[-1].startswith("  ret"):
        e.lines.append("  ret void")
        e.where.append(0)

    result = emit_func.result_type(e, function.function_type.outputs.data)
    words = ["define"]
    if not external:
        words.append("internal")
    if kernel and e.target.emission.convention:
        words.append(e.target.emission.convention)
    words.append(f"{result} {symbol(name)}")
    tail = _attributes(e, function, kernel) + (f" !dbg !{e.locations.subprogram}" if info else "")

    def head(barrier: bool) -> str:
        texts = ", ".join([emit_func.parameter_text(declaration, extra, barrier) for declaration, extra in arguments])
        return f"{' '.join(words)}({texts}) {tail} {{"

    lines, at = e.lines, e.where
    provenance = e.locations.provenance
    if info:
        tails = [f", !dbg !{node}" for node in e.locations.metadata]
        lines = [text + tails[place] if text[0] == " " else text for text, place in zip(lines, at)]
        e.entry = [text + tails[0] for text in e.entry]
    line_prov: list[int] = []
    places: list[Place] = []
    if e.placed:
        known = e.locations.places
        line_prov = [0] * (2 + len(e.entry)) + [provenance[place] for place in at] + [0, 0]
        places = [NO_PLACE] * (2 + len(e.entry)) + [known[place] for place in at] + [NO_PLACE] * 2
    return _Function(head, ["entry:", *e.entry, *lines, "}", ""], line_prov, places, e.calls, e.has_barrier)


def _source_of(function: func.FuncOp, first: Operation | None) -> tuple[str, int]:
    """The file and line a function starts at: its own location, else its first op's."""
    file, line, _ = resolve(function.location)
    if not file and first is not None:
        file, line, _ = resolve(first.location)
    return file or "kernelglass", line


def _attributes(e: Emitter, function: func.FuncOp, kernel: bool) -> str:
    """Function attributes: nothing unwinds, loops end, and the text says what processor it is for."""
    target = e.target
    words = ["nounwind", "mustprogress"]
    if "kg.outlined" in function.attributes:
        words.append("noinline")  # shared between kernels on purpose: one copy is optimised and emitted
    if e.has_short_loop and target.emission.short_loops:
        words.append(target.emission.short_loops)
    threads = function.attributes.get("kg.threads")
    if kernel and isinstance(threads, IntegerAttr) and target.emission.block_limit:
        words.append(target.emission.block_limit.format(threads.value.data))
    blocks = function.attributes.get("kg.per_processor")
    if kernel and isinstance(blocks, IntegerAttr) and target.emission.blocks_at_once:
        words.append(target.emission.blocks_at_once.format(blocks.value.data))
    cluster = function.attributes.get("kg.cluster")
    if kernel and isinstance(cluster, IntegerAttr):
        words.append(target.emission.cluster.format(cluster.value.data))
    words.append(f'"target-cpu"="{target.cpu}"')
    if target.features:
        words.append(f'"target-features"="{target.features}"')
    return e.attribute_group(" ".join(words))


def _assemble(e: Emitter, target: Target, bodies: list[tuple[str, _Function]]) -> LlvmText:
    head = [f'target datalayout = "{target.data_layout}"', f'target triple = "{target.triple}"', ""]
    if e.globals:
        head += [*e.globals.values(), ""]
    tail: list[str] = []
    for text in e.helpers.values():
        tail += [*text.split("\n"), ""]
    if e.declarations:
        tail += [*e.declarations.values(), ""]
    tail += e.attribute_lines()
    metadata = e.metadata.lines()
    if metadata:
        tail += ["", *metadata]
    lines, line_prov = head, [0] * len(head)
    places = [NO_PLACE] * len(head)
    for first, body in bodies:
        lines += [first, *body.lines]
        line_prov += body.line_prov
        places += body.places
    lines += [*tail, ""]
    return LlvmText("\n".join(lines), line_prov + [0] * len(tail), places + [NO_PLACE] * len(tail))
