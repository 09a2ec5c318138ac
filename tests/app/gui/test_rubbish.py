"""Python's search for rubbish: in the window's own thread, whichever thread makes what calls for it."""

import gc
import threading
import weakref

from PySide6.QtCore import QObject

from app.controllers.rubbish import Rubbish

WAIT = 60_000


def test_widgets_that_hold_themselves_are_dropped_in_the_windows_thread(qtbot):
    """Qt has them destroyed where they live; in a thread that reads what a process says they would take locks there."""
    before = gc.isenabled()
    parent = QObject()
    rubbish = Rubbish(lambda: False, parent)
    dropped = []
    held = QObject()
    held.me = held
    weakref.finalize(held, lambda: dropped.append(threading.current_thread()))
    del held
    kept = []
    other = threading.Thread(target=lambda: kept.extend([] for _ in range(300_000)))
    other.start()
    other.join()
    qtbot.waitUntil(lambda: bool(dropped), timeout=WAIT)
    assert dropped == [threading.main_thread()]
    rubbish.stop()
    assert gc.isenabled() == before


def test_while_something_is_under_way_only_what_is_young_is_looked_through(qtbot):
    parent, busy, looks, before = QObject(), [True], [], gc.get_threshold()

    def heard(phase, told):
        if phase == "start":
            looks.append(told["generation"])

    gc.set_threshold(1000, 10, 10)
    gc.callbacks.append(heard)
    rubbish = Rubbish(lambda: busy[0], parent)
    try:
        kept = [[] for _ in range(300_000)]
        qtbot.waitUntil(lambda: bool(looks), timeout=WAIT)
        qtbot.wait(300)
        assert 2 not in looks
        busy[0] = False
        qtbot.waitUntil(lambda: 2 in looks, timeout=WAIT)
        del kept
    finally:
        gc.callbacks.remove(heard)
        gc.set_threshold(*before)
        rubbish.stop()
