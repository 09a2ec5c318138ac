"""Parts of an exported program, for whoever runs the rest by PyTorch itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from compiler.importers.torch.walk import Walk, is_known

if TYPE_CHECKING:
    from compiler.graph.graph import Graph


@dataclass(frozen=True)
class _Named:
    name: str


@dataclass(frozen=True)
class _Output:
    arg: _Named
    kind: str = "USER_OUTPUT"


@dataclass(frozen=True)
class _Signature:
    """A signature without state: every input is given by the caller."""

    user_inputs: tuple[str, ...]
    output_specs: tuple[_Output, ...]
    buffers_to_mutate: dict[str, str] = field(default_factory=dict)
    inputs_to_parameters: dict[str, str] = field(default_factory=dict)
    inputs_to_buffers: dict[str, str] = field(default_factory=dict)
    inputs_to_lifted_tensor_constants: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Program:
    graph_module: Any
    graph_signature: _Signature
    state_dict: dict[str, Any] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)

    @property
    def graph(self) -> Any:
        return self.graph_module.graph


def results_of(module: Any) -> tuple[Any, ...]:
    """What an FX module gives back: nodes, and plain values such as None."""
    returned = next(node for node in reversed(module.graph.nodes) if node.op == "output").args[0]
    return tuple(returned) if isinstance(returned, (tuple, list)) else (returned,)


def computed(results: tuple[Any, ...]) -> tuple[Any, ...]:
    """Those of a module's results that are neither plain values nor its inputs, each once."""
    return tuple(dict.fromkeys(node for node in results if getattr(node, "op", "placeholder") != "placeholder"))


def graph_of(module: Any) -> Graph:
    """A graph from an FX module of ATen ops whose nodes carry their types: of all inputs, and of what is computed."""
    nodes = list(module.graph.nodes)
    inputs = tuple(node.name for node in nodes if node.op == "placeholder")
    wanted = computed(results_of(module))
    last, returned = nodes[-1], nodes[-1].args
    last.args = (wanted,)
    try:
        signature = _Signature(inputs, tuple(_Output(_Named(node.name)) for node in wanted))
        return Walk(_Program(module, signature)).graph()
    finally:
        last.args = returned


__all__ = ["computed", "graph_of", "is_known", "results_of"]
