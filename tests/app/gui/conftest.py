"""Fixtures for tests of the real window. Qt warnings and threads or processes left behind fail the test."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("PySide6")

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtGui import QFont, QPalette
from PySide6.QtWidgets import QApplication, QDockWidget, QWidget
from pytestqt.qtbot import QtBot

from app.controllers import jobs
from app.controllers.settings import Settings
from app.main_window import MainWindow
from compiler.processes.nursery import Nursery

HARMLESS = tuple(
    f"This plugin does not support {what}" for what in ("propagateSizeHints()", "raise()", "grabbing the keyboard")
)
HERE = Path(__file__).parent
WAIT = 60_000
FEW = 24  # calls of a run whose times are not what a test is about
LOOKS = 5  # alike, one after the other, until docks are said to be at rest
TWICE_FEW = 2 * FEW  # as few in two processes, of which there are intervals
FEW_ROWS = "M=16"  # of the sample, whose calls then take a fifteenth of their time


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files whose tests make windows of their own come first: a change of theme or font walks through every widget
    there is, and those of the shared window, once it is there, are most of them."""
    ours = [item for item in items if item.path.parent == HERE]
    sharing = {item.path for item in ours if "shared" in getattr(item, "fixturenames", ())}
    first = [item for item in ours if item.path not in sharing]
    alone = set(first)
    items[:] = [*first, *(item for item in items if item not in alone)]


@pytest.fixture(scope="session")
def qapp_args():
    """Offscreen by argument, not by environment: the rest of the test run must still see that there is no display."""
    return ["kernelglass", "-platform", os.environ.get("KERNELGLASS_TEST_PLATFORM", "offscreen")]


@pytest.fixture(scope="session", autouse=True)
def _measuring_in_forks_of_workers():
    """Times of runs are not what these tests are about: a process that loads all it needs takes longer than they do."""
    with pytest.MonkeyPatch.context() as patch:
        if sys.platform == "linux":
            patch.setattr(jobs, "_nursery", Nursery("window_worker"))
        yield


class PatientBot(QtBot):
    """Waits as long as a busy machine may take for what comes at once on an idle one."""

    def waitUntil(self, callback, *, timeout=WAIT):
        super().waitUntil(callback, timeout=timeout)

    def waitSignal(self, signal, *, timeout=WAIT, **more):
        return super().waitSignal(signal, timeout=timeout, **more)

    def waitExposed(self, widget: QWidget, *, timeout=WAIT):
        return super().waitExposed(widget, timeout=timeout)

    def wait_at_rest(self, window: MainWindow) -> None:
        """Until nothing gives the docks of a window other places: each step of that begins a turn after the last."""
        seen = []

        def rests():
            docks = window.findChildren(QDockWidget)
            seen.append([(dock.isVisible(), dock.mapTo(window, dock.rect().topLeft()), dock.size()) for dock in docks])
            moves = window.turns.busy or window.docks._resizing.isActive()
            return not moves and len(seen) >= LOOKS and all(look == seen[-1] for look in seen[-LOOKS:])

        self.waitUntil(rests)


@pytest.fixture
def qtbot(qapp, request):
    return PatientBot(request)


@pytest.fixture(autouse=True)
def _no_qt_warnings(request, qapp, qtlog, tmp_path, monkeypatch):
    # The shared window keeps to its own database.
    database = request.getfixturevalue("shared").database if "shared" in request.fixturenames else tmp_path / "runs.db"
    monkeypatch.setenv("KERNELGLASS_DB", str(database))
    monkeypatch.setenv("KERNELGLASS_CONFIG", str(tmp_path / "config"))
    dressed = qapp.styleSheet(), qapp.font(), qapp.palette()
    yield
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    _dress(qapp, *dressed)
    said = [record.message for record in qtlog.records if record.message not in HARMLESS]
    assert not said, f"Qt said: {said}"


