"""Loading objects: they find each other, imports and libc, wherever those lie; and they can be unloaded."""

from __future__ import annotations

import ctypes
import gc

import pytest

from compiler.backend.jit import load_objects
from compiler.backend.llvm import compile_llvm
from compiler.errors import CompilerError
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
