"""The window: makes the state, controllers and views, and wires them. What things do is in those, not here."""

from __future__ import annotations

import gc
import itertools
import json
from pathlib import Path

from PySide6.QtCore import QByteArray, QSize, Qt, QTimer
from PySide6.QtGui import QAction, QCloseEvent, QDragEnterEvent, QDropEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QDockWidget,
    QMainWindow,
    QStackedWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from app.controllers.commands import Commands
from app.controllers.comparing import PairController
from app.controllers.compiling import CompileController
from app.controllers.editing import EditController
from app.controllers.finding import FindController
from app.controllers.flows import FlowsController
from app.controllers.laying_out import LayoutController
from app.controllers.messages import Messages
from app.controllers.opening import SUFFIXES, OpenController
from app.controllers.preferences import PreferencesController
from app.controllers.presenting import Presenter
from app.controllers.records import RecordsController
from app.controllers.reporting import ReportController
from app.controllers.running import RunController
from app.controllers.settings import LAST_SESSION, Settings
from app.controllers.spread_work import Turns
from app.controllers.state import State
from app.controllers.stepping import PassesController
from app.controllers.texts import TextStore
from app.sources import samples
from app.theme.look import Look
from app.viewmodels.graph.folded_graph import GraphModel
from app.viewmodels.runs.flows import FlowsModel
from app.viewmodels.text.tokens import tokens
from app.views.frame.command_palette import CommandPalette
from app.views.frame.dock_tabs import DockTabs
from app.views.frame.explorer import Explorer, KernelsView, SamplesView
from app.views.frame.find_everywhere import FindEverywhere
from app.views.frame.inspector import Inspector
from app.views.frame.log import LogView
from app.views.frame.menus import build_menus
from app.views.frame.status import Status
from app.views.frame.toolbar import ChoiceBar
from app.views.frame.welcome import WelcomePage
from app.views.frame.workbench import Workbench, read_panes
from app.views.graph.ledger import LedgerView
from app.views.graph.panel import GraphPanel
from app.views.parts.widgets import MessageBar, dock_bar
from app.views.report.report import ReportView
from app.views.runs.compare import CompareView
from app.views.runs.flows import FlowsView
from app.views.runs.funnel import FunnelView
from app.views.runs.roofline import RooflineView
from app.views.runs.run_view import RunView
from app.views.runs.runs import RunsView
from app.views.text.passes import PassesView
from app.views.text.source_pane import SourcePane
from app.views.timeline.memory import MemoryView
from app.views.timeline.view import TimelineView
from compiler.collector_pauses import rare_collection

_LAYOUT_VERSION = 1


