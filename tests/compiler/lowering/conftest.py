"""Kernels as MLIR text, compiled and run on this machine."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, gpu, llvm, math, memref, scf, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from compiler.backend.executor import load_kernels
from compiler.backend.jit import LoadedCode
from compiler.backend.llvm import CompiledUnit, compile_llvm
from compiler.lowering.llvm_text import emit_module
from compiler.targets import get_target

_DIALECTS = (
    builtin.Builtin,
    arith.Arith,
    func.Func,
    gpu.GPU,
    llvm.LLVM,
    math.Math,
    memref.MemRef,
    scf.Scf,
    vector.Vector,
)


def parse_module(text: str) -> ModuleOp:
    """MLIR text -> module; quotes around unregistered names are not needed."""
    context = Context()
    for dialect in _DIALECTS:
        context.load_dialect(dialect)
    return Parser(context, text, "kernels/test.py").parse_module()


@pytest.fixture(scope="session")
def parse() -> Callable[[str], ModuleOp]:
    return parse_module


class Kernel:
    """A compiled entry point that takes arrays and integers."""

    def __init__(self, code: LoadedCode, name: str):
        self._code = code
        self._address = code.address(name)

    def __call__(self, *args: np.ndarray | int) -> None:
        words = [arg.ctypes.data if isinstance(arg, np.ndarray) else arg for arg in args]
        ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * len(words))(self._address)(*words)


@pytest.fixture(scope="session")
def build() -> Callable[..., Kernel]:
    """`build(mlir, name="k", opt_level=2)` -> a callable."""

    def make(text: str, name: str = "k", opt_level: int = 2, debug: str = "none") -> Kernel:
        target = get_target("cpu")
        ir = emit_module(parse_module(text), target, debug)  # pyright: ignore[reportArgumentType]
        unit = compile_llvm(ir.text, target, opt_level)
        return Kernel(load_kernels([unit.object], [name]), name)

    return make


@pytest.fixture(scope="session")
def lower() -> Callable[..., CompiledUnit]:
    """`lower(mlir, target)` -> a CompiledUnit for any target."""

    def make(text: str, target: str, opt_level: int = 2, debug: str = "none") -> CompiledUnit:
        chosen = get_target(target)
        ir = emit_module(parse_module(text), chosen, debug)  # pyright: ignore[reportArgumentType]
        return compile_llvm(ir.text, chosen, opt_level)

    return make


@pytest.fixture(scope="session")
def elementwise(build: Callable[..., Kernel]) -> Callable[..., Callable[..., np.ndarray]]:
    """`elementwise(body, out, *ins)`: a function over arrays from ops that turn %a, %b, %c into %r, lane by lane.

    Types are MLIR's; the body is written with `T0` (result) and `T1`.. (operands), tried as scalars and as vectors.
    Ops that xDSL's verifier only knows on scalars are written in the generic form, which is not verified.
    """

    def make(body: str, out: str, *ins: str, lanes: int = 0, opt_level: int = 2) -> Callable[..., np.ndarray]:
        kinds = [out, *ins]
        memory = ["i8" if kind == "i1" else kind for kind in kinds]

        def typed(kind: str) -> str:
            return f"vector<{lanes}x{kind}>" if lanes else kind

        text = body
        for position, kind in enumerate(kinds):
            text = text.replace(f"T{position}", typed(kind))
        load, store = ("vector.load", "vector.store") if lanes else ("memref.load", "memref.store")
        tail = f", {typed('X')}" if lanes else ""
        lines: list[str] = []
        for name, kind, held in zip("abc", ins, memory[1:]):
            source = f"%{name}.m" if kind == "i1" else f"%{name}"
            lines.append(f"{source} = {load} %in_{name}[%i] : memref<?x{held}>{tail.replace('X', held)}")
            if kind == "i1":
                lines.append(f'%{name} = "arith.trunci"({source}) : ({typed("i8")}) -> {typed("i1")}')
        lines.append(text)
        result = "%r"
        if out == "i1":
            lines.append(f'%r.m = "arith.extui"(%r) : ({typed("i1")}) -> {typed("i8")}')
            result = "%r.m"
        lines.append(f"{store} {result}, %out[%i] : memref<?x{memory[0]}>{tail.replace('X', memory[0])}")
        args = ", ".join(f"%in_{name}: memref<?x{held}>" for name, held in zip("abc", memory[1:]))
        inside = "\n    ".join(lines)
        kernel = build(
            f"""
func.func @k(%out: memref<?x{memory[0]}>, {args}, %n: index) attributes {{kg.kernel}} {{
  %c0 = arith.constant 0 : index
  %step = arith.constant {lanes or 1} : index
  scf.for %i = %c0 to %n step %step {{
    {inside}
  }}
  func.return
}}""",
            opt_level=opt_level,
        )

        def call(*arrays: np.ndarray, dtype: np.dtype | type) -> np.ndarray:
            width = lanes or 1
            size = len(arrays[0])
            padded = [np.concatenate([array, np.repeat(array[-1:], -size % width)]) for array in arrays]
            result = np.zeros(len(padded[0]), dtype)
            kernel(result, *padded, len(padded[0]))
            return result[:size]

        return call

    return make
