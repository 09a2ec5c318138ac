"""Everything can be reached and read: names, keyboard, contrast, large fonts; and no meaning by colour alone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, SignalInstance
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMenuBar,
    QPlainTextEdit,
    QScrollBar,
    QTabBar,
    QTextEdit,
    QToolButton,
    QWidget,
)

from app.theme.tokens import DARK, LIGHT, contrast, readable
from app.views.frame.shortcut_sheet import ShortcutSheet

pytestmark = pytest.mark.gui
ROOT = Path(__file__).resolve().parents[3]
INTERACTIVE = (
    QAbstractButton, QComboBox, QLineEdit, QAbstractSpinBox, QAbstractItemView, QPlainTextEdit, QTextEdit, QTabBar,
)  # fmt: skip


def own(widget: QWidget) -> bool:
    """Whether a widget is ours to name: not a part that Qt makes inside another (a spin box's editor, a pop-up)."""
    parent = widget.parentWidget()
    if isinstance(widget, (QHeaderView, QScrollBar)) or widget.objectName().startswith("qt_"):
        return False
    if type(widget).__name__ in ("QDockWidgetTitleButton", "QComboBoxListView", "QLineEditIconButton", "CloseButton"):
        return False
    inside = (QAbstractSpinBox, QComboBox, QTabBar, QAbstractItemView, QMenuBar, QLineEdit)
    while parent is not None:
        if isinstance(parent, inside) or type(parent).__name__ == "QComboBoxPrivateContainer":
            return False
        parent = parent.parentWidget()
    return True


def interactive(root: QWidget) -> list[QWidget]:
    """What takes clicks or keys: the known kinds, and painted views that take the focus. A label whose words can be
    selected says them itself; a name would be read in their place."""
    found = []
    for widget in root.findChildren(QWidget):
        known = isinstance(widget, INTERACTIVE)
        painted = widget.focusPolicy() != Qt.FocusPolicy.NoFocus and type(widget).__module__.startswith("app.")
        painted = painted and not isinstance(widget, QLabel)
        if (known or painted) and own(widget) and widget.focusProxy() is None:
            found.append(widget)
    return found


def where(widget: QWidget) -> str:
    chain, at = [], widget
    while at is not None and len(chain) < 4:
        chain.append(type(at).__name__ + (f"({at.objectName()})" if at.objectName() else ""))
        at = at.parentWidget()
    text = widget.text() if isinstance(widget, (QAbstractButton, QLineEdit)) else ""
    return " < ".join(chain) + (f" {text!r}" if text else "")


def spoken(widget: QWidget) -> str:
    """What a screen reader says: the given name, else the text on it, else the words of its label."""
    if widget.accessibleName():
        return widget.accessibleName()
    if isinstance(widget, QAbstractButton) and widget.text().strip():
        return widget.text()
    return ""


@pytest.fixture
def everything(compiled):
    """The window with every dialog open that it has of its own."""
    compiled.features.do("settings")
    compiled.features.do("shortcuts")
    compiled.features.do("palette")
    yield compiled
    compiled.preferences.dialog.close()
    compiled.help.palette.hide()
    for sheet in compiled.findChildren(ShortcutSheet):
        sheet.close()


def test_every_interactive_widget_has_a_name(everything):
    nameless = [where(widget) for widget in interactive(everything) if not spoken(widget)]
    assert not nameless, "\n".join(nameless)


def test_every_interactive_widget_can_get_the_keyboard(everything):
    allowed = {everything.help.palette.list}  # moved by the arrows of the field above it
    deaf = [
        where(widget)
        for widget in interactive(everything)
        if not widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget not in allowed
        and not (isinstance(widget, QToolButton) and widget.defaultAction() is not None)
    ]  # fmt: skip
    assert not deaf, "\n".join(deaf)


def test_no_attribute_hides_a_method_of_qt(everything):
    methods = {name for name in dir(QWidget) if callable(getattr(QWidget, name)) and not name.startswith("__")}
    hidden = {
        f"{type(widget).__name__}.{name}"
        for widget in everything.findChildren(QWidget)
        if type(widget).__module__.startswith("app.")
        for name, value in vars(widget).items()
        if name in methods and not isinstance(value, SignalInstance)
    }
    assert not hidden, f"Qt calls these and would crash: {hidden}"


def test_tab_goes_through_the_window_and_comes_back(qtbot, compiled):
    seen: list[QWidget] = []
    compiled.choices.source.setFocus()
    for _ in range(400):
        focused = QApplication.focusWidget()
        if focused is None or focused in seen:
            break
        seen.append(focused)
        # Editors take Tab for themselves; Ctrl+Tab is not theirs. `focusNextChild` is what Tab does elsewhere.
        compiled.focusNextChild()
    assert len(seen) > 20
    assert compiled.choices.compile in seen and compiled.graph.panel.view in seen
    assert seen.index(compiled.choices.compile) < seen.index(compiled.graph.panel.view)


@pytest.mark.parametrize("key", [Qt.Key.Key_Tab, Qt.Key.Key_Backtab])
def test_tab_leaves_out_what_is_behind_another_tab(qtbot, compiled, key):
    qtbot.wait_at_rest(compiled)
    begin = compiled.choices.source
    begin.setFocus()
    seen: list[QWidget] = []
    while not seen or QApplication.focusWidget() is not begin:
        seen.append(QApplication.focusWidget())
        assert len(seen) < 200, f"the keyboard stays at {seen[-1].accessibleName()}"
        QTest.keyClick(seen[-1], key)
    assert {compiled.graph.panel.view, compiled.explorer.inspector, compiled.workbench.panes[1].text} <= set(seen)
    assert not [widget.accessibleName() for widget in seen if widget.visibleRegion().isEmpty()]
    assert not [type(widget) for widget in seen if not spoken(widget)]
    assert not compiled.source.edits.edited()


def test_tab_leaves_out_a_bar_whose_tabs_are_gone(qtbot, compiled):
    """Qt keeps it, with its place, for the next tabs."""
    bench = compiled.workbench
    while len(bench.panes) < 8:
        bench.add_pane("mo")
    qtbot.wait_at_rest(compiled)
    for pane in bench.panes[2:]:
        bench.remove_pane(pane)
    test_tab_leaves_out_what_is_behind_another_tab(qtbot, compiled, Qt.Key.Key_Tab)


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_whatever_has_the_keyboard_shows_it(qtbot, compiled, theme):
    compiled.look.apply(theme)
    for name in ("timeline", "funnel", "memory", "run", "hottest", "roofline", "history", "sweep"):
        compiled.docks.show(name)
        qtbot.wait_at_rest(compiled)
        unmarked, seen = [], 0
        compiled.choices.source.setFocus()
        while seen == 0 or QApplication.focusWidget() is not compiled.choices.source:
            widget, seen = QApplication.focusWidget(), seen + 1
            with_it = widget.grab().toImage()
            QTest.keyClick(widget, Qt.Key.Key_Tab)
            if QApplication.focusWidget() is not widget and widget.grab().toImage() == with_it:
                unmarked.append(spoken(widget))
        assert not unmarked, f"{name}: {unmarked}"
    compiled.docks.show("timeline")


def test_whoever_chooses_another_tab_writes_there_not_behind_it(qtbot, compiled):
    bench, editor, text = compiled.workbench, compiled.source.pane.editor, compiled.source.pane.text
    compiled.graph.panel.view.setFocus()
    bench.source_dock.raise_()  # as a click on its tab does
    qtbot.waitUntil(lambda: QApplication.focusWidget() is editor)
    bench.graph_dock.raise_()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is compiled.graph.panel.view)
    QTest.keyClicks(QApplication.focusWidget(), "f")
    assert compiled.source.pane.text == text
    compiled.choices.source.setFocus()
    bench.source_dock.raise_()
    qtbot.wait_at_rest(compiled)
    assert QApplication.focusWidget() is compiled.choices.source, "what is in sight keeps it"
    bench.graph_dock.raise_()
    qtbot.wait_at_rest(compiled)


