"""Sampled heat in the real window: percentages in every pane, heat of nodes, and a list that jumps to lines."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from PySide6.QtCore import Qt

from app.theme.look import Look
from app.viewmodels.text.line_costs import SAMPLED
from app.viewmodels.text.text_document import index_text, line_text
from app.views.text.text_view import TextView
from profiler.sampled import PLACES

pytestmark = pytest.mark.gui
KERNEL = "matmul_add_relu"
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="sampling needs Linux")


@pytest.fixture
def sampled(qtbot, compiled):
    if compiled.state.run is None or compiled.state.run.sampling is None:
        compiled.features.do("sample")
        qtbot.waitUntil(
            lambda: compiled.state.run is not None and compiled.state.run.sampling is not None, timeout=120_000
        )
    return compiled


def loaded(qtbot, window):
    qtbot.waitUntil(lambda: not any(pane.model.loading for pane in window.workbench.panes), timeout=60_000)


@linux
def test_every_stage_shows_the_share_of_each_line(qtbot, sampled):
    pane = sampled.workbench.panes[0]
    kernel = sampled.state.run.sampling.kernel(KERNEL)
    for stage in ("source", "kgen", "kernel", "llvm", "llvm-opt", "asm"):
        pane.model.show(stage=stage, kernel=KERNEL)
        loaded(qtbot, sampled)
        qtbot.waitUntil(lambda: pane.costs is not None and pane.costs.shares is not None, timeout=30_000)
        shares = pane.text.shown.shares
        expected = sum(line.count for line in kernel.stage(stage).lines) / sampled.state.run.sampling.inside
        assert shares.sum() == pytest.approx(expected, rel=0.01), stage
        assert pane.costs.label == SAMPLED and "heat sampled" in pane.coverage.text()
        hot = int(np.argmax(shares))
        assert "% of the samples" in pane.costs.words(hot)
        assert pane.text.document.line(hot).strip()


@linux
def test_a_hot_line_leads_to_it_in_every_pane(qtbot, sampled):
    left, right = sampled.workbench.panes[:2]
    left.model.show(stage="asm", kernel=KERNEL)
    right.model.show(stage="llvm", kernel=KERNEL)
    loaded(qtbot, sampled)
    view = sampled.hottest.view
    spot = next(view.view.model.record(row) for row in range(view.view.model.rowCount())
                if view.view.model.record(row).kernel == KERNEL)  # fmt: skip
    view.chosen.emit(spot)
    loaded(qtbot, sampled)
    kernel = sampled.state.run.sampling.kernel(KERNEL)
    for pane in (left, right):
        lines = [x.line - 1 for x in kernel.stage(pane.model.stage).lines
                 if (x.file, x.source_line) == (spot.line.file, spot.line.source_line)]  # fmt: skip
        qtbot.waitUntil(lambda pane=pane, lines=lines: pane.text.shown.caret in lines, timeout=10_000)
    assert sampled.state.selection.nodes == set(spot.line.nodes)


@linux
def test_nodes_have_the_heat_that_was_sampled(qtbot, sampled):
    model = sampled.graph.model
    model.set_heat("time")
    qtbot.waitUntil(lambda: bool(model.samples), timeout=10_000)
    assert "by samples" in model.heat_note
    model.set_heat("none")


@linux
def test_the_list_says_how_it_is_known(sampled):
    view = sampled.hottest.view
    assert "samples were taken in kernels" in view.words.text()
    found = sampled.state.run.sampling
    spots = sum(len(kernel.stage(PLACES).lines) for kernel in found.kernels)
    assert view.view.model.rowCount() == min(spots, 500)


def test_the_column_of_shares_comes_and_goes(qtbot, tmp_path):
    view = TextView(Look(tmp_path, "dark"))
    qtbot.addWidget(view)
    text = "\n".join(f"add x{n}, x{n}, #1" for n in range(1000))
    view.set_document(index_text(line_text(text, [()] * 1000)), "asm", np.zeros(1, np.int32))
    view.resize(500, 300)
    view.show()
    narrow = view.point_of_line(0).x()
    shares = np.zeros(1000)
    shares[3] = 0.42
    view.show_heat(np.sqrt(shares), shares)
    assert view.point_of_line(0).x() > narrow
    assert not view.grab().isNull()
    view.show_heat(None, None)
    assert view.point_of_line(0).x() == narrow
    assert view.viewport().cursor().shape() == Qt.CursorShape.IBeamCursor
