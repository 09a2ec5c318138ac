"""The frame around the views: message bars, layouts, menus, the status bar, dialogs, and empty places."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QInputDialog, QLineEdit, QMenu, QMessageBox, QTabBar, QToolTip, QTreeView

from app.controllers.settings import LAST_SESSION, Settings
from app.main_window import MainWindow
from app.theme.look import Look
from app.viewmodels.frame.formats import seconds
from app.viewmodels.frame.messages import Message
from app.views.frame.about import AboutDialog, versions
from app.views.frame.welcome import short_names
from app.views.frame.workbench import Workbench
from app.views.parts.widgets import MessageBar

pytestmark = pytest.mark.gui


def test_every_tip_has_as_much_room_around_its_words(qtbot, compiled):
    """Qt measures those of a list of choices as if there were no style sheet."""

    def around(widget) -> tuple[int, int]:
        QToolTip.showText(widget.mapToGlobal(widget.rect().center()), "Words", widget)
        (tip,) = (top for top in QApplication.topLevelWidgets() if top.windowType() == Qt.WindowType.ToolTip
                  and top.isVisible() and top.parent() is widget)  # fmt: skip
        try:
            return tip.size().toTuple()
        finally:
            tip.close()

    choices = compiled.choices
    assert around(choices.target) == around(choices.compile) == around(compiled.workbench.panes[0].text)


def menu(window, title: str) -> QMenu:
    return next(m for m in window.menuBar().findChildren(QMenu) if m.title().replace("&", "") == title)


def pane_docks(workbench: Workbench) -> list[str]:
    """The IR panes there are docks of, seen or not, as the layout knows them."""
    return sorted(d.objectName() for d in workbench._pane_docks.values() if workbench.dockWidgetArea(d).value)


def test_a_message_takes_no_more_room_than_its_words(qtbot, compiled):
    words = "cannot write /data/results/flows.csv: the disk is full. Free some room, or choose another place"
    compiled.resize(1280, 720)
    compiled.docks.reset_layout()
    compiled.messages.post(Message("error", words, "graph"))
    bar = compiled.graph.panel.bar
    qtbot.waitUntil(lambda: bar.isVisible() and bar.width() > 100)
    qtbot.waitUntil(lambda: bar.height() == bar.layout().heightForWidth(bar.width()))
    assert bar.height() < compiled.graph.panel.height() / 3
    qtbot.waitUntil(lambda: bar._text.height() >= bar._text.heightForWidth(bar._text.width()))
    assert bar.width() < 460
    qtbot.waitUntil(lambda: bar._text.width() > bar.width() * 0.6)  # the buttons are below, where the bar is narrow
    compiled.messages.post(Message("info", "mine.py is not compiled", "graph"))
    qtbot.waitUntil(lambda: bar._log.mapTo(bar, bar._log.rect().topLeft()).y() < 10)  # beside words that leave room
    compiled.messages.clear("graph")


def test_a_layout_that_is_restored_has_each_pane_once(qtbot, compiled):
    compiled.docks.reset_layout()
    compiled.docks.reset_layout()
    workbench = compiled.workbench
    assert len(workbench.panes) == 2
    assert pane_docks(workbench) == ["pane-1", "pane-2"]
    seen = [d for d in workbench.findChildren(type(workbench.graph_dock)) if d.objectName().startswith("pane-")]
    assert len(seen) == 2, "what was closed is no part of a layout any more"
    first, second = (workbench._pane_docks[pane] for pane in workbench.panes)
    qtbot.waitUntil(lambda: first.isVisible() and second.isVisible() and second.x() > first.x())


def test_layouts_are_saved_loaded_and_deleted_by_name(qtbot, compiled, monkeypatch):
    offered = []

    def item(_parent, _title, _label, names, *_rest):
        offered.append(list(names))
        return names[0], True

    monkeypatch.setattr(QInputDialog, "getItem", item)
    compiled.settings.save_layout(LAST_SESSION, compiled.docks.layout_states())
    compiled.features.do("load_layout")
    assert not offered and "no layout has been saved yet" in compiled.log.bar.text
    monkeypatch.setattr(QInputDialog, "getText", lambda *a: (f" {LAST_SESSION} ", True))
    compiled.features.do("save_layout")
    assert "another name" in compiled.log.bar.text
    monkeypatch.setattr(QInputDialog, "getText", lambda *a: ("wide", True))
    compiled.features.do("save_layout")
    assert "wide" in compiled.status.what.text()
    compiled.docks.named["inspector"].hide()
    compiled.features.do("load_layout")
    assert compiled.docks.named["inspector"].isVisible()
    compiled.features.do("delete_layout")
    assert offered == [["wide"], ["wide"]] and not compiled.settings.layout_names()
    compiled.log.bar.hide()


def test_the_view_menu_ticks_what_is_on_show(qtbot, compiled):
    shown = menu(compiled, "View")
    compiled.features.do("theme_dark")
    compiled.docks.named["explorer"].show()
    shown.aboutToShow.emit()
    actions = {action.objectName(): action for action in compiled.help.actions}
    switches = {command.name for command in compiled.features.commands if command.ticked}
    assert switches >= {"toggle_explorer", "toggle_inspector", "toggle_bottom", "theme_dark", "full_screen"}
    assert all(actions[name].isCheckable() for name in switches)
    assert actions["toggle_explorer"].isChecked() and actions["theme_dark"].isChecked()
    assert not actions["theme_light"].isChecked()
    actions["toggle_explorer"].trigger()
    shown.aboutToShow.emit()
    assert not compiled.docks.named["explorer"].isVisible() and not actions["toggle_explorer"].isChecked()
    actions["toggle_explorer"].trigger()
    assert compiled.docks.named["explorer"].isVisible()


def test_recent_sources_are_in_the_file_menu(qtbot, compiled):
    compiled.settings.set("recent", ["sample:softmax", "/tmp/b&w.py"])
    recent = menu(compiled, "Open recent")
    recent.aboutToShow.emit()
    assert [action.text() for action in recent.actions()] == ["softmax\tCtrl+1", "/tmp/b&&w.py\tCtrl+2"]
    recent.actions()[0].trigger()
    assert compiled.state.source == "sample:softmax"
    qtbot.waitUntil(lambda: not compiled.compiler.busy, timeout=60_000)


def test_the_status_bar_says_what_ended_and_how_long_it_took(qtbot, compiled):
    compiled.status.start("Exporting run 3")
    compiled.status.end(True)
    assert compiled.status.what.text().startswith("Exporting run 3: done in ")
    compiled.status.start("Exporting run 3")
    compiled.status.end(False)
    assert compiled.status.what.text().startswith("Exporting run 3: stopped after ")
    compiled.status.finish("Compiled mlp in 1 s")
    compiled.status.end(True)
    assert compiled.status.what.text() == "Compiled mlp in 1 s", "what was said of the end is not said over"


def test_names_of_kernels_keep_their_room_when_times_come(qtbot, compiled):
    table = compiled.explorer.kernels.view.table
    compiled.docks.named["explorer"].show()
    compiled.explorer.tabs.setCurrentIndex(0)
    compiled.resizeDocks([compiled.docks.named["explorer"]], [230], Qt.Orientation.Horizontal)
    qtbot.waitUntil(lambda: compiled.explorer.kernels.width() < 250)
    compiled.explorer.kernels.set_times({})
    assert not table.isColumnHidden(1) and table.isColumnHidden(2)
    compiled.explorer.kernels.set_times({kernel.name: 1e-3 for kernel in compiled.state.compilation.kernels})
    assert table.isColumnHidden(1) and not table.isColumnHidden(2)
    assert table.columnWidth(0) >= 140
    assert table.textElideMode() == Qt.TextElideMode.ElideMiddle
    compiled.explorer.kernels.set_times({})


def test_the_kernel_that_is_selected_stays_marked_when_times_come_and_go(qtbot, compiled):
    view, kernel = compiled.explorer.kernels.view, compiled.state.compilation.kernels[1]
    compiled.state.selection.select(kernel.nodes)
    assert view.selected() == [kernel]
    for times in ({known.name: 1e-3 for known in compiled.state.compilation.kernels}, {}):
        compiled.explorer.kernels.set_times(times)
        assert view.selected() == [kernel]
    compiled.state.selection.reset()
    assert not view.selected()


def test_tabs_of_docks_have_no_line_in_the_colours_of_the_style(qtbot, compiled):
    directly = Qt.FindChildOption.FindDirectChildrenOnly
    compiled.docks.reset_layout()
    for window in (compiled, compiled.workbench):
        qtbot.waitUntil(lambda w=window: any(b.isVisible() for b in w.findChildren(QTabBar, options=directly)))
        compiled.grab()
        bars = [bar for bar in window.findChildren(QTabBar, options=directly) if bar.isVisible()]
        assert bars and not any(bar.drawBase() for bar in bars)


def test_views_without_anything_say_what_to_do(qtbot, tmp_path):
    window = MainWindow(Settings(tmp_path / "fresh"))
    views = (
        window.explorer.kernels.view,
        window.runs.list.view,
        window.runs.list.compilations,
        window.what_if.ledger.view,
        window.runs.roofline.view,
    )
    for view in (*views, window.flows.view.view):
        assert len(view.table.empty) > 20, view.table.accessibleName()
    assert "Open a sample" in window.timeline.view.note and "F5" in window.runs.launches.note
    window.close()
    window.deleteLater()


def test_no_page_of_the_settings_is_wider_than_its_room(qtbot, compiled):
    compiled.preferences.show()
    dialog = compiled.preferences.dialog
    for row in range(dialog.sections.count()):
        dialog.sections.setCurrentRow(row)
        area = dialog._pages.currentWidget()
        qtbot.waitUntil(lambda a=area: a.isVisible())
        assert area.widget().minimumSizeHint().width() <= area.viewport().width(), dialog.sections.item(row).text()
    dialog.close()


def test_enter_in_haste_does_not_trust_a_file(qtbot, compiled, monkeypatch):
    asked = []
    monkeypatch.setattr(QMessageBox, "exec", lambda box: asked.append(box.defaultButton().text()))
    assert not compiled.opening.ask_trust("/somewhere/theirs.py")
    assert asked and "Cancel" in asked[0]


def test_about_has_the_versions_ready_to_be_copied(qtbot, compiled):
    known = dict(versions())
    assert {"Python", "xdsl", "llvmlite", "numpy"} <= set(known)
    compiled.features.do("about")
    dialog = compiled.findChild(AboutDialog)
    assert dialog.isVisible()
    qtbot.mouseClick(dialog.copy, Qt.MouseButton.LeftButton)
    assert f"llvmlite {known['llvmlite']}" in QGuiApplication.clipboard().text()
    dialog.close()


def test_recent_files_that_are_named_alike_are_told_apart():
    assert short_names(["sample:mlp", "/a/net.py", "/b/net.py", "/b/other.py"]) == [
        "mlp", "a/net.py", "b/net.py", "other.py",
    ]  # fmt: skip


@pytest.mark.parametrize("width, columns", [(1280, 3), (1920, 4), (3840, 6)])
def test_the_welcome_page_uses_the_width_there_is(qtbot, compiled, width, columns):
    compiled.docks.show_welcome()
    compiled.resize(width, 720)
    first = list(compiled.welcome.cards.values())[:columns]
    qtbot.waitUntil(lambda: len({c.y() for c in list(compiled.welcome.cards.values())[:columns]}) == 1)
    assert len(first) == columns
    compiled.docks.show_work()
    compiled.resize(1400, 900)


@pytest.mark.parametrize("value", [9.99e-9, 9.99e-6, 99.9e-6, 999e-6, 99.9e-3, 999e-3])
def test_columns_of_times_have_room_for_any_time(compiled, value):
    tables = ((compiled.runs.list.view, 2), (compiled.runs.list.compilations, 2), (compiled.runs.view.view, 2))
    for view, column in (*tables, (compiled.explorer.kernels.view, 2)):
        needed = view.table.fontMetrics().horizontalAdvance(seconds(value)) + 18  # the padding of a cell, both sides
        assert view.table.columnWidth(column) >= needed or view.table.isColumnHidden(column), (
            view.table.accessibleName()
        )


def _asked_for_a_file(qtbot, window):
    qtbot.waitUntil(lambda: window.opening._dialog is not None and window.opening._dialog.isVisible())
    return window.opening._dialog


def test_a_trusted_file_is_shown_once_the_question_is_gone(qtbot, compiled, tmp_path, monkeypatch):
    path = tmp_path / "mine.mlir.py"
    path.write_text("x = 1\n")
    monkeypatch.setattr(compiled.opening, "ask_trust", lambda _: True)
    opened = []
    compiled.state.opened.connect(opened.append)
    assert compiled.opening.open(str(path), in_turns=True)
    assert not opened, "not in the turn in which it was answered"
    qtbot.waitUntil(lambda: opened == ["x = 1\n"])
    compiled.state.opened.disconnect(opened.append)


def test_nothing_of_the_dialog_is_made_in_the_turn_of_the_key_that_asks_for_it(qtbot, compiled):
    compiled.spare.stop()
    compiled.opening._dialog = None
    compiled.opening.browse()
    assert compiled.opening._dialog is None
    _asked_for_a_file(qtbot, compiled).close()


def test_a_path_is_completed_from_what_can_be_opened(qtbot, compiled, tmp_path):
    """Folders are read off the window's thread, and one of many files holds nobody up."""
    for name in ("model.py", "model.onnx", "notes.txt", ".hidden.py"):
        (tmp_path / name).write_text("x = 1\n")
    (tmp_path / "models").mkdir()
    compiled.opening.browse()
    dialog = _asked_for_a_file(qtbot, compiled)
    field = dialog.findChild(QLineEdit)
    field.setFocus()
    for typed, expected in (("m", ["model.onnx", "model.py", "models/"]), (".h", [".hidden.py"]), ("n", [])):
        field.clear()
        qtbot.keyClicks(field, f"{tmp_path}/{typed}")
        completer = field.completer()

        def offered(completer=completer) -> list[str]:
            return [completer.completionModel().index(at, 0).data() for at in range(completer.completionCount())]

        qtbot.waitUntil(lambda e=expected, o=offered: o() == [f"{tmp_path}/{name}" for name in e], timeout=10_000)
    completer.popup().hide()
    dialog.close()


