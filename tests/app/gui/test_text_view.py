"""The text of an IR pane by itself: what its find bar says, how machine code is shown, selecting with the mouse."""

from __future__ import annotations

import numpy as np
import pytest
from hands import point_of_line
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QRegion
from PySide6.QtWidgets import QApplication, QWidget

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


class Painted(QObject):
    """What was painted of a widget since it was asked last."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._region = QRegion()
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QPaintEvent):
            self._region += event.region()
        return False

    def since(self) -> QRegion:
        region, self._region = self._region, QRegion()
        return region


def long_text(qtbot, view) -> Painted:
    """A text of more lines than there is room for, in sight and painted."""
    view.resize(400, 300)
    view.show()
    view.set_document(index_text(LineText(b"".join(b"line %d\n" % line for line in range(400)))), "", np.zeros(1, int))
    painted = Painted(view.viewport())
    qtbot.waitUntil(lambda: painted.since().boundingRect().height() >= view.viewport().height())
    return painted


def lines(*marked: int) -> np.ndarray:
    found = np.zeros(400, bool)
    found[list(marked)] = True
    return found


@pytest.mark.parametrize("heat", [False, True])
def test_what_is_not_painted_again_looks_as_it_did(qtbot, view, heat):
    """Marks of lines are painted alone: rows with others than before, and the ruler where lines are lit."""
    painted = long_text(qtbot, view)
    if heat:
        view.show_heat(np.linspace(0, 1, 400), None)
    steps = [
        {"hovered": lines(3)}, {"hovered": lines(5)}, {"hovered": lines()}, {"lit": lines(4, 5, 300), "exact": None},
        {"lit": lines(4, 5, 6), "exact": lines(6)}, {"lit": lines(), "exact": None},
    ]  # fmt: skip
    for changes in steps:
        QApplication.processEvents()
        painted.since()
        before = view.viewport().grab().toImage()
        painted.since()  # a picture is painted as well
        view.show_also(**changes)
        QApplication.processEvents()
        again = painted.since()
        after = view.viewport().grab().toImage()
        painted.since()
        assert not again.isEmpty() and before != after
        hidden = QPainter(before), QPainter(after)
        for painter in hidden:
            painter.setClipRegion(again)
            painter.fillRect(before.rect(), Qt.GlobalColor.black)
            painter.end()
        assert before == after, f"something else than {again} changed with {list(changes)}"


def test_who_has_the_keyboard_is_seen_wherever_its_line_is(qtbot, view):
    long_text(qtbot, view)
    view.show_also(caret=1)
    view.reveal(300)
    pictures = []
    for focused in (True, False):
        view.setFocus() if focused else view.clearFocus()
        qtbot.waitUntil(lambda focused=focused: view.hasFocus() == focused)
        pictures.append(view.viewport().grab().toImage())
    edge = [picture.pixelColor(0, picture.height() // 2).name() for picture in pictures]
    assert edge[0] == view.look.theme.accent.lower() != edge[1]


def test_a_short_text_has_its_ticks_beside_its_lines(qtbot, view):
    view.resize(400, 600)
    view.show()
    view.set_document(index_text(LineText(b"".join(b"line %d\n" % line for line in range(10)))), "", np.zeros(1, int))
    marked = np.zeros(view.shown.document.lines, bool)
    marked[8] = True
    view.show_also(lit=marked, exact=None)
    picture = view.viewport().grab().toImage()
    accent, column = view.look.theme.accent.lower(), picture.width() - 4
    ticks = [y for y in range(picture.height()) if picture.pixelColor(column, y).name() == accent]
    middle = point_of_line(view, 8).y()
    assert ticks and ticks[0] <= middle <= ticks[-1] and ticks[-1] - ticks[0] < 40, (ticks[:1], ticks[-1:], middle)


def test_what_is_under_the_mouse_elsewhere_paints_no_line_that_is_not_concerned(qtbot, view):
    """Every pane hears of every place under the mouse: a whole page of each would be painted at each of its moves."""
    painted = long_text(qtbot, view)
    view.show_also(hovered=lines(350))
    QApplication.processEvents()
    assert painted.since().isEmpty()
    view.show_also(hovered=lines(2))
    QApplication.processEvents()
    assert 0 < painted.since().boundingRect().height() < view.viewport().height() / 5


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


def test_nothing_in_a_find_bar_lies_over_something_else_however_narrow_it_is(qtbot, bar):
    bar.show()
    bar.field.setText("abc")

    def seen():
        inside = [child for child in bar.children() if isinstance(child, QWidget)]
        return [child for child in inside if child.isVisible() and child.width() > 0]

    def apart():
        places = [child.geometry() for child in seen()]
        return not [1 for at, one in enumerate(places) for other in places[at + 1 :] if one.intersects(other)]

    for width in (*range(400, 140, -20), *range(150, 410, 20)):
        bar.resize(width, 34)
        for words in ("no matches", "1 of 270", "no matches"):
            bar.say(words)
            qtbot.waitUntil(apart)
        assert bar.field.width() >= 90
    assert {bar.regex, bar.count} <= set(seen())


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
    inside = point_of_line(view, 1)
    drag(view.viewport(), QPoint(inside.x(), 250), inside)
    assert view.shown.selected is None
    drag(view.viewport(), point_of_line(view, 0), inside)
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