def test_every_command_has_a_place_of_its_own_in_its_menu(compiled):
    """Two at one place stand in the order of the program's parts, between what others mean to be together."""
    places = Counter((command.menu, command.at) for command in compiled.features.commands)
    assert not [place for place, many in places.items() if many > 1]


def test_every_action_is_in_a_menu_and_no_two_share_a_key(compiled):
    in_menus = {a.objectName() for m in compiled.menuBar().actions() for a in m.menu().actions()}
    commands = compiled.features.commands
    assert {command.name for command in commands} <= in_menus
    keys = [QKeySequence(command.keys).toString() for command in commands if command.keys]
    assert len(keys) == len(set(keys))
    for menu in compiled.menuBar().actions():
        assert "&" in menu.text(), f"{menu.text()} has no mnemonic"


def test_the_palette_lists_every_action_with_its_keys(qtbot, compiled):
    compiled.features.do("palette")
    listed = {}
    model = compiled.help.palette.list.model()
    for row in range(model.rowCount()):
        listed[model.index(row, 0).data()] = model.index(row, 0).data(Qt.ItemDataRole.UserRole + 1)
    for action in compiled.help.actions:
        if action.isEnabled():
            name = action.text().replace("&", "").rstrip(".")
            assert name in listed, name
            assert listed[name] == action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
    qtbot.keyClicks(compiled.help.palette.field, "no such command at all")
    qtbot.waitUntil(lambda: compiled.help.palette.list.count() == 0)
    qtbot.keyClick(compiled.help.palette.field, Qt.Key.Key_Escape)
    assert not compiled.help.palette.isVisible()


