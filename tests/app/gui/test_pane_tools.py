"""What a pane offers besides its text: narrow headers, definitions, tips, comparing with other panes."""

from __future__ import annotations

import itertools

import pytest
from hands import point_of_line
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.theme.look import Look
from app.viewmodels.frame.selection import Selection
from app.viewmodels.text.ir_pane import IrPaneModel
from app.views.text.ir_pane import IrPane, pane_menu

pytestmark = pytest.mark.gui
KERNEL = "matmul_add_relu"


def loaded(qtbot, window):
    qtbot.waitUntil(lambda: not any(pane.model.loading for pane in window.workbench.panes), timeout=60_000)


@pytest.mark.parametrize("width", [120, 150, 195, 240, 300, 420])
@pytest.mark.parametrize("stage", ["asm", "library"])
def test_nothing_in_a_narrow_header_lies_over_another(qtbot, tmp_path, width, stage):
    pane = IrPane(Look(tmp_path, "dark"), IrPaneModel("asm", KERNEL, "sm_90a"), Selection())
    pane.kernel.set_entries([(KERNEL, KERNEL)])
    pane.model.show(stage=stage)
    holder = QWidget()
    column = QVBoxLayout(holder)
    column.setContentsMargins(0, 0, 0, 0)
    column.addWidget(pane.header)
    column.addWidget(pane)
    qtbot.addWidget(holder)
    holder.resize(width, 400)
    holder.show()
    pane._place_kernel()

    def nothing_overlaps():
        for row in (pane.header, pane._kernel_row):
            inside = [part for part in row.children() if isinstance(part, QWidget)]
            parts = sorted(
                (part for part in inside if part.isVisible() and part.width() > 1), key=lambda part: part.x()
            )
            assert all(a.geometry().right() < b.geometry().left() for a, b in itertools.pairwise(parts)), width
            assert all(part.geometry().right() <= row.width() for part in parts), width

    qtbot.waitUntil(lambda: pane.header.width() == width)
    qtbot.waitUntil(nothing_overlaps)


def test_a_symbol_leads_to_its_definition(qtbot, compiled):
    pane = compiled.workbench.panes[0]
    pane.model.show(stage="llvm", kernel=KERNEL)
    loaded(qtbot, compiled)
    document = pane.text.document
    line = next(n for n in range(document.lines) if " = fadd " in document.line(n) or " = fmul " in document.line(n))
    text = document.line(line)
    value = text.split(" = ")[1].split("%")[1].split(",")[0].split(" ")[0]
    pane.text.reveal(line)
    place = point_of_line(pane.text, line)
    place.setX(int(pane.text._painter.gutter + pane.text.look.column * (text.index(f"%{value}", text.index("=")) + 1)))
    qtbot.mouseClick(pane.text.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ControlModifier, place)
    assert f"%{value} =" in document.line(pane.text.shown.caret)
    assert compiled.state.selection.nodes == frozenset(), "a look at a definition selects nothing"
    said = pane.text.tip_of(line, text.index("f") if "= f" not in text else text.index("= f") + 3)
    assert "rounding once" in said and "made at" in said


def test_metadata_is_folded_until_somebody_looks(qtbot, compiled):
    pane = compiled.workbench.panes[0]
    pane.model.show(stage="llvm", kernel=KERNEL)
    loaded(qtbot, compiled)
    document = pane.text.document
    last = next(n for n in range(document.lines - 1, 0, -1) if document.line(n).startswith("!"))
    assert last not in set(pane.text.shown.visible.tolist())
    pane.text.go_to_line(last)
    assert last in set(range(document.lines) if pane.text.shown.visible is None else pane.text.shown.visible.tolist())


def test_any_two_panes_can_be_compared(qtbot, compiled):
    left, right = compiled.workbench.panes[:2]
    left.model.show(stage="llvm-opt", kernel=KERNEL)
    right.model.show(stage="llvm-opt", kernel="matmul_add")
    loaded(qtbot, compiled)
    assert "Compare with another pane" in {action.text() for action in pane_menu(left).actions()}
    assert [title for title, _ in left.others()] == ["LLVM opt of matmul_add"]
    compiled.panes.compare_next(left)
    loaded(qtbot, compiled)
    assert left.model.diff is not None and left.model.diff.changes
    assert "against LLVM opt of matmul_add" in left.strip.words.text()


def test_a_comparison_gives_its_panes_back(qtbot, compiled):
    panes = compiled.workbench.panes[:2]
    showed = [(pane.model.stage, pane.model.kernel) for pane in panes]
    compiled.choices.level.set_value("1")
    compiled.choices.level.chosen.emit("1")
    qtbot.waitUntil(lambda: compiled.state.compilation.choices.opt_level == 1, timeout=60_000)
    loaded(qtbot, compiled)
    compiled.comparison.view.comparison = None
    compiled.features.do("compare_compilations")
    qtbot.waitUntil(lambda: compiled.comparison.view.comparison is not None, timeout=60_000)
    loaded(qtbot, compiled)
    assert [pane.model.origin for pane in panes] != ["", ""]
    compiled.comparison.view.ended.emit()
    loaded(qtbot, compiled)
    assert [(pane.model.stage, pane.model.kernel) for pane in panes] == showed
    assert [pane.model.origin for pane in panes] == ["", ""]


def test_the_minimap_can_be_turned_off(qtbot, compiled):
    view = compiled.graph.panel.view
    assert view.show_map
    compiled.features.do("graph_minimap")
    assert not view.show_map
    compiled.features.do("graph_minimap")
    assert view.show_map
