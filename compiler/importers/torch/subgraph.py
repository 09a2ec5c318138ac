"""Parts of an exported program, for whoever runs the rest by PyTorch itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from compiler.importers.torch.walk import Walk, is_known

if TYPE_CHECKING:
    from compiler.graph.graph import Graph


def results_of(module: Any) -> tuple[Any, ...]:
    """What an FX module gives back: nodes, and plain values such as None."""
    returned = next(node for node in reversed(module.graph.nodes) if node.op == "output").args[0]
    return tuple(returned) if isinstance(returned, (tuple, list)) else (returned,)


def computed(results: tuple[Any, ...]) -> tuple[Any, ...]:
    """Those of a module's results that are neither plain values nor its inputs, each once."""
    return tuple(dict.fromkeys(node for node in results if getattr(node, "op", "placeholder") != "placeholder"))


def _program(module: Any, wanted: tuple[Any, ...]) -> Any:
    """What an exported program says of itself where it has no state: every input is given by the caller."""
    signature = SimpleNamespace(
        output_specs=[SimpleNamespace(kind="USER_OUTPUT", arg=node) for node in wanted],
        buffers_to_mutate={},
        inputs_to_parameters={},
        inputs_to_buffers={},
        inputs_to_lifted_tensor_constants={},
    )
    return SimpleNamespace(
        graph_module=module, graph=module.graph, graph_signature=signature, state_dict={}, constants={}
    )


def graph_of(module: Any) -> Graph:
    """A graph from an FX module of ATen ops whose nodes carry their types: of all inputs, and of what is computed."""
    wanted = computed(results_of(module))
    last = list(module.graph.nodes)[-1]
    returned = last.args
    last.args = (wanted,)
    try:
        return Walk(_program(module, wanted)).graph()
    finally:
        last.args = returned


__all__ = ["computed", "graph_of", "is_known", "results_of"]
