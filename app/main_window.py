"""The window: makes the state and the features, and wires them. What things do is in those, not here."""

from __future__ import annotations

import gc
import sys
from importlib import import_module

from PySide6.QtCore import QTimer
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QMainWindow

from app.controllers.bisecting import BisectFeature
from app.controllers.comparison import ComparisonFeature
from app.controllers.compilations import Compilations
from app.controllers.compile import CompileFeature
from app.controllers.docks import DocksFeature, first_size
from app.controllers.explorer import ExplorerFeature
from app.controllers.features import Features, Shared
from app.controllers.flows import FlowsFeature
from app.controllers.generating import GeneratingFeature
from app.controllers.graph import GraphFeature
from app.controllers.heartbeat import heartbeat_of
from app.controllers.help import HelpFeature
from app.controllers.history import HistoryFeature
from app.controllers.hottest import HottestFeature
from app.controllers.kernel_list import KernelListFeature
from app.controllers.kernel_notes import KernelNotesFeature
from app.controllers.layouts import LayoutsFeature
from app.controllers.log import LogFeature
from app.controllers.notebook import NotebookFeature
from app.controllers.opening import OpeningFeature, can_open
from app.controllers.palette_things import PaletteThings
from app.controllers.panes import PanesFeature
from app.controllers.passes import PassesFeature
from app.controllers.pictures import PicturesFeature
from app.controllers.preferences import PreferencesFeature
from app.controllers.preview import PreviewFeature
from app.controllers.records import RecordsController
from app.controllers.remote_devices import RemoteDevicesFeature
from app.controllers.report import ReportFeature
from app.controllers.rubbish import Rubbish
from app.controllers.runs import RunsFeature
from app.controllers.search import SearchFeature
from app.controllers.settings import Settings
from app.controllers.source import SourceFeature
from app.controllers.spread_work import SpareTime, Turns
from app.controllers.sweep import SweepFeature
from app.controllers.texts import TextStore
from app.controllers.timeline import TimelineFeature
from app.controllers.tuning import TuningFeature
from app.controllers.what_if import WhatIfFeature
from app.sources import samples
from app.theme.look import Look
from app.viewmodels.compilation import Compilation
from app.viewmodels.frame.messages import Messages
from app.viewmodels.frame.shown import Shown
from app.viewmodels.state import State
from app.viewmodels.text.tokens import tokens
from app.views.frame import keyboard
from app.views.frame.status import Status
from app.views.frame.toolbar import ChoiceBar
from app.views.frame.welcome import WelcomePage
from app.views.frame.workbench import Workbench
from app.views.parts.later import PicturesApart, in_thread
from compiler.collector_pauses import rare_collection

