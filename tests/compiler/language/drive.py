"""Kernel source in, IR, an error or values out: what the tests of the language share."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from compiler.errors import KernelError
from compiler.graph.dtypes import numpy_dtype
from compiler.language.elaborate import Elaborator
from compiler.language.kernel import ElaboratedKernel, KernelSource
from compiler.language.library import Library, default_library
from compiler.language.syntax.source import SourceFile
from compiler.passes.kernel.dce import dce
from compiler.passes.kernel.lower_kgen import lower_kgen
from compiler.pipeline import language_target
from compiler.targets import get_target
from tests.kernels.harness import CompiledSource

FLOATS = ("f64", "f32", "f16", "bf16")
SIGNED = ("i64", "i32", "i16", "i8")
INTEGERS = (*SIGNED, "u8")
DTYPES = (*FLOATS, *INTEGERS, "bool")
ARITHMETIC = ("+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
EMPTY = Library([])


def elaborate(source: str, *, target: str = "cpu", library: Library = EMPTY) -> tuple[ModuleOp, ElaboratedKernel]:
    """The kgen module of a source."""
    elaborator = Elaborator(library, language_target(get_target(target)))
    kernel = elaborator.add(KernelSource("kernel", source))
    return elaborator.module(), kernel


def lower(module: ModuleOp, *, target: str = "cpu") -> ModuleOp:
    """The kernel-stage module: cleaned up and bound to a target."""
    dce(module)
    return lower_kgen(module, gpu_target=get_target(target).is_gpu, facts={})


def text(module: ModuleOp, *, locations: bool = False) -> str:
    """A module as text."""
    out = io.StringIO()
    Printer(out, print_debuginfo=locations).print_op(module)
    return out.getvalue()


def ir(body: str, arguments: str = "o: Tensor[f32, (N,)]", *, clean: bool = True, head: str = "") -> str:
    """The kgen text of a kernel with this body."""
    module, _ = elaborate(kernel(body, arguments, head))
    if clean:
        dce(module)
    return text(module)


def kernel(body: str, arguments: str, head: str = "") -> str:
    """A kernel's source from its body, written from the margin."""
    inner = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    return f"{head}@kernel\ndef kernel({arguments}):\n{inner}"


@cache
def compiled(source: str) -> CompiledSource:
    """A source compiled for this machine, with the library that ships in reach; each text once."""
    return CompiledSource(source, default_library(), opt_level=1)


def argument(name: str, array: np.ndarray, dtype: str | None = None) -> str:
    """An array as a kernel's argument."""
    from compiler.graph.dtypes import from_numpy

    sizes = "".join(f"{size}, " for size in array.shape)
    return f"{name}: Tensor[{dtype or from_numpy(array.dtype)}, ({sizes})]"


def run(body: str, out: tuple[str, tuple[int, ...]], *inputs: np.ndarray, head: str = "") -> np.ndarray:
    """What a kernel with this body writes to `out`, reading `a`, `b`, `c`, ..."""
    result = np.zeros(out[1], numpy_dtype(out[0]))
    arguments = [argument("out", result), *(argument("abcdefgh"[k], x) for k, x in enumerate(inputs))]
    compiled(kernel(body, ", ".join(arguments), head))(result, *inputs)
    return result


def scalar(expression: str, dtype: str = "i64", *inputs: np.ndarray, head: str = "") -> object:
    """The value of an expression, stored in one element."""
    return run(f"out[0] = {expression}", (dtype, (1,)), *inputs, head=head)[0]


def error(source: str, **options: object) -> KernelError:
    """The error a source is refused with; it says where, on one line."""
    with pytest.raises(KernelError) as caught:
        elaborate(source, **options)  # pyright: ignore[reportArgumentType]
    problem = caught.value
    assert "\n" not in str(problem)
    assert problem.location is not None and problem.location.line >= 1 and problem.location.column >= 1
    return problem


def body_error(body: str, arguments: str = "o: Tensor[f32, (N,)]", head: str = "") -> str:
    """The error a kernel with this body is refused with, as its user reads it: line 1 is the body's first."""
    problem = error(kernel(body, arguments, head))
    assert problem.location is not None
    line = problem.location.line - 2 - head.count("\n")
    return f"{line}:{problem.location.column - 4 if line >= 1 else problem.location.column}: {problem.message}"


def library(*texts: str) -> Library:
    """A library of these files."""
    return Library([SourceFile(f"library{k}.py", text) for k, text in enumerate(texts)])
