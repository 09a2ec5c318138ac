"""What is open: the source, the choices, the compilation and the one before it. No Qt: everybody shares it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from app.viewmodels.compilation import Compilation
from app.viewmodels.frame.event import Event
from app.viewmodels.frame.selection import Selection
from app.viewmodels.requests import RunTimes
from compiler.options import CompileOptions


@dataclass
class State:
    """The state of one window; `compiled`, `ran` and `chosen` tell of its changes."""

    source: str = ""
    choices: CompileOptions = field(default_factory=lambda: CompileOptions(debug="line-tables"))
    compilation: Compilation | None = None
    previous: Compilation | None = None
    number: int = 0  # of the compilation among those that were on show
    previous_number: int = 0
    run: RunTimes | None = None
    selection: Selection = field(default_factory=Selection)
    compiled: Event = field(default_factory=Event)
    ran: Event = field(default_factory=Event)
    chosen: Event = field(default_factory=Event)

    def choose(self, **changes: object) -> None:
        """Change what the next compilation will be."""
        self.choices = replace(self.choices, **changes)  # type: ignore[arg-type]
        self.chosen.emit(self.choices)

    def set_compilation(self, compilation: Compilation) -> None:
        """A compilation arrived; the selection survives as far as its nodes do."""
        same = self.compilation is not None and self.compilation.source == compilation.source
        self.previous, self.previous_number = (self.compilation, self.number) if same else (None, 0)
        self.compilation, self.number = compilation, self.number + 1
        self.run = None
        if same:
            self.selection.keep_only(compilation.node_table)
        else:
            self.selection.reset()
        self.compiled.emit(compilation)

    def set_run(self, result: RunTimes) -> None:
        """A run ended."""
        self.run = result
        self.ran.emit(result)