def test_the_shortcut_sheet_has_every_key(compiled):
    compiled.features.do("shortcuts")
    sheet = compiled.findChildren(ShortcutSheet)[-1]
    for command in compiled.features.commands:
        if command.keys:
            assert any(command.keys == keys for entries in sheet.page.shown.values() for keys, _ in entries), command
    sheet.close()


@pytest.mark.parametrize("name", ["dark", "light"])
def test_what_stands_on_heat_can_be_read(name):
    theme = {"dark": DARK, "light": LIGHT}[name]
    for ground in theme.heat:
        for own in theme.series:
            for ink in readable(ground, theme.text, theme.muted, own):
                assert contrast(ink, ground) >= 4.5, f"{ink} on {ground}"


@pytest.mark.parametrize("name", ["dark", "light"])
def test_the_themes_meet_wcag_aa(name):
    theme = {"dark": DARK, "light": LIGHT}[name]
    grounds = {g: getattr(theme, g) for g in ("window", "panel", "raised", "code", "hover")}
    for ground, colour in grounds.items():
        assert contrast(theme.text, colour) >= 7, f"text on {ground}"
        assert contrast(theme.muted, colour) >= 4.5, f"muted on {ground}"
        for token in ("good", "warning", "bad", "info", "accent"):
            assert contrast(getattr(theme, token), colour) >= 4.5, f"{token} on {ground}"
    for token in ("window", "panel", "raised", "code"):
        assert contrast(theme.faint, grounds[token]) >= 4.5, f"faint on {token}"  # it is text too: hints, empty views
        # What tells a control from its ground (WCAG 1.4.11) needs 3:1.
        assert contrast(theme.accent, grounds[token]) >= 3, f"focus on {token}"
    for kind, colour in theme.syntax.items():
        assert contrast(colour, theme.code) >= 4.5, f"syntax {kind}"
    for index, colour in enumerate(theme.series):
        assert contrast(colour, theme.panel) >= 3, f"series {index}"
    assert contrast(theme.text, theme.selection) >= 4.5
    assert contrast(theme.accent_text, theme.accent) >= 4.5


def test_the_window_is_usable_with_a_large_font(qtbot, compiled):
    compiled.resize(1400, 900)
    compiled.look.set_ui_font("", 22)
    try:
        QApplication.processEvents()
        for widget in interactive(compiled):
            if isinstance(widget, QAbstractButton) and widget.isVisible() and widget.text() and widget.width() > 30:
                assert widget.height() >= widget.fontMetrics().height(), where(widget)
    finally:
        compiled.look.set_ui_font("", 13)


@pytest.mark.slow
def test_at_twice_the_size_it_fits_a_small_screen(tmp_path):
    """1280x720 points at 200 %: nothing makes the window larger than the screen, and the picture is twice as fine."""
    code = f"""
import sys, time
from pathlib import Path
from PySide6.QtWidgets import QApplication
application = QApplication([])
from app.main_window import MainWindow
from app.controllers.settings import Settings
window = MainWindow(Settings(Path({str(tmp_path / "kept")!r})))
window.resize(1280, 720)
window.show()
window.opening.open("sample:mlp")
end = time.monotonic() + 60
while (window.compiler.busy or window.graph.model.layout is None) and time.monotonic() < end:
    application.processEvents()
    time.sleep(0.01)
for name in window.docks.bottom:
    window.docks.show(name)
    for _ in range(5):
        application.processEvents()
    assert (window.width(), window.height()) == (1280, 720), (name, window.size())
picture = window.grab()
assert picture.width() == 2560, picture.size()
window.close()
"""
    environment = {
        **os.environ, "QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": "2", "PYTHONPATH": str(ROOT),
        "KERNELGLASS_DB": str(tmp_path / "runs.db"),
    }  # fmt: skip
    made = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert made.returncode == 0, made.stderr[-2000:]
