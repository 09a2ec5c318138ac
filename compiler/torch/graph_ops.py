"""`graph_op`: a function that builds a graph as a PyTorch operator, fused inside.

@graph_op
def gated(x, y):
    return ops.gelu(x) * y

gated(a, b)                               # tensors in, tensors out

@gated.backward
def _(grad, x, y):                        # gradients of the results, then the inputs; one result for each input
    ...
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from compiler.errors import GraphError
from compiler.frameworks.lending import torch_dtype, torch_dtype_name
from compiler.graph.graph import Graph
from compiler.graph.types import TensorType
from compiler.graph.value import Value
from compiler.importers.torch.exporting import torch_package
from compiler.language.library import Library
from compiler.torch.operators import NAMESPACE, define, nobody_looks, wants_gradient
from compiler.torch.programs import TensorProgram


class GraphOp:
    """A function over graph values, called with tensors."""

    def __init__(self, function: Callable[..., Any], library: Library | None = None, name: str = "") -> None:
        self.name = name or function.__name__
        self.__doc__ = function.__doc__
        self._function = function
        self._inputs = _positional(function)
        self._gradient: GraphOp | None = None
        self._program = TensorProgram(self.graph, library)
        self._plain = nobody_looks()
        listed = ", ".join(f"Tensor in{k}" for k in range(self._inputs))
        self.operator = define(self.name, f"({listed}) -> Tensor[]", self._run, self._fake)

    def __repr__(self) -> str:
        return f"GraphOp({self.name!r})"

    def __call__(self, *tensors: Any) -> Any:
        results = None
        if self._plain() and (self._gradient is None or not wants_gradient(tensors)):
            results = self._program.again(tensors)
        if results is None:
            results = self.operator(*tensors)
        return results[0] if len(results) == 1 else tuple(results)

    def graph(self, types: tuple[TensorType, ...]) -> Graph:
        """The graph for inputs of these types."""
        names = [name for name in inspect.signature(self._function).parameters][: len(types)]
        graph = Graph(self.name, list(types), input_names=names)
        with graph:
            made = self._function(*graph.inputs)
            listed = [made] if isinstance(made, Value) else list(made) if isinstance(made, (tuple, list)) else []
            if not listed or not all(isinstance(value, Value) for value in listed):
                raise GraphError(f"{self.name}: a graph_op returns a value or several, not {type(made).__name__}")
            graph.output(*listed)
        return graph

    def backward(self, function: Callable[..., Any]) -> GraphOp:
        """Let a function over values give the gradients: of each result it gets one, then the inputs."""
        gradient = GraphOp(function, name=f"{self.name}_backward")
        self._gradient = gradient
        torch = torch_package()

        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        def apply(ctx: Any, grads: Any) -> Any:
            saved = ctx.saved_tensors
            found = iter(gradient.operator(*(grad.contiguous() for grad in grads), *(t.detach() for t in saved)))
            return tuple(next(found, None) if tensor.is_floating_point() else None for tensor in saved)

        qualified = f"{NAMESPACE}::{self.operator._schema.name.partition('::')[2]}"
        torch.library.register_autograd(qualified, apply, setup_context=setup_context)
        return gradient

    def _run(self, *tensors: Any) -> list[Any]:
        return self._program(tensors)

    def _fake(self, *tensors: Any) -> list[Any]:
        torch = torch_package()
        types = tuple(TensorType(torch_dtype_name(t.dtype), tuple(int(size) for size in t.shape)) for t in tensors)
        device = tensors[0].device if tensors else "cpu"
        made = [value.type for value in self.graph(types).outputs]
        return [
            torch.empty(type.shape, dtype=torch_dtype(type.dtype), device=device)
            for type in made
            if isinstance(type, TensorType)
        ]


def _positional(function: Callable[..., Any]) -> int:
    kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
    if any(kind not in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD) for kind in kinds):
        raise GraphError(f"{function.__name__}: a graph_op takes tensors by position, and nothing else")
    return len(kinds)


def graph_op(function: Callable[..., Any] | None = None, *, library: Library | None = None) -> Any:
    """Turn a function that builds a graph out of values into a PyTorch operator; `library` has kernels it names."""
    if function is None:
        return lambda found: GraphOp(found, library)
    return GraphOp(function, library)