@pytest.fixture
def visited(compiled, monkeypatch):
    """The databases that were opened, and whether the dialog was still there; it goes with the test."""
    opened = []
    monkeypatch.setattr(
        compiled.opening, "_visit", lambda found: opened.append((found, compiled.opening.make_dialog().isVisible()))
    )
    yield opened
    compiled.opening.make_dialog().close()


@pytest.mark.parametrize("focus", ["name", "files"])
def test_what_is_chosen_in_the_dialog_is_opened_once_it_is_closed(qtbot, compiled, visited, tmp_path, focus):
    path = tmp_path / "chosen.db"
    path.write_bytes(b"")
    compiled.opening.browse()
    dialog = _asked_for_a_file(qtbot, compiled)
    field, files = dialog.findChild(QLineEdit), dialog.findChild(QTreeView, "treeView")
    focused = field if focus == "name" else files
    qtbot.waitUntil(lambda: focused.setFocus() or focused.hasFocus())
    assert not files.selectionModel().selectedRows(), "nothing is chosen before anybody chose"
    field.setText(str(path))
    dialog.accept()
    qtbot.waitUntil(lambda: visited == [(str(path), False)])


@pytest.mark.parametrize("again", ["while it comes", "once it is there"])
def test_who_asks_twice_for_the_dialog_answers_it_once(qtbot, compiled, visited, tmp_path, again):
    path = tmp_path / "chosen.db"
    path.write_bytes(b"")
    compiled.opening.browse()
    if again == "while it comes":
        compiled.opening.browse()
    dialog = _asked_for_a_file(qtbot, compiled)
    compiled.opening.browse()
    dialog.findChild(QLineEdit).setText(str(path))
    dialog.accept()
    qtbot.waitUntil(lambda: visited == [(str(path), False)] and not compiled.turns.busy)
    assert not dialog.isVisible()


@pytest.mark.parametrize("level", ["error", "warning", "info"])
def test_the_icon_of_a_message_has_the_colour_of_the_theme_on_show(qtbot, tmp_path, level):
    look = Look(tmp_path, "light")
    bar = MessageBar(look, "here")
    qtbot.addWidget(bar)
    bar.show_message(Message(level, "something happened", "here"))
    look.apply("dark")
    wanted = look.icon(level, {"error": "bad", "warning": "warning"}.get(level, "info")).pixmap(16, 16)
    assert bar._icon.pixmap().toImage() == wanted.toImage()
