"""The middle of the window: the graph, the source and any number of IR panes, each a dock that can be moved."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from PySide6.QtCore import QByteArray, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication, QDockWidget, QMainWindow, QTabWidget

from app.theme.look import Look
from app.theme.tokens import BAR
from app.viewmodels.compilation import PANE_STAGES
from app.viewmodels.frame.selection import Selection
from app.viewmodels.text.ir_pane import IrPaneModel, pane_model
from app.views.frame.arrangement import ALONE, BELOW, BESIDE, READABLE, STACKED, fitting, place_docks, share_room
from app.views.graph.panel import GraphPanel
from app.views.parts.later import NEXT, next_turn, one_shot
from app.views.text.ir_pane import IrPane
from app.views.text.pane_parts import PaneParts
from app.views.text.source_pane import SourcePane

_SEAM = 6  # pixels: what Qt takes off for the handles between docks must not come out of the graph's half
_TALL = 150  # pixels: a pane that is lower shows a handful of lines


def read_panes(data: QByteArray | None) -> list[dict[str, Any]]:
    """Panes as a layout keeps them; none where it keeps none, or what it keeps does not read."""
    try:
        found = json.loads(bytes(data.data()).decode()) if data is not None else []
    except ValueError:
        return []
    return [state for state in found if isinstance(state, dict)] if isinstance(found, list) else []


class Workbench(QMainWindow):
    """Docks without a centre: they fill it."""

    pane_added = Signal(object)
    pane_woken = Signal(object)  # one that was there before, and rested
    pane_used = Signal()  # one that rested is in use: another may be prepared

    def __init__(self, look: Look, selection: Selection, graph: GraphPanel, source: SourcePane) -> None:
        super().__init__()
        self._look, self._selection = look, selection
        self.setWindowFlags(Qt.WindowType.Widget)
        self.setObjectName("workbench")
        self.setDockNestingEnabled(True)
        self.setDockOptions(
            QMainWindow.DockOption.AllowNestedDocks
            | QMainWindow.DockOption.AllowTabbedDocks
            | QMainWindow.DockOption.AnimatedDocks
        )
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self.panes: list[IrPane] = []
        self.readable = READABLE  # the least width of panes beside each other
        self.shape = BESIDE
        self._sharing = one_shot(self, self._spread_now, NEXT)  # to place docks and to size them are felt together
        self._shared: list[Callable[[], object]] = []  # what comes after that
        self._evening = one_shot(self, self.even_panes)  # after the turn in which a pane came or went
        self._pane_docks: dict[IrPane, QDockWidget] = {}
        self._resting: list[tuple[IrPane, QDockWidget]] = []  # making a pane takes long enough to be felt
        self.graph_dock, self.source_dock = self._dock("graph", "Graph"), self._dock("source", "Source")
        for dock, widget in ((self.graph_dock, graph), (self.source_dock, source)):
            dock.setTitleBarWidget(widget.header)
            dock.setWidget(widget)
            dock.show()
        self.addDockWidget(Qt.DockWidgetArea.TopDockWidgetArea, self.graph_dock)

    def join_source(self) -> None:
        """Put the source behind the graph, as a tab. After the panes: a dock split off a tab becomes a tab itself."""
        self.addDockWidget(Qt.DockWidgetArea.TopDockWidgetArea, self.source_dock)
        self.tabifyDockWidget(self.graph_dock, self.source_dock)
        self.graph_dock.raise_()

    def add_pane(self, stage: str, kernel: str = "", model: IrPaneModel | None = None) -> IrPane:
        """One more IR pane, right of the others: one that rests, where there is any."""
        wanted = model or IrPaneModel(stage=stage, kernel=kernel)
        if self._resting:
            pane = self._wake(wanted)
            self.pane_used.emit()
        else:
            name = self._free_name()
            dock, pane = self._dock(name, name), IrPane(self._look, wanted, self._selection)
            dock.setTitleBarWidget(pane.header)
            dock.setWidget(pane)
            self._put(pane, dock)
            dock.show()
            self._listen(pane)
            self._rename(pane)
            self.pane_added.emit(pane)
        self._evening.start(0)
        return pane

    def _listen(self, pane: IrPane) -> None:
        pane.close_wanted.connect(self.remove_pane)
        pane.model.changed.connect(lambda: self._rename(pane))

    def _free_name(self) -> str:
        taken = {dock.objectName() for dock in self._pane_docks.values()}
        return next(name for number in count(1) if (name := f"pane-{number}") not in taken)

    def _put(self, pane: IrPane, dock: QDockWidget) -> None:
        if self.panes:
            self._join(self._pane_docks[self.panes[-1]], dock)
        else:
            self.addDockWidget(Qt.DockWidgetArea.TopDockWidgetArea, dock, Qt.Orientation.Horizontal)
        self.panes.append(pane)
        self._pane_docks[pane] = dock

    def prepare(self, wanted: int = 1) -> Iterator[Callable[[], object]]:
        """Steps that make panes in advance until so many rest; each is short enough not to be felt."""
        for _ in range(wanted - len(self._resting)):
            parts, dock, made = PaneParts(self._look, advance=True), self._dock(""), list[IrPane]()
            yield from parts.steps()
            yield lambda p=parts, m=made: m.append(IrPane(self._look, IrPaneModel(), self._selection, p))
            yield lambda m=made, d=dock: d.setTitleBarWidget(m[0].header)
            yield lambda m=made, d=dock: d.setWidget(m[0])
            yield lambda m=made, d=dock: self._rest_first(m[0], d)

    def _rest_first(self, pane: IrPane, dock: QDockWidget) -> None:
        """A pane that was made in advance rests until it is wanted."""
        self._resting.append((pane, dock))
        self._listen(pane)
        self.pane_added.emit(pane)

    def _rest(self, pane: IrPane) -> None:
        """Take a pane out of sight until a layout wants as many again."""
        self.panes.remove(pane)
        dock = self._pane_docks.pop(pane)
        self.removeDockWidget(dock)
        dock.setObjectName("")  # a layout restored meanwhile must not find it
        self._resting.append((pane, dock))

    def _wake(self, wanted: IrPaneModel) -> IrPane:
        """A pane that rests, for what a new one would show. It is filled before it is in sight: for each part that is
        shown or hidden in one that is, Qt lays out all the others."""
        pane, dock = self._resting.pop()
        pane.take(wanted)
        self.pane_woken.emit(pane)
        dock.setObjectName(self._free_name())
        self._put(pane, dock)
        self._rename(pane)
        dock.show()
        return pane

    def remove_pane(self, pane: IrPane) -> None:
        """Close a pane."""
        if pane in self.panes:
            self.panes.remove(pane)
            pane.release()
            pane.model.leave()
            dock = self._pane_docks.pop(pane)
            self.removeDockWidget(dock)
            dock.setObjectName("")  # it lives on until the next turn, and a layout restored now must not find it
            dock.deleteLater()
            self._evening.start(0)

    def pane_states(self) -> list[dict[str, Any]]:
        """The panes as they are kept between sessions, in order."""
        return [{**pane.model.state(), "dock": self._pane_docks[pane].objectName()} for pane in self.panes]

    def set_panes(self, states: Sequence[Mapping[str, Any]]) -> None:
        """Those there are become the panes that were kept; their docks get the names they had."""
        for pane in self.panes[len(states) :]:
            self.remove_pane(pane)
        for dock in self._pane_docks.values():
            dock.setObjectName("")
        for place, state in enumerate(states):
            wanted, name = pane_model(state, PANE_STAGES), state.get("dock")
            if place < len(self.panes):  # making one takes longer than turning it to another text
                pane = self.panes[place]
                pane.take(wanted)
                self.pane_woken.emit(pane)
            else:
                pane = self.add_pane("asm", model=wanted)
            kept = name if isinstance(name, str) and name.startswith("pane-") else self._free_name()
            self._pane_docks[pane].setObjectName(kept)
        self._evening.stop()  # they were kept with their widths

    def free_panes(self, wanted: int) -> list[IrPane]:
        """Panes that are not locked, as many as wanted; new ones where there are too few."""
        free = [pane for pane in self.panes if not pane.model.locked][:wanted]
        while len(free) < wanted:
            free.append(self.add_pane("asm"))
        return free

    def _join(self, last: QDockWidget, dock: QDockWidget) -> None:
        """A pane beside the last one; below it where both would be too narrow, a tab where they would be too low."""
        room = (self.width() - (self.graph_dock.width() if self.graph_dock.isVisible() else 0)) // (len(self.panes) + 1)
        down = self.isVisible() and self.shape != BELOW and room < self.readable
        self.splitDockWidget(last, dock, Qt.Orientation.Vertical if down else Qt.Orientation.Horizontal)
        low = self.isVisible() and self.height() // (len(self.panes) + 1) < _TALL
        narrow = self.isVisible() and self.shape == BELOW and self.width() // (len(self.panes) + 1) < self.readable
        if (down and low) or narrow:
            self.tabifyDockWidget(last, dock)
            dock.raise_()

    def show_stages(self, stages: Sequence[str], of: Sequence[str]) -> None:
        """These stages, the first `of` all, in as many panes, of the kernel on show; locked panes keep their text."""
        kernel = self.panes[0].model.kernel if self.panes else ""
        for pane in self.panes[len(of) :]:
            self._rest(pane)
        for place, stage in enumerate(stages):
            if place < len(self.panes):
                if not self.panes[place].model.locked:
                    self.panes[place].model.show(stage=stage, target="")
            else:
                self.add_pane(stage, kernel)
        self._evening.stop()  # they are arranged afterwards

    def arrange(self, shape: str) -> None:
        """Put graph and panes into a shape."""
        self.shape = shape
        focused, shown = QApplication.focusWidget(), self.isVisible()
        inside = focused if focused is not None and self.isAncestorOf(focused) else None
        if inside is not None:
            inside.clearFocus()  # else Qt looks through the window for who else could have the keyboard meanwhile
        self.setVisible(False)  # one layout at the end, not one for each dock that comes and goes
        try:
            docks = [self._pane_docks[pane] for pane in self.panes]
            place_docks(self, self.graph_dock, self.source_dock, docks, shape)
        finally:
            self.setVisible(shown)
        if inside is not None:
            inside.setFocus()
        self.share_later()

    def arrange_usual(self) -> None:
        """As the program has it by itself: panes beside each other where they can be read, else stacked."""
        shape = fitting(self.width(), len(self.panes)) if self.readable else BESIDE
        if shape != self.shape:
            self.arrange(shape)
        self.spread()

    def fit_panes(self) -> None:
        """Stack panes in a row that became too narrow to be read, and put stacked ones in a row where they can be;
        unless a hand put them there."""
        narrow = self.shape == BESIDE and any(dock.width() < READABLE for dock in self._row())
        wide = self.shape == STACKED and self._stacked() and fitting(self.width(), len(self.panes)) == BESIDE
        if narrow or wide:
            edited = not self.source_dock.visibleRegion().isEmpty()
            self.arrange_usual()
            if edited:
                self.source_dock.raise_()

    def _stacked(self) -> bool:
        """Whether the panes stand on top of each other."""
        docks = [self._pane_docks[pane] for pane in self.panes]
        lows = {dock.y() for dock in docks if dock.isVisible() and not dock.isFloating()}
        return len({dock.x() for dock in docks}) == 1 and len(lows) == len(docks)

    def share_later(self, then: Callable[[], object] | None = None) -> None:
        """Give everything its share of the room, once the docks have their places; `then` do something."""
        if then is not None:
            self._shared.append(then)
        self._sharing.start()

    def _spread_now(self) -> None:
        self.spread()
        waiting, self._shared = self._shared, []
        for then in waiting:
            next_turn(self, then)

    def reveal(self) -> None:
        """Let what was kept from being painted be painted, a dock in each turn: one picture of all would be felt."""
        docks = [self.graph_dock, self.source_dock, *self._pane_docks.values()]
        in_sight = [dock for dock in docks if not dock.visibleRegion().isEmpty()]
        for dock in in_sight:
            dock.setUpdatesEnabled(False)
        self.setUpdatesEnabled(True)
        for turn, dock in enumerate(in_sight):
            QTimer.singleShot(turn * NEXT, dock, lambda dock=dock: dock.setUpdatesEnabled(True))

    def spread(self) -> None:
        """Give the graph and the panes their usual shares: half is the graph's."""
        docks = [self._pane_docks[pane] for pane in self.panes]
        if self.shape != BESIDE and docks:
            share_room(self, self.graph_dock, docks, self.shape)
        else:
            self._share((self.width() + 1) // 2 + _SEAM, self.width())

    def even_panes(self) -> None:
        """Make the panes beside each other equally wide; the graph gives way where it is wider than they would be."""
        row = self._row()
        if self.shape == ALONE:
            self.spread()
        elif self.isVisible() and row:
            total = self.graph_dock.width() + sum(dock.width() for dock in row)
            self._share(min(self.graph_dock.width(), total // (len(row) + 1)), total)

    def _row(self) -> list[QDockWidget]:
        """The docks of panes in one row with the graph, in sight: not floating, below it or behind another."""
        docks = (self._pane_docks[pane] for pane in self.panes)
        top = self.graph_dock if self.graph_dock.isVisible() else self.source_dock
        return [
            d for d in docks if not d.isFloating() and abs(d.y() - top.y()) < BAR + 8 and d.x() >= 0 and d.isVisible()
        ]

    def _share(self, graph: int, total: int) -> None:
        row = self._row() or [self._pane_docks[pane] for pane in self.panes]
        each = max((total - graph) // max(len(row), 1), 120)
        self.resizeDocks([self.graph_dock, *row], [max(graph, 120), *[each] * len(row)], Qt.Orientation.Horizontal)

    def current_pane(self) -> IrPane | None:
        """The pane with the keyboard, else the first."""
        focused = self.focusWidget()
        for pane in self.panes:
            if focused is not None and (pane is focused or pane.isAncestorOf(focused)):
                return pane
        return self.panes[0] if self.panes else None

    def focused_pane(self) -> IrPane | None:
        """The pane with the keyboard, if one has it."""
        focused = QApplication.focusWidget()
        return next((pane for pane in self.panes if focused is not None and pane.isAncestorOf(focused)), None)

    def step_pane(self) -> IrPane | None:
        """The pane that shows what one steps to elsewhere: the one used last, unless it is locked."""
        current = self.current_pane()
        free = [pane for pane in self.panes if not pane.model.locked]
        return current if current in free else free[-1] if free else None

    def _dock(self, name: str, title: str = "") -> QDockWidget:
        """An empty one, out of sight. It stands in its place before it is filled: under a style sheet, Qt styles
        whatever is in a widget anew each time that is put into another."""
        dock = QDockWidget(title, self)
        dock.hide()
        dock.setObjectName(name)
        features = QDockWidget.DockWidgetFeature
        dock.setFeatures(features.DockWidgetMovable | features.DockWidgetFloatable | features.DockWidgetClosable)
        return dock

    def _rename(self, pane: IrPane) -> None:
        if pane in self._pane_docks:
            self._pane_docks[pane].setWindowTitle(pane.stage.currentText())
