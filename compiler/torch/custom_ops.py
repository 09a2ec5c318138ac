"""`CustomOpLibrary`: each kernel of a folder as a PyTorch operator that writes to tensors it is given.

library = CustomOpLibrary("kernels")
library.grayscale(result, image)          # any PyTorch code may call it, compiled or not
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from compiler.errors import KernelError
from compiler.graph.graph import Graph
from compiler.graph.ops import custom
from compiler.graph.types import TensorType
from compiler.importers.torch.exporting import torch_package
from compiler.language.catalogue import result_count
from compiler.language.library import Library, load_library, read_folder
from compiler.torch.operators import define, nobody_looks, version_counter, wants_gradient
from compiler.torch.programs import TensorProgram


class CustomOp:
    """One kernel as an operator: `op(*results, *inputs)` runs it and writes the results where they are to be.

    Keyword arguments are the kernel's compile-time parameters; `op.specialised(steps=10)` has them set, for code that
    is traced by `torch.compile`.
    """

    def __init__(self, name: str, library: Library, parameters: dict[str, Any] | None = None) -> None:
        self.name = name
        self._library = library
        self._parameters = dict(parameters or {})
        self._special: dict[tuple[tuple[str, Any], ...], CustomOp] = {}
        self._gradient: CustomOp | None = None
        self.results, count = _counts(name, library)
        self._program = TensorProgram(self._graph, library, self.results)
        if count is None:
            ins = ", Tensor[] inputs"
        else:
            ins = "".join(f", Tensor in{k}" for k in range(count))
        outs = ", ".join(f"Tensor(a{k}!) out{k}" for k in range(self.results))
        run = self._run_list if count is None else self._run
        self._count = count
        self._plain = nobody_looks()
        self._changed = version_counter()
        self.operator = define(name, f"({outs}{ins}) -> ()", run, _nothing)

    def __repr__(self) -> str:
        return f"CustomOp({self.name!r})"

    def __call__(self, *tensors: Any, **parameters: Any) -> None:
        if parameters:
            return self.specialised(**parameters)(*tensors)
        if self._plain() and self._again(tensors):
            return None
        if self._gradient is not None and wants_gradient(tensors[self.results :]):
            _differentiable().apply(self, *tensors)
        elif self._count is None:
            self.operator(*tensors[: self.results], list(tensors[self.results :]))
        else:
            self.operator(*tensors)
        return None

    def specialised(self, **parameters: Any) -> CustomOp:
        """The operator with compile-time parameters of the kernel set."""
        key = tuple(sorted(parameters.items()))
        if key not in self._special:
            made = CustomOp(self.name, self._library, self._parameters | parameters)
            made._gradient = self._gradient
            self._special[key] = made
        return self._special[key]

    def register_backward(self, gradient: CustomOp) -> None:
        """Let gradients be computed by another kernel.

        Its results are the gradients of this one's inputs, its inputs those of the results, then this one's inputs.
        """
        self._gradient = gradient

    @property
    def gradient(self) -> CustomOp | None:
        """The operator that computes the gradients of this one's inputs."""
        return self._gradient

    def _again(self, tensors: Sequence[Any]) -> bool:
        """Run on tensors like those of the call before; False where they are not so, or gradients are wanted."""
        results = tensors[: self.results]
        if self._gradient is not None and wants_gradient(tensors[self.results :]):
            return False
        if not self._program.again_into(results, tensors[self.results :]):
            return False
        self._changed(results)  # for gradients of what read them before
        return True

    def _run(self, *tensors: Any) -> None:
        self._program.into(tensors[: self.results], tensors[self.results :])

    def _run_list(self, *tensors: Any) -> None:
        self._program.into(tensors[:-1], tensors[-1])

    def _graph(self, types: tuple[TensorType, ...]) -> Graph:
        inputs, results = types[: -self.results], types[-self.results :]
        graph = Graph(self.name, list(inputs))
        with graph:
            made = custom(self.name, list(graph.inputs), list(results), **self._parameters)
            graph.output(*(made if isinstance(made, (tuple, list)) else (made,)))
        return graph


class CustomOpLibrary:
    """The kernels of folders as operators, each an attribute called as the op that the kernel is registered for."""

    def __init__(self, *folders: str | os.PathLike[str]) -> None:
        paths = [Path(folder) for folder in folders]
        library = load_library(*paths)
        own = Library(file for path in paths for file in read_folder(path))
        self.names = tuple(sorted(name for name in own.operations() if library.signature(name) is not None))
        for name in self.names:
            setattr(self, name, CustomOp(name, library))

    def __getattr__(self, name: str) -> CustomOp:
        raise AttributeError(f"no kernel is registered for {name!r}; there are {', '.join(self.names)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.names]


def _counts(name: str, library: Library) -> tuple[int, int | None]:
    """How many results and inputs a kernel has; None where it takes any number of inputs."""
    kernel = library.implementation(name)
    if kernel is None:
        raise KernelError(f"no kernel is registered for {name!r}")
    results = result_count(kernel)
    signature = library.signature(name, None, results)
    assert signature is not None
    return results, None if signature.variadic else len(signature.inputs)


def _nothing(*_: Any) -> None:
    """What an operator without results gives on fake tensors."""


def _gradients(op: CustomOp, grads: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    torch = torch_package()
    gradient = op.gradient
    assert gradient is not None
    wanted = [tensor for tensor in inputs if tensor.is_floating_point()]
    made = [torch.empty_like(tensor, memory_format=torch.contiguous_format) for tensor in wanted]
    if len(made) != gradient.results:
        raise KernelError(
            f"{gradient.name} gives {gradient.results} gradients; {op.name} has {len(made)} inputs for them"
        )
    gradient(*made, *(grad.contiguous() for grad in grads), *(tensor.detach() for tensor in inputs))
    found = iter(made)
    return [next(found) if tensor.is_floating_point() else None for tensor in inputs]


def _differentiable() -> Any:
    """The autograd function that all of them share, made when PyTorch is there."""
    global _Differentiable
    if _Differentiable is None:
        torch = torch_package()

        class Differentiable(torch.autograd.Function):
            """Runs an operator and remembers its inputs."""

            @staticmethod
            def forward(ctx: Any, op: CustomOp, *tensors: Any) -> Any:
                results, inputs = tensors[: op.results], tensors[op.results :]
                op._run(*tensors)
                ctx.op = op
                ctx.save_for_backward(*inputs)
                ctx.mark_dirty(*results)
                return results

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                return (None, *[None] * len(grads), *_gradients(ctx.op, grads, ctx.saved_tensors))

        _Differentiable = Differentiable
    return _Differentiable


_Differentiable: Any = None
