"""Work that is spread over turns of the event loop; and the verdicts of the benchmark that watches it."""

from __future__ import annotations

import importlib.util
import itertools
import time
from pathlib import Path

import pytest

from app.controllers.spread_work import SpareTime, Turns
from app.views.parts.later import _LATEST, PicturesApart, laid_out_once, next_turn, show_share

pytestmark = pytest.mark.gui
ROOT = Path(__file__).resolve().parents[3]


def test_events_have_their_turn_between_slow_steps(qtbot):
    from PySide6.QtCore import QTimer

    turns, done, beats = Turns(), [], []
    timer = QTimer()
    timer.timeout.connect(lambda: beats.append(len(done)))
    timer.start(0)
    turns.start([lambda i=i: (time.sleep(0.01), done.append(i)) for i in range(4)])
    assert turns.busy
    assert not done
    qtbot.waitUntil(lambda: len(done) == 4)
    timer.stop()
    assert done == [0, 1, 2, 3]
    assert {1, 2, 3} <= set(beats)  # something else ran after each of them


def test_newer_steps_take_the_place_of_older_ones_and_others_wait_behind_them(qtbot):
    turns, done = Turns(), []
    turns.start([lambda: done.append("old")])
    turns.start([lambda: done.append("new")])
    assert not done
    qtbot.waitUntil(lambda: not turns.busy)
    assert done == ["new"]
    turns.add([lambda: done.append("added")])
    turns.add([lambda: done.append("last")])
    qtbot.waitUntil(lambda: not turns.busy)
    assert done[1:] == ["added", "last"]


def test_the_next_turn_comes_after_other_timers(qtbot):
    """What Qt does after 0 ms is done among what is posted: nothing else had its turn before it."""
    from PySide6.QtCore import QObject, QTimer

    beats, done, parent = [], [], QObject()
    timer = QTimer()
    timer.timeout.connect(lambda: beats.append(len(done)))

    def first() -> None:
        done.append("first")
        next_turn(parent, lambda: done.append("second"))

    timer.start(0)
    next_turn(parent, first)
    qtbot.waitUntil(lambda: len(done) == 2)
    timer.stop()
    assert 1 in beats


def test_parts_that_are_shown_and_hidden_together_are_laid_out_once(qtbot):
    from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

    class Counting(QHBoxLayout):
        laid_out = 0

        def setGeometry(self, rect) -> None:
            self.laid_out += 1
            super().setGeometry(rect)

    holder = QWidget()
    layout, parts = Counting(holder), [QLabel(text) for text in "abcd"]
    for part in parts:
        layout.addWidget(part)
    qtbot.addWidget(holder)
    holder.show()
    qtbot.waitUntil(holder.isVisible)
    before = layout.laid_out
    with laid_out_once(holder):
        for part in parts[1:]:
            part.hide()
        assert layout.laid_out == before
    qtbot.waitUntil(lambda: parts[0].width() > holder.width() / 2)
    assert layout.laid_out == before + 1


def test_a_step_waits_while_something_else_comes_next(qtbot):
    held, done = [True], []
    turns = Turns(held=lambda: held[0])
    turns.start([lambda: done.append("step")])
    qtbot.wait(30)
    assert not done and turns.busy
    held[0] = False
    qtbot.waitUntil(lambda: not turns.busy)
    assert done == ["step"]


@pytest.fixture
def told(qtbot):
    """A window, with what happened: each of its pictures, and each turn that others had."""
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QWidget

    happened = []

    class Window(QWidget):
        def paintEvent(self, event) -> None:
            time.sleep(0.01)
            happened.append("picture")

    window, timer = Window(), QTimer()
    window.pictures = PicturesApart(window)
    window.pictures.begin()
    qtbot.addWidget(window)
    window.show()
    qtbot.waitUntil(lambda: "picture" in happened and not window.pictures.due)
    happened.clear()
    timer.timeout.connect(lambda: happened.append("turn"))
    timer.start(4)
    yield window, happened
    timer.stop()


def test_others_have_their_turn_between_a_change_and_its_picture(qtbot, told):
    from PySide6.QtCore import QObject

    window, happened = told
    parent = QObject()

    def change() -> None:
        time.sleep(0.02)
        window.update()
        happened.append("change")

    next_turn(parent, change)
    qtbot.waitUntil(lambda: "picture" in happened)
    between = happened[happened.index("change") + 1 : happened.index("picture")]
    # One turn where nobody is late; where the machine is, a picture waits for a few more, and not for ever.
    assert set(between) == {"turn"} and len(between) <= 1 + _LATEST
    assert happened.count("picture") == 1


