"""What is open: source, choices, devices, the compilation and the one before it, its run, a comparison. No Qt.

Everybody shares it and listens to its events; listeners are called in the order they were connected.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from app.viewmodels.compilation import Compilation
from app.viewmodels.frame.devices import CPU, DeviceRow, device_for
from app.viewmodels.frame.event import Event
from app.viewmodels.frame.selection import Selection
from app.viewmodels.requests import RunTimes
from app.viewmodels.runs.comparison import ComparisonView
from compiler.options import CompileOptions


@dataclass
class State:
    """The state of one window; its events tell of the changes. There is one current model, or none."""

    source: str = ""
    choices: CompileOptions = field(default_factory=lambda: CompileOptions(debug="line-tables"))
    compilation: Compilation | None = None
    previous: Compilation | None = None
    number: int = 0  # of the compilation among those that were on show
    previous_number: int = 0
    run: RunTimes | None = None
    comparison: ComparisonView | None = None
    devices: tuple[DeviceRow, ...] = (CPU,)
    preferred: str = CPU.name  # the device to run on, where the target fits it
    selection: Selection = field(default_factory=Selection)
    opened: Event = field(default_factory=Event)  # with the text of the source
    chosen: Event = field(default_factory=Event)
    compiled: Event = field(default_factory=Event)  # with what is on show
    ran: Event = field(default_factory=Event)
    compared: Event = field(default_factory=Event)
    equipped: Event = field(default_factory=Event)
    stale: bool = False  # whether the compilation is of the source before this one
    fruitless: str = ""  # the source under whose name nothing is on show, as nothing came of compiling it

    @property
    def title(self) -> str:
        """The name of the open source."""
        return self.source.removeprefix("sample:") if self.is_sample else Path(self.source).name

    @property
    def is_sample(self) -> bool:
        """Whether the source ships with the program, and is not to be written over."""
        return self.source.startswith("sample:")

    @property
    def language(self) -> str:
        """The language of the open source."""
        return "mlir" if self.source.endswith(".mlir") else "python"

    @property
    def current(self) -> Compilation | None:
        """The compilation, unless it is of another source than the open one: what can be run under its name."""
        return None if self.stale else self.compilation

    @property
    def on_show(self) -> Compilation:
        """The compilation; one with nothing in it where there is none."""
        return self.compilation or Compilation(self.source, "", self.title, self.choices, (), (), (), (), (), ())

    @property
    def device(self) -> DeviceRow:
        """What a run would be on now."""
        return self.device_for(self.choices.target)

    def device_for(self, target: str) -> DeviceRow:
        """What code for a target would run on: the preferred device where that fits."""
        preferred = next((d for d in self.devices if d.name == self.preferred), None)
        if preferred is not None and preferred.target == target and not preferred.missing:
            return preferred
        return device_for(target, self.devices)

    def open(self, source: str, text: str) -> None:
        """Another source, or the same again; what-if edits belong to the one they were made for."""
        self.source = source
        self.stale = self.compilation is not None and self.compilation.source != source
        self.choices = CompileOptions(
            self.choices.target, self.choices.flow, self.choices.opt_level, self.choices.debug
        )
        self.opened.emit(text)

    def choose(self, **changes: object) -> None:
        """Change what the next compilation will be."""
        self.choices = replace(self.choices, **changes)  # type: ignore[arg-type]
        self.chosen.emit(self.choices)

    def set_compilation(self, compilation: Compilation) -> None:
        """A compilation arrived; the selection survives as far as its nodes do."""
        same = self.compilation is not None and self.compilation.source == compilation.source
        self.previous, self.previous_number = (self.compilation, self.number) if same else (None, 0)
        self.compilation, self.number = compilation, self.number + 1
        self.run, self.stale, self.fruitless = None, False, ""
        if same:
            self.selection.keep_only(compilation.node_table)
        else:
            self.selection.reset()
        self.compiled.emit(compilation)

    def drop_stale(self) -> bool:
        """Nothing came of compiling the open source: another's model must not stand, or run, under its name; nor the
        name of another of which nothing came either."""
        if not self.stale and self.fruitless in ("", self.source):
            return False
        self.fruitless = self.source
        self.compilation = self.previous = self.run = None
        self.previous_number, self.number, self.stale = 0, self.number + 1, False
        self.selection.reset()
        self.compiled.emit(self.on_show)
        return True

    def set_run(self, result: RunTimes) -> None:
        """A run ended."""
        self.run = result
        self.ran.emit(result)

    def set_comparison(self, comparison: ComparisonView) -> None:
        """A comparison arrived."""
        self.comparison = comparison
        self.compared.emit(comparison)

    def set_devices(self, devices: tuple[DeviceRow, ...]) -> None:
        """These are here to run on."""
        self.devices = devices
        self.equipped.emit(devices)

    def prefer(self, device: DeviceRow) -> None:
        """Run on this one from now on."""
        self.preferred = device.name
        self.chosen.emit(self.choices)
