"""Views by themselves: the virtual text, the graph, the timeline, tables and the contrast of the themes."""

from __future__ import annotations

import time

import numpy as np
import pytest
from PySide6.QtCore import Qt

from app.theme.look import Look
from app.theme.tokens import DARK, LIGHT, contrast
from app.viewmodels.compilation import LineText
from app.viewmodels.frame.filtering import compile_filter
from app.viewmodels.frame.fuzzy import rank
from app.viewmodels.frame.patterns import compile_pattern
from app.viewmodels.frame.selection import Selection
from app.viewmodels.graph.layout import lay_out
from app.viewmodels.requests import LayoutRequest
from app.viewmodels.text.diff import diff_documents
from app.viewmodels.text.folding import directive_lines, fold_regions
from app.viewmodels.text.text_document import index_text, line_text
from app.viewmodels.text.tokens import left_open, lines_inside_strings, tokens
from app.viewmodels.timeline.timeline import Timeline
from app.views.text.find_bar import FindBar
from app.views.text.text_view import TextView
from app.views.timeline.view import TimelineView

pytestmark = pytest.mark.gui


@pytest.fixture
def look(qtbot, tmp_path):
    made = Look(tmp_path, "dark")
    made.apply()
    return made


def test_a_large_text_opens_fast_and_scrolls(qtbot, look):
    text = b"  %1 = fadd float %a, %b, !dbg !12\n" * 2_000_000
    start = time.process_time()
    document = index_text(LineText(text))
    view = TextView(look)
    qtbot.addWidget(view)
    view.resize(600, 400)
    view.set_document(document, "llvm", np.zeros(1, np.int32))
    view.show()
    view.grab()
    assert time.process_time() - start < 2
    assert view.shown.rows == 2_000_000
    view.go_to_line(1_999_999)
    first, last = view.visible_range()
    assert first <= 1_999_999 <= last


def test_find_counts_matches_and_steps(qtbot, look):
    view = TextView(look)
    bar = FindBar(look, view)
    qtbot.addWidget(view)
    qtbot.addWidget(bar)
    view.set_document(index_text(LineText(b"one two\ntwo\n\ttwo 2\n")), "", np.zeros(1, np.int32))
    bar.open()
    bar.field.setText("two")
    qtbot.waitUntil(lambda: bar.count.text() == "1 of 3")
    qtbot.keyClick(bar.field, Qt.Key.Key_Return)
    assert bar.count.text() == "2 of 3"
    bar.regex.setChecked(True)
    bar.field.setText(r"two \d")
    qtbot.waitUntil(lambda: bar.count.text() == "1 of 1")
    bar.field.setText("(")
    qtbot.waitUntil(lambda: bar.field.property("state") == "error")


def test_another_text_is_searched_and_nothing_found_before_is_put_into_it(qtbot, look):
    view = TextView(look)
    bar = FindBar(look, view)
    qtbot.addWidget(view)
    qtbot.addWidget(bar)
    long, short = (index_text(LineText(b"two\n" * lines)) for lines in (5_000, 300))
    view.resize(300, 200)
    view.set_document(long, "", np.zeros(1, np.int32))
    bar.open()
    bar.field.setText("two")
    bar.search()
    view.set_document(short, "", np.zeros(1, np.int32))  # while the search is on its way
    qtbot.waitUntil(lambda: bar.count.text() == "1 of 300")
    bar.step(-1)
    assert bar.count.text() == "300 of 300"
    view.set_document(long, "", np.zeros(1, np.int32))
    qtbot.waitUntil(lambda: bar.count.text() == "1 of 5,000")
    assert view.first_row == 0, "the other text is shown from its top"
    view.set_document(index_text(LineText(b"")), "", np.zeros(1, np.int32))
    qtbot.waitUntil(lambda: bar.count.text() == "no matches")
    bar.close_bar()
    view.set_document(short, "", np.zeros(1, np.int32))
    assert not len(view.shown.matches)


def test_folding_hides_lines_and_reveal_unfolds(qtbot, look):
    view = TextView(look)
    qtbot.addWidget(view)
    view.set_document(index_text(LineText(b"f {\n a\n g {\n  b\n }\n}\nend\n")), "mlir", np.zeros(1, np.int32))
    view.toggle_fold(0)
    assert [view.shown.line_of_row(row) for row in range(view.shown.rows)] == [0, 5, 6]
    view.reveal(3)
    assert view.shown.rows == 7


def test_assembler_directives_can_be_left_out():
    text = b"k:\n\t.cfi_startproc\n\tadd x0, x1, x2\n.LBB0_1:\n\tret // done\n.Ltmp3:\n\n// note\n"
    constants = b".LCPI0_0:\n\t.long\t0xff800000\n.LJTI0_1:\n\t.quad\t.LBB0_1\n"
    for before in (b"", constants):
        shown = ~directive_lines(index_text(LineText(before + text)))
        assert (np.flatnonzero(shown) - before.count(b"\n")).tolist() == [0, 2, 3, 4]


def test_fold_regions_of_python_and_assembly():
    python = index_text(LineText(b"def f():\n    a\n    if b:\n        c\nd\n"))
    assert fold_regions(python, "python") == {0: 3, 2: 3}
    asm = index_text(LineText(b"k:\n add\n ret\nm:\n ret\n"))
    assert fold_regions(asm, "asm") == {0: 2, 3: 4}


def test_search_never_crosses_lines_and_counts_all():
    document = index_text(LineText(b"ab\nab\n" * 1000))
    found = np.concatenate(list(document.search(compile_pattern("ab"))))
    assert len(found) == 2000
    assert (found[:, 1] == 0).all()


