"""Settings: every change holds at once and after a restart; a folder that cannot be written is said, not crashed on."""

from __future__ import annotations

import os
import stat

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication

from app.controllers.settings import Settings
from app.main_window import MainWindow
from app.theme.fonts import UI_PIXELS
from app.theme.look import Look
from app.viewmodels.frame.preferences import Preferences, load

pytestmark = pytest.mark.gui


@pytest.fixture
def window(qtbot, tmp_path):
    made = MainWindow(Settings(tmp_path / "kept"))
    made.show()
    yield made
    made.close()
    made.deleteLater()


def choose(field, value):
    """As a user does it: the entry becomes current, and the box says so."""
    field.set_value(value)
    field.chosen.emit(value)


def test_every_preference_can_be_set_in_the_dialog_and_is_kept(qtbot, window, tmp_path):
    window.features.do("settings")
    dialog = window.preferences.dialog
    assert set(dialog.fields) == set(Preferences.__dataclass_fields__), "a preference nobody can set is not one"
    choose(dialog.fields["theme"], "light")
    assert window.look.theme.name == "light"
    dialog.fields["ui_pixels"].setValue(17)
    assert window.look.ui_font.pixelSize() == 17
    assert QApplication.font().pixelSize() == 17
    dialog.fields["code_pixels"].setValue(15)
    assert window.look.code_font.pixelSize() == 15
    dialog.fields["jobs"].setValue(2)
    dialog.fields["use_cache"].setChecked(False)
    choose(dialog.fields["target"], "sm_90a")
    choose(dialog.fields["opt_level"], "1")
    assert window.state.choices.target == "sm_90a" and window.choices.target.value == "sm_90a"
    dialog.fields["threads"].setValue(1)
    assert window.runs.view.threads.value() == 1
    window.settings.sync()
    kept = load(Settings(tmp_path / "kept").get)
    assert kept == window.preferences.now
    assert (kept.theme, kept.ui_pixels, kept.jobs, kept.use_cache, kept.opt_level) == ("light", 17, 2, False, 1)
    request = window.compile.request()
    assert (request.options.jobs, request.options.cache) == (2, False)
    dialog.fields["libraries"].setText(os.pathsep.join(("one", "two")))
    dialog.fields["libraries"].editingFinished.emit()
    assert window.compile.request().libraries == ("one", "two")
    qtbot.mouseClick(dialog.defaults, Qt.MouseButton.LeftButton)
    assert window.preferences.now == Preferences()
    assert QApplication.font().pixelSize() == 13
    dialog.close()


def test_a_restart_brings_them_back(qtbot, tmp_path):
    first = MainWindow(Settings(tmp_path / "kept"))
    first.preferences.set(flow="per-kernel", code_pixels=18, theme="light", repeats=7)
    first.close()
    second = MainWindow(Settings(tmp_path / "kept"))
    assert second.choices.flow.value == "per-kernel"
    assert second.look.code_pixels == 18
    assert second.runs.view.repeats.value() == 7
    second.preferences.set(theme="dark")
    second.close()
    for made in (first, second):
        made.deleteLater()


def test_no_style_sheet_takes_the_place_of_another(qapp, tmp_path, monkeypatch):
    """Qt would take several times as long for it as for one that comes where there is none."""
    qapp.setStyleSheet("")  # as a program begins, whatever other tests share a window
    look, put, replaced = Look(tmp_path / "icons", "dark"), QApplication.setStyleSheet, []

    def put_on(application, sheet):
        if sheet:
            replaced.append(application.styleSheet())
        put(application, sheet)

    monkeypatch.setattr(QApplication, "setStyleSheet", put_on)
    look.apply()
    dark = qapp.styleSheet()
    look.apply("light")
    assert qapp.styleSheet() not in ("", dark)
    look.set_ui_font("", 17, "dark")
    look.set_ui_font("", UI_PIXELS)
    assert qapp.styleSheet() == dark and qapp.font() == look.ui_font
    look.apply()
    assert replaced == [""] * 4, "nor is one put on again that is there"


def test_every_widget_of_a_new_window_has_the_interface_font(window):
    for widget in (
        window.choices.source,
        window.menuBar(),
        window.status.what,
        window.runs.view.run,
        window.explorer.kernels,
    ):
        assert widget.font().pixelSize() == window.look.ui_pixels, type(widget).__name__


