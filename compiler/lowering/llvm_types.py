"""How xDSL types and constants are spelled in LLVM IR text."""

from __future__ import annotations

import math
import struct

from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    VectorType,
)
from xdsl.ir import Attribute

from compiler.errors import LoweringError
from compiler.graph.dtypes import DTYPES
from compiler.targets.target import Target

_FLOATS = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}  # dtypes by LLVM's names
_FIXED: dict[type[Attribute], str] = {
    IndexType: "i64",
    Float16Type: "half",
    BFloat16Type: "bfloat",
    Float32Type: "float",
    Float64Type: "double",
}
SCALAR_BYTES = {llvm: DTYPES[name].bytes for llvm, name in _FLOATS.items()}
SCALAR_BYTES |= {f"i{info.bits}": info.bytes for info in DTYPES.values() if info.kind != "f"}


def llvm_type(attr: Attribute, target: Target) -> str:
    """LLVM's spelling of one of the types of the kernel stage; any other type is a LoweringError."""
    kind = type(attr)
    if kind in _FIXED:
        return _FIXED[kind]
    if kind is VectorType:
        sizes = attr.shape.data  # pyright: ignore[reportAttributeAccessIssue]
        if len(sizes) == 1:
            return f"<{sizes[0].data} x {llvm_type(attr.element_type, target)}>"  # pyright: ignore[reportAttributeAccessIssue]
    if kind is MemRefType:
        return pointer(target.spaces.of(memory_space(attr)))  # pyright: ignore[reportArgumentType]
    if isinstance(attr, IntegerType):
        return f"i{attr.width.data}"
    return _llvm_own(attr, target) if attr.name.startswith("llvm.") else _reject(attr)


def _llvm_own(attr: Attribute, target: Target) -> str:
    from xdsl.dialects.llvm import LLVMPointerType, LLVMStructType  # slow to load, and here it is loaded already

    if isinstance(attr, LLVMStructType):
        return "{ " + ", ".join(llvm_type(field, target) for field in attr.types.data) + " }"
    if isinstance(attr, LLVMPointerType):
        space = attr.addr_space
        return pointer(target.spaces.of(space.data) if isinstance(space, IntAttr) else 0)
    return _reject(attr)


def _reject(attr: Attribute):
    raise LoweringError(f"type {attr} has no LLVM form; the kernel stage has scalars, 1-D vectors and memrefs")


def pointer(space: int) -> str:
    """`ptr`, with its address space unless it is 0."""
    return f"ptr addrspace({space})" if space else "ptr"


def memory_space(memref: MemRefType) -> int:
    """The memref's memory space number; none is 0."""
    space = memref.memory_space
    if isinstance(space, NoneAttr):
        return 0
    if isinstance(space, IntegerAttr):
        return space.value.data
    return _reject(memref)


def byte_size(llvm: str) -> int:
    """Bytes of a scalar LLVM type in memory."""
    return SCALAR_BYTES.get(llvm) or (int(llvm[1:]) + 7) // 8


def split_vector(llvm: str) -> tuple[int, str]:
    """`<4 x float>` -> (4, "float"); a scalar has 0 lanes."""
    if llvm[0] == "<":
        lanes, element = llvm[1:-1].split(" x ", 1)
        return int(lanes), element
    return 0, llvm


def with_lanes(lanes: int, element: str) -> str:
    """The inverse of `split_vector`."""
    return f"<{lanes} x {element}>" if lanes else element


def mangled(llvm: str) -> str:
    """The suffix an overloaded intrinsic has for this type: `<4 x float>` -> `v4f32`."""
    lanes, element = split_vector(llvm)
    name = _FLOATS.get(element, element)
    return f"v{lanes}{name}" if lanes else name


def float_literal(value: float, llvm: str) -> str:
    """A float literal of the given LLVM type, rounded to it; decimal where that is exact and short."""
    if llvm == "half":
        return f"0xH{_half_bits(value):04X}"
    if llvm == "bfloat":
        return f"0xR{_bfloat_bits(value):04X}"
    if llvm == "float":
        try:
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        except OverflowError:
            value = math.copysign(math.inf, value)
    if math.isfinite(value):
        short = f"{value:.6e}"
        if float(short) == value:
            return short
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def _half_bits(value: float) -> int:
    try:
        return struct.unpack("<H", struct.pack("<e", value))[0]
    except OverflowError:
        return 0xFC00 if value < 0 else 0x7C00


def _bfloat_bits(value: float) -> int:
    """bf16 bits of a Python float, rounded once, to nearest even."""
    if math.isnan(value):
        return 0x7FC0
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    sign = (bits >> 48) & 0x8000
    magnitude = abs(value)
    if magnitude == 0:
        return sign
    if math.isinf(magnitude):
        return sign | 0x7F80
    exponent = max(math.frexp(magnitude)[1] - 1, -126)
    units = round(math.ldexp(magnitude, 7 - exponent))  # Python rounds halves to even; ldexp is exact here
    return sign | min(units + ((exponent + 126) << 7), 0x7F80)


def scalar_literal(value: int | float, llvm: str) -> str:
    """A literal of a scalar LLVM type."""
    if llvm[0] == "i":
        if llvm == "i1":
            return "true" if value else "false"
        return str(int(value))
    return float_literal(float(value), llvm)


_LITERALS: dict[int, tuple[Attribute, str, str]] = {}  # by identity: the elaborator shares the attributes of constants
_MOST_LITERALS = 1 << 14


def literal(attr: Attribute, llvm: str) -> str:
    """The LLVM literal (without its type) of a constant's value attribute."""
    known = _LITERALS.get(id(attr))
    if known is not None and known[1] == llvm:
        return known[2]
    text = _literal(attr, llvm)
    if len(_LITERALS) >= _MOST_LITERALS:
        _LITERALS.clear()
    _LITERALS[id(attr)] = (attr, llvm, text)  # keeping the attribute keeps its id from being given to another
    return text


def _literal(attr: Attribute, llvm: str) -> str:
    if isinstance(attr, IntegerAttr):
        return scalar_literal(attr.value.data, llvm)
    if isinstance(attr, FloatAttr):
        return float_literal(attr.value.data, llvm)
    if isinstance(attr, DenseIntOrFPElementsAttr):
        lanes, element = split_vector(llvm)
        values = attr.get_values()
        words = [scalar_literal(value, element) for value in values]  # pyright: ignore[reportArgumentType]
        if len(words) == 1 or words.count(words[0]) == len(words):
            return splat(words[0], element)
        if len(words) != lanes:
            raise LoweringError(f"a constant of {len(words)} elements cannot fill {llvm}")
        return "<" + ", ".join(f"{element} {word}" for word in words) + ">"
    raise LoweringError(f"constant {attr} has no LLVM form")


def splat(word: str, element: str) -> str:
    """A vector literal whose lanes are all `word`."""
    return f"splat ({element} {word})"


def filled(word: str | int, llvm: str) -> str:
    """A literal of a scalar or vector type that is `word` in every lane."""
    lanes, element = split_vector(llvm)
    return splat(str(word), element) if lanes else str(word)


_ESCAPED = [chr(b) if 32 <= b < 127 and chr(b) not in '"\\' else f"\\{b:02X}" for b in range(256)]


def symbol(name: str) -> str:
    """`@name`, quoted where LLVM needs it."""
    return f"@{name}" if name.isidentifier() and name.isascii() else '@"' + quoted(name) + '"'


def quoted(text: str) -> str:
    """The inside of an LLVM string literal."""
    return "".join(_ESCAPED[byte] for byte in text.encode())
