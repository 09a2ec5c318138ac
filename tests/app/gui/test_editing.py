"""Editing in the real window: errors at their line, an edited kernel timed against the original, nothing lost."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog

from app.controllers.settings import Settings
from app.main_window import MainWindow

pytestmark = pytest.mark.gui
GRAPH = """
from compiler import Graph, TensorType, ops

def build():
    g = Graph("g", inputs=[TensorType("f32", (64,))])
    with g:
        g.output(ops.relu(g.inputs[0] + 1))
    return g
"""


def settle(qtbot, window):
    qtbot.waitUntil(lambda: not window.compiler.busy and window.state.compilation is not None, timeout=60_000)


def open_mine(qtbot, window, folder):
    """A graph of the user's own, opened and compiled; its path."""
    source = folder / "mine.py"
    source.write_text(GRAPH)
    window.settings.trust(str(source))
    window.opening.open(str(source))
    qtbot.waitUntil(lambda: window.state.compilation.source == str(source), timeout=60_000)
    return source


def test_an_edited_kernel_is_compiled_checked_and_timed_against_the_original(qtbot, compiled):
    kernel = compiled.state.compilation.kernels[1]
    compiled.workbench.source_dock.raise_()
    compiled.source_pane.which.set_value(kernel.name)
    compiled.source_pane.key_chosen.emit(kernel.name)
    assert compiled.source_pane.text == kernel.source
    lines = kernel.source.rstrip("\n").splitlines()
    at = next(i for i, line in enumerate(lines) if "v1 = add" in line)
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    lines.insert(at + 1, f"{indent}v1 = v1 + 0.0")
    compiled.source_pane.editor.setPlainText("\n".join(lines) + "\n")
    assert "\u25cf" in compiled.source_pane.which.currentText()
    compiled.source_pane.editor.setFocus()
    qtbot.keyClick(compiled.source_pane.editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    strip = compiled.source_pane.strip
    strip.timing = None
    qtbot.waitUntil(lambda: strip.timing is not None, timeout=120_000)
    assert strip.timing is not None, strip.text()
    replaced = compiled.state.compilation.kernel_table[kernel.name]
    assert "v1 + 0.0" in replaced.source
    timing = strip.timing
    assert timing.kernel == kernel.name
    assert timing.original[1] <= timing.original[0] <= timing.original[2]
    assert timing.ok
    assert "check against the reference passed" in strip.text()
    assert "original" in strip.text()
    assert timing.verdict in strip.text()
    compiled.compare_view.comparison = None
    strip.compare.click()
    qtbot.waitUntil(lambda: compiled.compare_view.comparison is not None, timeout=60_000)
    row = next(r for r in compiled.compare_view.comparison.rows if r.names[-1] == kernel.name)
    assert row.differs_at == "source"
    compiled.compare_view.ended.emit()
    qtbot.waitUntil(lambda: not any(pane.model.loading for pane in compiled.workbench.panes), timeout=60_000)
    compiled.editing.revert(kernel.name)
    assert compiled.source_pane.text == kernel.source


def test_an_edit_that_computes_something_else_fails_its_check(qtbot, compiled):
    kernel = compiled.state.compilation.kernels[1]
    compiled.editing.show(kernel.name)
    compiled.source_pane.editor.setPlainText(kernel.source.replace("v1 = add(", "v1 = 2.0 * add("))
    compiled.commands.compile()
    strip = compiled.source_pane.strip
    strip.timing = None
    qtbot.waitUntil(lambda: strip.timing is not None, timeout=120_000)
    assert strip.timing is not None, strip.text()
    assert strip.timing.ok is False
    assert "check failed" in strip.text()


def test_a_mistake_in_a_kernel_is_shown_at_its_line(qtbot, compiled):
    kernel = compiled.state.compilation.kernels[0]
    before = compiled.state.compilation
    compiled.editing.show(kernel.name)
    lines = kernel.source.splitlines()
    at = next(i for i, line in enumerate(lines) if "= relu(" in line)
    lines[at] = lines[at].replace("relu(", "no_such_function(")
    compiled.source_pane.editor.setPlainText("\n".join(lines))
    compiled.commands.compile()
    qtbot.waitUntil(lambda: bool(compiled.source_pane.bar.text or compiled.bar.text), timeout=60_000)
    assert "no_such_function" in compiled.source_pane.bar.text, compiled.bar.text
    assert compiled.source_pane.editor.textCursor().blockNumber() == at
    assert compiled.state.compilation is before


def test_switching_texts_keeps_every_edit(qtbot, compiled):
    first, second = (kernel.name for kernel in compiled.state.compilation.kernels[:2])
    compiled.editing.show(first)
    compiled.source_pane.editor.appendPlainText("# one")
    compiled.editing.show(second)
    compiled.source_pane.editor.appendPlainText("# two")
    compiled.editing.show("")
    compiled.editing.show(first)
    assert compiled.source_pane.text.endswith("# one")
    assert compiled.editing.edits.edited() == sorted([first, second])
    assert compiled.editing.titles() == [f"kernel {name}" for name in sorted([first, second])]


def test_unsaved_edits_survive_a_crash_and_closing_asks(qtbot, tmp_path, monkeypatch):
    source = tmp_path / "mine.py"
    source.write_text(GRAPH)
    settings = Settings(tmp_path / "kept")
    settings.trust(str(source))
    window = MainWindow(settings)
    window.show()
    window.opening.open(str(source))
    settle(qtbot, window)
    window.source_pane.editor.appendPlainText("# not saved")
    draft = window.settings.folder / "drafts"
    qtbot.waitUntil(lambda: any(draft.glob("*.json")), timeout=60_000)
    asked = []
    monkeypatch.setattr(window.presenter, "ask_edits", lambda titles: asked.append(titles) or "stay")
    assert not window.close()
    assert asked == [["mine.py"]]
    monkeypatch.setattr(window.presenter, "ask_edits", lambda titles: "keep")
    assert window.close()
    again = MainWindow(Settings(tmp_path / "kept"))
    again.show()
    again.opening.open(str(source))
    settle(qtbot, again)
    assert again.source_pane.text.endswith("# not saved")
    assert again.source_pane.edited
    assert "is back" in again.source_pane.bar.text
    assert source.read_text() == GRAPH
    assert len(again.state.compilation.kernels) == 1
    monkeypatch.setattr(again.presenter, "ask_edits", lambda titles: "discard")
    assert again.close()
    assert not any(draft.glob("*.json"))
    for each in (window, again):
        each.deleteLater()


def test_saving_ends_the_edit(qtbot, compiled, tmp_path, monkeypatch):
    source = open_mine(qtbot, compiled, tmp_path)
    compiled.source_pane.editor.appendPlainText("# saved")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: pytest.fail("it has a file already"))
    compiled.commands.save_source()
    assert source.read_text().endswith("# saved")
    assert not compiled.editing.titles()
    assert not compiled.source_pane.edited