def _dress(qapp: QApplication, sheet: str, font: QFont, palette: QPalette) -> None:
    """What a test put on goes with it. Where there is no window, as a program begins: one that is made under a style
    sheet takes twice as long."""
    alone = not any(isinstance(widget, MainWindow) for widget in QApplication.topLevelWidgets())
    if alone or qapp.styleSheet() != sheet:
        qapp.setStyleSheet("")  # first: fonts and colours are sooner set without one
    if qapp.font() != font:
        qapp.setFont(font)
    if qapp.palette() != palette:
        qapp.setPalette(palette)
    if not alone and qapp.styleSheet() != sheet:
        qapp.setStyleSheet(sheet)


def settle(qtbot, window: MainWindow) -> None:
    """Wait until the compilation, its layout and the texts of every pane are there, and every view has shown it."""
    qtbot.waitUntil(lambda: not window.compiler.busy and window.graph.model.layout is not None, timeout=WAIT)
    qtbot.waitUntil(lambda: not window.turns.busy, timeout=WAIT)
    qtbot.waitUntil(lambda: not any(pane.model.loading for pane in window.workbench.panes), timeout=WAIT)


@pytest.fixture(scope="session")
def shared(qapp, tmp_path_factory):
    """One window for all tests that start from a compiled sample: its processes take seconds to start."""
    folder = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELGLASS_DB", str(folder / "runs.db"))
        window = MainWindow(Settings(folder / "config"))
    window.database = folder / "runs.db"
    window.resize(1400, 900)
    window.show()
    window.usual = window.state.choices
    window.source.ask_edits = lambda titles: "discard"
    window.source.pairs = 2
    window.runs.processes = 2
    yield window
    window.close()
    window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    left = [t.name for t in threading.enumerate() if t.name.startswith("worker-") and t.is_alive()]
    assert not left, f"threads left behind: {left}"


@pytest.fixture
def compiled(qtbot, shared):
    """The shared window with the mlp sample compiled as it comes, and nothing selected."""
    window = shared
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    if window.compiler.busy:
        window.compiler.cancel(quiet=True)
    now = window.state.compilation
    if (
        now is None
        or now.choices != window.usual
        or not now.source == window.state.source == "sample:mlp"  # what is open may have been cancelled
        or window.source.edits.edited()
        or "run" in now.name
    ):
        window.state.choose(**{name: getattr(window.usual, name) for name in vars(window.usual)})
        window.source.edits.drop()
        window.opening.open("sample:mlp")
    settle(qtbot, window)
    window.log.bar.hide()
    window.workbench.graph_dock.raise_()
    for pane in window.workbench.panes[2:]:
        window.workbench.remove_pane(pane)
    for pane, stage in zip(window.workbench.panes, ("source", "asm")):
        pane.lock.setChecked(False)
        pane.model.show(stage=stage, kernel=window.state.compilation.kernels[0].name, target="")
    settle(qtbot, window)
    window.state.selection.reset()
    window.resize(1400, 900)
    window.runs.view.repeats.setValue(FEW)
    window.runs.view.threads.setValue(1)  # two wait for each other, and so for whatever else the machine is doing
    window.runs.view.sizes.setText(FEW_ROWS)
    yield window
    # The processes that wait for the next test are started here: a test between may have another database in its
    # environment, which a process started then would take over.
    window.compiler.warm_up()
    workers = [window.compiler._spare, window.records._asker()]
    qtbot.waitUntil(lambda: all(worker is None or worker._process is not None for worker in workers), timeout=WAIT)


@pytest.fixture
def in_two_processes(compiled):
    """Runs that can be compared. As they come, runs last until the median is known, which beside other tests takes
    seconds on every core."""
    compiled.runs.view.repeats.setValue(TWICE_FEW)


@pytest.fixture
def until_sure(compiled):
    """Runs as they come: in several processes, for as long as it takes to know the median."""
    compiled.runs.view.repeats.setValue(0)
    compiled.runs.view.threads.setValue(0)
    compiled.runs.view.sizes.clear()
