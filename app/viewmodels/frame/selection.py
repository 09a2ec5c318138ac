"""The one selection that runs through the whole window: a set of graph nodes, with its history."""

from __future__ import annotations

from collections.abc import Iterable

from app.viewmodels.frame.event import Event

_DEPTH = 200


class Selection:
    """Selected and hovered nodes; `changed(nodes, origin)` and `hovered(nodes, origin)` tell every view."""

    def __init__(self) -> None:
        self.nodes: frozenset[str] = frozenset()
        self.hover_nodes: frozenset[str] = frozenset()
        self.changed = Event()
        self.hovered = Event()
        self._history: list[frozenset[str]] = [frozenset()]
        self._position = 0

    def select(self, nodes: Iterable[str], origin: object = None) -> None:
        """Select these nodes; the view that caused it passes itself so that it need not scroll to itself."""
        chosen = frozenset(nodes)
        if chosen == self.nodes:
            return
        del self._history[self._position + 1 :]
        self._history.append(chosen)
        del self._history[:-_DEPTH]
        self._position = len(self._history) - 1
        self._set(chosen, origin)

    def hover(self, nodes: Iterable[str], origin: object = None) -> None:
        """The light version: what the mouse is over."""
        chosen = frozenset(nodes)
        if chosen != self.hover_nodes:
            self.hover_nodes = chosen
            self.hovered.emit(chosen, origin)

    def clear(self) -> None:
        """Select nothing."""
        self.select(())

    def back(self) -> bool:
        """The selection before this one; False at the beginning."""
        return self._walk(-1)

    def forward(self) -> bool:
        """The selection after this one; False at the end."""
        return self._walk(1)

    def reset(self) -> None:
        """Forget everything: another graph has other nodes."""
        self._history, self._position = [frozenset()], 0
        self.hover_nodes = frozenset()
        self._set(frozenset(), None)

    def keep_only(self, known: Iterable[str]) -> None:
        """After a recompilation: drop the nodes that are gone, here and in the history."""
        names = frozenset(known)
        self._history = [entry & names for entry in self._history]
        if not self.nodes <= names:
            self._set(self.nodes & names, None)

    def _walk(self, step: int) -> bool:
        position = self._position + step
        if not 0 <= position < len(self._history):
            return False
        self._position = position
        self._set(self._history[position], None)
        return True

    def _set(self, nodes: frozenset[str], origin: object) -> None:
        self.nodes = nodes
        self.changed.emit(nodes, origin)
