"""The timeline: lanes a worker and a thread, bytes below, moving, measuring, and links both ways."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hands import point_of_event
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QImage, QMouseEvent, QPainter
from PySide6.QtWidgets import QApplication

from app.theme.look import Look
from app.viewmodels.compilation import CallRecord, Compilation, MemoryBlock
from app.viewmodels.frame.selection import Selection
from app.viewmodels.requests import RunTimes
from app.viewmodels.timeline.timeline import Timeline, Track, compile_timeline, run_timeline
from app.views.timeline.camera import AXIS, LANE, TimeMarks
from app.views.timeline.memory import MemoryView
from app.views.timeline.view import TimelineView
from compiler.options import CompileOptions
from compiler.trace import PassRecord

pytestmark = pytest.mark.gui


class Pen(QPainter):
    """Draws no text, and knows where each would be."""

    def __init__(self, picture: QImage) -> None:
        super().__init__(picture)
        self.said: list[tuple[float, str]] = []

    def drawText(self, box, _flags, text):
        self.said.append((box.x(), text))


def compilation(passes=(), calls=(), blocks=()) -> Compilation:
    return Compilation("s", "", "s", CompileOptions(), (), (), calls, (), passes, (), blocks)


@pytest.fixture
def view(qtbot, tmp_path):
    look = Look(tmp_path, "dark")
    look.apply()
    made = TimelineView(look, Selection())
    qtbot.addWidget(made)
    made.resize(900, 240)
    made.show()
    return made


def move_to(view, point: QPointF) -> None:
    """As the mouse would, wherever it was before."""
    none = Qt.MouseButton.NoButton
    place = QPointF(view.mapToGlobal(point.toPoint()))
    event = QMouseEvent(QEvent.Type.MouseMove, point, place, none, none, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(view, event)


def test_a_lane_for_each_worker_and_another_where_its_passes_overlap():
    rows = (
        PassRecord("fuse", "mogg", "", 0.0, 1.0, worker=0),
        PassRecord("llvm", "machine", "a", 1.0, 2.0, bytes_after=100, worker=0),
        PassRecord("llvm", "machine", "b", 1.5, 1.0, bytes_after=50, worker=0),
        PassRecord("llvm", "machine", "c", 1.0, 1.0, worker=2),
    )
    timeline = compile_timeline(compilation(rows))
    assert timeline.lanes == ["compiler", "", "worker 2"]
    assert sorted(timeline.label(i) for i in np.flatnonzero(timeline.lane == 0)) == ["fuse", "llvm a"]
    (track,) = timeline.tracks
    assert [track.at(t) for t in (2.4, 2.6, 3.1)] == [None, 50.0, None]
    assert track.values.tolist() == [50.0, 150.0]


def test_memory_below_the_launches_is_what_the_plan_keeps_alive():
    calls = tuple(CallRecord(i, f"k{i}", (f"n{i}",)) for i in range(3))
    blocks = (MemoryBlock("a", 0, 100, 0, 1), MemoryBlock("b", 100, 50, 1, 2))
    run = RunTimes((1.0,), (), ((0, 0, 0.0, 0.1), (1, 0, 0.02, 0.1), (0, 1, 0.2, 0.1), (0, 2, 0.4, 0.1)), 2, ())
    timeline = run_timeline(compilation(calls=calls, blocks=blocks), run)
    assert timeline.lanes == ["thread 0", "thread 1"]
    (track,) = timeline.tracks
    assert [track.at(t) for t in (0.1, 0.25, 0.45, 0.6)] == [100.0, 150.0, 50.0, None]
    assert track.top == 150.0


def test_many_steps_of_a_track_are_merged_to_pixels_and_keep_their_peak():
    values = np.zeros(100_000)
    values[54_321] = 7.0
    track = Track("bytes", np.arange(100_001) * 1e-5, values)
    left, right, shown = track.steps(0.0, 1.0, 500)
    assert len(left) <= 502
    assert shown.max() == 7.0
    assert (right >= left).all()


def test_hovering_tells_of_an_event_and_of_the_memory_under_the_mouse(qtbot, view):
    track = Track("memory in use", np.array([0.0, 1.0, 2.0]), np.array([1024.0, 2048.0]), "by the plan")
    zeros = np.zeros(2, int)
    view.set_timeline(Timeline(["one"], zeros, np.array([0.0, 1.0]), np.array([0.5, 0.5]), zeros, ["k"], (), (track,)))
    move_to(view, QPointF(view.camera.x_of(0.2), AXIS + LANE / 2))
    assert "k\n500 ms" in view.toolTip()
    move_to(view, QPointF(view.camera.x_of(1.5), AXIS + LANE + 20))
    assert "memory in use: 2 KiB" in view.toolTip()


def test_moving_measuring_and_focusing_by_keyboard(qtbot, view):
    zeros = np.zeros(3, int)
    starts = np.array([0.0, 4.0, 8.0])
    view.set_timeline(Timeline(["one"], zeros, starts, np.full(3, 0.5), zeros, ["k"], [("a",), ("b",), ("c",)]))
    begin, end = view.camera.begin, view.camera.end
    qtbot.keyClick(view, Qt.Key.Key_D)
    assert view.camera.begin > begin
    qtbot.keyClick(view, Qt.Key.Key_A)
    qtbot.keyClick(view, Qt.Key.Key_W)
    assert view.camera.end - view.camera.begin < end - begin
    qtbot.keyClick(view, Qt.Key.Key_Space)
    qtbot.keyClick(view, Qt.Key.Key_N)
    qtbot.keyClick(view, Qt.Key.Key_N)
    assert view._selection.nodes == {"b"}
    assert "500 ms" in view.accessibleDescription()
    qtbot.keyClick(view, Qt.Key.Key_F)
    assert 3.5 < view.camera.begin < 4.0
    assert 4.5 < view.camera.end < 5.0
    qtbot.keyClick(view, Qt.Key.Key_M)
    assert view.marks.measured == pytest.approx((4.0, 4.5))
    view.marks = TimeMarks()
    qtbot.keyClick(view, Qt.Key.Key_Space)
    qtbot.keyClick(view, Qt.Key.Key_M)
    assert view.marks.measuring
    left, right = QPoint(int(view.camera.x_of(1.0)), 60), QPoint(int(view.camera.x_of(3.0)), 60)
    qtbot.mousePress(view, Qt.MouseButton.LeftButton, pos=left)
    qtbot.mouseMove(view, right)
    qtbot.mouseRelease(view, Qt.MouseButton.LeftButton, pos=right)
    assert view.marks.measured == pytest.approx((1.0, 3.0), abs=0.05)


def test_a_selection_made_elsewhere_comes_into_sight(qtbot, view):
    zeros = np.zeros(2, int)
    nodes = [("a",), ("b",)]
    view.set_timeline(Timeline(["one"], zeros, np.array([0.0, 100.0]), np.full(2, 1.0), zeros, ["k"], nodes))
    view.camera = replace(view.camera, begin=0.0, end=2.0)
    view._selection.select(["b"])
    assert view.marks.lit.tolist() == [1]
    assert view.camera.begin <= 100.0 <= view.camera.end
    assert view.camera.end - view.camera.begin == pytest.approx(2.0)


def test_slices_and_kernels_select_each_other_in_the_window(qtbot, compiled):
    compiled.docks.show("timeline")
    qtbot.waitUntil(lambda: compiled.timeline.view.timeline is not None and len(compiled.timeline.view.timeline) > 0)
    view = compiled.timeline.view
    known = [i for i, nodes in enumerate(view.timeline.nodes) if nodes]
    event = max(known, key=lambda i: view.timeline.duration[i])
    view.marks = replace(view.marks, hover=event)
    view.focus()
    point = point_of_event(view, event).toPoint()
    hit = view.camera.event_at(view.timeline, QPointF(point))
    assert view.timeline.start[hit] == view.timeline.start[event]  # what the cache did takes no time: several at once
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=point)
    assert compiled.state.selection.nodes == set(view.timeline.nodes[hit])
    compiled.state.selection.select(["relu_0"])
    behind = [set(view.timeline.nodes[e]) for e in view.marks.lit.tolist()]
    assert behind
    assert all("relu_0" in nodes for nodes in behind)


def test_a_run_fills_the_launches_with_a_lane_a_thread_and_links(qtbot, compiled):
    compiled.runs.view.threads.setValue(0)
    compiled.features.do("run")
    qtbot.waitUntil(lambda: compiled.state.run is not None and not compiled.turns.busy, timeout=60_000)
    compiled.docks.show("launches")
    lanes = compiled.runs.launches
    qtbot.waitUntil(lambda: lanes.timeline is not None and len(lanes.timeline) > 0)
    assert lanes.timeline.lanes == [f"thread {i}" for i in range(compiled.state.run.threads)]
    point = point_of_event(lanes, 0)
    lanes.marks = replace(lanes.marks, hover=0)
    lanes.focus()
    point = point_of_event(lanes, 0)
    assert lanes.camera.event_at(lanes.timeline, QPointF(point)) == 0
    qtbot.mouseClick(lanes, Qt.MouseButton.LeftButton, pos=point.toPoint())
    assert compiled.state.selection.nodes == set(compiled.state.compilation.calls[0].nodes)


def test_a_tall_view_gives_its_tracks_the_room_and_takes_lanes_back_into_sight(view):
    track = Track("memory", np.array([0.0, 1.0]), np.array([5.0]))
    zeros = np.zeros(1, np.int64)
    lanes = [f"thread {n}" for n in range(12)]
    view.set_timeline(Timeline(lanes, zeros, np.zeros(1), np.ones(1), zeros, ["k"], tracks=(track,)))
    view.move_lanes(1000)
    assert view.camera.top > 0
    view.resize(900, 700)
    assert view.camera.top == 0
    assert view.camera.track_height(view.timeline) > 200
    view.resize(900, 2000)
    assert view.camera.content_height(view.timeline) > 1900
    view.resize(900, 700)
    low = AXIS + len(lanes) * LANE + view.camera.track_height(view.timeline) - 4
    assert view.camera.track_at(view.timeline, QPointF(400, low)) is track
    assert view.camera.content_height(view.timeline) <= view.height()


def test_every_time_on_the_axis_is_whole(view):
    """At every offset of its ticks, the last of which comes near the edge."""
    passes = (PassRecord("fuse", "mogg", "", 0.0, 0.16, worker=0),)
    view.set_timeline(compile_timeline(compilation(passes)))

    for wide in range(700, 900, 7):
        view.resize(wide, 240)
        picture = QImage(wide, 240, QImage.Format.Format_RGB32)
        painter = Pen(picture)
        view._painter._axis(painter, view.camera)
        metrics = QFontMetricsF(painter.font())
        painter.end()
        assert len(painter.said) > 2
        assert max(x + metrics.horizontalAdvance(text) for x, text in painter.said) <= wide, painter.said[-1]


def test_what_is_no_pass_looks_the_same_whatever_else_there_is(view):
    both = Timeline(["compiler"], *(np.zeros(2, int),) * 4, ["x"], kind_names=["a", "b"], quiet={0: 0, 1: 1})
    alone = Timeline(["compiler"], *(np.zeros(1, int),) * 4, ["x"], kind_names=["b"], quiet={0: 1})
    assert view._painter._quiet(both, 1, 110) == view._painter._quiet(alone, 0, 110)
    gap = (PassRecord("link", "link", "", 0.5, 0.1, worker=0),)
    timeline = compile_timeline(replace(compilation(gap), elapsed=0.6))
    (outside,) = timeline.quiet
    assert timeline.kind_names[outside] == "outside any pass" and timeline.quiet[outside] == 1


def test_every_number_of_a_launch_above_the_memory_plan_is_whole(qtbot, tmp_path):
    plan = MemoryView(Look(tmp_path, "dark"), Selection())
    qtbot.addWidget(plan)
    calls = tuple(CallRecord(at, f"kernel_{at}", ()) for at in range(320))
    plan.set_compilation(compilation(calls=calls, blocks=(MemoryBlock("a", 0, 64, 0, 319),)))

    for wide in range(600, 1100, 13):
        plan.resize(wide, 200)
        picture = QImage(wide, 200, QImage.Format.Format_RGB32)
        painter = Pen(picture)
        metrics = QFontMetricsF(painter.font())
        plan._paint_launches(painter, QRectF(plan.rect()).adjusted(80, 40, -12, -10), metrics)
        painter.end()
        assert len(painter.said) > 5
        assert max(x + metrics.horizontalAdvance(text) for x, text in painter.said) <= wide, painter.said[-1]
