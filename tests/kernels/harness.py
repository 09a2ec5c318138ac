"""Runs kernel-language source alone, without a graph: for tests of the language and of the library's functions."""

from __future__ import annotations

import ctypes

import numpy as np

from compiler.backend.jit import load_objects
from compiler.backend.llvm import compile_llvm
from compiler.backend.runtime import runtime_symbols
from compiler.graph.dtypes import from_numpy, numpy_dtype
from compiler.language.elaborate import Elaborator
from compiler.language.kernel import ElaboratedKernel, KernelSource
from compiler.language.library import Library, default_library
from compiler.lowering.llvm_text import emit_module
from compiler.passes.kernel.dce import dce
from compiler.passes.kernel.lower_kgen import lower_kgen
from compiler.targets import get_target


class CompiledSource:
    """One kernel source compiled for this machine; called with arrays in the order of its arguments."""

    def __init__(self, source: str, library: Library | None = None, opt_level: int = 3) -> None:
        target = get_target("cpu")
        elaborator = Elaborator(library or default_library(), target)
        self.kernel: ElaboratedKernel = elaborator.add(KernelSource("kernel", source))
        module = elaborator.module()
        dce(module)
        self.module, _ = lower_kgen(module, gpu_target=False, facts={})
        self.llvm = emit_module(self.module, target).text
        unit = compile_llvm(self.llvm, target, opt_level)
        self.code = load_objects([unit.object], [self.kernel.name], imports=runtime_symbols())
        self.address = self.code.address(self.kernel.name)

    def __call__(self, *arrays: np.ndarray) -> None:
        """Run on one thread; output arrays are written in place."""
        sizes: dict[str, int] = {}
        for argument, array in zip(self.kernel.arguments, arrays, strict=True):
            assert array.flags.c_contiguous
            assert array.dtype == numpy_dtype(argument.dtype)
            for size, given in zip(argument.shape, array.shape, strict=True):
                if not isinstance(size, int) and len(size.symbols) == 1 and str(size) in size.symbols:
                    sizes[str(size)] = given
        values: list[int] = [0, 1, 0]
        values += [array.ctypes.data for array in arrays]
        scratch = [np.zeros(int(w.shape[0]), numpy_dtype(w.dtype)) for w in self.kernel.workspaces]
        values += [w.ctypes.data for w in scratch]
        values += [sizes[name] for name in self.kernel.symbols]
        ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * len(values))(self.address)(*values)


_CACHE: dict[tuple[object, ...], CompiledSource] = {}


def run_elementwise(
    name: str, *arrays: np.ndarray, result: str | None = None, opt_level: int = 3, **params: object
) -> np.ndarray:
    """Apply a library function to flat arrays, through the library's elementwise driver; vectors and tail included."""
    dtypes = [from_numpy(array.dtype) for array in arrays]
    out = result or dtypes[0]
    key = (name, tuple(dtypes), out, opt_level, tuple(sorted(params.items())))
    if key not in _CACHE:
        arguments = ", ".join(f"in{k}: Tensor[{dtype}, (N,)]" for k, dtype in enumerate(dtypes))
        given = ", ".join([f"in{k}[at]" for k in range(len(arrays))] + [f"{k}={v!r}" for k, v in params.items()])
        source = (
            f"@kernel\ndef kernel(out0: Tensor[{out}, (N,)], {arguments}):\n"
            f"    def input0(at):\n        return {name}({given})\n"
            f"    elementwise(out0, FusedInput(input0, {out}, (N,)))\n"
        )
        _CACHE[key] = CompiledSource(source, opt_level=opt_level)
    output = np.empty(arrays[0].shape, numpy_dtype(out))
    flat = output.reshape(-1)
    _CACHE[key](flat, *[np.ascontiguousarray(array).reshape(-1) for array in arrays])
    return output
