"""The tool bar: what to compile, for what, how; and the buttons that do it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QPushButton, QSizePolicy, QToolBar, QWidget

from app.theme.look import Look
from app.viewmodels.frame.devices import CPU, TARGETS, DeviceRow
from app.views.parts.controls import push_button
from app.views.parts.plain import plain_tip
from app.views.parts.widgets import Choice, label
from compiler.importers.llama.graph_choice import GRAPHS
from compiler.options import FLOWS, OPT_LEVELS, CompileOptions
from compiler.printable import printable


class ChoiceBar(QToolBar):
    """Choices are told one by one; the buttons only say that they were pressed."""

    source_chosen = Signal(str)
    graph_chosen = Signal(str)
    choice_made = Signal(str, object)
    device_chosen = Signal(object)
    compile_pressed = Signal()
    run_pressed = Signal()

    def __init__(self, look: Look, sources: Sequence[tuple[str, str]]) -> None:
        super().__init__("Choices")
        self.setObjectName("choices")
        self.setMovable(False)
        self._look = look
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.source = Choice("Source", [("", "Choose a sample"), *sources])
        self.graph = Choice("Graph of the language model", [(graph, graph) for graph in GRAPHS])
        self.graph.setToolTip("prefill takes a prompt at once, decode one token after others")
        self.target = Choice("Target", TARGETS)
        self.flow = Choice("Flow", [(flow, flow) for flow in FLOWS])
        self.level = Choice("Optimisation level", [(str(n), f"-O{n}") for n in OPT_LEVELS])
        self.level.set_value("3")
        self.device = Choice("Device to run on", [(CPU.name, CPU.title)])
        self._devices: tuple[DeviceRow, ...] = (CPU,)
        self.device.chosen.connect(self._device_chosen)
        self.source.setMinimumWidth(150)
        self.source.setMaximumWidth(260)
        self.device.setMaximumWidth(220)
        self.source.chosen.connect(lambda value: value and self.source_chosen.emit(value))
        self.graph.chosen.connect(self.graph_chosen)
        self.target.chosen.connect(lambda value: self.choice_made.emit("target", value))
        self.flow.chosen.connect(lambda value: self.choice_made.emit("flow", value))
        self.level.chosen.connect(lambda value: self.choice_made.emit("opt_level", int(value)))
        rows = (
            ("Source", self.source), ("", self.graph), ("Target", self.target), ("Flow", self.flow), ("", self.level)
        )  # fmt: skip
        for text, widget in rows:
            if text:
                self.addWidget(label(text, "muted"))
            action = self.addWidget(widget)
            if widget is self.graph:
                self._graph_action = action
        self.set_graph("")
        room = QWidget()
        room.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        room.setStyleSheet("background: transparent")
        self.addWidget(room)
        self.compile = self._button("Compile", "Compile (Ctrl+Return)", self.compile_pressed)
        self.run = self._button("Run", "Run and time (F5)", self.run_pressed)
        self.compile.setProperty("primary", True)
        self.addWidget(self.compile)
        self.addWidget(self.run)
        self.addWidget(label("on", "muted"))
        self.addWidget(self.device)
        look.changed.connect(self._restyle)
        self._restyle()
        self.set_enabled(False, False)

    def set_choices(self, choices: CompileOptions) -> None:
        """Show what was chosen elsewhere."""
        if self.target.findData(choices.target) < 0:  # a device of this machine that is not in the usual list
            self.target.addItem(choices.target, choices.target)
        self.target.set_value(choices.target)
        self.flow.set_value(choices.flow)
        self.level.set_value(str(choices.opt_level))

    def set_devices(self, devices: tuple[DeviceRow, ...]) -> None:
        """What can be run on; what is missing for one is in its tip."""
        self._devices = devices
        self.device.set_entries([(device.name, device.title) for device in devices])
        for index, device in enumerate(devices):
            self.device.setItemData(index, plain_tip(device.missing or device.words), Qt.ItemDataRole.ToolTipRole)

    def set_device(self, device: DeviceRow) -> None:
        """Show what a run will be on."""
        self.device.set_value(device.name)
        self.device.setToolTip(plain_tip(f"Device to run on: {device.missing or device.words or device.title}"))
        self.run.setToolTip(plain_tip(f"Run and time on {device.title} (F5)"))

    def _device_chosen(self, name: str) -> None:
        self.device_chosen.emit(next(device for device in self._devices if device.name == name))

    def set_source(self, source: str, title: str) -> None:
        """Show what is open; a file that is no sample gets an entry of its own."""
        if self.source.findData(source) < 0:
            self.source.addItem(printable(title), source)
        self.source.set_value(source)

    def set_graph(self, graph: str) -> None:
        """Show which graph of a language model is open; nothing for what has only one."""
        self._graph_action.setVisible(bool(graph))
        if graph:
            self.graph.set_value(graph)

    def set_enabled(self, compile_: bool, run: bool) -> None:
        """What can be pressed now."""
        self.compile.setEnabled(compile_)
        self.run.setEnabled(run)

    def _button(self, text: str, tip: str, signal) -> QPushButton:
        # a little room after the icon: style sheets have no word for it
        button = push_button(f" {text}", signal, tip, tip)
        button.setIconSize(QSize(16, 16))
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        return button

    def _restyle(self) -> None:
        height = max(30, self.fontMetrics().height() + 14)  # one height for all, whatever the font
        choices = (self.source, self.graph, self.target, self.flow, self.level, self.device)
        for widget in (*choices, self.compile, self.run):
            widget.setFixedHeight(height)
        self.compile.setIcon(self._look.icon("compile", "accent_text"))
        self.run.setIcon(self._look.icon("run", "good"))
