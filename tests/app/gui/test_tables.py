"""Tables: sorting that never fails, filters with units, copying as TSV, the keyboard, and what an empty one says."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QTableView

from app.viewmodels.frame.filtering import column_name, compile_filter
from app.views.parts.table import RecordTableView, RecordView
from app.views.parts.table_model import Column

pytestmark = pytest.mark.gui

ROWS = [("b", 0.005, None), ("a", None, 2048), ("c", None, None), ("d", 0.2, 10)]


@pytest.fixture
def view(qtbot):
    made = RecordView(
        "Things",
        [
            Column("Name", lambda r: r[0]),
            Column("Time", lambda r: r[1], lambda v: "" if v is None else f"{v:g} s", right=True, unit="s"),
            Column("Peak memory", lambda r: r[2], lambda v: "" if v is None else f"{v} B", right=True, unit="B"),
        ],
        "Filter: time > 5",
        empty="Nothing here yet.",
        key=lambda r: r[0],
    )
    qtbot.addWidget(made)
    made.resize(500, 300)
    made.show()
    made.set_records(ROWS)
    return made


def names(view):
    return [view.model.record(row)[0] for row in range(view.model.rowCount())]


def test_unknown_values_sort_last_both_ways(view):
    view.table.sortByColumn(1, Qt.SortOrder.AscendingOrder)
    assert names(view)[:2] == ["b", "d"]
    view.table.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    assert names(view)[:2] == ["d", "b"]
    assert set(names(view)[2:]) == {"a", "c"}


def test_a_column_of_mixed_values_can_be_sorted(qtbot):
    view = RecordView("Mixed", [Column("Value", lambda r: r)])
    qtbot.addWidget(view)
    view.set_records(["x", 3, None, (1, 2), 2.5, (1, None)])
    view.table.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    assert view.model.record(0) == 2.5 and view.model.record(5) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("time > 0.1", ["d"]), ("time > 100ms", ["d"]), ("time<100 ms", ["b", "ms?"]), ("peak > 1KiB", ["a"]),
        ("peak_memory = 10", ["d"]), ("name != a", ["b", "c", "d"]), ("name ~ A", ["a"]), ("", ["b", "a", "c", "d"]),
        ("time > 1us time < 0.1", ["b"]),
    ],
)  # fmt: skip
def test_filters(qtbot, view, text, expected):
    if "ms?" in expected:  # a space before the unit makes it a word of its own
        view.filter.setText(text)
        assert names(view) == []
        return
    qtbot.keyClicks(view.filter, text)
    assert names(view) == expected


def test_a_filter_that_makes_no_sense_says_why_in_words(qtbot, view):
    for text, words in (("speed > 1", "no column 'speed'"), ("time > fast", "needs a number"), ("time >", "compares")):
        view.filter.setText(text)
        assert words in view.said.text() and view.said.isVisible()
        assert view.filter.accessibleDescription() == view.said.text()
    view.filter.setText("time > 0")
    assert view.said.text() == "2 of 4 rows"
    view.filter.clear()
    assert not view.said.isVisible()


def test_the_filter_comes_with_a_key_and_goes_with_escape(qtbot):
    view = RecordView("Bare", [Column("Value", lambda r: r)])
    qtbot.addWidget(view)
    view.resize(300, 200)
    view.show()
    view.set_records([1, 2, 3])
    assert not view.filter.isVisible()
    view.table.setFocus()
    qtbot.keyClick(view.table, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert view.filter.isVisible()
    qtbot.keyClicks(view.filter, "value > 1")
    assert view.model.rowCount() == 2
    qtbot.keyClick(view.filter, Qt.Key.Key_Escape)
    assert view.model.rowCount() == 3 and not view.filter.isVisible()


def test_units_are_converted_to_the_columns_own():
    columns = {"time": lambda r: r}
    assert compile_filter("time > 5us", columns, {"time": "us"})(6)
    assert not compile_filter("time > 5ms", columns, {"time": "us"})(6)
    with pytest.raises(ValueError, match="needs a number"):
        compile_filter("time > 5MiB", columns, {"time": "us"})
    assert column_name("Peak memory") == "peak_memory" and column_name("-O") == "o"


def test_copying_gives_tsv_of_the_selected_rows_or_all(qtbot, view):
    view.table.selectRow(1)
    qtbot.keyClick(view.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "Name\tTime\tPeak memory\na\t\t2048 B"
    view.table.copy(everything=True)
    assert len(QGuiApplication.clipboard().text().splitlines()) == 5


def test_enter_chooses_the_current_row_and_tab_leaves(qtbot, view):
    chosen = []
    view.activated.connect(chosen.append)
    view.table.setFocus()
    view.table.selectRow(2)
    qtbot.keyClick(view.table, Qt.Key.Key_Return)
    assert chosen == [ROWS[2]]
    assert not view.table.tabKeyNavigation()


def test_what_is_selected_stays_so_when_the_records_change(view):
    view.table.selectRow(3)
    view.set_records([("e", 1.0, 1), *ROWS])
    assert [record[0] for record in view.selected()] == ["d"]


def test_a_row_can_be_chosen_again_after_something_else_was_selected(qtbot, view):
    """Marks come from elsewhere, too: a click on a row that was current before, or is marked now, must not be lost."""
    told = []
    view.current.connect(told.append)

    def click(row):
        spot = view.table.visualRect(view.model.index(row, 0)).center()
        qtbot.mouseClick(view.table.viewport(), Qt.MouseButton.LeftButton, pos=spot)

    click(0)
    view.select_records([])
    click(0)
    assert told == [ROWS[0]] * 2
    view.select_records([ROWS[2]])
    assert len(told) == 2, "marks tell nobody"
    click(2)
    click(2)
    assert told[2:] == [ROWS[2]], "what is chosen already is not told again"
    view.select_records([ROWS[1]])
    qtbot.keyClick(view.table, Qt.Key.Key_Down)
    assert told[3:] == [ROWS[2]], "arrows walk on from what is marked"
    opened = []
    view.activated.connect(opened.append)
    view.select_records([ROWS[3]])
    qtbot.keyClick(view.table, Qt.Key.Key_Return)
    assert opened == [ROWS[3]], "and Enter opens it"


def test_screen_readers_hear_the_column_and_the_value(view):
    index = view.model.index(1, 1)
    assert view.model.data(index, Qt.ItemDataRole.AccessibleTextRole) == "Time: not known"


def test_every_table_of_the_window_sorts_filters_and_copies(compiled):
    tables = [table for table in compiled.findChildren(QTableView)]
    assert len(tables) >= 8
    for table in tables:
        if table.accessibleName() == "Matrix of cells":  # two axes against each other: there are no records in rows
            continue
        assert isinstance(table, RecordTableView), table.accessibleName()
        assert table.isSortingEnabled(), table.accessibleName()
        holder = table.parentWidget()
        while not isinstance(holder, RecordView):
            holder = holder.parentWidget()
        assert holder.filter.placeholderText(), f"{table.accessibleName()} has no filter"


@pytest.mark.parametrize("wide", range(220, 900, 40))
def test_a_row_can_be_told_by_its_name_at_any_width(qtbot, tmp_path, wide):
    """Columns that others can be known without go before the name is cut to a letter."""
    from app.theme.look import Look
    from app.views.runs.runs import RunsView

    view = RunsView(Look(tmp_path))
    qtbot.addWidget(view)
    view.resize(wide, 400)
    with qtbot.waitExposed(view):
        view.show()
    for table in (view.view, view.compilations, view.flows):
        view.stack.setCurrentWidget(table)
        qtbot.waitUntil(lambda table=table: table.isVisible() and table.width() == view.stack.width())
        assert table.table.columnWidth(1) >= 90, [table.table.isColumnHidden(at) for at in range(11)]


def test_a_wide_table_gives_columns_what_their_words_need_and_takes_it_back(qtbot):
    words = "elementwise_unary.py:1234, and some more"
    view = RecordView("Places", [Column("Name", lambda r: r), Column("Where", lambda r: words, width=120),
                                 Column("Mine", lambda r: words, width=120)])  # fmt: skip
    qtbot.addWidget(view)
    view.resize(600, 300)
    view.show()
    view.set_records(["a name that is as long as all of the room that it has there", "b"])
    assert view.table.columnWidth(1) == 120, "the name has no room to give away"
    view.table.setColumnWidth(2, 90)
    view.resize(2000, 300)
    assert view.table.columnWidth(1) > view.fontMetrics().horizontalAdvance(words)
    assert view.table.columnWidth(2) == 90, "what the user chose stays"
    view.resize(600, 300)
    assert view.table.columnWidth(1) == 120


def test_a_narrow_table_cuts_no_figure_while_its_names_have_room_to_spare(qtbot):
    figures = [Column(f"Flow {at}", lambda r: "3,033.3 tokens/s", right=True, width=90) for at in range(2)]
    view = RecordView("Served", [Column("Figure", lambda r: r), *figures])
    qtbot.addWidget(view)
    view.resize(460, 300)
    view.show()
    view.set_records(["prefill rate", "time per output token"])
    qtbot.waitUntil(lambda: all(view.table.columnWidth(at) >= view.table.sizeHintForColumn(at) for at in range(3)))


def test_many_changes_of_a_narrow_table_are_fitted_to_once(qtbot, monkeypatch):
    view = RecordView("Served", [Column("Figure", lambda r: r), Column("Flow", lambda r: r, width=60)])
    qtbot.addWidget(view)
    view.resize(460, 300)
    view.show()
    qtbot.waitUntil(lambda: not view._resting.isActive())
    asked, hint = [], view.table.sizeHintForColumn
    monkeypatch.setattr(view.table, "sizeHintForColumn", lambda at: asked.append(at) or hint(at))
    for number in range(20):
        view.set_records(["a word that is wider than meant"] * number)
    assert not asked
    qtbot.waitUntil(lambda: view.table.columnWidth(1) > 60)
    assert asked == [0, 1]


def test_rows_out_of_sight_are_not_measured(qtbot):
    asked = []
    many = [Column("Name", lambda r: asked.append(r) or str(r)), Column("Figure", lambda r: r, width=120)]
    view = RecordView("Many", many)
    qtbot.addWidget(view)
    view.resize(3840, 300)
    view.set_records(list(range(5000)))
    view.resize(3800, 300)
    assert len(asked) < 100, "nobody sees it"
    view.show()
    assert len(asked) < 500 and view.table.columnWidth(1) > 120


def test_names_and_their_figures_are_not_a_screen_apart(qtbot):
    figures = [Column(f"Figure {at}", lambda r: 1.5, right=True, width=120) for at in range(6)]
    view = RecordView("Figures", [Column("Name", lambda r: r), *figures])
    qtbot.addWidget(view)
    view.resize(3840, 300)
    view.show()
    view.set_records(["a", "b"])
    widths = [view.table.columnWidth(at) for at in range(7)]
    assert widths[0] < view.width() / 2 and len(set(widths[1:])) == 1 and widths[1] > 120, widths
    assert sum(widths) <= view.table.viewport().width()
    view.set_records(["a name that needs the room which it has " * 8])
    assert view.table.columnWidth(0) >= view.table.sizeHintForColumn(0), "names are not cut for it"


def test_a_column_that_was_hidden_for_want_of_room_comes_back_as_wide_as_it_is_meant(qtbot):
    columns = [Column(title, lambda r: r, width=90, room=room) for title, room in
               (("Name", 0), ("Flow", 560), ("Level", 500), ("Status", 0))]  # fmt: skip
    view = RecordView("Cells", columns)
    qtbot.addWidget(view)
    view.show()
    view.set_records(["per-kernel"])
    view.resize(2900, 300)
    qtbot.waitUntil(lambda: view.table.columnWidth(1) > 90)  # it has a part of what nobody needs
    for wide in (300, 800):
        view.resize(wide, 300)
        qtbot.waitUntil(lambda wide=wide: view.table.isColumnHidden(1) == (wide < 560))
    assert [view.table.columnWidth(at) for at in (1, 2, 3)] == [90, 90, 90]


def test_a_column_that_nobody_wants_stays_away_whatever_room_there_is(qtbot):
    columns = [Column(title, lambda r: r, width=150) for title in ("Name", "Line", "Waits for", "Nodes")]
    view = RecordView("Lines", columns)
    qtbot.addWidget(view)
    view.show()
    view.resize(200, 300)  # columns give way from the right
    qtbot.waitUntil(lambda: view.table.isColumnHidden(2))
    view.set_wanted(2, False)
    view.resize(1400, 300)
    qtbot.waitUntil(lambda: not view.table.isColumnHidden(3))
    assert view.table.isColumnHidden(2)
    view.set_wanted(2, True)
    assert not view.table.isColumnHidden(2)
