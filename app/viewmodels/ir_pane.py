"""What one IR pane shows: stage, kernel, target, lock, and the document that came for them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from app.viewmodels.compilation import MODEL_STAGES, Compilation
from app.viewmodels.event import Event
from app.viewmodels.text_document import EMPTY, TextDocument


@dataclass
class IrPaneModel:
    """The state of a pane; `wanted` fires when another text is needed, `changed` when it is there."""

    stage: str = "mo"
    kernel: str = ""
    target: str = ""
    locked: bool = False
    comparing: str = ""  # "" or what it is compared with: a stage name, or "previous"
    document: TextDocument = EMPTY
    loading: bool = False
    error: str = ""
    wanted: Event = field(default_factory=Event)
    changed: Event = field(default_factory=Event)

    @property
    def key(self) -> tuple[str, str, str]:
        """What identifies the text: a model stage has no kernel."""
        return self.stage, "" if self.stage in MODEL_STAGES else self.kernel, self.target

    def show(self, stage: str | None = None, kernel: str | None = None, target: str | None = None) -> None:
        """Ask for another text."""
        before = self.key
        self.stage = self.stage if stage is None else stage
        self.kernel = self.kernel if kernel is None else kernel
        self.target = self.target if target is None else target
        if self.key != before or self.error:
            self.ask()

    def ask(self) -> None:
        """Ask for the text again: the compilation changed."""
        self.loading, self.error = True, ""
        self.wanted.emit(self)

    def set_document(self, document: TextDocument) -> None:
        """The text came."""
        self.document, self.loading, self.error = document, False, ""
        self.changed.emit()

    def set_error(self, message: str) -> None:
        """The text cannot be had."""
        self.document, self.loading, self.error = EMPTY, False, message
        self.changed.emit()

    def follow(self, compilation: Compilation, nodes: frozenset[str]) -> None:
        """Turn to a kernel that computes the selected nodes, unless this one does or the pane is locked."""
        if self.locked or self.stage in MODEL_STAGES:
            return
        kernels = compilation.kernels_of(nodes)
        if kernels and self.kernel not in kernels:
            self.show(kernel=kernels[0])


def badge_numbers(document: TextDocument, compilation: Compilation | None) -> np.ndarray:
    """The number shown for each set of nodes: its first node's."""
    if compilation is None:
        return np.zeros(len(document.sets), np.int32)
    return np.array([compilation.number(nodes[0]) if nodes else 0 for nodes in document.sets], np.int32)
