"""The tab bars that Qt makes when docks are stacked: named, never shortened; a list of all where they are many."""

from __future__ import annotations

from PySide6.QtCore import QChildEvent, QEvent, QObject, QRect, Qt
from PySide6.QtWidgets import QFrame, QMainWindow, QMenu, QTabBar, QToolButton
from shiboken6 import isValid

from app.views.frame.keyboard import come_to_front
from app.views.parts.later import NEXT, one_shot
from app.views.parts.plain import plain_tip

_NAME = "every-tab"
_WIDE = 26  # pixels of the button: it lies over the two arrows by which Qt would have one look for a tab
_BESIDE = 6  # pixels beside the words of a tab: a tab that lacks no more is whole
_FADE = 36  # pixels over which a tab that is not all in sight goes away, instead of being cut in the middle of a letter


class DockTabs(QObject):
    """Watches a window for tab bars of docks; Qt makes and drops them as docks are moved."""

    def __init__(self, window: QMainWindow, name: str) -> None:
        super().__init__(window)
        self._name = name
        self._every: list[EveryTab] = []  # nobody else in Python holds them, and Qt knows nothing of what they know
        self._fronting = one_shot(self, lambda: come_to_front(window), NEXT)  # once the docks have changed places
        window.installEventFilter(self)
        for bar in window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
            self._dress(bar)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ChildPolished and isinstance(event, QChildEvent):
            child = event.child()
            if isinstance(child, QTabBar):
                self._dress(child)
        elif event.type() == QEvent.Type.Paint and isinstance(watched, QTabBar):
            if watched.drawBase():
                watched.setDrawBase(False)  # Qt asks for it again when it uses a bar anew
            if (every := every_tab(watched)) is not None:
                every.fit()
        return False

    def _dress(self, bar: QTabBar) -> None:
        bar.setAccessibleName(self._name)
        bar.setElideMode(Qt.TextElideMode.ElideNone)
        bar.setUsesScrollButtons(True)
        bar.setDrawBase(False)  # in the style's own colours, it would be a bright line through a dark window
        if every_tab(bar) is None:
            self._every = [button for button in self._every if isValid(button)] + [EveryTab(bar, self._name)]
            bar.currentChanged.connect(lambda _: self._fronting.start())
        bar.installEventFilter(self)


class EveryTab(QToolButton):
    """At the end of a bar that has no room for all of its tabs: a list of them."""

    def __init__(self, bar: QTabBar, name: str) -> None:
        super().__init__(bar)
        self._bar = bar
        self.setObjectName(_NAME)
        self.setArrowType(Qt.ArrowType.DownArrow)
        self.setToolTip(plain_tip(f"{name}: every one, also those that have no room here"))
        self.setAccessibleName(f"{name}: every one")
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.clicked.connect(self._list)
        self._fades = {side: _fade(bar, f"fade-{side}") for side in ("left", "right")}
        self.hide()

    def fit(self) -> None:
        """Come and go with the room there is."""
        bar, last = self._bar, self._bar.count() - 1
        over = last > 0 and bar.tabRect(last).right() - bar.tabRect(0).left() >= bar.width()
        place = QRect(bar.width() - _WIDE, 0, _WIDE, bar.height())
        if over and self.geometry() != place:
            self.setGeometry(place)
        for side, beneath in (("left", self._cut_left()), ("right", self._cut_right())):
            fade = self._fades[side]
            if over and beneath and fade.geometry() != beneath:
                fade.setGeometry(beneath)
            if (over and bool(beneath)) == fade.isHidden():
                fade.setVisible(fade.isHidden())
        if over == self.isHidden():
            self.setVisible(over)
            self.raise_()

    def _cut_left(self) -> QRect:
        """Where the tab is that begins out of sight; nowhere where none does."""
        bar = self._bar
        ends = [bar.tabRect(at).right() for at in range(bar.count()) if bar.tabRect(at).left() < -_BESIDE]
        wide = min(max(ends, default=0), _FADE)
        return QRect(0, 0, wide, bar.height()) if wide > 0 else QRect()

    def _cut_right(self) -> QRect:
        """Where the tab is that goes on behind the button."""
        bar, edge = self._bar, self._bar.width() - _WIDE
        begins = [bar.tabRect(at).left() for at in range(bar.count()) if bar.tabRect(at).right() > edge + _BESIDE]
        wide = min(edge - min(begins, default=edge), _FADE)
        return QRect(edge - wide, 0, wide, bar.height()) if wide > 0 else QRect()

    def _list(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for index in range(self._bar.count()):
            action = menu.addAction(self._bar.tabText(index), lambda i=index: self._bar.setCurrentIndex(i))
            action.setCheckable(True)
            action.setChecked(index == self._bar.currentIndex())
        menu.popup(self.mapToGlobal(self.rect().bottomLeft()))


def _fade(bar: QTabBar, name: str) -> QFrame:
    """What lies over a tab that is cut; the mouse goes through it."""
    made = QFrame(bar)
    made.setObjectName(name)
    made.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
    made.hide()
    return made


def every_tab(bar: QTabBar) -> EveryTab | None:
    """The button of a bar. By its name: Qt's own buttons in there are of no class that Python knows apart."""
    found = bar.findChild(QToolButton, _NAME)
    return found if isinstance(found, EveryTab) else None
