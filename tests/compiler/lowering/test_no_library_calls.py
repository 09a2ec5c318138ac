"""Every operation becomes instructions on every target: nothing calls libm or compiler-rt, which a JIT may not find."""

from __future__ import annotations

import re

import pytest

FLOATS, HALVES, INTEGERS = ("f32", "f64"), ("f16", "bf16"), ("i8", "i32", "i64")
Case = tuple[str, tuple[str, ...], str]


def cases() -> list[Case]:
    """(op, operand types, result type)."""
    found: list[Case] = []
    for kind in FLOATS:
        names = "sqrt floor ceil trunc roundeven absf"
        found += [(f"math.{op}", (kind,), kind) for op in names.split()]
        found += [(f"arith.{op}", (kind, kind), kind) for op in ["maximumf", "minimumf", "maxnumf", "minnumf", "divf"]]
        found += [("math.fma", (kind,) * 3, kind), ("math.copysign", (kind, kind), kind)]
    for kind in (*FLOATS, *HALVES):
        for integer in INTEGERS:
            found += [(f"arith.{op}", (kind,), integer) for op in ("fptosi", "fptoui")]
            found += [(f"arith.{op}", (integer,), kind) for op in ("sitofp", "uitofp")]
    for half in HALVES:
        for wide in FLOATS:
            found += [("arith.truncf", (wide,), half), ("arith.extf", (half,), wide)]
    for integer in INTEGERS:
        names = "divsi remsi divui remui floordivsi minsi maxui muli"
        found += [(f"arith.{op}", (integer, integer), integer) for op in names.split()]
        found += [(f"math.{op}", (integer,), integer) for op in ["ctlz", "cttz", "ctpop"]]
    return found


def kernel(lanes: int) -> str:
    """One kernel that does everything once."""
    kinds = (*FLOATS, *HALVES, *INTEGERS)
    lines: list[str] = []
    for number, (op, operands, result) in enumerate(cases()):
        types = [f"vector<{lanes}x{kind}>" if lanes else kind for kind in (*operands, result)]
        tails = [f", {kind}" if lanes else "" for kind in types]
        load, store = ("vector.load", "vector.store") if lanes else ("memref.load", "memref.store")
        values = [f"%v{number}_{place}" for place in range(len(operands))]
        for value, kind, tail, offset in zip(values, operands, tails, "ijk"):
            lines.append(f"{value} = {load} %in_{kind}[%{offset}] : memref<?x{kind}>{tail}")
        lines.append(f'%r{number} = "{op}"({", ".join(values)}) : ({", ".join(types[:-1])}) -> {types[-1]}')
        lines.append(f"{store} %r{number}, %out_{result}[%i] : memref<?x{result}>{tails[-1]}")
    buffers = ", ".join(f"%in_{kind}: memref<?x{kind}>, %out_{kind}: memref<?x{kind}>" for kind in kinds)
    body = "\n  ".join(lines)
    head = f"func.func @k({buffers}, %i: index, %j: index, %k: index) attributes {{kg.kernel}}"
    return f"{head} {{\n  {body}\n  func.return\n}}"


CALLS = re.compile(r"^\s*(?:bl|b|call|callq|jmp)\s+([_a-zA-Z]\w*)(?:@PLT)?$|call\.uni|s_swappc|\.extern", re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [0, 4])
@pytest.mark.parametrize(
    "target", ["armv8", "neoverse-v1", "x86-64-v3", "x86-64-v4", "sm_70", "sm_90a", "gfx942", "gfx1100"]
)
def test_there_are_no_calls(lower, target, lanes):
    assert CALLS.findall(lower(kernel(lanes), target, opt_level=1).asm) == []


@pytest.mark.parametrize("target", ["cpu", "sm_90a"])
def test_there_are_no_calls_in_unoptimised_code(lower, target):
    assert CALLS.findall(lower(kernel(0), target, opt_level=0).asm) == []
