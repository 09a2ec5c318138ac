"""A user with a mouse and a keyboard: events go through the X server, as from hardware; questions go to the window.

A journey runs in a thread of its own beside the window's. It never calls the window: what it wants to know is asked on
the window's thread and answered there, and what it does is done by `xdotool`, started by a process of its own.
"""

from __future__ import annotations

import gc
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QPoint, QRect, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget
from robot_hands import Hands
from screen import RAW

WAIT = 120.0
_PEEK, _LONG, _DEEP = 0.004, 0.016, 14  # seconds between two peeks, those from which on one is noted, frames of it
_LOOK = 50  # milliseconds between two looks at whether something is so


class JourneyError(Exception):
    """Something a journey expects did not happen."""


class Robot(QObject):
    """Hands and eyes of a journey."""

    _asked = Signal(object)

    def __init__(self, window: Any, folder: Path, name: str, picture: Path, watch: bool = False) -> None:
        super().__init__()
        self._hands, self._picture = Hands(), picture
        self.window, self._folder, self._name = window, folder, name
        self.clicks = self.shots = 0
        self.frames: list[str] = []  # where the window's thread was during stalls
        self._asked.connect(lambda call: call(), Qt.ConnectionType.QueuedConnection)
        self._main = threading.main_thread().ident
        self._look_began = 0.0
        if watch:
            gc.callbacks.append(self._collected)
            threading.Thread(target=self._watch, daemon=True).start()

    def ask(self, question: Callable[[], Any]) -> Any:
        """The answer of the window's thread."""
        answered, found = threading.Event(), []

        def call() -> None:
            try:
                found.append(question())
            except Exception as error:
                found.append(error)
            answered.set()

        self._asked.emit(call)
        if not answered.wait(WAIT):
            raise JourneyError("the window does not answer")
        if isinstance(found[0], Exception):
            raise found[0]
        return found[0]

    def until(self, condition: Callable[[], Any], what: str, seconds: float = WAIT) -> Any:
        """Wait until something is so. The window's thread looks by itself: a thread that wakes up to ask holds the
        interpreter, and where it then waits for a core so does the window."""
        answered, found = threading.Event(), []
        end = time.monotonic() + seconds

        def look() -> None:
            try:
                seen = condition()
            except Exception as error:
                seen = error
            if not seen and time.monotonic() < end:
                QTimer.singleShot(_LOOK, self, look)
                return
            found.append(seen)
            answered.set()

        self._asked.emit(look)
        if not answered.wait(seconds + WAIT):
            raise JourneyError("the window does not answer")
        if isinstance(found[0], Exception):
            raise found[0]
        if not found[0]:
            self.shot("stuck")
            raise JourneyError(f"waited {seconds:g} s for: {what}")
        return found[0]

    def settled(self) -> None:
        """Wait until nothing is under way and every view has what there is."""
        w = self.window
        self.until(
            lambda: not w.compiler.busy and not w.turns.busy and not w.graph.model.pending
            and not any(pane.model.loading for pane in w.workbench.panes) and w.workbench.isVisible(),
            "nothing under way",
        )  # fmt: skip
        time.sleep(0.3)

    def click(self, widget: Callable[[], QWidget], at: Callable[[], QPoint] | None = None, button: int = 1,
              double: bool = False) -> None:  # fmt: skip
        """Press a button of the mouse on a widget, in its middle or at a point of it."""
        self.until(lambda: widget().isVisible(), "a widget to be in sight", 20)
        spot = self.ask(lambda: widget().mapToGlobal(at() if at else widget().rect().center()))
        self.click_at(spot, button, double)

    def click_at(self, spot: QPoint, button: int = 1, double: bool = False) -> None:
        """Press a button of the mouse on a point of the screen."""
        self.clicks += 1
        self.tool("mousemove", str(spot.x()), str(spot.y()))
        time.sleep(0.06)
        self.tool("click", *(["--repeat", "2", "--delay", "40"] if double else []), str(button))
        time.sleep(0.15)

    def move(self, widget: Callable[[], QWidget], at: Callable[[], QPoint] | None = None) -> None:
        """Move the mouse there."""
        spot = self.ask(lambda: widget().mapToGlobal(at() if at else widget().rect().center()))
        self.tool("mousemove", str(spot.x()), str(spot.y()))
        time.sleep(0.15)

    def wheel(self, clicks: int) -> None:
        """Turn the wheel: up where positive."""
        self.tool("click", "--repeat", str(abs(clicks)), "--delay", "25", "4" if clicks > 0 else "5")
        time.sleep(0.2)

    def key(self, *keys: str) -> None:
        """Press keys, one after the other: `ctrl+Return`, `F5`."""
        for key in keys:
            self.tool("key", "--clearmodifiers", key)
            time.sleep(0.12)

    def type(self, text: str) -> None:
        """Type a text."""
        self.tool("type", "--delay", "12", text)
        time.sleep(0.2)

    def run(self, *words: str) -> None:
        """Run another program until it ends, as from a terminal."""
        self._hands.run(*words)

    def tool(self, *words: str) -> None:
        """Do something with the mouse or the keyboard."""
        self._hands.run("timeout", "30", "xdotool", *words)

    def palette(self, text: str) -> None:
        """Do what the command palette finds first for these letters."""
        self.key("ctrl+shift+p")
        self.until(lambda: self.window.help.palette.isVisible(), "the palette", 10)
        self.type(text)
        self.key("Return")

    def dialog(self) -> Any:
        """The dialog that is open, once it has the keyboard: what is typed before goes elsewhere."""
        return self.until(
            lambda: (found := QApplication.activeModalWidget()) and found.isActiveWindow() and found.focusWidget()
            and found, "a dialog", 20,
        )  # fmt: skip

    def open_path(self, path: str) -> None:
        """Ctrl+O, the path, and Enter once all of it is there: the dialog complains of a file that is not."""
        self.key("ctrl+o")
        dialog = self.dialog()
        self.type(path)
        self.until(lambda: any(line.text() == path for line in dialog.findChildren(QLineEdit)), "the path typed", 20)
        self.key("Return")

    def shot(self, name: str) -> Path:
        """Keep what is on the screen."""
        self.shots += 1
        path = self._folder / f"{self._name}-{self.shots:02d}-{name}.png"
        # Only a copy of what the server has in memory: a program that asks for the screen stops the server, and with it
        # the window, until it has it, and what makes a file of it takes a core for longer than most steps.
        shutil.copyfile(self._picture, path.with_suffix(RAW))
        return path

    def on_screen(self, widget: Callable[[], QWidget]) -> bool:
        """Whether all of a widget lies on the screen."""

        def inside() -> bool:
            found = widget()
            box = QRect(found.mapToGlobal(QPoint(0, 0)), found.size())
            return found.isVisible() and found.screen().geometry().contains(box)

        return self.ask(inside)

    def check(self, good: object, what: str) -> None:
        """Something must be so."""
        if not good:
            self.shot("wrong")
            raise JourneyError(what)

    def _collected(self, phase: str, told: dict[str, int]) -> None:
        """Note long looks for rubbish, in whichever thread: everybody waits for them."""
        if phase == "start":
            self._look_began = time.perf_counter()
        elif (took := time.perf_counter() - self._look_began) > 0.01:
            place = f"{time.perf_counter() - self.window.heartbeat.begun:.2f} s"
            self.frames.append(f"{place}: rubbish of age {told['generation']} took {took * 1e3:.0f} ms")

    def _watch(self) -> None:
        """Note where the window's thread is while its heart misses beats, from well below what is felt: what takes that
        long by itself takes longer beside other work."""
        while True:
            time.sleep(_PEEK)
            heart = self.window.heartbeat
            if heart is not None and time.perf_counter() - heart.last > _LONG:
                frame, places = sys._current_frames().get(self._main or 0), []
                while frame is not None and len(places) < _DEEP:  # quickly: a frame that is held holds a painter, too
                    places.append((frame.f_code, frame.f_lineno))
                    frame = frame.f_back
                del frame
                lines = [f"{Path(code.co_filename).name}:{line}:{code.co_name}" for code, line in reversed(places)]
                self.frames.append(f"{heart.last - heart.begun:.3f} s: " + " > ".join(lines[2:]))
