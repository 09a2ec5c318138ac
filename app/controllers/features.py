"""What a feature adds to the window, and the list of features that menus, palette and shortcut sheet are made from.

A feature is one module: it makes its views, listens to the state, and declares its docks and commands beside the code
they call. Adding one is a line in the window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu, QWidget

from app.controllers.spread_work import SpareTime, Turns
from app.files import write_whole
from app.theme.look import Look
from app.viewmodels.frame.formats import sentence
from app.viewmodels.frame.messages import Messages
from app.viewmodels.state import State
from app.views.parts.widgets import MessageBar
from compiler.errors import CompilerError

MENUS = ("&File", "&Edit", "&View", "&Graph", "&Compile", "&Run", "&Compare", "&Help")


@dataclass(frozen=True)
class Command:
    """An entry of a menu. `at` is its place there: entries of the same ten stand together, tens are apart by a line.

    `ticked` says whether what it switches is on. A `submenu` is given to `do` to be filled when it is to be shown.
    """

    name: str
    text: str
    menu: str
    at: int
    do: Callable[..., object]
    keys: str = ""
    ticked: Callable[[], bool] | None = None
    submenu: bool = False


@dataclass(frozen=True)
class Dock:
    """A view around the middle. `name` is what saved layouts know it by, `at` its place among those of its area."""

    name: str
    title: str
    view: QWidget
    at: int
    area: str = "bottom"


@dataclass(frozen=True)
class Shared:
    """What every feature has: what dialogs stand over, what is open, what is said, turns for work that takes, and spare
    time for what nobody waits for."""

    window: QMainWindow
    look: Look
    state: State
    messages: Messages
    turns: Turns
    spare: SpareTime


class Feature(QObject):
    """One feature of one window."""

    docks: Sequence[Dock] = ()
    commands: Sequence[Command] = ()
    keys: tuple[str, Sequence[tuple[str, str]]] = ("", ())
    """Keys of its views, for the shortcut sheet: the group they stand in, and (keys, what they do)."""

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared.window)
        self._window, self._look, self._state = shared.window, shared.look, shared.state
        self._messages, self._turns, self._spare = shared.messages, shared.turns, shared.spare
        self.bars: dict[str, MessageBar] = {}  # of its views, by the place that messages name

    def when_compiled(self, *steps: Callable[[], object]) -> None:
        """Do these steps, a turn at a time, whenever there is another compilation on show, or none any more."""
        for step in steps:
            self._state.compiled.connect(lambda _, step=step: self._turns.soon(step))

    def when_run(self, *steps: Callable[[], object]) -> None:
        """Do these steps whenever a run ended, after what its compilation left to do, each in a turn of its own: none
        in the turn in which it ended, which has enough to do with saying so."""
        for step in steps:
            self._state.ran.connect(lambda _, step=step: self._turns.add((step,)))

    def write(self, path: str, text: str, place: str) -> bool:
        """Write a text whole or not at all, and say how that went at the place it belongs to."""
        try:
            write_whole(path, text)
        except CompilerError as error:
            self._messages.say("error", error.message, place)
            return False
        self._messages.say("info", f"wrote {path}", place)
        return True

    def ahead(self) -> Iterator[Callable[[], object]]:
        """Steps that make, while nobody waits, what would be felt if it were made when it is first asked for."""
        yield from ()

    def cancel(self) -> bool:
        """End its job under way; False when there is none."""
        return False

    def stop(self) -> None:
        """The window closes: end every process."""


_Some = TypeVar("_Some", bound=Feature)


class Features:
    """The features of a window, in the order they were added."""

    def __init__(self) -> None:
        self._all: list[Feature] = []

    def add(self, feature: _Some) -> _Some:
        """One more."""
        self._all.append(feature)
        return feature

    def __iter__(self) -> Iterator[Feature]:
        return iter(self._all)

    @property
    def docks(self) -> list[Dock]:
        """Every dock, in its place."""
        return sorted((dock for feature in self for dock in feature.docks), key=lambda dock: dock.at)

    @property
    def commands(self) -> list[Command]:
        """Every command, as the menus have them."""
        found = (command for feature in self for command in feature.commands)
        return sorted(found, key=lambda command: (MENUS.index(command.menu), command.at))

    def do(self, name: str) -> None:
        """What the entry of that name does."""
        next(command for command in self.commands if command.name == name).do()

    def bar(self, place: str) -> MessageBar | None:
        """The bar of a place."""
        return next((feature.bars[place] for feature in self if place in feature.bars), None)

    def cancel(self) -> bool:
        """End the job under way; False when there is none."""
        return any(feature.cancel() for feature in self)

    def stop(self) -> None:
        """End every process."""
        for feature in self:
            feature.stop()

    def build_menus(self, window: QMainWindow) -> list[QAction]:
        """Make the menus and return every action."""
        actions = []
        for title, commands in groupby(self.commands, key=lambda command: command.menu):
            menu, section = window.menuBar().addMenu(title), 0
            for command in commands:
                if section and command.at // 10 != section:
                    menu.addSeparator()
                section = command.at // 10
                if command.submenu:
                    _add_submenu(menu, command)
                else:
                    actions.append(_add_action(menu, command, window))
        return actions

    def shortcut_groups(self) -> dict[str, list[tuple[str, str]]]:
        """What the shortcut sheet shows."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for command in self.commands:
            if command.keys:
                words = command.text.replace("&", "").rstrip(".")
                groups.setdefault(command.menu.replace("&", ""), []).append((command.keys, words))
        for group, keys in (feature.keys for feature in self if feature.keys[0]):
            groups.setdefault(group, []).extend((key, sentence(words)) for key, words in keys)
        return groups


def _add_submenu(menu: QMenu, command: Command) -> None:
    inner = menu.addMenu(command.text)
    inner.menuAction().setObjectName(command.name)
    inner.aboutToShow.connect(lambda: command.do(inner))


def _add_action(menu: QMenu, command: Command, window: QMainWindow) -> QAction:
    action = QAction(command.text, window)
    if ticked := command.ticked:
        action.setCheckable(True)
        menu.aboutToShow.connect(lambda: action.setChecked(ticked()))
    if command.keys:
        action.setShortcut(QKeySequence(command.keys))
    action.setObjectName(command.name)
    action.triggered.connect(lambda _=False: command.do())
    menu.addAction(action)
    return action
