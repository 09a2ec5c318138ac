"""Runs a library kernel with every load, store and result checked.

The kernel is called as generated code calls it, its input behind a lambda if asked for, its output always behind one
that counts. Before LLVM sees it, each access gets a bounds check. What a run gives back was therefore stored exactly
once for each element, with no access outside any buffer, on one thread or on several.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FileLineColLoc,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Block, Operation, Region, SSAValue

from compiler.backend.jit import load_objects
from compiler.backend.llvm import compile_llvm
from compiler.backend.runtime import aligned_bytes, runtime_symbols
from compiler.backend.runtime_ir import BARRIER_BYTES
from compiler.dialects import std
from compiler.dialects.operations import make
from compiler.graph.dim_text import dim
from compiler.graph.dims import evaluate
from compiler.graph.dtypes import from_numpy, numpy_dtype
from compiler.language.elaborate import Elaborator
from compiler.language.kernel import KernelSource
from compiler.language.library import default_library
from compiler.lowering.llvm_text import emit_module
from compiler.passes.kernel.dce import dce
from compiler.passes.kernel.lower_kgen import lower_kgen
from compiler.targets import get_target

Shape = tuple[int | str, ...]
_INDEX = IndexType()
_LIMITS = MemRefType(i64, [DYNAMIC_INDEX])
_WRAPS = {"overflowFlags": arith.IntegerOverflowAttr("none")}
_LESS, _GREATER = ({"predicate": IntegerAttr(number, i64)} for number in (2, 4))
_STORES = ("memref.store", "vector.store")
_ACCESSES = ("memref.load", "vector.load", *_STORES)
_meeting: list[threading.Barrier] = []


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
def _barrier(_state: int, threads: int) -> None:
    if threads > 1:
        _meeting[0].wait()


class CheckedKernel:
    """One compiled kernel; `call` runs it on arrays and fails if it reached outside one of them."""

    def __init__(self, source: str, opt_level: int) -> None:
        target = get_target("cpu")
        elaborator = Elaborator(default_library(), target)
        self.kernel = elaborator.add(KernelSource("kernel", source))
        module = elaborator.module()
        dce(module)
        lowered, _ = lower_kgen(module, gpu_target=False, facts={})
        _check_accesses(lowered, len(self.kernel.arguments) + len(self.kernel.workspaces))
        unit = compile_llvm(emit_module(lowered, target).text, target, opt_level)
        imports = {**runtime_symbols(), "kg_barrier": ctypes.cast(_barrier, ctypes.c_void_p).value or 0}
        self.code = load_objects([unit.object], [self.kernel.name], imports=imports)

    def call(self, arrays: Sequence[np.ndarray], sizes: Mapping[str, int], threads: int) -> None:
        """Run on `threads` threads at once."""
        scratch = [np.full(w.shape, 7, numpy_dtype(w.dtype)) for w in self.kernel.workspaces]
        buffers = [*arrays, *scratch]
        limits = np.array([*(buffer.size for buffer in buffers), 0], np.int64)  # the last one: the line that failed
        state, owner = aligned_bytes(BARRIER_BYTES)
        values = [state, *(buffer.ctypes.data for buffer in buffers)]
        values += [*(sizes[name] for name in self.kernel.symbols), limits.ctypes.data]
        entry = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * (2 + len(values)))(self.code.address(self.kernel.name))
        _meeting[:] = [threading.Barrier(threads)]
        workers = [threading.Thread(target=entry, args=(t, threads, *values)) for t in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        del owner
        assert limits[-1] == 0, f"an access outside its buffer, from kernel line {limits[-1]}"


def _check_accesses(module: ModuleOp, buffers: int) -> None:
    """Before each load and store of the kernel: note its line in the last limit if it is outside the buffer."""
    function = next(op for op in module.body.block.ops if isinstance(op, func.FuncOp) and "kg.kernel" in op.attributes)
    block = function.body.block
    accesses = [op for op in block.walk() if op.name in _ACCESSES]
    checks = _Checks(block, buffers)
    for access in accesses:
        store = access.name in _STORES
        buffer, place = access.operands[int(store)], access.operands[int(store) + 1]
        kind = access.operands[0].type if store else access.results[0].type
        width = kind.get_shape()[0] if isinstance(kind, VectorType) else 1
        checks.insert(access, buffer, place, width)


class _Checks:
    """Of the accesses of a kernel. Numbers and limits are at its beginning, once: there are thousands of checks."""

    def __init__(self, block: Block, buffers: int) -> None:
        self._block, self._first = block, block.first_op
        self._arguments = tuple(block.args[3 : 3 + buffers])
        self._limits = block.insert_arg(_LIMITS, len(block.args))
        self._numbers: dict[tuple[int, Any], SSAValue] = {}
        self._limit_of: dict[SSAValue, SSAValue] = {}

    def insert(self, access: Operation, buffer: SSAValue, place: SSAValue, width: int) -> None:
        """One before an access to as many elements from a place on."""
        first = _before(access, std.IndexCastOp, (place,), i64)
        last = _before(access, arith.AddiOp, (first, self._number(width)), i64, _WRAPS)
        below = _before(access, arith.CmpiOp, (first, self._number(0)), i1, _LESS)
        above = _before(access, arith.CmpiOp, (last, self._limit(buffer)), i1, _GREATER)
        outside = _before(access, arith.OrIOp, (below, above), i1)
        assert isinstance(access.location, FileLineColLoc)
        line, place_of_line = self._number(access.location.line.data), self._number(len(self._arguments), _INDEX)
        note = make(memref.StoreOp, (line, self._limits, place_of_line), ())
        then = Region(Block([note, make(scf.YieldOp, (), ())]))
        assert access.parent is not None
        access.parent.insert_op_before(make(scf.IfOp, (outside,), (), regions=(then, Region())), access)

    def _limit(self, buffer: SSAValue) -> SSAValue:
        if buffer not in self._arguments:
            assert isinstance(buffer.type, MemRefType)
            return self._number(buffer.type.get_shape()[0])
        if buffer not in self._limit_of:
            at = self._number(self._arguments.index(buffer), _INDEX)
            self._limit_of[buffer] = _before(self._first, memref.LoadOp, (self._limits, at), i64)
        return self._limit_of[buffer]

    def _number(self, value: int, kind: Any = i64) -> SSAValue:
        if (value, kind) not in self._numbers:
            given = {"value": IntegerAttr(value, kind)}
            self._numbers[value, kind] = _before(self._first, arith.ConstantOp, (), kind, given)
        return self._numbers[value, kind]


def _before(
    following: Operation | None, kind: type[Operation], operands: tuple[SSAValue, ...], result: Any,
    properties: Mapping[str, Any] | None = None,
) -> SSAValue:  # fmt: skip
    """The result of a new operation before another one."""
    assert following is not None and following.parent is not None
    operation = make(kind, operands, (result,), properties)
    following.parent.insert_op_before(operation, following)
    return operation.results[0]


def _shape_text(shape: Shape) -> str:
    return "(" + "".join(f"{size}, " for size in shape) + ")"


@cache
def _kernel(
    call: str, dtype: str, shape: Shape, inputs: tuple[tuple[str, Shape], ...], fused: bool, opt_level: int
) -> CheckedKernel:
    arguments = [f"out0: Tensor[{dtype}, {_shape_text(shape)}]", f"counts: Tensor[i32, {_shape_text(shape)}]"]
    arguments += [f"tensor{k}: Tensor[{kind}, {_shape_text(sizes)}]" for k, (kind, sizes) in enumerate(inputs)]
    lines = ["@kernel", f"def kernel({', '.join(arguments)}):"]
    for k, (kind, sizes) in enumerate(inputs):
        value = f"tensor{k}"
        if fused:
            lines += [f"    def input{k}(at):", f"        return tensor{k}[at]"]
            value = f"FusedInput(input{k}, {kind}, {_shape_text(sizes)})"
        lines.append(f"    in{k} = {value}")
    lines += ["    def epilogue(at, v):", "        out0[at] = v", "        counts[at] = counts[at] + 1"]
    lines += [f"    out = FusedOutput(epilogue, {dtype}, {_shape_text(shape)})", f"    {call}"]
    return CheckedKernel("\n".join(lines) + "\n", opt_level)


def run(
    call: str,
    dtype: str,
    shape: Shape,
    *inputs: np.ndarray,
    shapes: Sequence[Shape] | None = None,
    sizes: Mapping[str, int] | None = None,
    fused: bool = False,
    threads: int = 1,
    opt_level: int = 0,
) -> np.ndarray:
    """What `call` stores to `out` (a sink of `dtype` and `shape`) from `in0`, `in1`, ...

    With `sizes`, `shape` and `shapes` (those of the inputs) may be symbolic. `fused` hides the inputs behind lambdas.
    """
    given = tuple(shapes) if shapes is not None else tuple(array.shape for array in inputs)
    types = tuple((from_numpy(array.dtype), sizes_) for array, sizes_ in zip(inputs, given, strict=True))
    kernel = _kernel(call, dtype, tuple(shape), types, fused, opt_level)
    bound = dict(sizes or {})
    concrete = tuple(evaluate(dim(size), bound) for size in shape)
    output = np.zeros(concrete, numpy_dtype(dtype))
    counts = np.zeros(concrete, np.int32)
    kernel.call([output, counts, *(np.ascontiguousarray(array) for array in inputs)], bound, threads)
    assert (counts == 1).all(), f"elements are stored {sorted(set(counts.ravel().tolist()))} times"
    return output


MODES = ({"fused": False, "threads": 1}, {"fused": True, "threads": 3}, {"fused": False, "threads": 2, "opt_level": 3})
FLOATS = ("f64", "f32", "f16", "bf16")
INTEGERS = ("i64", "i32", "i16", "i8", "u8")
DTYPES = (*FLOATS, *INTEGERS, "bool")
_TOLERANCES = {"f64": 1e-11, "f32": 2e-5, "f16": 4e-3, "bf16": 2e-2}


def random_array(dtype: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Numbers of ordinary size: normal floats, integers from -3 (or 0) to 3, either bool."""
    generator = np.random.default_rng([seed, *shape])
    if dtype == "bool":
        return generator.integers(0, 2, shape).astype(bool)
    if dtype in INTEGERS:
        return generator.integers(0 if dtype == "u8" else -3, 4, shape).astype(numpy_dtype(dtype))
    return np.asarray(generator.standard_normal(shape)).astype(numpy_dtype(dtype))


def wide(array: np.ndarray) -> np.ndarray:
    """The array in the type its dtype is computed in: 16-bit floats in f32."""
    return array.astype(np.float32) if from_numpy(array.dtype) in ("f16", "bf16") else array


def assert_matches(result: np.ndarray, expected: np.ndarray, tolerance: float | None = None) -> None:
    """Equal shapes; equal integers and bools, floats within the tolerance of their dtype."""
    assert result.shape == expected.shape
    dtype = from_numpy(result.dtype)
    if dtype not in FLOATS:
        np.testing.assert_array_equal(result, expected)
        return
    bound = tolerance or _TOLERANCES[dtype]
    np.testing.assert_allclose(
        result.astype(np.float64), expected.astype(result.dtype).astype(np.float64), rtol=bound, atol=bound
    )
