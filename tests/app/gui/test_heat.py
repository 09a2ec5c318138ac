"""Sampled heat in the real window: percentages in every pane, heat of nodes, and a list that jumps to lines."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hands import point_of_line
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from app.theme.look import Look
from app.viewmodels.compilation import LIBRARY, MODEL_SOURCE
from app.viewmodels.text.line_costs import SAMPLED
from app.viewmodels.text.text_document import index_text, line_text
from app.views.text.heat_gutter import HeatGutter
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
    view = compiled.hottest.view  # which hears of a run a turn after it came
    qtbot.waitUntil(lambda: not compiled.turns.busy and bool(view.view.model.rowCount()) and bool(view.flame.cells))
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
def test_the_library_and_the_model_have_heat_too(qtbot, sampled):
    pane = sampled.workbench.panes[0]
    sampling = sampled.state.run.sampling
    hot = max((line for kernel in sampling.kernels for line in kernel.stage(PLACES).lines
               if line.file in sampled.state.compilation.library), key=lambda line: line.count)  # fmt: skip
    pane.model.file = hot.file
    pane.model.show(stage=LIBRARY)
    loaded(qtbot, sampled)
    qtbot.waitUntil(lambda: pane.costs is not None and pane.costs.label == SAMPLED, timeout=30_000)
    everywhere = sum(line.count for kernel in sampling.kernels for line in kernel.stage(PLACES).lines
                     if (line.file, line.line) == (hot.file, hot.line))  # fmt: skip
    assert pane.costs.shares[hot.line - 1] == pytest.approx(everywhere / sampling.inside)
    assert "% of the samples" in pane.costs.words(hot.line - 1)
    pane.model.show(stage=MODEL_SOURCE)
    loaded(qtbot, sampled)
    qtbot.waitUntil(lambda: pane.text.document.lines > 0, timeout=30_000)
    pane.model.show(stage="asm", kernel=KERNEL)
    loaded(qtbot, sampled)


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


@linux
def test_lines_are_in_sight_below_the_flame_in_a_small_window(qtbot, sampled):
    size, view = sampled.size(), sampled.hottest.view
    sampled.resize(1280, 720)
    sampled.docks.show("hottest")
    qtbot.wait_at_rest(sampled)
    assert view.flame.isVisible() and view.view.table.viewport().height() >= 2 * view.view.table.rowHeight(0)
    sampled.resize(size)
    qtbot.wait_at_rest(sampled)


def test_the_column_of_shares_comes_and_goes(qtbot, tmp_path):
    view = TextView(Look(tmp_path, "dark"))
    qtbot.addWidget(view)
    text = "\n".join(f"add x{n}, x{n}, #1" for n in range(1000))
    view.set_document(index_text(line_text(text, [()] * 1000)), "asm", np.zeros(1, np.int32))
    view.resize(500, 300)
    view.show()
    narrow = point_of_line(view, 0).x()
    shares = np.zeros(1000)
    shares[3] = 0.42
    view.show_heat(np.sqrt(shares), shares)
    assert point_of_line(view, 0).x() > narrow
    assert not view.grab().isNull()
    view.show_heat(None, None)
    assert point_of_line(view, 0).x() == narrow
    assert view.viewport().cursor().shape() == Qt.CursorShape.IBeamCursor


def heated(qtbot, folder, lines=5000):
    view = TextView(Look(folder, "dark"))
    qtbot.addWidget(view)
    text = "\n".join(f"add x{n}, x{n}, #1" for n in range(lines))
    view.set_document(index_text(line_text(text, [()] * lines)), "asm", np.zeros(1, np.int32))
    view.resize(500, 600)
    view.show()
    shares = np.linspace(0.0, 0.4, lines)
    shares[::7] = 0
    view.show_heat(np.sqrt(shares / 0.4), shares)
    return view


def column(view, line):
    """The pixels of a line before its text."""
    point = point_of_line(view, line)
    image = view.viewport().grab().toImage()
    return [image.pixel(x, y) for x in range(20, point.x() - 21) for y in range(point.y() - 6, point.y() + 7)]


def test_heat_is_the_same_wherever_a_line_stands(qtbot, tmp_path):
    view = heated(qtbot, tmp_path)
    bar = view.verticalScrollBar()
    bar.setValue(2050)
    figures = {line: column(view, line) for line in (2058, 2059, 2070)}
    assert figures[2058] != figures[2059]  # one of them has no heat
    for top in (2040, 2047, 2055, 2058):
        bar.setValue(top)
        assert all(column(view, line) == pixels for line, pixels in figures.items())
    view.show_heat(np.zeros(5000), np.zeros(5000))
    assert column(view, 2059) != figures[2059]


def test_figures_are_readable_on_marked_lines(qtbot, tmp_path):
    view = heated(qtbot, tmp_path)
    view.verticalScrollBar().setValue(4000)
    plain = column(view, 4010)
    lit = np.zeros(5000, bool)
    lit[4010] = True
    view.set_lit(lit, reveal=False)
    marked = column(view, 4010)
    light = QColor(view.look.theme.text).lightness()
    for pixels in (plain, marked):  # figures have soft edges
        assert max(QColor(pixel).lightness() for pixel in pixels) > light - 50
    assert marked != plain


def test_scrolling_paints_the_heat_of_no_row_twice(qtbot, tmp_path, monkeypatch):
    view = heated(qtbot, tmp_path)
    made, paint = [], HeatGutter._made

    def counted(self, page, first, *more):
        made.append(first)
        return paint(self, page, first, *more)

    monkeypatch.setattr(HeatGutter, "_made", counted)
    for top in range(1000, 1400, 3):
        view.verticalScrollBar().setValue(top)
        view.viewport().repaint()
    assert len(made) == len(set(made)) <= 400 // 64 + 3


@linux
def test_a_cell_of_the_flame_leads_to_its_line_everywhere(qtbot, sampled):
    left, right = sampled.workbench.panes[:2]
    left.model.show(stage="asm", kernel=KERNEL)
    right.model.show(stage="llvm", kernel=KERNEL)
    loaded(qtbot, sampled)
    sampled.docks.show("hottest")
    flame, found = sampled.hottest.view.flame, sampled.state.run.sampling
    assert flame.isVisible()
    node = next(at for at, cell in enumerate(flame.cells) if cell.level == 0 and cell.node)
    qtbot.mouseClick(flame, Qt.MouseButton.LeftButton, pos=flame.rect_of(node).center().toPoint())
    assert sampled.state.selection.nodes == {flame.cells[node].node}
    leaf = next(at for at, cell in enumerate(flame.cells) if cell.level == 3 and cell.kernel == KERNEL and cell.node)
    cell = flame.cells[leaf]
    flame.choose(leaf)
    loaded(qtbot, sampled)
    qtbot.waitUntil(lambda: left.text.shown.caret == cell.line - 1, timeout=10_000)
    assert left.text.document.line(cell.line - 1).split() == cell.name.split()
    lines = [x.line - 1 for x in found.kernel(KERNEL).stage("llvm").lines
             if (x.file, x.source_line) == (cell.spot.line.file, cell.spot.line.source_line)]  # fmt: skip
    assert not lines or right.text.shown.caret in lines
    assert sampled.state.selection.nodes == {cell.node}
    flame.setFocus()
    qtbot.keyClick(flame, Qt.Key.Key_Up)
    assert flame.cells[flame._at].level == 2
    qtbot.keyClick(flame, Qt.Key.Key_Return)
    assert flame.rect_of(flame._at).width() > flame.width() - 12
    qtbot.keyClick(flame, Qt.Key.Key_Return)
    assert flame.rect_of(flame._at).width() < flame.width() - 12


@linux
def test_the_parts_of_a_cell_are_as_wide_as_it(sampled):
    cells, inside = sampled.hottest.view.flame.cells, sampled.state.run.sampling.inside
    for at, cell in enumerate(cells):
        parts = [part for part in cells if part.parent == at]
        if cell.level < 3:
            assert sum(part.share for part in parts) == pytest.approx(cell.share, abs=1e-9)
            assert all(cell.begin - 1e-9 <= part.begin <= part.end <= cell.end + 1e-9 for part in parts)
    total = sum(kernel.samples for kernel in sampled.state.run.sampling.kernels) / inside
    assert 0.9 * total < sum(cell.share for cell in cells if cell.level == 0) <= 1.0 + 1e-9
