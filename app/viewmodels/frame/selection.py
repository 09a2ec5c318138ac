"""The one selection that runs through the whole window: a set of graph nodes, the line it was made at, its history."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.viewmodels.frame.event import Event

_DEPTH = 200


@dataclass(frozen=True)
class Spot:
    """The exact line that was chosen: the line of source behind it, and the nodes it came from.

    `whole` is a line that stands for all that was made of it, such as one of the generated source, of the graph or of
    the kernel library; a line of machine code stands for those alone that share its line of the kernel library.
    `library` is that line; of what a generated kernel does by itself, the one that called it.
    """

    file: str = ""
    line: int = 0
    nodes: frozenset[str] = frozenset()
    whole: bool = False
    library: tuple[str, int] = ("", 0)


class Selection:
    """Selected and hovered nodes; `changed(nodes, origin)` and `hovered(nodes, origin)` tell every view.

    `spot` and `hover_spot` are the exact lines, where it was a line that was chosen.
    """

    def __init__(self) -> None:
        self.nodes: frozenset[str] = frozenset()
        self.spot: Spot | None = None
        self.hover_nodes: frozenset[str] = frozenset()
        self.hover_spot: Spot | None = None
        self.changed = Event()
        self.hovered = Event()
        self._history: list[tuple[frozenset[str], Spot | None]] = [(frozenset(), None)]
        self._position = 0

    def select(self, nodes: Iterable[str], origin: object = None, spot: Spot | None = None) -> None:
        """Select these nodes; the view that caused it passes itself so that it need not scroll to itself."""
        chosen = frozenset(nodes)
        if (chosen, spot) == (self.nodes, self.spot):
            return
        del self._history[self._position + 1 :]
        self._history.append((chosen, spot))
        del self._history[:-_DEPTH]
        self._position = len(self._history) - 1
        self._set(chosen, origin, spot)

    def hover(self, nodes: Iterable[str], origin: object = None, spot: Spot | None = None) -> None:
        """The light version: what the mouse is over."""
        chosen = frozenset(nodes)
        if (chosen, spot) != (self.hover_nodes, self.hover_spot):
            self.hover_nodes, self.hover_spot = chosen, spot
            self.hovered.emit(chosen, origin)

    def reset(self) -> None:
        """Forget everything: another graph has other nodes."""
        self._history = [(frozenset(), None)]
        self._position = 0
        self.hover_nodes, self.hover_spot = frozenset(), None
        self._set(frozenset(), None, None)

    def keep_only(self, known: Iterable[str]) -> None:
        """After a recompilation: drop the nodes that are gone, here and in the history."""
        names = frozenset(known)
        self._history = [(entry & names, spot) for entry, spot in self._history]
        if not self.nodes <= names:
            self._set(self.nodes & names, None, self.spot)

    def walk(self, step: int) -> bool:
        """The selection before this one (-1) or after it (1); False at the beginning and at the end."""
        position = self._position + step
        if not 0 <= position < len(self._history):
            return False
        self._position = position
        nodes, spot = self._history[position]
        self._set(nodes, None, spot)
        return True

    def _set(self, nodes: frozenset[str], origin: object, spot: Spot | None) -> None:
        self.nodes, self.spot = nodes, spot
        self.changed.emit(nodes, origin)
