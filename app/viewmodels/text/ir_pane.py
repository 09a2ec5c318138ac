"""What one IR pane shows: which text, what it is compared with, whether it is locked, and the document that came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from app.viewmodels.compilation import LIBRARY, READ_STAGES, WHOLE_STAGES, Compilation
from app.viewmodels.frame.event import Event
from app.viewmodels.text.diff import DiffDocument
from app.viewmodels.text.text_document import EMPTY, TextDocument
from compiler.targets import emission_of

CURRENT, PREVIOUS, GIVEN = "", "previous", "given"
USUAL_GPU = "sm_90a"


@dataclass(frozen=True)
class TextKey:
    """Which text: a stage of a kernel (none for a model's stage) for a target, or the text after a pass; of the kernel
    library, one of its files in place of a kernel.

    `origin` is the compilation it is of: the current one, the one before, or `c12` of the database; or it begins with
    `given`, and the text was handed over by whoever shows it.
    """

    stage: str
    kernel: str = ""
    target: str = ""
    origin: str = CURRENT
    step: int = -1

    @property
    def is_stored(self) -> bool:
        """Whether the database has it, under a number that is its own."""
        return self.origin.startswith("c")

    def clean(self) -> TextKey:
        """The same without a kernel where the stage is the whole model's."""
        if self.stage in READ_STAGES:
            return TextKey(self.stage, self.kernel if self.stage == LIBRARY else "", "", self.origin)
        return replace(self, kernel="") if self.stage in WHOLE_STAGES else self


@dataclass(frozen=True)
class Against:
    """What a pane's text is compared with: the other text, the words that say so, and on which side this pane is."""

    key: TextKey
    words: str
    side: str = ""  # "" shows both in one; "before" and "after" show their own text, aligned with the other pane's


@dataclass
class IrPaneModel:
    """The state of a pane; `wanted` fires when another text is needed, `changed` when it is there."""

    stage: str = "mo"
    kernel: str = ""
    target: str = ""  # empty for the compilation's own
    file: str = ""  # of the kernel library, where that is on show
    target_implied: bool = False  # the stage asked for the target, not the user: it goes with the stage
    own_target: str = "cpu"
    origin: str = CURRENT
    step: int = -1
    note: str = ""  # what a strip above the text says of it: a pass, a side of a comparison
    locked: bool = False
    against: Against | None = None
    document: TextDocument = EMPTY
    diff: DiffDocument | None = None
    loading: bool = False
    error: str = ""
    error_kind: str = "user"
    progress: tuple[str, float] = ("", -1.0)  # how far a text is that is on its way: words, and a share where known
    wanted: Event = field(default_factory=Event)
    changed: Event = field(default_factory=Event)
    progressed: Event = field(default_factory=Event)

    @property
    def key(self) -> TextKey:
        """What identifies the text."""
        shown = self.file if self.stage == LIBRARY else self.kernel
        return TextKey(self.stage, shown, self.target, self.origin, self.step).clean()

    @property
    def request(self) -> tuple[TextKey, Against | None]:
        """What was asked for; an answer to another request is stale."""
        return self.key, self.against

    def show(self, stage: str | None = None, kernel: str | None = None, target: str | None = None) -> None:
        """Ask for another text of the current compilation; what was compared is over."""
        before = self.request
        self.stage = self.stage if stage is None else stage
        self.kernel = self.kernel if kernel is None else kernel
        if target is not None or (self.target_implied and self.stage != "sass"):
            self.target, self.target_implied = target or "", False
        if self.stage == "sass" and "sass" not in emission_of(self.target or self.own_target).stages:
            self.target, self.target_implied = USUAL_GPU, True
        self.origin, self.step, self.note, self.against = CURRENT, -1, "", None
        if self.request != before or self.error:
            self.ask()

    def show_key(self, key: TextKey, note: str = "", against: Against | None = None, again: bool = False) -> None:
        """Ask for any text, compared with another or not; `again` also where it is on show."""
        before = self.request
        self.stage, self.target, self.origin, self.step = key.stage, key.target, key.origin, key.step
        self.target_implied = False
        self.kernel = key.kernel or self.kernel
        self.note, self.against = note, against
        if again or self.request != before or self.error:
            self.ask()

    def compare(self, against: Against | None) -> None:
        """Compare what is shown with another text, or stop that."""
        if against != self.against:
            self.against = against
            self.ask()

    def ask(self) -> None:
        """Ask for the text again: the compilation changed."""
        self.loading, self.error, self.progress = True, "", ("", -1.0)
        self.wanted.emit(self)

    def leave(self) -> None:
        """The pane is closed: a text that is still on its way finds nobody."""
        for event in (self.wanted, self.changed, self.progressed):
            event.clear()

    def set_progress(self, words: str, share: float = -1.0) -> None:
        """The text is on its way, and has come this far."""
        if self.loading:
            self.progress = (words, share)
            self.progressed.emit()

    def set_document(self, document: TextDocument, diff: DiffDocument | None = None) -> None:
        """The text came."""
        self.document, self.diff, self.loading, self.error = document, diff, False, ""
        self.changed.emit()

    def set_error(self, message: str, kind: str = "user") -> None:
        """The text cannot be had; `kind` tells a missing tool from a mistake."""
        self.document, self.diff, self.loading, self.error, self.error_kind = EMPTY, None, False, message, kind
        self.changed.emit()

    @property
    def shown(self) -> TextDocument:
        """What is on show: the text, or the text with its differences."""
        return self.diff.document if self.diff is not None else self.document

    def follow(self, compilation: Compilation, nodes: frozenset[str]) -> None:
        """Turn to a kernel that computes the selected nodes, unless this one does or the pane is locked."""
        if self.locked or self.stage in WHOLE_STAGES or self.stage == LIBRARY or self.origin or self.step >= 0:
            return
        kernels = compilation.kernels_of(nodes)
        if not kernels or self.kernel in kernels:
            return
        if self.against is None:
            self.show(kernel=kernels[0])
        else:  # what it is compared with turns to that kernel too
            self.kernel = kernels[0]
            self.against = replace(self.against, key=replace(self.against.key, kernel=kernels[0]))
            self.ask()

    def follow_file(self, compilation: Compilation, file: str) -> None:
        """Turn to the file of the kernel library that a chosen line is in."""
        if self.stage == LIBRARY and not self.locked and file != self.file and file in compilation.library:
            self.show_file(file)

    def show_file(self, file: str) -> None:
        """Ask for another file of the kernel library."""
        self.file, self.against = file, None
        self.ask()

    def state(self) -> dict[str, Any]:
        """What is kept between sessions."""
        target = "" if self.target_implied else self.target
        return {"stage": self.stage, "kernel": self.kernel, "target": target, "locked": self.locked}


def pane_model(state: Mapping[str, Any], stages: tuple[str, ...]) -> IrPaneModel:
    """A pane as it was kept; what does not read is the usual."""
    stage = state.get("stage")
    kernel, target = (value if isinstance(value := state.get(name), str) else "" for name in ("kernel", "target"))
    return IrPaneModel(stage if stage in stages else "asm", kernel, target, locked=state.get("locked") is True)


def usual_file(compilation: Compilation, kernel: str) -> str:
    """The file of the kernel library to begin with: one that goes by a word of the kernel's name."""
    stems = {file: file.rsplit("/", 1)[-1].removesuffix(".py") for file in compilation.library}
    for word in kernel.split("_"):
        for file, stem in stems.items():
            if stem == word or stem.endswith(f"_{word}"):
                return file
    return next((file for file, stem in stems.items() if stem == "driver"), next(iter(stems), ""))


def badge_numbers(document: TextDocument, compilation: Compilation | None) -> np.ndarray:
    """The number shown for each set of nodes: its first node's."""
    if compilation is None:
        return np.zeros(len(document.sets), np.int32)
    return np.array([compilation.number(nodes[0]) if nodes else 0 for nodes in document.sets], np.int32)
