"""Names from outside are shown as they are in the window: no dialog, label or tip takes one for rich text."""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path

import pytest
from PySide6.QtCore import QAbstractListModel, Qt
from PySide6.QtGui import QAction
from PySide6.QtGui import Qt as Guess
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QLabel,
    QMessageBox,
    QTabBar,
    QTextBrowser,
    QWidget,
)

from app.controllers.settings import Settings
from app.views.parts.plain import message_box, plain_tip

sys.path.insert(0, str(Path(__file__).parents[1]))
from hostile_words import FILE_NAME, HOSTILE, orders

ROOT = Path(__file__).parents[3]
SPOOF = "<b>model.mlir<b> is a graph file, safe to open.<!--.py"
GRAPH = """
from compiler import Graph, TensorType, ops

def build():
    graph = Graph("<b>hidden</b><!--", inputs=[TensorType("f32", (8, 8))])
    with graph:
        graph.output(ops.exp(graph.inputs[0]))
    return graph
"""


def plain(tip: str) -> bool:
    """Whether Qt shows a tip as it is: it takes it for plain text, or no tag of a name's is left in it."""
    return orders(tip) == [] and (not Guess.mightBeRichText(tip) or "<b>" not in tip)


def test_the_trust_question_cannot_be_spoofed_by_a_name(qtbot, compiled, monkeypatch):
    boxes = []
    monkeypatch.setattr(QMessageBox, "exec", lambda box: boxes.append(box))
    compiled.opening.ask_trust(f"/somewhere/{SPOOF}")
    compiled.opening.ask_trust(f"/somewhere/{FILE_NAME}.py")
    compiled.source.ask_overwrite(Path("/somewhere") / SPOOF)
    for box in boxes:
        labels = [part for part in box.findChildren(QLabel) if part.text()]
        assert len(labels) >= 2 and all(part.textFormat() == Qt.TextFormat.PlainText for part in labels)
        assert not [found for part in labels for found in orders(part.text())]
    assert boxes[0].text().startswith("This is Python code, and opening it runs it: ") and SPOOF in boxes[0].text()
    for box in boxes:
        box.deleteLater()


def test_tips_are_plain_and_harmless_ones_stay_as_they_are():
    assert plain_tip("an & b < c\nnext") == "an & b < c\nnext"
    assert "&lt;b&gt;" in plain_tip(SPOOF) and plain(plain_tip(SPOOF)) and plain(plain_tip(HOSTILE))


def test_trust_is_in_the_content(tmp_path):
    settings = Settings(tmp_path / "settings")
    path, copy = tmp_path / "mine.py", tmp_path / "copy.py"
    path.write_text(GRAPH)
    copy.write_text(GRAPH)
    assert not settings.trusted(str(path))
    settings.trust(str(path))
    assert settings.trusted(str(path)) and settings.trusted(str(copy)) and settings.trusted_count() == 1
    path.write_text(GRAPH + "\nprint('other code')\n")
    assert not settings.trusted(str(path))
    path.write_text(GRAPH)
    assert settings.trusted(str(path))


def test_trust_is_also_in_what_a_file_imports_from_beside_it(tmp_path):
    settings = Settings(tmp_path / "settings")
    (tmp_path / "a" / "parts").mkdir(parents=True)
    path, beside, deep = (tmp_path / "a" / name for name in ("mine.py", "layers.py", "parts/deep.py"))
    path.write_text("import numpy\nfrom layers import x\n" + GRAPH)
    beside.write_text("import parts.deep\n")
    deep.write_text("x = 1\n")
    settings.trust(str(path))
    assert settings.trusted(str(path))
    deep.write_text("x = 2\n")
    assert not settings.trusted(str(path))
    settings.trust(str(path))
    beside.unlink()
    assert not settings.trusted(str(path))
    assert not settings.trusted(str(tmp_path / "never.py"))


def test_a_replaced_file_is_asked_about_again(qtbot, compiled, tmp_path, monkeypatch):
    path = tmp_path / "theirs.py"
    path.write_text(GRAPH)
    compiled.settings.trust(str(path))
    marker = tmp_path / "ran"
    path.write_text(f"open({str(marker)!r}, 'w').close()\n" + GRAPH)
    asked = []
    monkeypatch.setattr(compiled.opening, "ask_trust", lambda p: asked.append(p) or False)
    assert not compiled.opening.open(str(path))
    assert asked == [str(path)] and not marker.exists()


def shown_tips(window: QWidget) -> list[str]:
    found = [widget.toolTip() for widget in window.findChildren(QWidget)]
    found += [action.toolTip() for action in window.findChildren(QAction)]
    for view in window.findChildren(QAbstractItemView):
        model = view.model()
        for row in range(min(model.rowCount(), 50) if model is not None else 0):
            for column in range(1 if isinstance(model, QAbstractListModel) else model.columnCount()):
                found.append(model.index(row, column).data(Qt.ItemDataRole.ToolTipRole) or "")
    return found