def test_a_picture_is_not_painted_right_after_what_another_timer_did(qtbot, told):
    from PySide6.QtCore import QTimer

    window, happened = told

    def change() -> None:
        time.sleep(0.02)
        happened.append("change")

    window.update()
    QTimer.singleShot(0, window, change)
    qtbot.waitUntil(lambda: "picture" in happened)
    if "change" in happened[: happened.index("picture")]:
        assert "turn" in happened[happened.index("change") : happened.index("picture")]


def test_a_picture_comes_also_while_others_take_long_each_turn(qtbot, told):
    from PySide6.QtCore import QTimer

    window, happened = told
    busy = QTimer()
    busy.timeout.connect(lambda: time.sleep(0.01))
    busy.start(0)
    for _ in range(3):
        happened.clear()
        window.update()
        qtbot.waitUntil(lambda: "picture" in happened)
        assert happened.count("turn") < 40
    busy.stop()


def test_a_step_that_can_wait_is_not_done_with_a_picture(qtbot, told):
    window, happened = told
    turns = Turns(held=lambda: window.pictures.due)
    window.update()
    turns.start([lambda: happened.append("step") or time.sleep(0.005) for _ in range(2)])
    qtbot.waitUntil(lambda: not turns.busy and "picture" in happened)
    for first, second in itertools.pairwise(happened):
        assert {first, second} != {"step", "picture"}, f"felt as one: {happened}"


def test_what_nobody_waits_for_is_done_apart_and_after_what_somebody_does(qtbot):
    turns, done, times = Turns(), [], []
    spare = SpareTime(lambda: turns.busy)

    def steps():
        for name in ("first", "second"):
            yield lambda name=name: (done.append(name), times.append(time.perf_counter()))
            done.append(f"asked after {name}")  # a step is asked for when the one before it is done

    spare.add(steps())
    turns.start([lambda i=i: (time.sleep(0.02), done.append(i)) for i in range(5)])
    qtbot.waitUntil(lambda: not spare.busy)
    assert done == [0, 1, 2, 3, 4, "first", "asked after first", "second", "asked after second"]
    assert times[1] - times[0] > 0.02, "whoever does something has the time between"
    spare.add([lambda: done.append("never")])
    spare.stop()
    qtbot.wait(100)
    assert "never" not in done


def test_what_nobody_waits_for_waits_while_somebody_uses_the_thread(qtbot):
    """A step that follows a key and its painting would be felt with them as one."""
    from PySide6.QtCore import QTimer

    spare, done, keys, timer = SpareTime(lambda: False), [], [], QTimer()

    def key() -> None:
        end = time.thread_time() + 0.02
        while time.thread_time() < end:
            pass
        keys.append("painted")
        if len(keys) == 8:
            timer.stop()

    timer.timeout.connect(key)
    timer.start(0)
    spare.add([lambda: done.append(len(keys))])
    qtbot.waitUntil(lambda: bool(done))
    assert done == [8]


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("gui_benchmark", ROOT / "benchmarks" / "gui.py")
    module = importlib.util.module_from_spec(spec)
    import sys

    kept = list(sys.path)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    sys.path[:] = kept
    return module


def test_the_benchmark_judges_the_clock_only_where_nobody_else_took_the_processor(bench):
    figure = bench.Figure("stall, wall", 120.0, 100.0, "ms", clock=True, others=0.1)
    assert figure.verdict == "BROKEN"
    busy = bench.Figure("stall, wall", 120.0, 100.0, "ms", clock=True, others=1.5)
    assert busy.verdict.startswith("not judged: load 1.50 on")
    cost = bench.Figure("stall, CPU", 60.0, 50.0, "ms", clock=False, others=1.5)
    assert cost.verdict == "BROKEN"
    assert bench.Figure("stall, wall", 90.0, 100.0, "ms", clock=True, others=1.5).verdict == "ok"


def test_the_benchmark_ends_with_another_status_where_it_could_not_judge(bench, qapp, capsys):
    made = bench.Bench()
    made.add("fine", 1.0, 2.0, "ms")
    assert made.report() == 0
    made.add("late", 3.0, 2.0, "ms", others=1.0)
    assert made.report() == bench.NOT_JUDGED == 75
    made.add("slow", 3.0, 2.0, "ms", clock=False, others=1.0)
    assert made.report() == 1
    assert "1 not judged" in capsys.readouterr().out


def test_the_load_of_others_is_measured_and_our_own_is_not(bench):
    load, begun = bench.Load(), time.perf_counter()
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
    ours = 0.3 / (time.perf_counter() - begun)
    assert 0.0 <= load.others() <= bench.CORES - ours + 0.25


