"""Float conversions that some targets lack, as small LLVM functions the optimiser inlines.

LLVM would call compiler-rt for them (`__truncsfbf2`, `__truncdfhf2`, ...), which is not there in a JIT. All of them
round to nearest even, once, keep subnormals, and turn a NaN into a quiet NaN. They work on scalars and on vectors.
"""

from __future__ import annotations

from string import Template

from compiler.lowering.llvm_types import filled, mangled, with_lanes

# $V wide float type, $I its integer twin, $R result type, $H the 16-bit integer twin, $B i1; ${n} are integer literals.
_F32_TO_BF16 = """
  %bits = bitcast $V %x to $I
  %low = lshr $I %bits, ${16}
  %odd = and $I %low, ${1}
  %bias = add $I %odd, ${0x7FFF}
  %sum = add $I %bits, %bias
  %rounded = lshr $I %sum, ${16}
  %quiet = or $I %low, ${0x40}
  %nan = fcmp uno $V %x, %x
  %wide = select $B %nan, $I %quiet, $I %rounded
  %half = trunc $I %wide to $H
  %result = bitcast $H %half to $R
  ret $R %result"""

_BF16_TO_F32 = """
  %half = bitcast $V %x to $H
  %wide = zext $H %half to $I
  %bits = shl $I %wide, ${16}
  %result = bitcast $I %bits to $R
  ret $R %result"""

# Round to odd: where the f32 is inexact, take the neighbour with an odd mantissa. Rounding that again cannot go wrong.
_F64_TO_F32_ODD = """
  %near = fptrunc $V %x to $R
  %back = fpext $R %near to $V
  %bits = bitcast $R %near to $I
  %exact = fcmp ueq $V %back, %x
  %low = and $I %bits, ${1}
  %odd = icmp ne $I %low, ${0}
  %keep = or $B %exact, %odd
  %above = call $V @llvm.fabs.$M($V %back)
  %size = call $V @llvm.fabs.$M($V %x)
  %over = fcmp ogt $V %above, %size
  %step = select $B %over, $I ${-1}, $I ${1}
  %moved = add $I %bits, %step
  %chosen = select $B %keep, $I %bits, $I %moved
  %result = bitcast $I %chosen to $R
  ret $R %result"""

# f32 -> f16 by adding in f32, so that the hardware does the rounding (after F. Giesen).
_F32_TO_F16 = """
  %bits = bitcast $V %x to $I
  %sign = and $I %bits, ${0x80000000}
  %size = xor $I %bits, %sign
  %nan = icmp ugt $I %size, ${0x7F800000}
  %big = icmp uge $I %size, ${0x47800000}
  %small = icmp ult $I %size, ${0x38800000}
  %special = select $B %nan, $I ${0x7E00}, $I ${0x7C00}
  %magnitude = bitcast $I %size to $V
  %magic = bitcast $I ${0x3F000000} to $V
  %aligned = fadd $V %magnitude, %magic
  %alignedbits = bitcast $V %aligned to $I
  %subnormal = sub $I %alignedbits, ${0x3F000000}
  %shifted = lshr $I %size, ${13}
  %odd = and $I %shifted, ${1}
  %rebias = add $I %size, ${0xC8000FFF}
  %sum = add $I %rebias, %odd
  %normal = lshr $I %sum, ${13}
  %finite = select $B %small, $I %subnormal, $I %normal
  %number = select $B %big, $I %special, $I %finite
  %top = lshr $I %sign, ${16}
  %wide = or $I %number, %top
  %half = trunc $I %wide to $H
  %result = bitcast $H %half to $R
  ret $R %result"""

_F16_TO_F32 = """
  %half = bitcast $V %x to $H
  %wide = zext $H %half to $I
  %body = and $I %wide, ${0x7FFF}
  %high = and $I %wide, ${0x8000}
  %sign = shl $I %high, ${16}
  %shifted = shl $I %body, ${13}
  %asfloat = bitcast $I %shifted to $R
  %scale = bitcast $I ${0x77800000} to $R
  %scaled = fmul $R %asfloat, %scale
  %finite = bitcast $R %scaled to $I
  %special = icmp uge $I %body, ${0x7C00}
  %infinite = or $I %shifted, ${0x7F800000}
  %number = select $B %special, $I %infinite, $I %finite
  %bits = or $I %number, %sign
  %result = bitcast $I %bits to $R
  ret $R %result"""


class _Literals(Template):
    idpattern = r"(?a:[A-Z]|-?0x[0-9A-F]+|-?[0-9]+)"


# name: (source element, result element, body)
_CONVERSIONS = {
    "f32_to_bf16": ("float", "bfloat", _F32_TO_BF16),
    "bf16_to_f32": ("bfloat", "float", _BF16_TO_F32),
    "f64_to_f32_odd": ("double", "float", _F64_TO_F32_ODD),
    "f32_to_f16": ("float", "half", _F32_TO_F16),
    "f16_to_f32": ("half", "float", _F16_TO_F32),
}


def conversion(name: str, lanes: int) -> tuple[str, str, str, str]:
    """(symbol, argument type, result type, definition) of a conversion for `lanes` lanes (0: a scalar)."""
    source, result, _ = _CONVERSIONS[name]
    symbol = f"@kg.{name}" + (f".v{lanes}" if lanes else "")
    text = _definition(name, lanes, result, f"internal {{kind}} {symbol}", "alwaysinline ")
    return symbol, with_lanes(lanes, source), with_lanes(lanes, result), text


def library_conversion(symbol: str) -> str:
    """The definition of compiler-rt's function from f32 to bf16; what it returns is where a half would be."""
    return _definition("f32_to_bf16", 0, "half", f"{{kind}} @{symbol}", "")


def _definition(name: str, lanes: int, result: str, head: str, attributes: str) -> str:
    """The function that a conversion is; `{kind}` in its head stands for what it returns."""
    source, _, body = _CONVERSIONS[name]
    integer = with_lanes(lanes, "i32")
    words: dict[str, str] = {
        "V": with_lanes(lanes, source),
        "R": with_lanes(lanes, result),
        "I": integer,
        "H": with_lanes(lanes, "i16"),
        "B": with_lanes(lanes, "i1"),
        "M": mangled(with_lanes(lanes, source)),
    }
    template = _Literals(body)
    for word in template.get_identifiers():
        if word not in words:
            words[word] = filled(int(word, 0), integer)
    opening = f"define {head.format(kind=words['R'])}({words['V']} %x) {attributes}nounwind"
    return f"{opening} {{{template.substitute(words)}\n}}"
