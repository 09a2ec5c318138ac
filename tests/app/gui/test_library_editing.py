"""Editing the kernel library in the real window: for this session's compilations, with errors at their lines, nothing
lost, and saved as a package that `--library` takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hands import point_of_line
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor

from compiler.language.library import default_library

pytestmark = pytest.mark.gui
FILE = Path(default_library().find("relu").file)
KEY = f"library:{FILE.name}"
RELU = "    return max(x, 0)\n"


@pytest.fixture
def editing(qtbot, compiled):
    """A window with relu's file in the editor, as a click on Edit in a pane of the library brings it there."""
    pane = compiled.workbench.panes[0]
    pane.model.show(stage="library")
    pane.model.show_file(str(FILE))
    qtbot.waitUntil(lambda: not pane.model.loading, timeout=60_000)
    line = FILE.read_text().splitlines().index("def relu(x):")
    pane.text.reveal(line)
    qtbot.mouseClick(pane.text.viewport(), Qt.MouseButton.LeftButton, pos=point_of_line(pane.text, line))
    assert pane.edit.isVisibleTo(pane)
    qtbot.mouseClick(pane.edit, Qt.MouseButton.LeftButton)
    assert compiled.source.pane.key == KEY
    assert compiled.source.pane.editor.textCursor().block().text() == "def relu(x):"
    compiled.source.pairs = 2
    yield compiled
    compiled.compiler.cancel()
    compiled.source.library.drop()
    compiled.source.pane.strip.hide()


def replace(window, before, after):
    """Select a text in the editor and type another."""
    editor = window.source.pane.editor
    at = editor.toPlainText().index(before)
    cursor = editor.textCursor()
    cursor.setPosition(at)
    cursor.setPosition(at + len(before), QTextCursor.MoveMode.KeepAnchor)
    editor.setTextCursor(cursor)
    editor.insertPlainText(after)


def press_compile(qtbot, window):
    window.source.pane.editor.setFocus()
    qtbot.keyClick(window.source.pane.editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)


def test_an_edited_function_is_compiled_in_place_and_checked_first(qtbot, editing):
    before, original = editing.state.compilation, FILE.read_text()
    replace(editing, RELU, "    return max(x, -1)\n")
    assert "\u25cf" in editing.source.pane.which.currentText()
    assert editing.state.compilation is before, "nothing is compiled while one types"
    press_compile(qtbot, editing)
    qtbot.waitUntil(lambda: editing.state.compilation is not before, timeout=60_000)
    strip = editing.source.pane.strip
    qtbot.waitUntil(lambda: "check failed" in strip.words.text(), timeout=120_000)
    assert strip.timing is None, "the check comes before the timing"
    editing.features.cancel()
    shown = next(file for file in editing.state.compilation.library if file.endswith(FILE.name))
    assert "max(x, -1)" in Path(shown).read_text() and FILE.read_text() == original
    edited = editing.state.compilation
    assert edited.label.endswith("+1 edits")
    editing.features.do("revert_edit")
    assert editing.source.pane.text == original
    press_compile(qtbot, editing)
    qtbot.waitUntil(lambda: editing.state.compilation is not edited, timeout=60_000)
    assert str(FILE) in editing.state.compilation.library, "the library is as it was"


def test_a_mistake_is_shown_at_its_line_and_nothing_is_lost(qtbot, editing, monkeypatch):
    before = editing.state.compilation
    replace(editing, RELU, "    return max(x, \n")
    wrong = editing.source.pane.text
    press_compile(qtbot, editing)
    bar = editing.source.pane.bar
    qtbot.waitUntil(lambda: bool(bar.text), timeout=60_000)
    line = editing.source.pane.editor.textCursor().blockNumber()
    assert "def relu(x):" in "\n".join(wrong.splitlines()[line - 3 : line + 1])
    assert editing.source.pane.editor.extraSelections()
    assert editing.state.compilation is before and editing.source.pane.text == wrong
    editing.source.show("")
    editing.features.do("compile")
    qtbot.waitUntil(lambda: editing.state.compilation is not before, timeout=60_000)
    assert editing.source.library.get(KEY).text == wrong, "what does not compile is out of the way, not gone"
    asked = []
    monkeypatch.setattr(editing.source, "ask_edits", lambda titles: asked.append(titles) or "stay")
    editing.features.do("drop_edits")
    assert not editing.source.may_close()
    assert asked == [[f"kernel library {FILE.name}"]] * 2
    assert editing.source.library.get(KEY).text == wrong


def test_edits_are_saved_as_a_package_that_the_command_line_takes(qtbot, editing, kernelglass, tmp_path, monkeypatch):
    replace(editing, RELU, "    return max(x, -7)\n")
    folder = tmp_path / "mine"
    monkeypatch.setattr("app.controllers.source.path_to_save", lambda *a, **k: (str(folder), ""))
    editing.features.do("save_source")
    assert "--library" in editing.source.pane.bar.text
    assert not editing.source.titles(), "closing does not ask about what is saved"
    assert "max(x, -7)" in (folder / FILE.name).read_text()
    plain = kernelglass("compile", "sample:mlp", "--emit", "kernel")
    edited = kernelglass("compile", "sample:mlp", "--emit", "kernel", "--library", str(folder))
    assert plain[0] == edited[0] == 0, edited[2]
    assert "-7.0" in edited[1] and "-7.0" not in plain[1]
    assert editing.source.pane.edited, "and this session goes on with it"


def test_the_model_and_its_kernels_are_edited_from_their_panes_too(qtbot, compiled):
    pane, kernel = compiled.workbench.panes[0], compiled.state.compilation.kernels[0].name
    for stage, key in (("python", ""), ("source", kernel)):
        pane.model.show(stage=stage, kernel=kernel)
        qtbot.waitUntil(lambda: not pane.model.loading, timeout=60_000)
        qtbot.mouseClick(pane.edit, Qt.MouseButton.LeftButton)
        assert compiled.source.pane.key == key and not compiled.source.pane.edited
    pane.model.show(stage="asm")
    qtbot.waitUntil(lambda: not pane.model.loading, timeout=60_000)
    assert not pane.edit.isVisibleTo(pane), "what is made is not edited"
    compiled.features.do("edit_text")


@pytest.mark.slow
def test_the_model_is_timed_with_the_original_and_with_the_edit(qtbot, editing):
    replace(editing, RELU, "    return max(x + 0.0, 0)\n")
    press_compile(qtbot, editing)
    strip = editing.source.pane.strip
    strip.timing = None
    qtbot.waitUntil(lambda: strip.timing is not None, timeout=300_000)
    assert strip.timing.ok and strip.timing.kernel == KEY
    assert "original" in strip.text() and strip.timing.verdict in strip.text()
