"""Python's search for rubbish: in the window's own thread, whichever thread makes what calls for it."""

import gc
import threading
import weakref
from math import inf

import pytest
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication

import app.controllers.rubbish
from app.controllers.rubbish import Rubbish

WAIT = 60_000


@pytest.fixture(autouse=True)
def _nobody_else_looks(qapp):
    """There is one heap: a window that other tests share would look through it as well."""
    others = [one for widget in QApplication.topLevelWidgets() for one in widget.findChildren(Rubbish)]
    others = [one for one in others if one._timer.isActive()]  # not those of windows that are closed
    for one in others:
        one.stop()
    yield
    for one in others:
        one.start()


@pytest.fixture
def look_for(qapp):
    """Has rubbish looked for until the test has ended, however it does."""
    parent = QObject()
    made = []

    def look(under_way):
        made.append(Rubbish(under_way, parent))
        return made[-1]

    yield look
    for one in made:
        one.stop()


def test_widgets_that_hold_themselves_are_dropped_in_the_windows_thread(qtbot, looks, look_for):
    """Qt has them destroyed where they live; in a thread that reads what a process says they would take locks there."""
    before = gc.isenabled()
    rubbish = look_for(lambda: False)
    dropped = []
    held = QObject()
    held.me = held
    weakref.finalize(held, lambda: dropped.append(threading.current_thread()))
    del held
    kept = []
    other = threading.Thread(target=lambda: kept.extend([] for _ in range(10_000)))
    other.start()
    other.join()
    qtbot.waitUntil(lambda: bool(dropped), timeout=WAIT)
    assert dropped == [threading.main_thread()]
    rubbish.stop()
    assert gc.isenabled() == before


@pytest.fixture
def looks():
    """The ages that were looked through, as Python tells."""
    found, before = [], gc.get_threshold()

    def heard(phase, told):
        if phase == "start":
            found.append(told["generation"])

    gc.set_threshold(1000, 10, 10)
    gc.callbacks.append(heard)
    yield found
    gc.callbacks.remove(heard)
    gc.set_threshold(*before)


def test_while_something_is_under_way_only_what_is_young_is_looked_through(qtbot, monkeypatch, looks, look_for):
    monkeypatch.setattr(app.controllers.rubbish, "_REST", 3)
    monkeypatch.setattr(app.controllers.rubbish, "_IDLE", inf)  # waiting is work: on a busy machine more than a caret's
    busy = [True]
    look_for(lambda: busy[0])
    held = QObject()
    held.me = held
    dropped = weakref.ref(held)
    kept = [[] for _ in range(10_000)]
    qtbot.waitUntil(lambda: bool(looks), timeout=WAIT)
    del held  # too old for the looks that are not felt
    kept += [[] for _ in range(300_000)]
    qtbot.wait(600)
    assert 2 not in looks and dropped() is not None
    busy[0] = False
    qtbot.waitUntil(lambda: 2 in looks, timeout=WAIT)
    assert dropped() is None
    del kept


def test_as_long_as_somebody_is_there_only_what_is_young_is_looked_through(qtbot, monkeypatch, looks, look_for):
    monkeypatch.setattr(app.controllers.rubbish, "_IDLE", 0.0)  # the thread always does something
    look_for(lambda: False)
    kept = [[] for _ in range(10_000)]
    qtbot.waitUntil(lambda: bool(looks), timeout=WAIT)
    kept += [[] for _ in range(300_000)]
    qtbot.wait(300)
    assert 2 not in looks
    kept += [[] for _ in range(2_000_000)]
    qtbot.waitUntil(lambda: 2 in looks, timeout=WAIT)  # at last
    del kept


def test_what_is_made_in_large_numbers_at_once_is_not_looked_through_there_and_then(qtbot, looks, look_for):
    """A large model that has come: some 200,000 objects, all of which stay, would be felt beside what shows it."""
    look_for(lambda: True)
    gc.collect()
    looks.clear()
    before = gc.get_freeze_count()
    kept = [[] for _ in range(300_000)]
    qtbot.waitUntil(lambda: gc.get_freeze_count() >= before + len(kept), timeout=WAIT)
    assert not looks
