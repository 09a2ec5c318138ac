"""llvm: the escape hatch. Intrinsics by name, inline assembly, and the few ops their results need."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.ir import Operation

from compiler.lowering.emit_casts import cast
from compiler.lowering.emitter import Emitter
from compiler.lowering.llvm_types import quoted
from compiler.targets import intrinsic_owners
from compiler.targets.cpu import assembles


def _finish_call(e: Emitter, op: Operation, call: str, stem: str) -> None:
    place = e.locations.place_of(op)
    if place is not None:
        call += f", !srcloc !{e.metadata.place(place.file, place.line)}"
    if op.results:
        e.lines.append(f"  {e.define(op.results[0], stem)} = {call}")
    else:
        e.lines.append(f"  {call}")


def _call_intrinsic(e: Emitter, op: llvm.CallIntrinsicOp) -> None:
    name = "@" + op.properties["intrin"].data  # pyright: ignore[reportAttributeAccessIssue]
    owner = intrinsic_owners().get(name.split(".", 2)[1] if "." in name else "", e.target.arch)
    if owner != e.target.arch:
        # LLVM would not refuse it: it would abort the process when it comes to selecting instructions.
        raise e.fail(op, f"{name[1:]} is an instruction of {owner}, not of {e.target.name}")
    kind = e.type(op.results[0]._type) if op.results else "void"
    operands = op._operands
    if name not in e.declarations:
        e.declare(name, kind, ", ".join([e.type(value._type) for value in operands]))
    e.has_barrier |= "barrier" in name
    call = f"call {kind} {name}({e.args(operands)})"
    _finish_call(e, op, call, name.rsplit(".", 2)[-2] if "." in name else "call")


def _inline_asm(e: Emitter, op: llvm.InlineAsmOp) -> None:
    if not assembles(e.target):  # LLVM would end the process
        raise e.fail(op, f"asm for {e.target.arch} cannot be assembled on this machine; use intrinsic instead")
    properties = op.properties
    kind = e.type(op.results[0]._type) if op.results else "void"
    words = ["call", kind, "asm"]
    if "has_side_effects" in properties or not op.results:
        words.append("sideeffect")
    if "is_align_stack" in properties:
        words.append("alignstack")
    dialect = properties.get("asm_dialect")
    if dialect is not None and dialect.value.data == 1:  # pyright: ignore[reportAttributeAccessIssue]
        words.append("inteldialect")
    code = quoted(properties["asm_string"].data)  # pyright: ignore[reportAttributeAccessIssue]
    e.has_barrier |= "bar" in code
    constraints = quoted(properties["constraints"].data)  # pyright: ignore[reportAttributeAccessIssue]
    call = f'{" ".join(words)} "{code}", "{constraints}"({e.args(op._operands)})'
    if e.target.emission.grid is not None:
        # It may wait for other threads, so it must not be moved to where fewer of them come by.
        call += " convergent"
    _finish_call(e, op, call, "asm")


def _extract_value(e: Emitter, op: llvm.ExtractValueOp) -> None:
    (a,) = op._operands
    path = ", ".join(str(i) for i in op.properties["position"].get_values())  # pyright: ignore[reportAttributeAccessIssue]
    e.lines.append(f"  {e.define(op.results[0], 'field')} = extractvalue {e.type(a._type)} {e.names[id(a)]}, {path}")


EMITTERS = {
    llvm.CallIntrinsicOp: _call_intrinsic,
    llvm.InlineAsmOp: _inline_asm,
    llvm.ExtractValueOp: _extract_value,
    llvm.IntToPtrOp: cast("inttoptr", "pointer"),
}