def test_ctrl_wheel_zooms_code_and_is_remembered(qtbot, window):
    before = window.look.code_pixels
    event = QWheelEvent(
        QPointF(5, 5), QPointF(5, 5), QPoint(0, 0), QPoint(0, 120), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.ControlModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    window.log.view.wheelEvent(event)
    assert window.look.code_pixels == before + 1
    window.source.pane.editor.wheelEvent(event)
    assert window.look.code_pixels == before + 2
    window.look.zoom_code(before + 1)
    assert window.preferences.now.code_pixels == before + 1
    assert window.settings.get("code_pixels", 0) == before + 1


def test_the_dialog_is_there_before_somebody_opens_it(qtbot, window):
    """Made when it is opened it would be felt: its pages, the fonts there are, and the looks of each widget."""
    qtbot.waitUntil(lambda: window.preferences.dialog is not None and not window.spare.busy, timeout=30_000)
    dialog = window.preferences.dialog
    assert not dialog.isVisible() and dialog._pages.count() == dialog.sections.count() == 5
    window.features.do("settings")
    assert window.preferences.dialog is dialog and dialog.isVisible()
    assert dialog.sections.currentRow() == dialog._pages.currentIndex() == 0
    dialog.close()


def test_who_is_quicker_than_that_sees_the_first_page_at_once(qtbot, window):
    window.features.do("settings")
    dialog = window.preferences.dialog
    assert dialog.isVisible() and dialog._pages.count() == 1
    qtbot.waitUntil(lambda: dialog._pages.count() == 5)
    dialog.sections.setCurrentRow(3)
    assert dialog._pages.currentIndex() == 3 and dialog.browse.isVisibleTo(dialog)
    dialog.close()


def test_the_cache_can_be_seen_and_cleared(qtbot, window, tmp_path, monkeypatch):
    folder = tmp_path / "cache" / "object" / "ab"
    folder.mkdir(parents=True)
    entry = folder / ("cd" * 19)  # the name of an entry: whatever has another is not the cache's
    entry.write_bytes(b"x" * 5000)
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path / "cache"))
    window.records.forget()
    window.features.do("settings")
    dialog = window.preferences.dialog
    qtbot.waitUntil(lambda: "1 entry" in dialog.cache_note.text(), timeout=60_000)
    assert str(tmp_path / "cache") in dialog.cache_note.text()
    dialog.sections.setCurrentRow(3)
    qtbot.mouseClick(dialog.clear, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "0 entries" in dialog.cache_note.text(), timeout=60_000)
    assert not entry.exists()
    assert window.status.cache.text() == "cache empty"
    dialog.close()


def test_the_trace_database_moves_at_once(qtbot, tmp_path, monkeypatch):
    monkeypatch.delenv("KERNELGLASS_DB")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    window = MainWindow(Settings(tmp_path / "kept"))
    window.features.do("settings")
    dialog, other = window.preferences.dialog, tmp_path / "other.db"
    monkeypatch.setattr("app.controllers.preferences.path_to_save", lambda *a, **k: (str(other), ""))
    dialog.sections.setCurrentRow(3)
    qtbot.mouseClick(dialog.browse, Qt.MouseButton.LeftButton)
    assert window.preferences.database == str(other)
    window.opening.open("sample:softmax")
    qtbot.waitUntil(lambda: window.state.compilation is not None, timeout=60_000)
    window.runs.view.repeats.setValue(24)
    window.features.do("run")
    qtbot.waitUntil(lambda: window.state.run is not None and not window.turns.busy, timeout=120_000)
    assert other.exists() and window.state.run.number == 1
    (tmp_path / "text.db").write_text("no database at all, whatever its name says\n" * 50)
    window.preferences.set(database=str(tmp_path / "text.db"))
    qtbot.waitUntil(lambda: "not" in dialog.bar.text, timeout=60_000)
    assert "text.db" in dialog.bar.text
    window.close()
    window.deleteLater()


def test_trust_can_be_asked_for_every_time_and_forgotten(qtbot, window, tmp_path, monkeypatch):
    path = tmp_path / "mine.py"
    path.write_text("def build():\n    raise ValueError('not today')\n")
    asked = []
    monkeypatch.setattr(window.opening, "ask_trust", lambda p: asked.append(p) or False)
    window.settings.trust(str(path))
    window.preferences.set(ask_trust="always")
    assert not window.opening.open(str(path))
    assert asked == [str(path)]
    window.features.do("settings")
    dialog = window.preferences.dialog
    assert "1 file is trusted" in dialog.trust_note.text()
    dialog.sections.setCurrentRow(4)
    qtbot.mouseClick(dialog.forget, Qt.MouseButton.LeftButton)
    assert not window.settings.trusted(str(path))
    dialog.close()


def test_values_of_the_wrong_kind_are_defaults(tmp_path):
    settings = Settings(tmp_path)
    settings.set("jobs", "many")
    settings.set("use_cache", 3)
    settings.set("theme", ["dark"])
    assert load(settings.get) == Preferences()


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_read_only_settings_folder_is_said_and_the_window_opens(qtbot, tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        check_unwritable(qtbot, folder)
    finally:
        folder.chmod(stat.S_IRWXU)


def test_a_settings_folder_that_cannot_be_made_is_said_and_the_window_opens(qtbot, tmp_path):
    (tmp_path / "file").write_text("in the way")
    check_unwritable(qtbot, tmp_path / "file" / "config")


def check_unwritable(qtbot, folder):
    window = MainWindow(Settings(folder))
    window.show()
    assert "settings cannot be written" in window.log.bar.text
    assert "settings cannot be written" in window.log.view.toPlainText()
    window.preferences.set(theme="light")
    assert window.look.theme.name == "light"
    window.close()
    window.deleteLater()