class MainWindow(QMainWindow):
    """One window on one source."""

    @rare_collection()
    def __init__(self, settings: Settings | None = None) -> None:
        settings = settings or Settings()
        look = Look(settings.folder / "icons", settings.get("theme", "system"))
        look.begin()  # before there is a window: one that exists would keep the font it was made with
        super().__init__()
        look.setParent(self)
        self.settings, self.look = settings, look
        self.state, self.messages = State(), Messages()
        self._turns = Turns(self)
        self.compare_after = False
        self.compiler = CompileController(self.state, self.messages, self)
        self.graph = GraphModel()
        self.layouts = LayoutController(self.graph, self.messages, self)
        self.presenter = Presenter(self)
        self.opening = OpenController(self.state, self.settings, self.messages, self.presenter.ask_trust, self)
        self.records = RecordsController(self.messages, self)
        self.texts = TextStore(self.state, self.compiler, self.records.stored_text, self)
        self.flow_jobs = FlowsController(FlowsModel(), self.messages, self)
        self.commands = Commands(self)
        self.setWindowTitle("Kernelglass")
        self.setWindowIcon(self.look.icon("app", "accent"))
        self.setAcceptDrops(True)
        self.setDockNestingEnabled(True)
        self._make_views()
        self._actions = build_menus(self, self.commands)
        for position in range(9):
            QShortcut(QKeySequence(f"Ctrl+{position + 1}"), self, lambda p=position: self.commands.open_recent(p))
        DockTabs(self, "Views")
        DockTabs(self.workbench, "Panes")
        self._place_views()
        self._wire()
        self.look.dress()
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
        self.kernels, self.passes = KernelsView(selection), PassesView(look)
        self.samples = SamplesView(look, entries, "sample", "Samples")
        self.runs, self.compare_view = RunsView(look), CompareView(look, selection)
        self.flows, self.roofline = FlowsView(look, self.flow_jobs.model), RooflineView(look, selection)
        self.explorer = Explorer(self.kernels, self.passes, self.samples, self.runs)
        self.inspector = Inspector(look, selection)
        self.timeline = TimelineView(look, selection)
        self.run_lanes = TimelineView(look, selection)
        self.run_lanes.note = "Run (F5) to see the launches on each thread."
        self.funnel, self.memory = FunnelView(look), MemoryView(look, selection)
        self.run_view, self.ledger = RunView(look, selection), LedgerView(look, selection)
        self.report = ReportView(look)
        self.log = LogView(look, self.messages)
        self.find_view = FindEverywhere(look)
        self.bar = MessageBar(look, "window")
        self.palette_popup = CommandPalette(self)

        self._make_view_controllers()

    def _make_view_controllers(self) -> None:
        """What stands between several views, or a view and the workers; the window only wires them."""
        pane, state = self.workbench.step_pane, self.state
        self.preferences, self.running = PreferencesController(self), RunController(self)
        self.reporting = ReportController(self)
        self.editing = EditController(
            state, self.compiler, self.messages, self.source_pane, self.settings.folder / "drafts", self.language, self
        )
        self.stepping = PassesController(state, self.compiler, self.passes, pane, self.presenter.show_stage, self)
        self.finding = FindController(state, self.compiler, self.find_view, pane, self)
        self.pairs = PairController(self.workbench, self)

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
        self.inspector_dock = self._dock(
            "inspector", "Inspector", self.inspector, Qt.DockWidgetArea.RightDockWidgetArea
        )
        bottom = {
            "timeline": ("Timeline", self.timeline),
            "funnel": ("Funnel", self.funnel),
            "ledger": ("Fusion", self.ledger),
            "memory": ("Memory", self.memory),
            "run": ("Run", self.run_view),
            "launches": ("Launches", self.run_lanes),
            "roofline": ("Roofline", self.roofline),
            "flows": ("Flows", self.flows),
            "compare": ("Compare", self.compare_view),
            "find": ("Find", self.find_view),
            "report": ("Report", self.report),
            "log": ("Log", self.log),
        }
        self.bottom_docks = {
            name: self._dock(name, title, view, Qt.DockWidgetArea.BottomDockWidgetArea, bare=True)
            for name, (title, view) in bottom.items()
        }
        docks = list(self.bottom_docks.values())
        for first, second in itertools.pairwise(docks):
            self.tabifyDockWidget(first, second)
        docks[0].raise_()
        self.setCorner(Qt.Corner.BottomLeftCorner, Qt.DockWidgetArea.LeftDockWidgetArea)
        self.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)
        self.workbench.pane_added.connect(self.presenter.pane_added)
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
        self.choices.choice_made.connect(self.presenter.choice)
        self.choices.compile_pressed.connect(commands.compile)
        self.choices.run_pressed.connect(commands.run)
        self.status.cancel_pressed.connect(commands.cancel)
        self.opening.opened.connect(self.presenter.opened)
        self.opening.changed_on_disk.connect(self.presenter.changed_on_disk)
        self.opening.database_opened.connect(self.preferences.visit_database)
        self.source_pane.compile_wanted.connect(commands.compile_edit)
        self.source_pane.strip.compare_wanted.connect(self.records.compare)
        self.compiler.started.connect(self.presenter.started)
        self.compiler.progressed.connect(self.status.set_progress)
        self.compiler.ended.connect(self.presenter.ended)
        self.compiler.failed.connect(self.presenter.compile_failed)
        state.compiled.connect(self.presenter.compiled)
        state.ran.connect(self.presenter.ran)
        state.chosen.connect(self.choices.set_choices)
        self.graph_panel.export_wanted.connect(commands.export_graph)
        self.graph_panel.view.menu_wanted.connect(self.presenter.graph_menu)
        self.ledger.what_if.connect(commands.what_if)
        self.funnel.stage_clicked.connect(self.presenter.show_stage)
        self.funnel.afresh_wanted.connect(commands.compile_afresh)
        self.kernels.kernel_chosen.connect(self.presenter.show_kernel)
        self.runs.open_wanted.connect(self.compiler.open_run)
        self.runs.compare_wanted.connect(self.records.compare)
        self.runs.export_wanted.connect(commands.export_runs)
        self.flows.measure_wanted.connect(commands.measure_cells)
        self.flows.again_wanted.connect(self.flow_jobs.again)
        self.flows.stop_wanted.connect(commands.cancel)
        self.flows.export_wanted.connect(commands.export_flows)
        self.records.runs_listed.connect(self.runs.set_runs)
        self.records.compared.connect(self.presenter.compared)
        self.records.ceilings_measured.connect(self.roofline.set_ceilings)
        for jobs in (self.records, self.flow_jobs):
            jobs.started.connect(self.status.start)
            jobs.progressed.connect(self.status.set_progress)
            jobs.ended.connect(self.status.end)
        self.compare_view.pair_wanted.connect(self.presenter.pair)
        self.compare_view.ended.connect(self.pairs.end)
        self.runs.compare_compilations_wanted.connect(self.records.compare_compilations)
        self.records.compilations_listed.connect(self.runs.set_compilations)
        self.messages.posted.connect(self.presenter.said)
        self.messages.cleared.connect(self.presenter.unsaid)
        for bar in self.presenter.bars().values():
            bar.show_log.connect(lambda: self.show_bottom("log"))

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
        # In turns of the event loop: laying out every dock at once would be felt as a hitch.
        docks = (self.explorer_dock, self.inspector_dock, *self.bottom_docks.values())
        questions = (self.records.list_runs, self.running.look_around, self.preferences.ask_storage)
        self._turns.add((*(dock.show for dock in docks), self._docks_shown, *questions))

    def _docks_shown(self) -> None:
        self.bottom_docks["timeline"].raise_()
        if self._restored:
            self.restore_layout(self._restored)
            self._restored = {}
        else:
            QTimer.singleShot(0, self._share_room)

    def show_bottom(self, name: str) -> None:
        """Bring one of the bottom views to the front."""
        self.bottom_docks[name].show()
        self.bottom_docks[name].raise_()

    def layout_states(self) -> dict[str, QByteArray]:
        """The arrangement of both levels of docks."""
        panes = QByteArray(json.dumps(self.workbench.pane_states()).encode())
        workbench = self.workbench.saveState(_LAYOUT_VERSION)
        return {"window": self.saveState(_LAYOUT_VERSION), "workbench": workbench, "panes": panes}

    def restore_layout(self, states: dict[str, QByteArray]) -> None:
        """Put the docks where they were, with the panes there were."""
        if panes := read_panes(states.get("panes")):
            self.workbench.set_panes(panes)
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
        wide = self.width()
        sides = [230, 240] if wide < 1400 else [sorted((270, wide * 2 // 13, 420))[1], sorted((300, wide // 6, 460))[1]]
        self.resizeDocks([self.explorer_dock, self.inspector_dock], sides, Qt.Orientation.Horizontal)
        below = 240 if self.height() < 800 else max(280, int(self.height() * 0.27))
        self.resizeDocks([self.bottom_docks["timeline"]], [below], Qt.Orientation.Vertical)
        QTimer.singleShot(0, self.workbench.spread)

    def _restore(self) -> dict[str, QByteArray]:
        saved = self.settings.layout(LAST_SESSION)
        if "geometry" in saved:
            self.restoreGeometry(saved.pop("geometry"))
        self.preferences.begin()
        return saved

    def restore_session(self) -> None:
        """Open what was open when the window was closed last, where the user wants that."""
        last = self.settings.get("last_source", "")
        if last and self.settings.get("restore", True) and (last.startswith("sample:") or Path(last).exists()):
            self.opening.open(last)

    def _warm_up(self) -> None:
        gc.freeze()  # what the program is made of stays: looking through it for rubbish would be felt
        languages = ("python", "llvm", "mlir", "asm", "ptx")
        colours = (lambda language=language: tokens(language, "") for language in languages)
        self._turns.add((self.compiler.warm_up, self.layouts.warm_up, *colours))

    def resizeEvent(self, event) -> None:
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
        if not self.presenter.may_close():
            event.ignore()
            return
        self.editing.keep()
        self._turns.start(())  # what was still to be shown is not shown any more, and nothing is asked
        if self.stack.currentWidget() is self.workbench:
            self.settings.save_layout(LAST_SESSION, {**self.layout_states(), "geometry": self.saveGeometry()})
        if self.state.source:
            self.settings.set("last_source", self.state.source)
        self.settings.sync()
        for controller in (self.compiler, self.layouts, self.records, self.flow_jobs, self.reporting):
            controller.stop()
        super().closeEvent(event)