def shown_words(window: QWidget) -> list[str]:
    """What cells, lists, choices, labels, buttons and tabs show."""
    found = [QLabel.text(part) for part in window.findChildren(QLabel)]
    found += [part.text() for part in window.findChildren(QAbstractButton)]
    found += [part.itemText(at) for part in window.findChildren(QComboBox) for at in range(part.count())]
    found += [part.tabText(at) for part in window.findChildren(QTabBar) for at in range(part.count())]
    found += [action.text() for action in window.findChildren(QAction)]
    for view in window.findChildren(QAbstractItemView):
        model = view.model()
        for row in range(min(model.rowCount(), 50) if model is not None else 0):
            for column in range(1 if isinstance(model, QAbstractListModel) else model.columnCount()):
                found.append(str(model.index(row, column).data(Qt.ItemDataRole.DisplayRole) or ""))
    return found


def test_no_cell_label_or_choice_obeys_a_hostile_name(qtbot, compiled, tmp_path):
    """A character that turns the direction of writing makes a name look like another, wherever it is shown."""
    path = tmp_path / f"{FILE_NAME}.py"
    path.write_text(GRAPH.replace('"<b>hidden</b><!--"', repr(HOSTILE)))
    compiled.settings.trust(str(path))
    compiled.opening.open(str(path))
    qtbot.waitUntil(lambda: not compiled.compiler.busy and compiled.state.compilation is not None, timeout=60_000)
    qtbot.waitUntil(lambda: compiled.state.compilation.source == str(path), timeout=60_000)
    compiled.features.do("run")
    qtbot.waitUntil(lambda: compiled.state.run is not None or bool(compiled.runs.view.bar.text), timeout=120_000)
    qtbot.wait(300)  # lists that are filled in a turn of their own
    wrong = {words for words in shown_words(compiled) if orders(words)}
    assert not wrong
    assert any("\\u202e" in words for words in shown_words(compiled))  # it is shown, not left out


def test_a_hostile_source_is_plain_in_every_label_and_tip(qtbot, compiled, tmp_path):
    path = tmp_path / f"{FILE_NAME}.py"
    path.write_text(GRAPH)
    compiled.settings.trust(str(path))
    compiled.opening.open(str(path))
    qtbot.waitUntil(lambda: not compiled.compiler.busy and compiled.state.compilation is not None, timeout=60_000)
    qtbot.waitUntil(lambda: compiled.state.compilation.source == str(path), timeout=60_000)
    compiled.features.do("run")
    qtbot.waitUntil(lambda: compiled.state.run is not None or bool(compiled.runs.view.bar.text), timeout=120_000)
    assert orders(compiled.windowTitle()) == []
    for tip in shown_tips(compiled):
        assert plain(tip), tip
    for part in compiled.findChildren(QLabel):
        assert "<b>" not in part.text() or part.textFormat() == Qt.TextFormat.PlainText, part.text()
    for page in compiled.findChildren(QTextBrowser):
        assert "<b>" not in page.toHtml()


@cache
def all_calls() -> dict[str, list[tuple[str, ast.Call]]]:
    """Every call in the files of the window, by the name of what is called."""
    found: dict[str, list[tuple[str, ast.Call]]] = {}
    for folder in ("views", "controllers", "theme"):
        for file in sorted((ROOT / "app" / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Call):
                    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                    found.setdefault(called, []).append((file.relative_to(ROOT).as_posix(), node))
    return found


def calls(name: str) -> list[tuple[str, ast.Call]]:
    return all_calls().get(name, [])


def test_message_boxes_are_made_in_one_place():
    places = [file for name in ("QMessageBox", "warning", "critical", "question", "information", "about")
              for file, node in calls(name)
              if name == "QMessageBox" or ast.unparse(node.func).startswith("QMessageBox.")]  # fmt: skip
    assert places == ["app/views/parts/plain.py"]


@pytest.mark.parametrize("name", ["setToolTip", "showText", "setWhatsThis", "setStatusTip"])
def test_every_tip_is_our_own_words_or_plain(name):
    """A tip is a literal, a parameter named `tip` that callers give a literal for, or goes through `plain_tip`."""
    for file, node in calls(name):
        words = node.args[1 if name == "showText" else 0]
        plain = isinstance(words, ast.Constant) or ast.unparse(words) in ("tip", "name", "text", "self._help()")
        parts = [words.body, words.orelse] if isinstance(words, ast.IfExp) else [words]
        made = all(
            isinstance(part, ast.Constant) or (isinstance(part, ast.Call) and ast.unparse(part.func) == "plain_tip")
            for part in parts
        )
        assert plain or made, f"{file}:{node.lineno}: {ast.unparse(node)}"


def test_labels_guess_no_format():
    """A QLabel with words is made by `label`, `Elided` and `message_box`, which set the format."""
    for file, node in calls("QLabel"):
        assert not node.args or file == "app/views/parts/widgets.py", f"{file}:{node.lineno}"


def test_a_box_shows_what_it_is_given(qtbot, compiled):
    box = message_box(compiled, QMessageBox.Icon.Warning, "T", HOSTILE, HOSTILE)
    assert all(part.textFormat() == Qt.TextFormat.PlainText for part in box.findChildren(QLabel) if part.text())
    box.deleteLater()
