"""The dialog that files are chosen with shows names, dates and places whole."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import (
    QComboBox,
    QDialogButtonBox,
    QFileDialog,
    QLineEdit,
    QListView,
    QStyledItemDelegate,
    QToolButton,
    QTreeView,
    QWidget,
)

import app.controllers.opening
from app.controllers.settings import Settings
from app.main_window import MainWindow
from app.theme.look import Look
from app.views.parts.file_dialog import file_dialog, fit_columns, path_to_open, path_to_save
from app.views.parts.path_completion import PathCompleter

pytestmark = pytest.mark.gui


@pytest.fixture
def parent(qtbot):
    made = QWidget()
    qtbot.addWidget(made)
    made.resize(1280, 720)
    return made


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_no_column_and_no_place_is_cut(qtbot, parent, tmp_path, theme):
    Look(tmp_path / "icons").apply(theme)
    folder = tmp_path / "files"
    folder.mkdir()
    for name in ("a.md", "a much longer name.py"):
        (folder / name).write_text("x" * 2000)
    dialog = file_dialog(parent, "Open")
    dialog.setDirectory(str(folder))
    dialog.show()
    files, places = dialog.findChild(QTreeView, "treeView"), dialog.findChild(QListView, "sidebar")
    qtbot.waitUntil(lambda: files.model().rowCount(files.rootIndex()) == 2)
    qtbot.waitUntil(lambda: all(files.columnWidth(at) >= files.sizeHintForColumn(at) > 0 for at in range(4)))
    qtbot.waitUntil(lambda: places.viewport().width() >= places.sizeHintForColumn(0) > 0)
    assert sum(map(files.columnWidth, range(4))) <= files.viewport().width(), "all of them are in sight"
    assert dialog.width() <= parent.width()
    dialog.close()


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_its_icons_and_the_kinds_of_files_are_whole(qtbot, parent, tmp_path, theme):
    Look(tmp_path / "icons").apply(theme)
    kinds = "Graphs and models (*.py *.mlir *.onnx *.pt2 *.gguf *.kgx config.json *.safetensors)"
    dialog = file_dialog(parent, "Open", kinds=kinds)
    dialog.setDirectory(str(tmp_path))
    dialog.show()
    buttons = [b for b in dialog.findChildren(QToolButton) if b.isVisible() and not b.icon().isNull()]
    assert buttons
    for button in buttons:
        button.ensurePolished()
        assert button.sizeHint().width() <= button.width(), f"no room for the icon of {button.objectName()}"
    chosen = dialog.findChild(QComboBox, "fileTypeCombo")
    fields = [dialog.findChild(QLineEdit, "fileNameEdit"), chosen]
    beside = sorted(dialog.findChild(QDialogButtonBox).buttons(), key=lambda button: button.mapTo(dialog, QPoint()).y())
    for button, field in zip(beside, fields, strict=True):
        middles = [part.mapTo(dialog, part.rect().center()).y() for part in (button, field)]
        assert abs(middles[0] - middles[1]) <= 1, f"{button.text()} stands beside no field"
    qtbot.waitUntil(lambda: chosen.width() >= chosen.fontMetrics().horizontalAdvance(kinds) + 30)
    wide = dialog.width()
    fit_columns(dialog)
    assert dialog.width() == wide < parent.width() - 40, "no wider than that, however often it is fitted"
    dialog.close()


def test_its_arrows_can_be_seen_in_whichever_theme_comes_after_it(qtbot, parent, tmp_path):
    look = Look(tmp_path / "icons")
    dialog = file_dialog(parent, "Open")
    dialog.show()
    for theme in ("dark", "light"):
        look.apply(theme)
        for name in ("backButton", "forwardButton", "toParentButton"):
            button = dialog.findChild(QToolButton, name)
            picture = button.icon().pixmap(16, 16).toImage()
            drawn = [picture.pixelColor(x, y) for x in range(picture.width()) for y in range(picture.height())]
            solid = {colour.name() for colour in drawn if colour.alpha() == 255}
            assert solid == {look.theme.muted.lower()}, (theme, name, solid)
    dialog.close()


def test_the_one_that_opens_sources_is_made_before_there_is_a_style_sheet(qapp, tmp_path, monkeypatch):
    """Under one Qt takes more than twice as long, and it would be while somebody types."""
    sheets = []

    def made(*given, **named):
        sheets.append(qapp.styleSheet())
        return file_dialog(*given, **named)

    monkeypatch.setattr(app.controllers.opening, "file_dialog", made)
    window = MainWindow(Settings(tmp_path / "config"))
    assert sheets == [""] and qapp.styleSheet()
    window.close()
    window.deleteLater()


def test_who_saves_is_asked_where_and_as_what(parent, monkeypatch, tmp_path):
    seen = []

    def accept(dialog: QFileDialog) -> int:
        seen.append((dialog.acceptMode(), dialog.testOption(QFileDialog.Option.DontConfirmOverwrite)))
        return QFileDialog.DialogCode.Accepted

    monkeypatch.setattr(QFileDialog, "exec", accept)
    kinds = "Picture (*.png);;Vector (*.svg)"
    assert path_to_save(parent, "Export", str(tmp_path / "graph.svg"), kinds) == (
        str(tmp_path / "graph.svg"), "Picture (*.png)",
    )  # fmt: skip
    path_to_save(parent, "Database", "traces.db", overwrite=True)
    assert seen == [(QFileDialog.AcceptMode.AcceptSave, False), (QFileDialog.AcceptMode.AcceptSave, True)]


def test_who_thinks_better_of_it_gets_no_path(parent, monkeypatch):
    monkeypatch.setattr(QFileDialog, "exec", lambda _: QFileDialog.DialogCode.Rejected)
    assert path_to_save(parent, "Export", "run.md") == ("", "")
    assert path_to_open(parent, "Open", "Sweeps (*.toml)") == ""


def test_names_that_are_offered_are_not_measured_one_by_one(qtbot, parent, tmp_path):
    """A folder of thousands is offered while its path is typed: each letter would be felt."""
    measured = []

    class Counting(QStyledItemDelegate):
        def sizeHint(self, option, index):
            measured.append(index.row())
            return super().sizeHint(option, index)

    for number in range(300):
        (tmp_path / f"name-{number}.py").write_text("")
    field = QLineEdit(parent)
    completer = PathCompleter(field, lambda: str(tmp_path), lambda name: True)
    parent.show()
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    completer.popup().setItemDelegate(Counting(completer))
    qtbot.keyClicks(field, f"{tmp_path}/")
    qtbot.waitUntil(completer.popup().isVisible)
    assert completer.completionCount() == 300
    assert len(set(measured)) < 30
    completer.popup().hide()
