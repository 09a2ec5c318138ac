"""Bisecting from a comparison in the real window: progress, stopping, and the IR around the guilty pass."""

from __future__ import annotations

from itertools import pairwise

import pytest
from PySide6.QtCore import Qt
from xdsl.dialects import arith

from app.viewmodels.runs.bisecting import Bisected, BisectProgress, BisectRequest, Known
from app.worker.bisecting import bisect_runs
from compiler.passes.kernel import run as kernel_run

pytestmark = pytest.mark.gui


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """Two runs of the same."""
    from app.cli.main import main

    path = str(tmp_path_factory.mktemp("bisected") / "t.db")
    run = ["run", "sample:softmax", "--dim", "M=16", "--repeat", "3", "--processes", "1", "--db", path]
    assert main(run) == main(run) == 0
    return path


@pytest.fixture
def compared(qtbot, compiled, database, monkeypatch):
    """The two in a comparison."""
    monkeypatch.setenv("KERNELGLASS_DB", database)
    compiled.records.forget()
    before = compiled.state.comparison
    compiled.records.compare((1, 2))
    qtbot.waitUntil(lambda: compiled.state.comparison is not before, timeout=30_000)
    qtbot.waitUntil(lambda: compiled.comparison.view.comparison is compiled.state.comparison)  # filled a turn later
    yield compiled
    compiled.comparison.pair.end()
    compiled.records.forget()


def plant(monkeypatch):
    """A kernel pass that makes the first product a sum after its own work."""

    def wrong(census, run):
        removed = run(census)
        for function in census.functions.values():
            for op in list(function.walk()):
                if isinstance(op, arith.MulfOp):
                    new = arith.AddfOp(op.lhs, op.rhs)
                    op.parent.insert_op_before(new, op)
                    op.result.replace_all_uses_with(new.result)
                    op.detach()
                    op.erase()
                    census.edits += 1
                    break
        return removed

    passes = tuple(
        (known, (lambda census, run=run: wrong(census, run)) if known == "cse" else run)
        for known, run in kernel_run.SHRINKING
    )
    monkeypatch.setattr(kernel_run, "SHRINKING", passes)


def test_the_ir_around_the_guilty_pass_is_opened_side_by_side(qtbot, compared, monkeypatch):
    plant(monkeypatch)
    told = []
    found = bisect_runs(BisectRequest((1, 2)), told.append)
    assert found.name == "kernel:cse" and "kernel:cse makes the results wrong" in found.known.words
    trials = [progress.known.trials for progress in told if isinstance(progress, BisectProgress)]
    assert len(trials[-1]) <= 12 and all(b[: len(a)] == a for a, b in pairwise(trials))
    assert found.after.text.count(b"arith.addf") > found.before.text.count(b"arith.addf")

    window = compared
    strip = window.comparison.view.bisection
    window.bisecting._found(found)
    assert strip.isVisibleTo(window) and found.known.words in strip.words.toolTip()
    assert strip.texts.isVisibleTo(strip) and not strip.stop.isVisibleTo(strip)
    pair = [pane for pane in window.workbench.panes if pane.model.origin.startswith("given")]
    assert [pane.model.note for pane in pair] == [
        f"{found.kernel} before kernel:cse", f"{found.kernel} after kernel:cse",
    ]  # fmt: skip
    qtbot.waitUntil(lambda: all(pane.model.diff is not None for pane in pair), timeout=10_000)
    assert found.kernel == "mul_softmax" and not any(pane.model.error for pane in pair)


def test_right_and_equal_runs_have_nothing_to_find(qtbot, compared):
    view = compared.comparison.view
    assert view.bisect.isVisibleTo(view)
    compared.features.do("bisect")
    assert view.bisection.isVisibleTo(view) and view.bisection.stop.isVisibleTo(view.bisection)
    qtbot.waitUntil(lambda: not compared.records.busy, timeout=120_000)
    qtbot.waitUntil(lambda: "nothing to find" in view.bisection.words.text(), timeout=10_000)
    assert view.bisection.words.text().startswith("run 2 gives right results now, and ")
    assert not view.bisection.stop.isVisibleTo(view.bisection) and not view.bar.text, "it is an answer, not an error"


def test_it_stops_with_what_is_known(qtbot, compared):
    view, feature = compared.comparison.view, compared.bisecting
    qtbot.mouseClick(view.bisect, Qt.MouseButton.LeftButton)
    assert compared.records.busy
    known = Known("one of 7 makes the results wrong: kernel:cse and more", ("1. without nothing: relative error 1",))
    feature._told(BisectProgress("bisecting", 0.1, known))
    assert "one of 7" in view.bisection.words.toolTip()
    qtbot.mouseClick(view.bisection.stop, Qt.MouseButton.LeftButton)
    assert not compared.records.busy and not view.bisection.stop.isVisibleTo(view.bisection)
    assert view.bisection.words.text().startswith("Stopped: one of 7") and known.trials[0] in known.told


def test_a_guilty_fusion_selects_its_nodes(compared):
    nodes = tuple(node.name for node in compared.state.compilation.nodes if node.kind == "op")[:2]
    compared.bisecting._found(Bisected(Known("fusing a into b makes it slower"), "fusing a into b", nodes=nodes))
    assert compared.state.selection.nodes == set(nodes)
    assert not compared.comparison.view.bisection.texts.isVisibleTo(compared.comparison.view.bisection)


def test_without_a_comparison_of_runs_it_says_what_to_do(compared):
    compared.state.comparison = None
    compared.features.do("bisect")
    assert "compare two runs first" in compared.log.bar.text
    assert not compared.records.busy
