"""Which graph of a language model is meant: `model.gguf#prefill` takes a prompt at once, `#decode` one more token.

The choice is a part of the source's name, so that whoever keeps, compiles, runs or lists sources need not know of it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.graph.graph import Graph
    from compiler.importers.llama.checkpoint import Checkpoint

DECODE, PREFILL = GRAPHS = ("decode", "prefill")
SAMPLE = "sample:"
"""How names of models begin that ship with the program: they are no files, and the graph of their own is prefill."""
_POSITIONS = 128  # of a prompt, or before the token that is decoded, where nobody says how many


def divided(text: str) -> tuple[str, str]:
    """A source without the choice behind it, and the choice, which may be empty. A file of that name is a file."""
    name, mark, graph = text.rpartition("#")
    if not mark or not name or graph not in GRAPHS or (not text.startswith(SAMPLE) and os.path.lexists(text)):
        return text, ""
    return name, graph


def shown_graph(text: str) -> str:
    """The graph that a language model's source means: without a choice a file's decodes, and a sample's is its own."""
    name, graph = divided(text)
    return graph or (PREFILL if name.startswith(SAMPLE) else DECODE)


def with_graph(text: str, graph: str | None) -> str:
    """The source with that graph in place of any chosen before; None leaves it as it is. One graph has one name."""
    if graph is None:
        return text
    name, _ = divided(text)
    return name if graph == shown_graph(name) and divided(name) == (name, "") else f"{name}#{graph}"


def chosen_graph(checkpoint: Checkpoint, graph: str) -> tuple[Graph, dict[str, int]]:
    """That graph of a model, and the sizes it runs with where nobody gives any."""
    from compiler.importers.llama.graph import PAST, TOKENS, decode_graph, prefill_graph

    positions = checkpoint.config.positions
    if graph == PREFILL:
        return prefill_graph(checkpoint), {TOKENS: min(_POSITIONS, positions)}
    return decode_graph(checkpoint), {PAST: min(_POSITIONS, positions - 1)}
