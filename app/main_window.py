"""The window: makes the state, controllers and views, and wires them. What things do is in those, not here."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QByteArray, QPoint, QSize, Qt, QTimer
from PySide6.QtGui import QAction, QCloseEvent, QDragEnterEvent, QDropEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QDockWidget, QMainWindow, QMenu, QMessageBox, QStackedWidget, QTabWidget, QVBoxLayout, QWidget

from app.controllers.commands import Commands
from app.controllers.compiling import CompileController
from app.controllers.laying_out import LayoutController
from app.controllers.opening import SUFFIXES, OpenController
from app.controllers.texts import TextStore
from app.messages import Message, Messages
from app.settings import Settings
from app.sources import samples
from app.state import State
from app.theme.look import Look
from app.viewmodels.compilation import Compilation
from app.viewmodels.formats import seconds
from app.viewmodels.graph import GraphModel
from app.viewmodels.requests import Failure, RunResult
from app.viewmodels.run_figures import kernel_times
from app.viewmodels.timeline import compile_timeline, run_timeline
from app.views.command_palette import CommandPalette
from app.views.explorer import Explorer, KernelsView, PassesView, SamplesView, empty_page
from app.views.funnel import FunnelView
from app.views.graph_panel import GraphPanel
from app.views.inspector import Inspector
from app.views.ir_pane import IrPane
from app.views.ledger import LedgerView
from app.views.log import LogView
from app.views.memory import MemoryView
from app.views.menus import build_menus
from app.views.run_view import RunView
from app.views.source_pane import SourcePane
from app.views.status import Status
from app.views.timeline import TimelineView
from app.views.toolbar import ChoiceBar
from app.views.welcome import WelcomePage
from app.views.widgets import MessageBar, dock_bar
from app.views.workbench import Workbench

_STAGE_OF_FUNNEL = {"machine": "asm", "link": "asm", "mogg": "mogg"}
_LAYOUT_VERSION = 1


class MainWindow(QMainWindow):
    """One window on one source."""

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__()
        self.settings = settings or Settings()
        self.look = Look(self.settings.folder / "icons", self.settings.get("theme", "system"), self)
        self.look.apply()
        self.state, self.messages = State(), Messages()
        self.compare_after = False
        self.compiler = CompileController(self.state, self.messages, self)
        self.texts = TextStore(self.state, self.compiler, self)
        self.graph = GraphModel()
        self.layouts = LayoutController(self.graph, self.messages, self)
        self.opening = OpenController(self.state, self.settings, self.messages, self._ask_trust, self)
        self.commands = Commands(self)
        self.setWindowTitle("Kernelglass")
        self.setWindowIcon(self.look.icon("app", "accent"))
        self.setAcceptDrops(True)
        self.setDockNestingEnabled(True)
        self._make_views()
        self._actions = build_menus(self, self.commands)
        for position in range(9):
            QShortcut(QKeySequence(f"Ctrl+{position + 1}"), self, lambda p=position: self.commands.open_recent(p))
        self._place_views()
        self._wire()
        self.resize(QSize(1440, 900))
        self._usual = self.layout_states()
        self._restored = self._restore()
        QTimer.singleShot(0, self._warm_up)

    # Making ------------------------------------------------------------------------------------------------------

    def _make_views(self) -> None:
        look, selection = self.look, self.state.selection
        entries = [(f"sample:{s.name}", s.name, s.description) for s in samples()]
        self.choices = ChoiceBar(look, [(source, title) for source, title, _ in entries])
        self.status = Status("CPU")
        self.welcome = WelcomePage(look, entries, self.settings.recent())
        self.graph_panel = GraphPanel(look, self.graph, selection)
        self.source_pane = SourcePane(look)
        self.workbench = Workbench(look, selection, self.graph_panel, self.source_pane)
        self.kernels, self.passes = KernelsView(selection), PassesView()
        self.samples = SamplesView(look, entries, "sample", "Samples")
        self.runs: QWidget = empty_page("Runs that are kept in the database appear here.")
        self.explorer = Explorer(self.kernels, self.passes, self.samples, self.runs)
        self.inspector = Inspector(look, selection)
        self.timeline = TimelineView(look, selection)
        self.run_lanes = TimelineView(look, selection)
        self.run_lanes.note = "Run (F5) to see the launches on each thread."
        self.funnel, self.memory = FunnelView(look), MemoryView(look, selection)
        self.run_view, self.ledger = RunView(look, selection), LedgerView(look, selection)
        self.log = LogView(look, self.messages)
        self.bar = MessageBar(look, "window")
        self.palette_popup = CommandPalette(self)

    def _place_views(self) -> None:
        self.addToolBar(self.choices)
        self.setStatusBar(self.status)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.welcome)
        self.stack.addWidget(self.workbench)
        centre = QWidget()
        layout = QVBoxLayout(centre)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.bar)
        layout.addWidget(self.stack)
        self.setCentralWidget(centre)
        self.setTabPosition(Qt.DockWidgetArea.BottomDockWidgetArea, QTabWidget.TabPosition.North)
        self.explorer_dock = self._dock("explorer", "Explorer", self.explorer, Qt.DockWidgetArea.LeftDockWidgetArea)
        self.inspector_dock = self._dock("inspector", "Inspector", self.inspector, Qt.DockWidgetArea.RightDockWidgetArea)
        bottom = {
            "timeline": ("Timeline", self.timeline), "funnel": ("Funnel", self.funnel), "ledger": ("Fusion", self.ledger),
            "memory": ("Memory", self.memory), "run": ("Run", self.run_view), "launches": ("Launches", self.run_lanes),
            "log": ("Log", self.log),
        }  # fmt: skip
        self.bottom_docks = {
            name: self._dock(name, title, view, Qt.DockWidgetArea.BottomDockWidgetArea, bare=True)
            for name, (title, view) in bottom.items()
        }
        docks = list(self.bottom_docks.values())
        for first, second in zip(docks, docks[1:]):
            self.tabifyDockWidget(first, second)
        docks[0].raise_()
        self.setCorner(Qt.Corner.BottomLeftCorner, Qt.DockWidgetArea.LeftDockWidgetArea)
        self.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)
        self.workbench.pane_added.connect(self._pane_added)
        for stage in ("source", "asm"):
            self.workbench.add_pane(stage)
        self.workbench.join_source()
        self._share_room()
        self.show_welcome()

    def _dock(self, name: str, title: str, view: QWidget, area: Qt.DockWidgetArea, bare: bool = False) -> QDockWidget:
        dock = QDockWidget(title, self)
        dock.setObjectName(name)
        dock.setWidget(view)
        if bare:  # the tab says what it is; a title bar would say it twice
            dock.setTitleBarWidget(QWidget())
        else:
            dock.setTitleBarWidget(dock_bar(self.look, dock))
        self.addDockWidget(area, dock)
        return dock

    def _wire(self) -> None:
        commands, state = self.commands, self.state
        for view in (self.welcome, self.samples):
            view.open_wanted.connect(self.opening.open)
        self.welcome.browse_wanted.connect(commands.browse)
        self.choices.source_chosen.connect(self.opening.open)
        self.choices.choice_made.connect(self._choice)
        self.choices.compile_pressed.connect(commands.compile)
        self.choices.run_pressed.connect(commands.run)
        self.run_view.run_wanted.connect(commands.run)
        self.status.cancel_pressed.connect(commands.cancel)
        self.opening.opened.connect(self._opened)
        self.opening.changed_on_disk.connect(self._changed_on_disk)
        self.source_pane.compile_wanted.connect(commands.compile_edit)
        self.source_pane.key_chosen.connect(self._edit)
        self.source_pane.revert_wanted.connect(self._edit)
        self.compiler.started.connect(self._started)
        self.compiler.progressed.connect(self.status.set_progress)
        self.compiler.ended.connect(self._ended)
        self.compiler.failed.connect(self._compile_failed)
        self.compiler.llvm_passes.connect(lambda rows: self.passes.set_passes((*self.state.compilation.passes, *rows)))  # type: ignore[union-attr]
        state.compiled.connect(self._compiled)
        state.ran.connect(self._ran)
        state.chosen.connect(self.choices.set_choices)
        self.graph_panel.export_wanted.connect(commands.export_graph)
        self.graph_panel.view.edge_menu.connect(self._edge_menu)
        self.ledger.what_if.connect(commands.what_if)
        self.funnel.stage_clicked.connect(lambda stage: self._show_stage(_STAGE_OF_FUNNEL.get(stage, stage)))
        self.passes.pass_chosen.connect(lambda row: self._show_stage(_STAGE_OF_FUNNEL.get(row.stage, row.stage), row.kernel))
        self.kernels.kernel_chosen.connect(self._show_kernel)
        self.messages.posted.connect(self._said)
        self.messages.cleared.connect(self._unsaid)
        for bar in self._bars().values():
            bar.show_log.connect(lambda: self.show_bottom("log"))

    # What happens ------------------------------------------------------------------------------------------------

    def _opened(self, source: str, text: str) -> None:
        self.show_work()
        title = source.removeprefix("sample:") if source.startswith("sample:") else Path(source).name
        self.setWindowTitle(f"{title} - Kernelglass")
        self.choices.set_source(source, title)
        self.source_pane.which.set_entries([("", title)])
        self.source_pane.set_text(text, self.language())
        self.state.choices = type(self.state.choices)(self.state.choices.target, self.state.choices.flow, self.state.choices.opt_level)
        self.welcome.set_recent(self.settings.recent())
        self.graph_panel.view.reset_view()
        self.commands.compile()

    def _choice(self, name: str, value: object) -> None:
        self.state.choose(**{name: value})
        if self.state.source:
            self.commands.compile()

    def _started(self, what: str) -> None:
        self.status.start(what)
        self.choices.set_enabled(bool(self.state.source), False)

    def _ended(self, good: bool) -> None:
        can_run = self.state.compilation is not None and self.state.compilation.choices.target == "cpu"
        self.choices.set_enabled(bool(self.state.source), can_run)
        self.status.finish("Done" if good else "Stopped")

    def _compiled(self, compilation: Compilation) -> None:
        self.graph.set_compilation(compilation)
        self.graph_panel.title.setText(compilation.name)
        for view in (self.kernels, self.inspector, self.funnel, self.memory, self.ledger):
            view.set_compilation(compilation)
        for pane in self.workbench.panes:
            pane.set_compilation(compilation)
        self.passes.set_passes(compilation.passes)
        self.timeline.set_timeline(compile_timeline(compilation))
        self.run_view.clear()
        kernels = [(kernel.name, f"kernel {kernel.name}") for kernel in compilation.kernels]
        self.source_pane.which.set_entries([("", self.source_pane.which.itemText(0)), *kernels])
        self.status.finish(f"Compiled {compilation.name} in {seconds(compilation.seconds)}")
        self.status.facts.setText(f"{len(compilation.kernels)} kernels  \u00b7  {compilation.choices.label}")
        self.choices.set_enabled(True, compilation.choices.target == "cpu")
        self.messages.log(f"compiled {compilation.name} ({compilation.choices.label}) in {seconds(compilation.seconds)}")
        if self.compare_after:
            self.compare_after = False
            QTimer.singleShot(0, self.commands.compare_previous)

    def _ran(self, run: RunResult) -> None:
        compilation = self.state.compilation
        assert compilation is not None
        self.run_view.set_run(compilation, run)
        self.inspector.set_run(run)
        self.kernels.set_times(kernel_times(run))
        self.graph.set_times({index: sorted(times)[len(times) // 2] for index, (_, times) in enumerate(run.calls) if times})
        self.run_lanes.set_timeline(run_timeline(compilation, run))
        if run.ok is False:
            self.messages.post(Message("error", f"the check failed: {'; '.join(run.checks)}", "run"))

    def _compile_failed(self, failure: Failure) -> None:
        edited = self.source_pane.key
        known = Path(failure.file).stem
        in_source = bool(failure.line) and (known in self.source_pane.which.itemText(0) or known == edited)
        self.messages.failure(failure, "source" if in_source else "window")
        if in_source:
            self.workbench.source_dock.show()
            self.workbench.source_dock.raise_()
            self.source_pane.editor.mark_error(failure.line)

    def _changed_on_disk(self) -> None:
        if self.source_pane.edited:
            self.messages.post(Message("warning", "the file changed on disk; your edit is kept (Ctrl+R reloads)", "source"))
        else:
            self.commands.reload()

    def _edit(self, key: str) -> None:
        """Show the graph's text or a kernel's in the editor."""
        compilation = self.state.compilation
        if key and compilation is not None and key in compilation.kernel_table:
            self.source_pane.set_text(compilation.kernel_table[key].source, "python")
        else:
            self.source_pane.set_text(self.opening.read() or "", self.language())

    def _show_stage(self, stage: str, kernel: str = "") -> None:
        pane = next((p for p in self.workbench.panes if not p.model.locked), None)
        if pane is not None and pane.stage.findData(stage) >= 0:
            pane.model.show(stage=stage, kernel=kernel or None)

    def _show_kernel(self, kernel: str) -> None:
        for pane in self.workbench.panes:
            if not pane.model.locked:
                pane.model.show(kernel=kernel)

    def _edge_menu(self, producer: str, consumer: str, place: QPoint) -> None:
        menu = QMenu(self)
        decision = next((d for d in (self.state.compilation.ledger if self.state.compilation else ()) if (d.producer, d.consumer) == (producer, consumer)), None)
        if decision is not None:
            text = "Cut here" if decision.accepted else "Fuse here"
            menu.addAction(f"{text}: {producer} \u2192 {consumer}", lambda: self.commands.what_if(producer, consumer, not decision.accepted))
            menu.addSeparator()
        menu.addAction("Fit", self.graph_panel.view.fit)
        menu.addAction("Collapse all groups", lambda: self.graph.collapse_all(True))
        menu.addAction("Expand all groups", lambda: self.graph.collapse_all(False))
        menu.addAction("Export...", self.commands.export_graph)
        menu.popup(place)

    def _pane_added(self, pane: IrPane) -> None:
        pane.model.wanted.connect(self.texts.fetch)
        pane.compare_wanted.connect(self.commands.compare_pane)
        if self.state.compilation is not None:
            pane.set_compilation(self.state.compilation)

    def _bars(self) -> dict[str, MessageBar]:
        return {"window": self.bar, "source": self.source_pane.bar, "graph": self.graph_panel.bar, "run": self.run_view.bar}

    def _said(self, message: Message) -> None:
        if message.place in (bars := self._bars()):
            bars[message.place].show_message(message)

    def _unsaid(self, place: str) -> None:
        if place in (bars := self._bars()):
            bars[place].hide()

    def _ask_trust(self, path: str) -> bool:
        box = QMessageBox(self)
        box.setIcon(QMessageBox.Icon.Warning)
        box.setWindowTitle("Trust this file?")
        box.setText(f"{Path(path).name} is Python code, and opening it runs it.")
        box.setInformativeText(f"{path}\n\nTrust it only if you know where it came from. MLIR and ONNX files are never run.")
        trust = box.addButton("Trust and open", QMessageBox.ButtonRole.AcceptRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.exec()
        return box.clickedButton() is trust

    # Layout and life ---------------------------------------------------------------------------------------------

    def language(self) -> str:
        """The language of the open source."""
        return "mlir" if self.state.source.endswith(".mlir") else "python"

    def suggested_file(self) -> str:
        """A name to save the edited source under."""
        if self.state.source.startswith("sample:"):
            return self.state.source.removeprefix("sample:").replace("-", "_") + "_edited.py"
        return self.state.source

    def all_actions(self) -> list[QAction]:
        """Everything the palette offers."""
        return self._actions

    def show_welcome(self) -> None:
        """The welcome page, without the docks that would be empty around it."""
        self.stack.setCurrentWidget(self.welcome)
        for dock in (self.explorer_dock, self.inspector_dock, *self.bottom_docks.values()):
            dock.hide()

    def show_work(self) -> None:
        """The workbench and its docks."""
        if self.stack.currentWidget() is self.workbench:
            return
        self.stack.setCurrentWidget(self.workbench)
        for dock in (self.explorer_dock, self.inspector_dock, *self.bottom_docks.values()):
            dock.show()
        self.bottom_docks["timeline"].raise_()
        if self._restored:
            self.restore_layout(self._restored)
            self._restored = {}
        else:
            self._share_room()

    def show_bottom(self, name: str) -> None:
        """Bring one of the bottom views to the front."""
        self.bottom_docks[name].show()
        self.bottom_docks[name].raise_()

    def layout_states(self) -> dict[str, QByteArray]:
        """The arrangement of both levels of docks."""
        return {"window": self.saveState(_LAYOUT_VERSION), "workbench": self.workbench.saveState(_LAYOUT_VERSION)}

    def restore_layout(self, states: dict[str, QByteArray]) -> None:
        """Put the docks where they were."""
        if "window" in states:
            self.restoreState(states["window"], _LAYOUT_VERSION)
        if "workbench" in states:
            self.workbench.restoreState(states["workbench"], _LAYOUT_VERSION)

    def reset_layout(self) -> None:
        """As the program came."""
        self.restore_layout(self._usual)
        for dock in (self.explorer_dock, self.inspector_dock, *self.bottom_docks.values()):
            dock.show()
        self.bottom_docks["timeline"].raise_()
        self._share_room()

    def _share_room(self) -> None:
        small = self.width() < 1400
        self.resizeDocks([self.explorer_dock, self.inspector_dock], [230, 240] if small else [270, 300], Qt.Orientation.Horizontal)
        self.resizeDocks([self.bottom_docks["timeline"]], [170 if self.height() < 800 else 230], Qt.Orientation.Vertical)
        QTimer.singleShot(0, self.workbench.spread)

    def _restore(self) -> dict[str, QByteArray]:
        saved = self.settings.layout("last session")
        if "geometry" in saved:
            self.restoreGeometry(saved.pop("geometry"))
        self.look.zoom_code(self.settings.get("code_pixels", self.look.code_pixels))
        return saved

    def _warm_up(self) -> None:
        self.compiler.warm_up()
        self.layouts.warm_up()

    def resizeEvent(self, event) -> None:  # noqa: ANN001
        super().resizeEvent(event)
        self.palette_popup.hide()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.toLocalFile().endswith(SUFFIXES) for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        for url in event.mimeData().urls():
            if url.toLocalFile().endswith(SUFFIXES):
                self.opening.open(url.toLocalFile())
                return

    def closeEvent(self, event: QCloseEvent) -> None:
        if self.stack.currentWidget() is self.workbench:
            self.settings.save_layout("last session", {**self.layout_states(), "geometry": self.saveGeometry()})
        self.settings.set("code_pixels", self.look.code_pixels)
        if self.state.source:
            self.settings.set("last_source", self.state.source)
        self.settings.sync()
        self.compiler.stop()
        self.layouts.stop()
        super().closeEvent(event)