def test_a_large_record_travels_in_pieces_and_arrives_whole():
    import socket

    from app.viewmodels.compilation import Compilation, NodeRecord
    from app.viewmodels.pieces import cut, join
    from app.worker.answers import replies
    from compiler.options import CompileOptions
    from compiler.processes.frames import Channel

    nodes = tuple(NodeRecord(f"n{i}", i, "add", "op", "f32", "[M]", "", ()) for i in range(1234))
    whole = Compilation("s", "", "s", CompileOptions(), (), nodes, (), (), (), ())
    pieces, rest = cut(whole)
    assert sum(len(entries) for _, entries in pieces) == 1234 and rest.nodes == ()
    assert max(len(entries) for _, entries in pieces) <= 40, "kernels come in few entries, and each is large"
    here, there = (Channel(end, replies()) for end in socket.socketpair())
    sent = []
    for field, entries in pieces:
        here.send(entries, f"CompileRequest.{field}")
        sent.append((field, there.receive().value))
    here.close()
    there.close()
    assert join(sent, rest) == whole
    assert cut("text") == ([], "text")


def test_the_time_in_the_status_bar_does_not_lay_the_window_out(qtbot):
    """Ten times a second while something is measured: it would disturb what it tells the time of."""
    from PySide6.QtCore import QEvent, QObject
    from PySide6.QtWidgets import QMainWindow

    from app.views.frame.status import Status

    class Counter(QObject):
        count = 0

        def eventFilter(self, watched, event):
            self.count += event.type() == QEvent.Type.LayoutRequest
            return False

    window, status, counter = QMainWindow(), Status("CPU"), Counter()
    qtbot.addWidget(window)
    window.setStatusBar(status)
    window.resize(900, 200)
    window.show()
    status.start("Measuring")
    shown = set()
    qtbot.waitUntil(lambda: shown.add(status.elapsed.text()) or len(shown) > 2)  # laid out as it came
    window.installEventFilter(counter)
    first = set(shown)
    qtbot.waitUntil(lambda: shown.add(status.elapsed.text()) or len(shown - first) > 3)
    assert counter.count == 0
    window.removeEventFilter(counter)
    assert status.elapsed.fontMetrics().horizontalAdvance(status.elapsed.text()) <= status.elapsed.width()
    status.end(True)


def test_a_plot_makes_no_controls_that_nobody_sees(qtbot):
    from PySide6.QtWidgets import QApplication

    from app.views.parts.plots import make_plot

    before = len(QApplication.allWidgets())
    plot = make_plot("A plot", 60)
    qtbot.addWidget(plot)
    assert len(QApplication.allWidgets()) - before < 10


def test_a_pane_is_made_in_advance_in_steps_and_rests_whole(qtbot, tmp_path):
    """Each part in a turn of its own; a pane that is wanted meanwhile does not wait for it."""
    from app.controllers.settings import Settings
    from app.main_window import MainWindow

    window = MainWindow(Settings(tmp_path / "config"))
    qtbot.addWidget(window)
    bench = window.workbench
    steps = bench.prepare()
    for _ in range(3):
        next(steps)()
    panes = len(bench.panes)
    bench.add_pane("asm")
    for step in steps:
        step()
    assert len(bench.panes) == panes + 1 and len(bench._resting) == 1
    assert next(bench.prepare(), None) is None  # one rests
    pane = bench.add_pane("llvm")
    dock = bench._pane_docks[pane]
    assert dock.titleBarWidget() is pane.header and dock.widget() is pane and not dock.isHidden()
    assert pane.stage.value == "llvm" and not bench._resting
    window.close()


def test_a_bar_that_moves_is_not_painted_at_once(qtbot):
    """Qt would, and with it all that waits to be painted in its window."""
    from PySide6.QtWidgets import QProgressBar, QVBoxLayout, QWidget

    painted = []

    class Other(QWidget):
        def paintEvent(self, event) -> None:
            painted.append(event)

    window, other, bar = QWidget(), Other(), QProgressBar()
    qtbot.addWidget(window)
    layout = QVBoxLayout(window)
    layout.addWidget(other)
    layout.addWidget(bar)
    other.setMinimumSize(60, 60)
    window.show()
    qtbot.waitUntil(lambda: bool(painted))
    before = len(painted)
    other.update()
    show_share(bar, 0.5)
    assert len(painted) == before and bar.value() == 50
    qtbot.waitUntil(lambda: len(painted) > before)