def test_saving_asks_before_it_writes_over_what_somebody_else_wrote(qtbot, compiled, tmp_path, monkeypatch):
    source = open_mine(qtbot, compiled, tmp_path)
    compiled.source_pane.editor.appendPlainText("# mine")
    source.write_text(GRAPH + "# theirs")
    answers = [False, True]
    monkeypatch.setattr(compiled.presenter, "ask_overwrite", lambda path: answers.pop(0))
    compiled.commands.save_source()
    assert source.read_text().endswith("# theirs") and compiled.editing.titles()
    compiled.commands.save_source()
    assert source.read_text().endswith("# mine") and not compiled.editing.titles()


def test_an_edited_sample_saved_as_a_file_is_that_file_from_then_on(qtbot, compiled, tmp_path, monkeypatch):
    target = tmp_path / "mine.py"
    compiled.source_pane.editor.appendPlainText("# mine now")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (str(target), ""))
    compiled.commands.save_source()
    qtbot.waitUntil(lambda: compiled.state.compilation.source == str(target), timeout=60_000)
    assert target.read_text().endswith("# mine now")
    assert compiled.state.source == str(target) and not compiled.editing.titles()
    compiled.opening.open("sample:mlp")
    settle(qtbot, compiled)
    assert "# mine now" not in compiled.source_pane.text, "the sample is as it was"
