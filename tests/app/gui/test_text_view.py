"""The text of an IR pane by itself: what its find bar says, how machine code is shown, selecting with the mouse."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication

from app.theme.look import Look
from app.viewmodels.compilation import LineText
from app.viewmodels.text.folding import directive_lines
from app.viewmodels.text.text_document import displayed, index_text, widest
from app.views.text.find_bar import FindBar
from app.views.text.text_view import TextView

pytestmark = pytest.mark.gui


@pytest.fixture
def view(qtbot, tmp_path):
    look = Look(tmp_path, "dark")
    look.apply()
    made = TextView(look)
    qtbot.addWidget(made)
    return made


@pytest.fixture
def bar(qtbot, view):
    made = FindBar(view.look, view)
    qtbot.addWidget(made)
    return made


def test_a_find_bar_says_whole_what_is_wrong_however_narrow_it_is(bar):
    bar.resize(300, 34)
    bar.open()
    bar.regex.setChecked(True)
    bar.field.setText("(abc")
    bar.ask()
    assert bar.field.property("state") == "error"
    assert bar.count.toolTip().startswith("missing )"), "shortened or not, the tip has it whole"
    assert bar.field.width() >= 96, "one still sees what one typed"


def test_an_expression_may_bring_flags_of_its_own(qtbot, view, bar):
    view.set_document(index_text(LineText(b"One\nTWO\n")), "", np.zeros(1, np.int32))
    bar.open()
    bar.regex.setChecked(True)
    bar.field.setText("(?s)two")
    bar.ask()
    qtbot.waitUntil(lambda: bar.count.text() == "1 of 1")


def test_a_match_far_to_the_right_is_brought_into_sight(qtbot, view, bar):
    view.resize(400, 200)
    view.show()
    view.set_document(index_text(LineText(b"a\n" + b"x" * 300 + b"needle\n")), "", np.zeros(1, np.int32))
    bar.open()
    bar.field.setText("needle")
    bar.ask()
    qtbot.waitUntil(lambda: bar.count.text() == "1 of 1")
    shift, page = view.horizontalScrollBar().value(), view.horizontalScrollBar().pageStep()
    assert shift <= 300
    assert shift + page >= 306
    bar.field.setText("a")
    bar.ask()
    qtbot.waitUntil(lambda: view.horizontalScrollBar().value() == 0)


def test_machine_code_is_shown_without_the_indents_its_tools_leave():
    line = b"        /*0010*/                   S2R R12, SR_TID.X ;"
    guarded = b"        /*0020*/              @!P0 BRA `(.L_x_1) ;"
    assert displayed(line) == "  /*0010*/       S2R R12, SR_TID.X ;"
    assert displayed(guarded).index("BRA") == displayed(line).index("S2R"), "operations stay below each other"
    assert displayed(b"\tmul\tx1, x2") == "    mul     x1, x2"
    document = index_text(LineText(b"\tmul\tx1, x2\nret\n"))
    assert len(document.line(0)) <= widest(document) <= len(document.line(0)) + 8
    assert widest(document, np.array([1])) == 4


def test_directives_of_sass_can_be_left_out_but_not_what_branches_go_to():
    text = b"\t.target\tsm_90a\n\n//---- .text.k ----\nk:\n.text.k:\n        /*0000*/   BRA `(.L_x_0) ;\n.L_x_0:\n"
    document = index_text(LineText(text))
    assert np.flatnonzero(~directive_lines(document, "sass")).tolist() == [3, 5, 6]


def test_a_drag_that_begins_below_the_text_selects_nothing(view):
    view.resize(400, 300)
    view.set_document(index_text(LineText(b"one\ntwo\n")), "", np.zeros(1, np.int32))
    view.show()
    inside = view.point_of_line(1)
    drag(view.viewport(), QPoint(inside.x(), 250), inside)
    assert view.shown.selected is None
    drag(view.viewport(), view.point_of_line(0), inside)
    assert view.shown.selected is not None


def test_folding_all_leaves_the_functions_of_a_module_to_be_seen(view):
    text = b"module {\n func @a {\n  x\n  y\n }\n func @b {\n  z\n  w\n }\n}\n"
    view.set_document(index_text(LineText(text)), "mlir", np.zeros(1, np.int32))
    view.fold_all(True)
    assert [view.document.line(view.shown.line_of_row(row)).strip() for row in range(view.shown.rows)] == [
        "module {", "func @a {", "}", "func @b {", "}", "}",
    ]  # fmt: skip
    view.set_document(index_text(LineText(b"graph {\n x\n y\n}\n")), "mlir", np.zeros(1, np.int32))
    view.fold_all(True)
    assert view.shown.rows == 2


def drag(widget, start, end):
    """Press, move with the button down, release."""
    left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
    kinds = QEvent.Type
    for kind, at, button, held in (
        (kinds.MouseButtonPress, start, left, left), (kinds.MouseMove, end, none, left),
        (kinds.MouseButtonRelease, end, left, none),
    ):  # fmt: skip
        place = QPointF(at)
        event = QMouseEvent(kind, place, widget.mapToGlobal(place), button, held, Qt.KeyboardModifier.NoModifier)
        QApplication.sendEvent(widget, event)
