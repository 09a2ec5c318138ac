"""All kernels of a model as one module of a stage: a text that the stage's own tools read."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.compilation import Compilation
from compiler.passes.fusion.records import FusedKernel
from compiler.trace import Trace


def whole_module(kernels: Sequence[FusedKernel], stage: str, run: Compilation) -> str:
    """The kernels in one module at a stage: kgen, kernel, llvm, llvm-opt or asm.

    They are elaborated together, as `all-kernel` does, so that what they share stands in the text once.
    """
    from compiler.backend.llvm import compile_llvm
    from compiler.dialects.printing import print_module
    from compiler.lowering.llvm_text import module_text
    from compiler.passes.kernel.elaboration import elaborate
    from compiler.passes.kernel.run import kernel_passes

    options, target = run.options, run.target
    module = elaborate(kernels, run.library, target, Trace())
    if stage == "kgen":
        return print_module(module.module)[0]
    module = kernel_passes(module, target, Trace(), options.opt_level)
    if stage == "kernel":
        return print_module(module.module)[0]
    text = module_text(module.module, target, options.debug)
    if stage == "llvm":
        return text
    unit = compile_llvm(text, target, options.opt_level, with_object=False)
    return unit.llvm_opt if stage == "llvm-opt" else unit.asm