_QUIET = 500  # milliseconds after the first picture: whoever is quick is not disturbed
_SHORT = 0.0001  # seconds after which a thread gives way: every call of Qt may have to wait for one that works


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
        pictures = PicturesApart(self)
        self.state, self.messages, self.turns = State(), Messages(), Turns(self, lambda: pictures.due)
        self.compiler = Compilations(self.state, self.messages, self)
        under_way = lambda: self.turns.busy or self.compiler.busy or self.compiler.starting or pictures.due  # noqa: E731
        self.spare = SpareTime(under_way, self)
        self.records = RecordsController(self.messages, self)
        self.features = Features()
        self._rubbish: Rubbish | None = None
        self.setWindowTitle("Kernelglass")
        self.setWindowIcon(look.icon("app", "accent"))
        self.setAcceptDrops(True)
        self.setDockNestingEnabled(True)
        shared = Shared(self, look, self.state, self.messages, self.turns, self.spare)
        self._make_frame(shared)
        self._make_features(shared)
        self.help.actions = self.features.build_menus(self)
        self.menuBar().setCornerWidget(self.layouts.bar)
        self.addToolBar(self.choices)
        self.setStatusBar(self.status)
        self.docks.place(self.log.bar, self.welcome, self.workbench, self.features.docks)
        self.opening.make_dialog()
        look.dress()
        self.resize(first_size(self.screen().availableGeometry().size()))
        self.docks.begin()
        self.log.begin()
        self.preferences.begin()
        self.heartbeat = heartbeat_of(self)
        pictures.begin()
        QTimer.singleShot(0, self._warm_up)
        gc.freeze()  # what the program is made of stays: looking through it for rubbish would be felt

    def _make_frame(self, shared: Shared) -> None:
        """What the other features share: the tool bar, the status bar, the docks, the two pages of the middle."""
        settings, add = self.settings, self.features.add
        self._entries = [(f"sample:{s.name}", s.name, s.description) for s in samples()]
        self.choices = ChoiceBar(self.look, [(source, title) for source, title, _ in self._entries])
        self.status = Status("CPU")
        self.welcome = WelcomePage(self.look, self._entries, settings.recent())
        self.docks = add(DocksFeature(shared, settings, self.status))
        self.log = add(LogFeature(shared, self.docks, self.features))
        self.preferences = add(PreferencesFeature(shared, settings, self.records, self.status, self.docks))
        visit = self.preferences.visit_database
        self.opening = add(OpeningFeature(shared, settings, self.welcome, self.choices, visit))
        self.source = add(SourceFeature(shared, self.compiler, settings, self.opening))
        self.graph = add(GraphFeature(shared))
        self.workbench = Workbench(self.look, self.state.selection, self.graph.panel, self.source.pane)

    def _make_features(self, shared: Shared) -> None:
        """The rest. Listeners of the state are called in the order of these lines."""
        add, compiler, records, docks, workbench = (
            self.features.add, self.compiler, self.records, self.docks, self.workbench
        )  # fmt: skip
        preferences, source, status, choices = self.preferences, self.source, self.status, self.choices
        texts = TextStore(self.state, compiler, records.stored_text, self)
        records.moved.connect(texts.leave_database)
        self.state.compared.connect(lambda _: texts.forget_stored())
        self.panes = add(PanesFeature(shared, workbench, texts, source, docks))
        self.compile = add(CompileFeature(shared, compiler, preferences, source, choices, status, self.features.cancel))
        self.timeline = add(TimelineFeature(shared, self.compile, self.panes))
        self.passes = add(PassesFeature(shared, compiler, self.panes))
        self.comparison = add(ComparisonFeature(shared, compiler, records, docks, workbench))
        self.bisecting = add(BisectFeature(shared, compiler, records, docks, self.comparison, texts))
        self.what_if = add(
            WhatIfFeature(shared, compiler, self.compile, source, self.graph, self.comparison, workbench)
        )
        self.runs = add(RunsFeature(shared, compiler, records, preferences, self.compile, choices, status, docks))
        self.tuning = add(TuningFeature(shared, compiler, self.compile, self.runs, status, docks))
        self.remote_devices = add(RemoteDevicesFeature(shared, self.settings, self.runs, docks))
        self.hottest = add(HottestFeature(shared, self.runs, workbench))
        self.library = add(KernelListFeature(shared, compiler, workbench, docks))
        self.flows = add(FlowsFeature(shared, compiler, preferences, source, status, docks))
        self.history = add(HistoryFeature(shared, compiler, records, docks))
        self.runs.plots.append(self.history.view.prepare)
        self.sweep = add(SweepFeature(shared, compiler, records, docks))
        self.generating = add(GeneratingFeature(shared, compiler, records, preferences, status, docks))
        self.notebook = add(NotebookFeature(shared, compiler, records, self.flows, docks, self.runs.list))
        self.search = add(SearchFeature(shared, compiler, docks, workbench, self.graph.panel))
        self.report = add(ReportFeature(shared, records, docks))
        lists = (self.passes.view, self.runs.list)
        self.explorer = add(
            ExplorerFeature(shared, self._entries, *lists, self.opening, self.panes, preferences, docks, compiler)
        )
        self.kernel_notes = add(KernelNotesFeature(shared, records, self.explorer, workbench))
        self.preview = add(PreviewFeature(shared, compiler, self.graph, self.explorer.kernels))
        self.layouts = add(LayoutsFeature(shared, docks, workbench, self.explorer.show_tab))
        self.pictures = add(PicturesFeature(shared, docks, workbench, self.graph, self.layouts))
        self.help = add(HelpFeature(shared, self.features))
        things = PaletteThings(
            self.state, settings=self.settings, entries=self._entries, opening=self.opening, compile_=self.compile,
            panes=self.panes, docks=docks, source=source, graph=self.graph, runs=self.runs, pictures=self.pictures,
        )  # fmt: skip
        self.help.things, self.help.typed = things.all, things.typed
        self.state.compiled.connect(lambda _: self.turns.add(things.gather()))
        compiler.ended.connect(lambda _: self.panes.say_whose(bool(compiler.busy)))
        self.runs.list.export_wanted.connect(self.report.export)
        source.pane.strip.compare_wanted.connect(records.compare)

    def _warm_up(self) -> None:
        sys.setswitchinterval(_SHORT)
        self._rubbish = Rubbish(lambda: self.turns.busy or self.spare.busy or self.compiler.busy, self)
        languages = ("python", "llvm", "mlir", "asm", "ptx")
        colours = (lambda language=language: tokens(language, "") for language in languages)
        self.turns.add((self.compiler.warm_up, self.graph.layouts.warm_up, *colours, _make_gradients))
        self.flows.warm_up()
        # What np.unique and np.quantile load when first called: that would be when a result comes.
        in_thread(self, lambda _: import_module("numpy.ma"), lambda _: None)
        self.spare.add(self.workbench.prepare())
        QTimer.singleShot(_QUIET, self, self._look_ahead)

    def _look_ahead(self) -> None:
        """Make in advance what would be felt later; what is wanted first by most is made first."""
        for feature in sorted(self.features, key=lambda feature: feature is not self.opening):
            self.spare.add(feature.ahead())

    def open_as(self, source: str, shown: Shown) -> None:
        """Open a source and show it as it was: compiled so, arranged so, with this selected."""
        state = self.state
        if shown.choices:
            state.choose(**shown.choices)
        if not self.opening.open(source):
            return
        if shown.cuts or shown.fuses:
            state.choose(force_cut=shown.cuts, force_fuse=shown.fuses)
            self.compile.compile_file()
        if shown.layout:
            self.layouts.choose(shown.layout)
        if shown.view in self.docks.named:
            self.turns.add((lambda: self.docks.show(shown.view),))
        if shown.selected:
            self._select_later(shown.selected)

    def _select_later(self, nodes: tuple[str, ...]) -> None:
        """Select nodes once there is a model that has them."""

        def select(compilation: Compilation) -> None:
            self.state.compiled.disconnect(select)
            found = [node for node in nodes if node in compilation.node_table]
            self.turns.add((lambda: self.state.selection.select(found, self),))

        self.state.compiled.connect(select)

    def focusNextPrevChild(self, next: bool) -> bool:
        return keyboard.step(self, lambda: super(MainWindow, self).focusNextPrevChild(next))

    def resizeEvent(self, event) -> None:
        super().resizeEvent(event)
        self.help.palette.hide()
        self.docks.resized(event.oldSize())

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(can_open(url.toLocalFile()) for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        for url in event.mimeData().urls():
            if can_open(url.toLocalFile()):
                self.opening.open(url.toLocalFile())
                return

    def closeEvent(self, event: QCloseEvent) -> None:
        if not self.source.may_close():
            event.ignore()
            return
        self.source.keep()
        self.spare.stop()
        if self._rubbish is not None:
            self._rubbish.stop()
        self.turns.start(())  # what was still to be shown is not shown any more, and nothing is asked
        self.docks.keep()
        if self.state.source:
            self.settings.set("last_source", self.state.source)
        self.settings.sync()
        if self.records.writing:  # which has a while to end: nobody is to look at a window that does not answer
            self.hide()
        self.features.stop()
        if self.heartbeat is not None:
            self.heartbeat.end()
        super().closeEvent(event)


def _make_gradients() -> None:
    """PySide makes enumerations when they are first needed: the many gradients when a rectangle is filled, which would
    be in the first picture of an opened source."""
    _ = import_module("PySide6.QtGui").QGradient
