"""The kernel library as a view: what it lists, its filter, and the ways to and from sources and kernels."""

from __future__ import annotations

import pytest

from app.viewmodels.compilation import LIBRARY
from compiler.language.catalogue import catalogue

pytestmark = pytest.mark.gui
WAIT = 60_000


@pytest.fixture
def library(qtbot, compiled):
    """The feature, with its list in front."""
    compiled.library.show()
    qtbot.waitUntil(lambda: compiled.library.view.view.model.total > 0, timeout=WAIT)
    compiled.library.view.view.filter.clear()
    yield compiled.library
    compiled.library.view.view.filter.clear()
    compiled.docks.show("timeline")


def rows(library):
    model = library.view.view.model
    return [model.record(row) for row in range(model.rowCount())]


def test_it_lists_what_the_command_lists(library):
    told = {(entry.op, entry.kind, entry.name, entry.fuses, entry.file, entry.line) for entry in catalogue()}
    seen = {(r.entry.op, r.entry.kind, r.entry.name, r.entry.fuses, r.entry.file, r.entry.line) for r in rows(library)}
    assert seen == told and len(rows(library)) == len(told)


def test_what_the_model_uses_comes_first_and_says_so(library):
    found = rows(library)
    first = {row.entry.op: row.used_by for row in found if row.used_by}
    assert first["mo.matmul"] and "matmul_add_relu" in first["mo.matmul"] and "matmul_add_relu" in first["mo.relu"]
    assert [bool(row.used_by) for row in found] == sorted((bool(row.used_by) for row in found), reverse=True)


def test_the_filter_takes_words_and_comparisons(library):
    library.view.view.filter.setText("softmax")
    assert {row.entry.name for row in rows(library)} >= {"softmax", "log_softmax"}
    assert all("softmax" in f"{row.entry}" for row in rows(library))
    library.view.view.filter.setText("kind = view")
    assert {row.entry.kind for row in rows(library)} == {"view"}


def test_an_entry_leads_to_its_line_of_the_library(qtbot, compiled, library):
    row = next(row for row in rows(library) if row.entry.op == "mo.softmax")
    library.open_source(row)
    pane = next(pane for pane in compiled.workbench.panes if pane.model.stage == LIBRARY)
    qtbot.waitUntil(lambda: not pane.model.loading, timeout=WAIT)
    assert pane.model.file == row.entry.file
    qtbot.waitUntil(lambda: pane.text.shown.caret == row.entry.line - 1, timeout=WAIT)
    assert pane.text.document.line(row.entry.line - 1).startswith("def softmax")
    other = next(row for row in rows(library) if row.entry.op == "mo.relu")  # another file, in the same pane
    library.open_source(other)
    qtbot.waitUntil(lambda: not pane.model.loading and pane.text.shown.caret == other.entry.line - 1, timeout=WAIT)
    assert pane.model.file == other.entry.file


def test_a_kernel_leads_to_its_entries_and_back(compiled, library):
    kernel = compiled.state.compilation.kernel_table["matmul_add_relu"]
    compiled.state.selection.select(kernel.nodes)
    marked = library.view.view.selected()
    assert {row.entry.op for row in marked} >= {"mo.matmul", "mo.add", "mo.relu"}
    compiled.state.selection.reset()
    assert library.view.view.selected() == []
    library.select_kernels(next(row for row in marked if row.entry.op == "mo.matmul"))
    assert set(kernel.nodes) <= compiled.state.selection.nodes


def test_the_command_shows_the_entries_of_the_kernel_at_hand(compiled, library):
    compiled.docks.show("timeline")
    compiled.workbench.panes[0].setFocus()
    compiled.features.do("library_entry")
    assert any(row.used_by for row in library.view.view.selected())
    assert not compiled.docks.named["library"].visibleRegion().isEmpty() or library.view.isVisible()


def test_the_palette_offers_the_view(compiled, library):
    assert any(offer.text == "View: Kernel library" for offer in compiled.help.things())
