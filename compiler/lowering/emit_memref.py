"""memref and vector memory ops: a memref is a pointer, an access is a getelementptr and a load or store.

Buffers are only promised to be aligned to their elements; an access that knows better says so with `kg.align`.
"""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.ir import Operation, SSAValue

from compiler.lowering.emit_casts import cast
from compiler.lowering.emitter import Emitter
from compiler.lowering.llvm_types import SCALAR_BYTES, byte_size, memory_space, pointer, symbol

# arith's AtomicRMWKind, in the order of its numbers; LLVM has no atomic multiplication.
_ATOMICS = ("fadd", "add", "xchg", "fmaximum", "max", "umax", "fminimum", "min", "umin", "", "",
            "or", "and", "fmax", "fmin", "xor")  # fmt: skip


def _element_pointer(e: Emitter, base: SSAValue, index: SSAValue) -> tuple[str, str, int]:
    """(pointer, its type, bytes of an element) of `base[index]`; prints the address unless the index is 0."""
    kind = base._type
    element = e.type(kind.element_type)  # pyright: ignore[reportAttributeAccessIssue]
    names = e.names
    offset, buffer = names[id(index)], names[id(base)]
    pointers = e.type(kind)
    size = SCALAR_BYTES.get(element) or byte_size(element)
    if offset == "0":
        return buffer, pointers, size
    # Addresses are named after their buffer.
    address = "%" + e.fresh(buffer[1:].split(".", 1)[0] + ".at" if buffer[0] == "%" else "mem.at")
    e.lines.append(f"  {address} = getelementptr inbounds {element}, {pointers} {buffer}, i64 {offset}")
    return address, pointers, size


def _alignment(op: Operation, size: int) -> str:
    """Alignment: the element's, where the access knows no better."""
    if op.attributes:
        align = op.attributes.get("kg.align")
        if isinstance(align, IntegerAttr):
            size = align.value.data
    return f"align {size}"


def _load(e: Emitter, op: Operation) -> None:
    base, index = op._operands
    result = op.results[0]
    address, pointers, size = _element_pointer(e, base, index)
    e.lines.append(
        f"  {e.define(result, 'load')} = load {e.type(result._type)}, {pointers} {address}, {_alignment(op, size)}"
    )


def _store(e: Emitter, op: Operation) -> None:
    value, base, index = op._operands
    address, pointers, size = _element_pointer(e, base, index)
    e.lines.append(f"  store {e.type(value._type)} {e.names[id(value)]}, {pointers} {address}, {_alignment(op, size)}")


def _alloca(e: Emitter, op: memref.AllocaOp) -> None:
    """Constant size, in the entry block."""
    result = op.results[0]
    kind = result._type
    assert isinstance(kind, MemRefType)
    shape = kind.get_shape()
    if len(shape) != 1 or shape[0] < 0:
        raise e.fail(op, f"memref.alloca needs a constant 1-D size, not {kind}")
    element = e.type(kind.element_type)
    size = shape[0]
    wanted = op.properties.get("alignment")
    natural = max(byte_size(element), 16 if size * byte_size(element) >= 16 else 1)
    align = wanted.value.data if isinstance(wanted, IntegerAttr) else natural
    name = e.define(result, "local")
    space, place = e.target.spaces.alloca, e.target.spaces.of(memory_space(kind))
    in_space = f", addrspace({space})" if space else ""
    home = name if space == place else f"{name}.home"
    e.entry.append(f"  {home} = alloca [{size} x {element}], align {align}{in_space}")
    if space != place:
        e.entry.append(f"  {name} = addrspacecast {pointer(space)} {home} to {pointer(place)}")


def define_global(e: Emitter, op: memref.GlobalOp) -> None:
    """Print a memref.global of the module: an array of each block, or (without elements) one that the launch brings."""
    name = symbol(op.properties["sym_name"].data)  # pyright: ignore[reportAttributeAccessIssue]
    kind = op.properties["type"]
    assert isinstance(kind, MemRefType)
    element = e.type(kind.element_type)
    (size,) = kind.get_shape()
    wanted = op.properties.get("alignment")
    align = wanted.value.data if isinstance(wanted, IntegerAttr) else max(byte_size(element), 16)
    space = e.target.spaces.of(memory_space(kind))
    array = f"addrspace({space}) global [{size} x {element}]"
    e.globals[name] = f"{name} = {f'internal {array} poison' if size else f'external {array}'}, align {align}"


def _get_global(e: Emitter, op: memref.GetGlobalOp) -> None:
    e.names[id(op.results[0])] = symbol(op.properties["name"].string_value())  # pyright: ignore[reportAttributeAccessIssue]


def _view(e: Emitter, op: memref.ViewOp) -> None:
    """Bytes as elements of another type: the pointer itself, moved by the shift."""
    source, shift = op._operands[:2]
    result = op.results[0]
    buffer, offset = e.names[id(source)], e.names[id(shift)]
    if offset == "0":
        e.names[id(result)] = buffer
        return
    e.lines.append(
        f"  {e.define(result, 'view')} = getelementptr inbounds i8, {e.type(source._type)} {buffer}, i64 {offset}"
    )


def _atomic_rmw(e: Emitter, op: memref.AtomicRMWOp) -> None:
    value, base, index = op._operands
    action = _ATOMICS[op.properties["kind"].value.data]  # pyright: ignore[reportAttributeAccessIssue]
    if not action:
        raise e.fail(op, "memref.atomic_rmw: no target has an atomic multiplication")
    address, pointers, size = _element_pointer(e, base, index)
    # GPU kernels order their memory with barriers and fences; an ordered atomic there costs two fences each.
    e.lines.append(
        f"  {e.define(op.results[0], 'old')} = atomicrmw {action} {pointers} {address}, "
        f"{e.type(value._type)} {e.names[id(value)]} {e.target.emission.atomic_order}, align {size}"
    )


EMITTERS = {
    memref.LoadOp: _load,
    memref.StoreOp: _store,
    vector.LoadOp: _load,
    vector.StoreOp: _store,
    memref.AllocaOp: _alloca,
    memref.GetGlobalOp: _get_global,
    memref.ViewOp: _view,
    memref.CastOp: cast("addrspacecast", "cast"),  # which changes what is known about the size, nothing else
    memref.ExtractAlignedPointerAsIndexOp: cast("ptrtoint", "address"),
    memref.AtomicRMWOp: _atomic_rmw,
}
