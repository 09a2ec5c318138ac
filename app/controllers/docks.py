"""The frame of the window: the welcome page or the workbench, the docks around it, and arrangements kept by name."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass

from PySide6.QtCore import QByteArray, QSize, Qt
from PySide6.QtWidgets import QDockWidget, QInputDialog, QStackedWidget, QTabWidget, QWidget

from app.controllers.features import Command, Dock, Feature, Shared
from app.controllers.settings import LAST_SESSION, Settings
from app.viewmodels.frame.event import Event
from app.views.frame.arrangement import SHAPES
from app.views.frame.dock_tabs import DockTabs
from app.views.frame.status import Status
from app.views.frame.welcome import WelcomePage
from app.views.frame.workbench import Workbench, read_panes
from app.views.parts.controls import column
from app.views.parts.header import dock_bar
from app.views.parts.later import next_turn, one_shot

_VERSION = 1  # of the arrangements that are kept
_FIRST = QSize(1440, 900)  # of a window that nobody has sized, where the screen has room for it
_SHARE = 0.65  # of both sides of a very large screen
_FRAME = QSize(8, 40)  # what a window manager may put around the window
_SIDES = ("explorer", "inspector")
_SETTLED = 80  # milliseconds without another size
_NEAR = 12  # pixels that handles between docks make of a difference
_AREAS = {
    "left": Qt.DockWidgetArea.LeftDockWidgetArea,
    "right": Qt.DockWidgetArea.RightDockWidgetArea,
    "bottom": Qt.DockWidgetArea.BottomDockWidgetArea,
}


def first_size(room: QSize) -> QSize:
    """How large the window is the first time: whole on the screen, with the title bar that others put above it.

    On a very large screen it is not lost in the middle.
    """
    return _FIRST.expandedTo(room * _SHARE).boundedTo(room - _FRAME)


def usual_sides(wide: int) -> tuple[int, int]:
    """The widths of the explorer and of the inspector in a window that is so wide."""
    return (230, 240) if wide < 1400 else (sorted((270, wide * 2 // 13, 420))[1], sorted((300, wide // 6, 460))[1])


def usual_below(high: int) -> int:
    """The height of the views at the bottom of a window that is so high."""
    return 180 if high < 800 else max(280, int(high * 0.27))


@dataclass(frozen=True)
class Shares:
    """The parts of the window that an arrangement gives the explorer and the bottom, where not the usual ones."""

    explorer: float = 0.0
    below: float = 0.0

    def sizes(self, window: QSize) -> tuple[int, int, int]:
        """The widths of explorer and inspector and the height of the bottom in a window of this size."""
        explorer, inspector = usual_sides(window.width())
        below = int(window.height() * self.below) if self.below else usual_below(window.height())
        return int(window.width() * self.explorer) if self.explorer else explorer, inspector, below


def _part(has: int, window: tuple[int, int], usual: tuple[int, int]) -> int:
    """What a view that has so much gets in a window that became larger or smaller, each said before and after."""
    if abs(has - usual[0]) <= _NEAR:
        return usual[1]
    return min(has, max(usual[1], has * window[1] // max(window[0], 1)))


def _read_size(data: QByteArray | None) -> QSize:
    """The size of the window that a layout was kept with; none that is valid where it keeps none."""
    parts = bytes(data.data()).decode(errors="replace").split("x") if data is not None else []
    good = len(parts) == 2 and all(part.isascii() and part.isdecimal() and len(part) < 7 for part in parts)
    return QSize(*map(int, parts)) if good else QSize()


class DocksFeature(Feature):
    """Where everything is. `work_shown` when the workbench comes in place of the welcome page."""

    def __init__(self, shared: Shared, settings: Settings, status: Status) -> None:
        super().__init__(shared)
        self._settings, self._status = settings, status
        window = self._window
        self.stack = QStackedWidget()
        self.named: dict[str, QDockWidget] = {}
        self.bottom: dict[str, QDockWidget] = {}
        self._shares = Shares()
        self._before: tuple[QSize, tuple[int, int, int]] | None = None  # the window's last size that settled, its parts
        self._resizing = one_shot(window, self._keep_parts)
        self._left = QByteArray()  # how docks were arranged when the welcome page took their place
        self._left_size = QSize()  # of the window then
        self.work_shown = Event()
        self.arranged = Event()  # from what was kept, or as the program came
        self.commands = (
            Command("quit", "&Quit", "&File", 50, lambda: window.close(), "Ctrl+Q"),
            Command("toggle_explorer", "&Explorer", "&View", 20, lambda: self._toggle("explorer"), "Ctrl+B",
                    lambda: self.named["explorer"].isVisible()),
            Command("toggle_inspector", "&Inspector", "&View", 21, lambda: self._toggle("inspector"), "Ctrl+I",
                    lambda: self.named["inspector"].isVisible()),
            Command("toggle_bottom", "&Bottom views", "&View", 22, self._toggle_bottom, "Ctrl+J", self._bottom_shown),
            Command("save_layout", "&Save layout as...", "&View", 44, self.save_layout),
            Command("load_layout", "Load layout...", "&View", 45, self.load_layout),
            Command("delete_layout", "Delete layout...", "&View", 46, self.delete_layout),
            Command("reset_layout", "&Reset layout", "&View", 47, self.reset_layout),
            Command("full_screen", "&Full screen", "&View", 48, self._full_screen, "F11", window.isFullScreen),
            Command("welcome", "&Welcome page", "&Help", 10, self.show_welcome),
        )  # fmt: skip
        # In a turn of its own: whoever opens something has a dialog to close or a page to leave in this one.
        self._state.opened.connect(lambda _: next_turn(window, self.show_work))

    def place(self, bar: QWidget, welcome: WelcomePage, workbench: Workbench, docks: list[Dock]) -> None:
        """Put everything where the program has it by itself."""
        window = self._window
        self.welcome, self.workbench = welcome, workbench
        DockTabs(window, "Views")
        DockTabs(workbench, "Panes")
        self.stack.addWidget(welcome)
        self.stack.addWidget(workbench)
        centre = QWidget()
        column(centre, bar, self.stack)
        window.setCentralWidget(centre)
        window.setTabPosition(_AREAS["bottom"], QTabWidget.TabPosition.North)
        self.named = {dock.name: self._dock(dock) for dock in sorted(docks, key=lambda d: list(_AREAS).index(d.area))}
        self.bottom = {dock.name: self.named[dock.name] for dock in docks if dock.area == "bottom"}
        for first, second in itertools.pairwise(self.bottom.values()):
            window.tabifyDockWidget(first, second)
        self.bottom["timeline"].raise_()
        window.setCorner(Qt.Corner.BottomLeftCorner, _AREAS["left"])
        window.setCorner(Qt.Corner.BottomRightCorner, _AREAS["right"])
        for stage in ("source", "asm"):
            workbench.add_pane(stage)
        workbench.join_source()
        self._share_room()
        self.show_welcome()

    def begin(self) -> None:
        """The window has its size: what there is now is the usual arrangement; how it was left comes back with work."""
        self._usual = self.layout_states()
        for made in ("size", "shape"):  # the usual arrangement is made anew for the window as it is
            del self._usual[made]
        self._restored = self._settings.layout(LAST_SESSION)
        if "geometry" in self._restored:
            self._window.restoreGeometry(self._restored.pop("geometry"))

    def keep(self) -> None:
        """The window closes: remember how it is arranged, unless nothing was open."""
        if self.stack.currentWidget() is self.workbench:
            states = {**self.layout_states(), "geometry": self._window.saveGeometry()}
            self._settings.save_layout(LAST_SESSION, states)

    # What is in sight --------------------------------------------------------------------------------------------

    def show(self, name: str) -> None:
        """Bring a view to the front; one of the bottom comes with the others, whose tabs say which it is."""
        dock, alone = self.named[name], name in self.bottom and not self._bottom_shown()
        dock.show()
        dock.raise_()
        if alone:
            self._turns.add((*(other.show for other in self.bottom.values() if other is not dock), dock.raise_))

    def show_welcome(self) -> None:
        """The welcome page, without the docks that would be empty around it."""
        if self.stack.currentWidget() is self.workbench:
            self._left, self._left_size = self._window.saveState(_VERSION), self._window.size()
        self.stack.setCurrentWidget(self.welcome)
        for dock in self.named.values():
            dock.hide()

    def show_work(self) -> None:
        """The workbench and its docks."""
        if self.stack.currentWidget() is self.workbench:
            return
        self.stack.setUpdatesEnabled(False)  # one picture of the middle, not one for each dock that comes beside it
        self.stack.setCurrentWidget(self.workbench)
        # In turns of the event loop: laying out every dock at once would be felt as a hitch.
        self._turns.add((*(dock.show for dock in self.named.values()), self._docks_shown, self._paint_middle))
        self.work_shown.emit()

    def _paint_middle(self) -> None:
        """Once nothing more is done in this turn."""
        next_turn(self.stack, lambda: self.stack.setUpdatesEnabled(True))

    def _docks_shown(self) -> None:
        self.bottom["timeline"].raise_()
        if self._restored:
            self.restore_layout(self._restored)
            self._restored = {}
        elif not self._left.isEmpty():
            self._window.restoreState(self._left, _VERSION)
            self._fit_from(self._left_size)
        else:
            next_turn(self._window, self._share_room)

    def _toggle(self, name: str) -> None:
        self.named[name].setVisible(not self.named[name].isVisible())

    def _bottom_shown(self) -> bool:
        return any(dock.isVisible() for dock in self.bottom.values())

    def _toggle_bottom(self) -> None:
        shown = self._bottom_shown()
        for dock in self.bottom.values():
            dock.setVisible(not shown)

    def _full_screen(self) -> None:
        self._window.showNormal() if self._window.isFullScreen() else self._window.showFullScreen()

    def _dock(self, wanted: Dock) -> QDockWidget:
        dock = QDockWidget(wanted.title, self._window)
        dock.setObjectName(wanted.name)
        dock.setWidget(wanted.view)
        # The tab of a bottom view says what it is; a title bar would say it twice.
        dock.setTitleBarWidget(QWidget() if wanted.area == "bottom" else dock_bar(self._look, dock))
        self._window.addDockWidget(_AREAS[wanted.area], dock)
        return dock

    # Arrangements ------------------------------------------------------------------------------------------------

    def layout_states(self) -> dict[str, QByteArray]:
        """The arrangement of both levels of docks."""
        panes = QByteArray(json.dumps(self.workbench.pane_states()).encode())
        workbench, size = self.workbench.saveState(_VERSION), f"{self._window.width()}x{self._window.height()}"
        made = {"size": QByteArray(size.encode()), "shape": QByteArray(self.workbench.shape.encode())}
        return {"window": self._window.saveState(_VERSION), "workbench": workbench, "panes": panes} | made

    def restore_layout(self, states: dict[str, QByteArray]) -> None:
        """Put the docks where they were, with the panes there were."""
        self._shares = Shares()
        self.arranging()
        if panes := read_panes(states.get("panes")):
            self.workbench.set_panes(panes)
        if "window" in states:
            self._window.restoreState(states["window"], _VERSION)
        if "workbench" in states:
            self.workbench.restoreState(states["workbench"], _VERSION)
            shape = bytes(states.get("shape", QByteArray()).data()).decode(errors="replace")
            self.workbench.shape = shape if shape in SHAPES else ""  # whatever the user made of it
        self._fit_from(_read_size(states.get("size")))
        self.arranged.emit()

    def _fit_from(self, size: QSize) -> None:
        """The docks are as they were in a window of that size: what they get in this one. Left alone, what a large
        screen gave the sides leaves a small one no middle."""
        if size.isValid() and size != self._window.size():
            next_turn(self._window, lambda: self.resized(size))

    def reset_layout(self) -> None:
        """As the program came."""
        self.restore_layout(self._usual)
        for dock in self.named.values():
            dock.show()
        self.bottom["timeline"].raise_()
        self._share_room()

    def save_layout(self) -> None:
        """Keep the arrangement under a name."""
        name, good = QInputDialog.getText(self._window, "Save layout", "Name of this arrangement of views and panes:")
        name = name.strip()
        if good and name == LAST_SESSION:
            words = f"{name!r} is where the window keeps its own arrangement: choose another name"
            self._messages.say("warning", words, "window")
        elif good and name:
            self._settings.save_layout(name, self.layout_states())
            self._status.what.setText(f"Saved the layout {name} (View, Load layout)")

    def load_layout(self) -> None:
        """Choose a kept arrangement."""
        if name := self._choose_layout("Load layout", "Arrange views and panes as in:"):
            self.restore_layout(self._settings.layout(name))

    def delete_layout(self) -> None:
        """Forget a kept arrangement; the window stays as it is."""
        if name := self._choose_layout("Delete layout", "Forget the layout:"):
            self._settings.remove_layout(name)
            self._status.what.setText(f"Deleted the layout {name}")

    def _choose_layout(self, title: str, words: str) -> str:
        """One of the layouts there are; nothing where there is none, or the user has second thoughts."""
        names = self._settings.layout_names()
        if not names:
            self._messages.say("info", "no layout has been saved yet (View, Save layout as)", "window")
            return ""
        name, good = QInputDialog.getItem(self._window, title, words, names, 0, False)
        return name if good else ""

    def _share_room(self) -> None:
        self.share(Shares())
        next_turn(self._window, self.workbench.arrange_usual)

    def share(self, shares: Shares) -> None:
        """Give the views around the middle their parts of the window as it is now, and of whatever it becomes."""
        self._shares = shares
        self.arranging()
        *sides, below = shares.sizes(self._window.size())
        front = next((dock for dock in self.bottom.values() if self._stands(dock)), self.bottom["timeline"])
        self._window.resizeDocks([front], [below], Qt.Orientation.Vertical)
        self._window.resizeDocks([self.named[name] for name in _SIDES], sides, Qt.Orientation.Horizontal)

    def resized(self, before: QSize) -> None:
        """The window has another size: what is around the middle keeps its part of a smaller one, and at least its
        usual size; in a larger one it gets what it would have had there from the beginning, unless a hand sized it.

        Left alone, Qt takes all of it from the middle, or gives it all. In one step when the size has settled: a hand
        that drags the edge of a window goes through hundreds.
        """
        if self._before is None:
            self._before = (before, self._held())
        self._resizing.start(_SETTLED)

    def arranging(self) -> None:
        """Views are given sizes for the window as it is now: what they had before no longer counts."""
        self._before = None

    def _held(self) -> tuple[int, int, int]:
        """What explorer, inspector and bottom have, its tabs included; 0: it is out of sight."""
        explorer, inspector = (self.named[name].width() if self._stands(self.named[name]) else 0 for name in _SIDES)
        bottom = next((dock.geometry().bottom() for dock in self.bottom.values() if self._stands(dock)), 0)
        centre = self._window.centralWidget()
        return explorer, inspector, max(bottom - centre.geometry().bottom(), 0) if bottom and centre is not None else 0

    def _keep_parts(self) -> None:
        if self._before is None:
            return
        (before, held), self._before = self._before, None
        now = self._window.size()
        spans = ((before.width(), now.width()), (before.width(), now.width()), (before.height(), now.height()))
        usual = zip(self._shares.sizes(before), self._shares.sizes(now), strict=True)
        parts = [_part(*each) for each in zip(held, spans, usual, strict=True)]
        bottom = next(filter(self._stands, self.bottom.values()), None)
        for dock, has, part in zip((*(self.named[name] for name in _SIDES), bottom), held, parts, strict=True):
            if has and part != has and dock is not None and self._stands(dock):
                way = Qt.Orientation.Vertical if dock is bottom else Qt.Orientation.Horizontal
                self._window.resizeDocks([dock], [part], way)
        next_turn(self._window, self.workbench.fit_panes)

    @staticmethod
    def _stands(dock: QDockWidget) -> bool:
        return not dock.visibleRegion().isEmpty() and not dock.isFloating()
