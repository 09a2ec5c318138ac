"""Editing in the real window: errors at their line, an edited kernel timed against the original, nothing lost."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor

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


def test_an_edited_kernel_is_compiled_checked_and_timed_against_the_original(qtbot, compiled, tmp_path):
    open_mine(qtbot, compiled, tmp_path)  # calls so short that other programs leave some alone: they are waited for
    (kernel,) = compiled.state.compilation.kernels
    compiled.workbench.source_dock.raise_()
    compiled.source.pane.which.set_value(kernel.name)
    compiled.source.pane.key_chosen.emit(kernel.name)
    assert compiled.source.pane.text == kernel.source
    lines = kernel.source.rstrip("\n").splitlines()
    at = next(i for i, line in enumerate(lines) if "v0 = add" in line)
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    lines.insert(at + 1, f"{indent}v0 = v0 + 0.0")
    compiled.source.pane.editor.setPlainText("\n".join(lines) + "\n")
    assert "\u25cf" in compiled.source.pane.which.currentText()
    compiled.source.pane.editor.setFocus()
    qtbot.keyClick(compiled.source.pane.editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    strip = compiled.source.pane.strip
    strip.timing = None
    qtbot.waitUntil(lambda: strip.timing is not None, timeout=120_000)
    assert strip.timing is not None, strip.text()
    replaced = compiled.state.compilation.kernel_table[kernel.name]
    assert "v0 + 0.0" in replaced.source
    timing = strip.timing
    assert timing.kernel == kernel.name
    assert timing.original[1] <= timing.original[0] <= timing.original[2]
    assert timing.ok
    assert "check against the reference passed" in strip.text()
    assert "original" in strip.text()
    assert timing.verdict in strip.text()
    compiled.comparison.view.comparison = None
    strip.compare.click()
    qtbot.waitUntil(lambda: compiled.comparison.view.comparison is not None, timeout=60_000)
    row = next(r for r in compiled.comparison.view.comparison.rows if r.names[-1] == kernel.name)
    assert row.differs_at == "source"
    compiled.comparison.view.ended.emit()
    qtbot.waitUntil(lambda: not any(pane.model.loading for pane in compiled.workbench.panes), timeout=60_000)
    compiled.source.revert(kernel.name)
    assert compiled.source.pane.text == kernel.source


def test_an_edit_that_computes_something_else_fails_its_check(qtbot, compiled, tmp_path):
    open_mine(qtbot, compiled, tmp_path)
    (kernel,) = compiled.state.compilation.kernels
    compiled.source.show(kernel.name)
    compiled.source.pane.editor.setPlainText(kernel.source.replace("v0 = add(", "v0 = 2.0 * add("))
    compiled.features.do("compile")
    strip = compiled.source.pane.strip
    strip.timing = None
    qtbot.waitUntil(lambda: "check failed" in strip.words.text() or strip.timing is not None, timeout=120_000)
    assert strip.timing is None, "the check comes before the timing"
    qtbot.waitUntil(lambda: strip.timing is not None, timeout=120_000)
    assert strip.timing is not None, strip.text()
    assert strip.timing.ok is False
    assert "check failed" in strip.text()


def test_dropping_what_if_edits_asks_first_and_revert_is_always_at_hand(qtbot, compiled, monkeypatch):
    kernel = compiled.state.compilation.kernels[0].name
    compiled.resize(1280, 720)
    compiled.docks.reset_layout()
    compiled.workbench.source_dock.raise_()
    compiled.source.show(kernel)
    compiled.source.pane.editor.appendPlainText("# mine")
    button = compiled.source.pane.revert
    qtbot.waitUntil(lambda: button.isVisible() and button.width() >= button.sizeHint().width())
    asked = []
    monkeypatch.setattr(compiled.source, "ask_edits", lambda titles: asked.append(titles) or "stay")
    compiled.features.do("drop_edits")
    assert asked == [[f"kernel {kernel}"]]
    assert not compiled.compiler.busy
    assert compiled.source.pane.text.endswith("# mine")
    compiled.features.do("revert_edit")
    assert not compiled.source.pane.edited and not compiled.source.edits.edited()
    compiled.workbench.graph_dock.raise_()


def test_a_mistake_in_a_kernel_is_shown_at_its_line(qtbot, compiled):
    kernel = compiled.state.compilation.kernels[0]
    before = compiled.state.compilation
    compiled.source.show(kernel.name)
    lines = kernel.source.splitlines()
    at = next(i for i, line in enumerate(lines) if "= relu(" in line)
    lines[at] = lines[at].replace("relu(", "no_such_function(")
    compiled.source.pane.editor.setPlainText("\n".join(lines))
    compiled.features.do("compile")
    qtbot.waitUntil(lambda: bool(compiled.source.pane.bar.text or compiled.log.bar.text), timeout=60_000)
    assert "no_such_function" in compiled.source.pane.bar.text, compiled.log.bar.text
    assert compiled.source.pane.editor.textCursor().blockNumber() == at
    assert compiled.state.compilation is before
    assert compiled.source.pane.editor.extraSelections()
    compiled.source.pane.strip.show_failure("could not be timed")
    compiled.source.show("")  # the editor turns to another text, and the mistake is undone from the palette
    compiled.features.do("drop_edits")
    qtbot.waitUntil(lambda: compiled.state.compilation is not before, timeout=60_000)
    assert not compiled.source.pane.bar.isVisible() and not compiled.log.bar.isVisible()
    assert not compiled.source.pane.editor.extraSelections()
    assert not compiled.source.pane.strip.isVisible()


def test_what_was_wrong_is_no_longer_said_once_it_is_mended_in_place(qtbot, compiled):
    kernel = compiled.state.compilation.kernels[0]
    before = compiled.state.compilation
    compiled.workbench.source_dock.raise_()
    compiled.source.show(kernel.name)
    pane, document = compiled.source.pane, compiled.source.pane.editor.document()
    at = kernel.source.index("relu(")
    cursor = QTextCursor(document)
    cursor.setPosition(at)
    cursor.insertText("no_such_")  # as it is typed: the pane keeps its text, and nothing but success ends the message
    compiled.features.do("compile")
    qtbot.waitUntil(lambda: "no_such_relu" in pane.bar.text and pane.bar.isVisible())
    document.undo()
    assert pane.text == kernel.source and pane.bar.isVisible(), "mended, but nobody has compiled it"
    pane.editor.appendPlainText("# mine")
    compiled.features.do("compile")
    qtbot.waitUntil(lambda: compiled.state.compilation is not before and not compiled.compiler.busy)
    assert pane.text.endswith("# mine")
    assert not pane.bar.isVisible() and not compiled.log.bar.isVisible()
    assert not pane.editor.extraSelections()
    compiled.source.revert(kernel.name)
    compiled.workbench.graph_dock.raise_()


def test_a_file_that_is_not_there_is_forgotten_when_another_is_opened(qtbot, compiled, tmp_path):
    compiled.opening.open(str(tmp_path / "gone.py"))
    qtbot.waitUntil(lambda: compiled.log.bar.isVisible())
    assert "gone.py" in compiled.log.bar.text
    open_mine(qtbot, compiled, tmp_path)
    assert not compiled.log.bar.isVisible()


def test_switching_texts_keeps_every_edit(qtbot, compiled):
    first, second = (kernel.name for kernel in compiled.state.compilation.kernels[:2])
    compiled.source.show(first)
    compiled.source.pane.editor.appendPlainText("# one")
    compiled.source.show(second)
    compiled.source.pane.editor.appendPlainText("# two")
    compiled.source.show("")
    compiled.source.show(first)
    assert compiled.source.pane.text.endswith("# one")
    assert compiled.source.edits.edited() == sorted([first, second])
    assert compiled.source.titles() == [f"kernel {name}" for name in sorted([first, second])]


def test_unsaved_edits_survive_a_crash_and_closing_asks(qtbot, tmp_path, monkeypatch):
    source = tmp_path / "mine.py"
    source.write_text(GRAPH)
    settings = Settings(tmp_path / "kept")
    settings.trust(str(source))
    window = MainWindow(settings)
    window.show()
    window.opening.open(str(source))
    settle(qtbot, window)
    window.source.pane.editor.appendPlainText("# not saved")
    draft = window.settings.folder / "drafts"
    qtbot.waitUntil(lambda: any(draft.glob("*.json")), timeout=60_000)
    asked = []
    monkeypatch.setattr(window.source, "ask_edits", lambda titles: asked.append(titles) or "stay")
    assert not window.close()
    assert asked == [["mine.py"]]
    monkeypatch.setattr(window.source, "ask_edits", lambda titles: "keep")
    assert window.close()
    again = MainWindow(Settings(tmp_path / "kept"))
    again.show()
    again.opening.open(str(source))
    settle(qtbot, again)
    assert again.source.pane.text.endswith("# not saved")
    assert again.source.pane.edited
    assert "is back" in again.source.pane.bar.text
    assert source.read_text() == GRAPH
    assert len(again.state.compilation.kernels) == 1
    monkeypatch.setattr(again.source, "ask_edits", lambda titles: "discard")
    assert again.close()
    assert not any(draft.glob("*.json"))
    for each in (window, again):
        each.deleteLater()


def test_saving_ends_the_edit(qtbot, compiled, tmp_path, monkeypatch):
    source = open_mine(qtbot, compiled, tmp_path)
    compiled.source.pane.editor.appendPlainText("# saved")
    monkeypatch.setattr("app.controllers.source.path_to_save", lambda *a, **k: pytest.fail("it has a file already"))
    compiled.features.do("save_source")
    assert source.read_text().endswith("# saved")
    assert not compiled.source.titles()
    assert not compiled.source.pane.edited


def test_saving_asks_before_it_writes_over_what_somebody_else_wrote(qtbot, compiled, tmp_path, monkeypatch):
    source = open_mine(qtbot, compiled, tmp_path)
    compiled.source.pane.editor.appendPlainText("# mine")
    source.write_text(GRAPH + "# theirs")
    answers = [False, True]
    monkeypatch.setattr(compiled.source, "ask_overwrite", lambda path: answers.pop(0))
    compiled.features.do("save_source")
    assert source.read_text().endswith("# theirs") and compiled.source.titles()
    compiled.features.do("save_source")
    assert source.read_text().endswith("# mine") and not compiled.source.titles()


def test_an_edited_sample_saved_as_a_file_is_that_file_from_then_on(qtbot, compiled, tmp_path, monkeypatch):
    target = tmp_path / "mine.py"
    compiled.source.pane.editor.appendPlainText("# mine now")
    monkeypatch.setattr("app.controllers.source.path_to_save", lambda *a, **k: (str(target), ""))
    compiled.features.do("save_source")
    qtbot.waitUntil(lambda: compiled.state.compilation.source == str(target), timeout=60_000)
    assert target.read_text().endswith("# mine now")
    assert compiled.state.source == str(target) and not compiled.source.titles()
    compiled.opening.open("sample:mlp")
    settle(qtbot, compiled)
    assert "# mine now" not in compiled.source.pane.text, "the sample is as it was"
