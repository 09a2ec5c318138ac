"""The run view, roofline, memory plan and funnel, driven as a user does, with real runs."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt

from app.theme.look import Look
from app.viewmodels.frame.devices import DeviceRow, device_for
from app.viewmodels.frame.selection import Selection
from app.viewmodels.requests import CeilingsTold
from app.viewmodels.runs.funnel import bar_share, from_cache, funnel
from app.viewmodels.runs.roofline import nearby, points
from app.viewmodels.runs.run_figures import CallFigures, distribution
from app.viewmodels.timeline.memory_plan import describe
from app.views.runs.roofline import RooflineView
from app.views.runs.run_view import counter_value, read_sizes
from app.worker.machine_jobs import devices
from compiler.targets.nvptx import runs_on
from profiler.analysis.memory import alive_bytes
from profiler.analysis.roofline import levels_of, peak_for, peaks_of, rates
from profiler.counted import CountedLaunch
from profiler.records import Ceiling, Machine
from profiler.store import open_store, queries, writer

pytestmark = pytest.mark.gui


def wait_for_new(qtbot, window, before):
    """Until another compilation is there and every view has been given it."""
    qtbot.waitUntil(lambda: window.state.compilation is not before and not window.compiler.busy, timeout=90_000)
    qtbot.waitUntil(lambda: not window.turns.busy, timeout=60_000)


@pytest.fixture
def ran(qtbot, compiled):
    """The shared window with a run, which the next test has too unless something else came on show between."""
    window = compiled
    if window.state.run is not None and window.state.run is getattr(window, "ran", None):
        return window
    window.state.run = None
    window.runs.view.repeats.setValue(40)
    window.runs.view.threads.setValue(0)
    window.runs.view.sizes.clear()  # as the plan beside it has them
    qtbot.mouseClick(window.runs.view.run, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.state.run is not None, timeout=120_000)
    assert window.state.run is not None, window.runs.view.bar.text
    qtbot.waitUntil(lambda: not window.turns.busy, timeout=60_000)
    window.ran = window.state.run
    return window


def test_a_run_shows_its_distribution_check_and_counters(qtbot, ran):
    view, run = ran.runs.view, ran.state.run
    assert len(run.totals) == 40
    assert run.summary is not None and run.summary.median == pytest.approx(np.median(run.totals))
    assert 0 < run.summary.low <= np.median(run.totals) <= run.summary.high
    assert "95%" in view.summary.text() and "\u2713 check passed" in view.summary.text()
    shown = view.plot.shown
    assert shown.counts.sum() + len(shown.outliers) == 40, "every call is in the plot"
    assert "median" in view.plot.describe()
    rows = [view.view.model.record(row) for row in range(view.view.model.rowCount())]
    assert rows[0].kernel == "whole model" and len(rows) == 1 + len(run.calls) + 1, "what no launch accounts for, last"
    assert rows[-1].index == -2 and sum(row.share for row in rows[1:]) == pytest.approx(1.0)
    view.view.table.selectRow(1)
    assert view.plot.name.endswith(rows[1].kernel)
    assert ran.state.selection.nodes == set(rows[1].nodes)
    view.tabs.setCurrentIndex(1)
    counters = {entry[0]: entry for entry in run.counters}
    assert counters["user time"][1] > 0
    for entry in run.counters:
        assert entry[1] is not None or entry[3], f"{entry[0]} has neither a value nor a reason"
    assert f"of {len(run.counters)})" in view.tabs.tabText(1)


def test_launches_are_put_together_and_uneven_ones_are_marked(qtbot, ran):
    from profiler.analysis.aggregation import grouped

    view, run = ran.runs.view, ran.state.run
    assert len(run.keys) == len(run.thread_seconds) == len(run.calls) and all(run.keys)

    def listed(by):
        view.by.set_value(by)
        view.by.chosen.emit(by)
        rows = [view.view.model.record(row) for row in range(view.view.model.rowCount())]
        assert rows[-1].index == -2 and sum(row.share for row in rows[1:]) == pytest.approx(1.0), "of the whole call"
        return rows[:-1]

    every = listed("launch")[1:]
    for by in ("kernel", "layer", "op"):
        rows = listed(by)
        assert rows[0].kernel == "whole model" and sum(row.launches for row in rows[1:]) == len(every)
        assert sum(row.median for row in rows[1:]) == pytest.approx(sum(row.median for row in every))
        assert {node for row in rows[1:] for node in row.nodes} == {node for row in every for node in row.nodes}
    assert [row.kernel for row in listed("op")[1:]] == [
        group.name for group in grouped([{"kernel": r.kernel, "median": r.median, "position": 0} for r in every], "op")
    ]
    assert len(listed("launch")) == 1 + len(every)


def test_a_thread_that_works_alone_is_said():
    from app.viewmodels.requests import RunTimes
    from app.viewmodels.runs.launch_groups import launch_rows

    rows = [
        CallFigures(
            at, f"matmul_{at}", (f"n{at}",), None, (0, 0), 0.5, rates("k", at, 1.0, 1, 1), (1.0, 2.0), together=1.0
        )
        for at in range(4)
    ]
    run = RunTimes((), (), (), 2, (), keys=("a", "b", "a", "b"), thread_seconds=((5.35, 0.29), (1, 1)) * 2)
    assert [row.uneven > 1.5 for row in launch_rows(rows, run, "launch")] == [True, False, True, False]
    first, second = launch_rows(rows, run, "kernel")
    assert (first.kernel, first.launches, first.nodes) == ("matmul_0", 2, ("n0", "n2"))
    assert first.uneven == pytest.approx(2 * 5.35 / 5.64) and second.uneven == 0 and first.times == (2.0, 4.0)
    assert [row.kernel for row in launch_rows(rows, run, "layer")] == ["layer 1", "layer 2"]


def test_a_stored_run_shows_the_same_figures_and_plan(qtbot, ran):
    live, plan, number = ran.state.run, ran.state.compilation.blocks, ran.state.run.number
    ran.compiler.open_run(number)
    qtbot.waitUntil(lambda: ran.state.run is not live and ran.state.run is not None, timeout=60_000)
    qtbot.waitUntil(lambda: not ran.turns.busy, timeout=60_000)
    stored = ran.state.run
    assert stored.totals == pytest.approx(live.totals)
    assert stored.summary == live.summary and stored.summaries == live.summaries
    assert sorted(stored.counters) == sorted(live.counters)
    assert {(b.name, b.offset, b.size, b.first) for b in ran.state.compilation.blocks} >= {
        (b.name, b.offset, b.size, b.first) for b in plan if b.nodes
    }
    assert (
        ran.runs.view.tabs.tabText(1)
        == f"Counters ({sum(c[1] is not None for c in live.counters)} of {len(live.counters)})"
    )


@pytest.mark.usefixtures("until_sure")
def test_sizes_can_be_given_and_nonsense_is_said(qtbot, compiled):
    view = compiled.runs.view
    view.sizes.setText("M = 3; N")
    compiled.features.do("run")
    assert "NAME=SIZE" in view.bar.text
    name = compiled.state.compilation.dims[0][0]
    view.sizes.setText(f"{name}=5")
    compiled.state.run = None
    compiled.features.do("run")
    qtbot.waitUntil(lambda: compiled.state.run is not None or bool(view.bar.text), timeout=60_000)
    assert dict(compiled.state.run.dims)[name] == 5
    assert compiled.state.run.summary.processes == compiled.runs.processes, "no number of calls was asked for"
    view.sizes.clear()


def test_outliers_are_never_swallowed_by_a_bar():
    found = distribution([1.0] * 20 + [1.1] * 20 + [9.0, 30.0])
    assert found.outliers == (9.0, 30.0)
    assert found.counts.sum() == 40
    assert found.cut < 9
    assert distribution([]) is None
    assert distribution([2e-6] * 5).counts.sum() == 5
    assert distribution([2e-6] * 5).scale[1] == "\u00b5s"


def test_sizes_and_counters_in_words():
    assert read_sizes(" M=3, N = 4 ") == (("M", 3), ("N", 4))
    assert counter_value(("cycles", None, "events", "not allowed")) == "not available"
    assert counter_value(("user time", 0.5, "s", "")) == "500 ms"


def test_devices_are_listed_though_another_database_was_opened_before_the_answer(qtbot, compiled):
    found = devices()
    compiled.state.set_devices(found[:1])
    compiled.runs._asked = False
    compiled.runs._look_around()
    compiled.records.forget()
    qtbot.waitUntil(lambda: [d.name for d in compiled.state.devices] == [d.name for d in found], timeout=60_000)


def test_the_chooser_lists_the_cpu_and_says_what_a_gpu_lacks(qtbot, compiled):
    found = devices()
    assert found[0].name == "cpu"
    qtbot.waitUntil(lambda: len(compiled.state.devices) == len(found), timeout=60_000)
    assert [compiled.choices.device.itemData(i) for i in range(len(found))] == [d.name for d in found]
    absent = next((d for d in found if d.missing), None)
    if absent is None:
        pytest.skip("this machine has a GPU")
    compiled.choices.device.set_value(absent.name)
    compiled.choices.device.chosen.emit(absent.name)
    assert absent.missing in compiled.runs.view.bar.text
    assert compiled.choices.device.value == "cpu", "what cannot be used is not chosen"
    before = compiled.state.compilation
    compiled.compile.choose("target", "sm_90a")
    wait_for_new(qtbot, compiled, before)
    assert compiled.choices.run.isEnabled()
    compiled.features.do("run")
    assert "cannot be run here" in compiled.runs.view.bar.text and absent.missing in compiled.runs.view.bar.text


def test_a_target_finds_its_device():
    card = DeviceRow("cuda:0", "cuda:0 H200", "sm_90a", "H200, sm_90")
    cpu = DeviceRow("cpu", "CPU", "cpu", "")
    assert device_for("sm_90a", (cpu, card)) is card
    assert device_for("sm_80", (cpu, card)) is card
    assert device_for("cpu", (cpu, card)) is cpu
    assert "needs a CUDA device" in device_for("sm_100", (cpu, card)).missing
    assert "not launched" in device_for("gfx942", (cpu, card)).missing
    assert not runs_on("sm_90a", "sm_100") and runs_on("sm_90", "sm_100")


@pytest.mark.slow
def test_measuring_this_machine_gives_the_roofline_its_roofs(qtbot, ran):
    ran.docks.show("roofline")
    view = ran.runs.roofline
    qtbot.mouseClick(view.measure, Qt.MouseButton.LeftButton)
    assert ran.status.cancel.isVisible()
    qtbot.waitUntil(lambda: not ran.records.busy, timeout=200_000)
    assert not view.bar.text
    assert levels_of(view.ceilings)["memory"] > 1 and peaks_of(view.ceilings)["f32"] > 1
    assert view.points and all(point.roof for point in view.points)
    view.view.table.selectRow(0)
    assert ran.state.selection.nodes == set(view.points[0].call.nodes)


def test_measuring_this_machine_can_be_cancelled(qtbot, compiled):
    compiled.docks.show("roofline")
    qtbot.mouseClick(compiled.runs.roofline.measure, Qt.MouseButton.LeftButton)
    assert compiled.records.busy
    qtbot.mouseClick(compiled.status.cancel, Qt.MouseButton.LeftButton)
    assert not compiled.records.busy
    assert not compiled.status.cancel.isVisible()


def ceilings_of(*told):
    return tuple(Ceiling(name, 0, value, unit, value, value) for name, value, unit in told)


def launch(index, gflop, gbyte, dtype="f32"):
    """A launch that takes a second."""
    point = rates(f"k{index}", index, 1.0, int(gflop * 1e9), int(gbyte * 1e9), dtype=dtype)
    return CallFigures(index, point.kernel, (f"n{index}",), None, (1.0, 1.0), 1.0, point)


def test_the_roof_over_a_launch():
    ceilings = ceilings_of(
        ("copy L1", 100.0, "GB/s"), ("copy memory", 10.0, "GB/s"), ("multiply-add f32", 50.0, "GFLOP/s"),
        ("multiply-add f16", 250.0, "GFLOP/s"),
    )  # fmt: skip
    slow = launch(0, 5, 5)
    dense = launch(1, 25, 0.25)
    found = points([slow, dense], ceilings)
    assert [(p.roof, p.bound, p.share) for p in found] == [(10.0, "memory", 0.5), (50.0, "compute", 0.5)]
    assert points([slow], ())[0].roof is None
    mixed = points([dense, launch(2, 25, 0.25, "f16"), launch(3, 25, 0.25, "bf16")], ceilings)
    assert [(p.roof, p.peak) for p in mixed] == [(50.0, "f32"), (250.0, "f16"), (None, "")], "each under its own dtype"
    assert [p.roof for p in points([dense, launch(2, 25, 0.25, "f16")], ceilings, "f16")] == [250.0, 250.0]
    assert nearby([("L1", 100.0), ("L2", 90.0), ("memory", 10.0)]) == [("L1, L2", 100.0), ("memory", 10.0)]


def test_launches_lie_under_the_roofs_of_their_own_dtype_until_another_is_chosen(qtbot, tmp_path):
    view = RooflineView(Look(tmp_path, "dark"), Selection())
    qtbot.addWidget(view)
    view.set_calls([launch(0, 5, 5), launch(1, 25, 0.25, "f16")])
    told = (
        ("copy memory", 10.0, "GB/s"),
        ("multiply-add f32", 50.0, "GFLOP/s"),
        ("multiply-add f16", 250.0, "GFLOP/s"),
    )
    view.set_ceilings(CeilingsTold("cpu", ceilings_of(*told)))
    assert view.dtype.currentText() == "own dtype"
    assert [(point.roof, point.peak) for point in view.points] == [(10.0, "f32"), (250.0, "f16")]
    view.dtype.set_value("f32")
    view.dtype.chosen.emit("f32")
    assert [point.peak for point in view.points] == ["f32", "f32"]


def test_names_of_roofs_hide_no_launch(qtbot, tmp_path):
    view = RooflineView(Look(tmp_path, "dark"), Selection())
    qtbot.addWidget(view)
    view.set_calls([launch(0, 5, 5)])
    view.set_ceilings(
        CeilingsTold("cpu", ceilings_of(("copy memory", 10.0, "GB/s"), ("multiply-add f32", 50.0, "GFLOP/s")))
    )
    view.resize(800, 300)
    view.show()

    def texts():
        items = view._plot.drawn if view._plot is not None else ()
        return {item.toPlainText(): item for item in items if hasattr(item, "toPlainText")}

    qtbot.waitUntil(lambda: len(texts()) > 1)  # once the plot has its room: before, no name fits
    named = texts()
    (dots,) = (item for item in view._plot.drawn if hasattr(item, "points"))
    names = [item.zValue() for words, item in named.items() if words != "1"]
    assert names and max(names) < dots.zValue() == named["1"].zValue()


def test_the_roofline_says_that_bytes_were_counted(qtbot, tmp_path):
    view = RooflineView(Look(tmp_path, "dark"), Selection())
    qtbot.addWidget(view)
    view.set_ceilings(CeilingsTold("cpu", ceilings_of(("copy memory", 10.0, "GB/s"))))
    view.set_calls([launch(0, 5, 5)])
    assert "counted" not in view.note.text()
    point = rates("k", 0, 1.0, 10**9, 10**9, counted=CountedLaunch(0, "k", 3e9, 1e9))
    view.set_calls([CallFigures(0, "k", ("n",), None, (1.0, 1.0), 1.0, point)])
    assert view.note.text().startswith("bytes as the device counted them") and view.points[0].intensity == 0.25


def test_a_launch_above_the_roof_of_memory_says_why(qtbot, tmp_path):
    view = RooflineView(Look(tmp_path, "dark"), Selection())
    qtbot.addWidget(view)
    roofs = ceilings_of(("copy memory", 10.0, "GB/s"), ("multiply-add f32", 1e3, "GFLOP/s"))
    view.set_ceilings(CeilingsTold("cpu", roofs))
    view.set_calls([CallFigures(n, "k", ("n",), None, (1.0, 1.0), 1.0, rates("k", n, 1.0, 10**9, moved))
                    for n, moved in enumerate((5 * 10**9, 20 * 10**9))])  # fmt: skip
    shown = view.view.table.model()
    tips = [[shown.index(row, at).data(Qt.ItemDataRole.ToolTipRole) or "" for at in range(shown.columnCount())]
            for row in range(2)]  # fmt: skip
    assert [any("in a cache" in tip for tip in row) for row in tips] == [False, True]


def test_a_run_on_a_card_lies_under_the_cards_roofs(qtbot, ran):
    view, asked = ran.runs.roofline, []
    calls = list(view.calls)
    card = ceilings_of(
        ("copy memory", 4000.0, "GB/s"), ("multiply-add f16", 1e5, "GFLOP/s"), ("tensor f16", 7e5, "GFLOP/s")
    )  # fmt: skip
    processor = view.ceilings
    view.set_calls(calls, "cuda:0")
    assert not view.ceilings and "cuda:0 have not been measured" in view.note.text()
    assert view.measure.text() == "Measure cuda:0"
    view.set_ceilings(CeilingsTold("cuda:0", card))
    assert view.ceilings == card and "tensor f16 700 TFLOP/s" in view.note.text()
    peaks = peaks_of(card)
    assert peak_for("f16", peaks) == ("tensor f16", 7e5) and peak_for("f32", peaks) is None
    ran.records.measure_ceilings = asked.append  # there is no card here to measure
    qtbot.mouseClick(view.measure, Qt.MouseButton.LeftButton)
    assert asked == ["cuda:0"]
    view.set_calls(calls, "cpu")
    assert view.ceilings == processor and view.measure.text() == "Measure this machine"


def test_a_run_made_elsewhere_is_not_judged_by_this_machine(qtbot, ran, tmp_path, monkeypatch):
    from app.cli.main import main
    from app.worker.stored_session import StoredSession

    path = tmp_path / "t.db"
    monkeypatch.setenv("KERNELGLASS_DB", str(path))
    assert main(["run", "sample:softmax", "--repeat", "3", "--processes", "1"]) == 0
    _, here = StoredSession(1).records()
    with open_store(path) as store:
        with store.transaction() as connection:
            connection.execute("UPDATE machines SET fingerprint = 'feed', name = 'a far machine'")
        threads = queries.run_row(store, 1)["conditions"]["threads"]
        writer.put_ceiling(store, Machine("feed", "", {}), Ceiling("copy memory", threads, 123.0, "GB/s", 120.0, 125.0))
    _, there = StoredSession(1).records()
    assert (here.elsewhere, there.elsewhere) == ("", "a far machine") and not here.ceilings
    assert [(c.name, c.value, c.unit) for c in there.ceilings] == [("copy memory", 123.0, "GB/s")]
    view, calls = ran.runs.roofline, list(ran.runs.roofline.calls)
    view.set_calls(calls, "cpu", there.elsewhere, there.ceilings)
    assert view.ceilings == there.ceilings and not view.measure.isEnabled()
    view.set_calls(calls, "cpu", "a far machine")
    assert not view.ceilings and "a far machine have not been measured" in view.note.text()
    view.set_calls(calls)
    assert view.measure.isEnabled()


def test_memory_blocks_say_what_they_hold_and_select_it(qtbot, compiled):
    before = compiled.state.compilation
    compiled.opening.open("sample:transformer-block")
    wait_for_new(qtbot, compiled, before)
    compilation, view = compiled.state.compilation, compiled.timeline.memory
    compiled.docks.show("memory")
    block = next(b for b in compilation.blocks if b.nodes)
    words = describe(compilation, block)
    assert block.nodes[0] in words and "launch" in words
    used = alive_bytes(compilation.blocks, len(compilation.calls))
    assert len(used) == len(compilation.calls) and max(used) <= compilation.peak
    centre = view.rect_of(block).center()
    assert view.block_at(centre) is block
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=centre.toPoint())
    assert compiled.state.selection.nodes == set(block.nodes)
    view.setFocus()
    qtbot.keyClick(view, Qt.Key.Key_Right)
    qtbot.keyClick(view, Qt.Key.Key_Return)
    following = compilation.blocks[(compilation.blocks.index(block) + 1) % len(compilation.blocks)]
    if following.nodes:
        assert compiled.state.selection.nodes == set(following.nodes)


def test_the_funnel_counts_all_kernels_and_opens_a_stage(qtbot, compiled):
    for flow in ("per-kernel", "all-kernel"):
        before = compiled.state.compilation
        compiled.state.choose(flow=flow)
        compiled.features.do("compile_afresh")
        wait_for_new(qtbot, compiled, before)
        passes = compiled.state.compilation.passes
        made = sum(row.ops_after for row in passes if row.name == "elaborate")
        rows = {row.stage: row for row in compiled.timeline.funnel.chart.rows}
        assert rows["kgen"].ops == made, "the operations of every kernel, not of the last one"
        assert rows["llvm"].bytes > 1000 and rows["machine"].seconds > 0
        assert not from_cache(compiled.timeline.funnel.chart.rows)
        last = {row.kernel: row.ops_after for row in passes if row.stage == "kernel" and row.ops_after >= 0}
        assert rows["kernel"].ops == (last[""] if "" in last else sum(last.values()))
    compiled.docks.show("funnel")
    chart = compiled.timeline.funnel.chart
    at = next(i for i, row in enumerate(chart.rows) if row.stage == "llvm")
    y = next(y for y in range(chart.height()) if chart.row_at(y) == at) + 12
    qtbot.mouseClick(chart, Qt.MouseButton.LeftButton, pos=QPoint(96, y))
    assert compiled.workbench.panes[0].model.stage == "llvm"
    compiled.timeline.funnel.log.setChecked(True)
    chart.setFocus()
    for _ in chart.rows:
        qtbot.keyClick(chart, Qt.Key.Key_Up)
    qtbot.keyClick(chart, Qt.Key.Key_Return)
    assert compiled.workbench.panes[0].model.stage == chart.rows[0].stage
    compiled.timeline.funnel.log.setChecked(False)


def test_a_compilation_from_the_cache_says_so_and_can_be_made_afresh(qtbot, compiled):
    compiled.features.do("compile")
    before = compiled.state.compilation
    wait_for_new(qtbot, compiled, before)
    if not from_cache(funnel(compiled.state.compilation)):
        pytest.skip("nothing was cached here")
    assert compiled.timeline.funnel.afresh.isVisibleTo(compiled.timeline.funnel)
    compiled.docks.show("funnel")
    before = compiled.state.compilation
    qtbot.mouseClick(compiled.timeline.funnel.afresh, Qt.MouseButton.LeftButton)
    wait_for_new(qtbot, compiled, before)
    assert not compiled.timeline.funnel.afresh.isVisibleTo(compiled.timeline.funnel)
    assert any(row.stage == "machine" for row in compiled.timeline.funnel.chart.rows)


def test_bars_keep_small_stages_in_sight_on_a_log_scale():
    values = [1e-4, 1e-2, 1.0]
    assert bar_share(1.0, values, False) == bar_share(1.0, values, True) == 1
    assert bar_share(1e-4, values, False) < 0.001 < 0.1 < bar_share(1e-4, values, True)
    assert bar_share(-1, values, True) == 0


def test_a_tip_over_a_block_names_it(qtbot, compiled):
    assert compiled.timeline.memory.block_at(QPoint(-5, -5).toPointF()) is None
