"""Loading objects: they find each other, imports and libc, wherever those lie; and they can be unloaded."""

from __future__ import annotations

import ctypes
import gc

import numpy as np
import pytest

from compiler import Graph, TensorType, ops
from compiler.backend.jit import load_objects, symbol_table
from compiler.backend.llvm import compile_llvm
from compiler.backend.runtime import runtime_symbols
from compiler.errors import CompilerError
from compiler.graph.dtypes import numpy_dtype
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph
from compiler.targets import get_target

HOST = get_target("cpu")
FIRST = """
@scale = internal constant [2 x double] [double 1.5, double 2.5]
declare double @second(double)
define double @first(double %x) {
  %y = call double @second(double %x)
  %at = getelementptr double, ptr @scale, i64 1
  %s = load double, ptr %at
  %z = fmul double %y, %s
  ret double %z
}
"""
SECOND = """
@shared = global i64 40
declare i64 @given(i64)
declare i64 @labs(i64)
define double @second(double %x) {
  %a = load i64, ptr @shared
  %b = call i64 @given(i64 %a)
  %c = call i64 @labs(i64 %b)
  %d = sitofp i64 %c to double
  %e = fadd double %d, %x
  ret double %e
}
"""


def images() -> list[bytes]:
    return [compile_llvm(text, HOST, 2).object for text in (FIRST, SECOND)]


def test_objects_call_each_other_python_and_libc():
    given = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda value: -value - 2)
    address = ctypes.cast(given, ctypes.c_void_p).value or 0
    code = load_objects(images(), ["first"], imports={"given": address}, keep=[given])
    first = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(code.address("first"))
    assert first(0.5) == (42 + 0.5) * 2.5


def test_the_same_objects_load_many_times_side_by_side():
    given = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda value: value)
    address = ctypes.cast(given, ctypes.c_void_p).value or 0
    objects = images()
    copies = [load_objects(objects, ["first", "shared"], imports={"given": address}) for _ in range(20)]
    assert len({code.address("first") for code in copies}) == 20
    assert len({code.address("shared") for code in copies}) == 20


def test_closed_code_has_no_addresses():
    code = load_objects([compile_llvm("define i64 @one() { ret i64 1 }", HOST, 0).object], ["one"])
    code.close()
    code.close()
    with pytest.raises(CompilerError, match="one: the code has been unloaded"):
        code.address("one")
    gc.collect()


def test_what_is_missing_is_named():
    with pytest.raises(CompilerError, match=r"do not link: .*; they need given from outside"):
        load_objects(images(), ["first"])
    code = load_objects([compile_llvm("define i64 @one() { ret i64 1 }", HOST, 0).object], ["one"])
    with pytest.raises(CompilerError, match="'two' is not among the loaded symbols"):
        code.address("two")


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v4", "armv8", "cpu"])
@pytest.mark.parametrize("opt_level", [0, 3])
def test_kernels_need_nothing_that_is_not_there(target, opt_level):
    """x86 without bf16 has compiler-rt round what goes from one block to another, which is in no process."""
    parts = [TensorType("bf16", (5, 7)), TensorType("bf16", (5, 9))]
    with Graph("joined", inputs=parts) as graph:
        graph.output(ops.concat(list(graph.inputs), 1))
    model = compile_graph(graph, CompileOptions(target=target, opt_level=opt_level, cache=False))
    needed = {name for kernel in model.kernels for name in symbol_table(kernel.unit.object)[1]}
    assert needed <= {*runtime_symbols()}


@pytest.mark.parametrize(
    "value", [1.5, -0.0, 3.4e38, np.inf, -np.inf, np.nan, 1e-40, 1.00390625, 1.01171875, 2.0**-133]
)
def test_a_number_is_rounded_as_numpy_does_where_kernels_have_it_rounded(value):
    text = """
declare half @__truncsfbf2(float)
define void @round(ptr %x, ptr %y) {
  %wide = load float, ptr %x
  %narrow = call half @__truncsfbf2(float %wide)
  store half %narrow, ptr %y
  ret void
}"""
    x, y = np.array([value], np.float32), np.zeros(1, numpy_dtype("bf16"))
    code = load_objects([compile_llvm(text, HOST, 0).object], ["round"], imports=runtime_symbols())
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address("round"))(x.ctypes.data, y.ctypes.data)
    assert y.tobytes() == x.astype(y.dtype).tobytes() or (np.isnan(value) and np.isnan(y[0]))