def test_lines_light_by_any_of_their_nodes():
    document = index_text(line_text("a\nb\nc\n", (("x", "y"), (), ("y",))))
    assert document.lit_lines(frozenset(["y"])).tolist() == [True, False, True]
    assert document.lit_lines(frozenset(["x"])).tolist() == [True, False, False]
    assert document.coverage == pytest.approx(2 / 3)


def test_a_diff_keeps_the_nodes_of_both_sides():
    before = index_text(line_text("a\nb\nc\n", (("x",), ("y",), ())))
    after = index_text(line_text("a\nc\nd\n", (("x",), (), ("z",))))
    diff = diff_documents(before, after)
    assert diff.marks.tolist() == [0, -1, 0, 1]
    assert [diff.document.nodes(i) for i in range(4)] == [("x",), ("y",), (), ("z",)]
    assert diff.changes == [1, 3]


def test_layout_keeps_boxes_apart_and_inside_their_group():
    edges = ((0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (0, 4))
    sizes = ((100.0, 40.0),) * 5
    result = lay_out(LayoutRequest(sizes, edges, (-1, 0, 0, 0, -1)))
    low, high = result.positions, result.positions + np.array(sizes)
    for a in range(5):
        for b in range(a):
            assert (high[a] <= low[b]).any() or (high[b] <= low[a]).any(), f"{a} and {b} overlap"
    x, y, w, h = result.groups[0]
    assert (low[1:4] >= (x, y)).all()
    assert (high[1:4] <= (x + w, y + h)).all()
    assert (low[3] > low[1]).any()
    assert len(result.edge_starts) == len(edges) + 1


def test_a_million_events_are_merged_to_pixels():
    count = 1_000_000
    start = np.arange(count) * 1e-6
    timeline = Timeline(["one"], np.zeros(count, int), start, np.full(count, 5e-7), np.zeros(count, int), ["event"])
    begun = time.process_time()
    left, _, events = timeline.slices(0, 0.0, 1.0, 1000)
    assert time.process_time() - begun < 0.2
    assert len(left) <= 2000
    assert events[0] == 0 and (np.diff(events) > 0).all(), "each event is in one slice"
    assert timeline.at(0, 10.2e-6) == 10
    assert timeline.at(0, 10.8e-6) == -1


def test_the_timeline_zooms_pans_and_measures(qtbot, look):
    timeline = Timeline(
        ["one"], np.zeros(2, int), np.array([0.0, 1.0]), np.array([0.5, 0.5]), np.zeros(2, int), ["e"], [("a",), ("b",)]
    )
    selection = Selection()
    view = TimelineView(look, selection)
    qtbot.addWidget(view)
    view.resize(800, 200)
    view.show()
    view.set_timeline(timeline)
    span = view.camera.end - view.camera.begin
    qtbot.keyClick(view, Qt.Key.Key_W)
    assert view.camera.end - view.camera.begin < span
    qtbot.keyClick(view, Qt.Key.Key_Space)
    assert view.camera.end - view.camera.begin == pytest.approx(span)
    from PySide6.QtCore import QPoint

    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=QPoint(int(view.camera.x_of(1.2)), 34))
    assert selection.nodes == {"b"}


def test_filters_compare_numbers_and_find_words():
    columns = {"time": lambda r: r[0], "name": lambda r: r[1]}
    rows = [(1.0, "dce"), (9.0, "llvm"), (7.0, "dce again")]
    keep = compile_filter("time > 5 dce", columns)
    assert [row for row in rows if keep(row)] == [(7.0, "dce again")]
    with pytest.raises(ValueError, match="no column"):
        compile_filter("speed > 1", columns)


def test_the_palette_ranks_plain_parts_first():
    names = ["Compile", "Command palette", "Close"]
    assert next(names[i] for i in rank("comp", names)) == "Compile"
    assert rank("xyz", names) == []


def test_tokens_cover_what_people_look_for():
    kinds = {text[a:b]: kind for text in ["  %x = call float @f(i64 3) ; why"] for a, b, kind in tokens("llvm", text)}
    assert kinds["%x"] == "value"
    assert kinds["call"] == "keyword"
    assert kinds["@f"] == "symbol"
    assert kinds["; why"] == "comment"


@pytest.mark.parametrize("name", ["dark", "light"])
def test_text_is_readable_in_both_themes(name):
    theme = {"dark": DARK, "light": LIGHT}[name]
    for ground in (theme.panel, theme.code, theme.raised, theme.window):
        assert contrast(theme.text, ground) >= 7
        assert contrast(theme.muted, ground) >= 4.5
    for colour in (*theme.series, *theme.syntax.values()):
        assert contrast(colour, theme.code) >= 3.5, colour
    assert contrast(theme.accent_text, theme.accent) >= 4.5


def test_a_string_over_lines_is_one_string():
    lines = ['"""A model', "that is not def", 'over lines."""  # and then', "x = '''one''' + f('''two", "three''', 1)"]
    inside = lines_inside_strings("\n".join(lines).encode())
    assert inside == {1: '"""', 2: '"""', 4: "'''"}
    kinds = [[(line[a:b], kind) for a, b, kind in tokens("python", line, inside.get(at, ""))]
             for at, line in enumerate(lines)]  # fmt: skip
    assert kinds[1] == [("that is not def", "string")]
    assert kinds[2] == [('over lines."""', "string"), ("# and then", "comment")]
    assert [words for words, kind in kinds[3] if kind == "string"] == ["'''one'''", "'''two"]
    assert kinds[4][0] == ("three'''", "string") and kinds[4][1] == ("1", "number")
    assert left_open('"""done"""') == "" and left_open("x = 1  # '''") == ""
