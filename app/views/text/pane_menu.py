"""The menu of an IR pane: built when it is asked for, as what can be done depends on what the pane shows. And going to
places of its text: a line by its number, the next difference, where a symbol is defined."""

from __future__ import annotations

from typing import Any

from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QInputDialog, QMenu, QToolButton

from app.theme.look import Look
from app.viewmodels.compilation import EDITABLE
from app.viewmodels.frame.devices import TARGETS
from app.viewmodels.frame.messages import Message
from app.viewmodels.text.definitions import definition_at
from app.viewmodels.text.ir_pane import Against
from app.views.parts.widgets import flat_button


def edit_button(look: Look, pane: Any) -> QToolButton:
    """A button of an IrPane that asks to edit what it shows, while that is something that was written."""
    button = flat_button(look, "source", "Edit this text (Ctrl+Alt+E)", lambda: pane.edit_wanted.emit(pane))
    model = pane.model

    def editable() -> bool:
        return model.stage in EDITABLE and not model.origin and model.step < 0

    for event in (model.wanted, model.changed):
        event.connect(lambda *_: button.setVisible(editable()))
    if not editable():  # not shown before it stands in the pane: it would be a window of its own
        button.hide()
    return button


def pane_menu(pane: Any) -> QMenu:
    """What can be done with an IrPane now. Keys are named, not bound."""
    menu, text, document = QMenu(pane), pane.text, pane.model.document
    menu.addAction("Copy the selected lines\tCtrl+C", text.copy).setEnabled(bool(text.shown.rows))
    menu.addAction("Copy all", lambda: _copy_all(pane)).setEnabled(bool(document.lines))
    menu.addAction("Find...\tCtrl+F", pane.find_bar.open)
    menu.addAction("Go to line...\tCtrl+G", lambda: ask_line(pane))
    menu.addAction("Go to definition\tF12", lambda: go_to_definition(pane))
    if pane.model.stage in EDITABLE:
        menu.addAction("Edit this text...", lambda: pane.edit_wanted.emit(pane))
    menu.addSeparator()
    menu.addAction("Compare with the stage before\tD", lambda: pane.compare_wanted.emit(pane, "stage"))
    menu.addAction("Compare with the previous compilation", lambda: pane.compare_wanted.emit(pane, "previous"))
    with_pane = menu.addMenu("Compare with another pane")
    with_pane.setEnabled(bool(others := pane.others()))
    for title, key in others:
        with_pane.addAction(title, lambda k=key, t=title: pane.model.compare(Against(k, f"against {t}")))
    here, beside = menu.addMenu("Target of this pane"), menu.addMenu("Open beside for target")
    now = pane.model.target or pane.model.own_target
    for name, title in TARGETS:
        _checked(here.addAction(title, lambda n=name: pane.set_target(n)), name == now)
        beside.addAction(title, lambda n=name: pane.beside_wanted.emit(pane, n)).setEnabled(name != now)
    menu.addSeparator()
    _checked(menu.addAction("Lock: keep this text", pane.lock.toggle), pane.model.locked)
    if not pane.quiet.isHidden():
        _checked(menu.addAction("Hide directives and comments", pane.quiet.toggle), pane.quiet.isChecked())
    menu.addAction("Fold all", lambda: text.fold_all(True)).setEnabled(bool(text.shown.regions))
    menu.addAction("Unfold all", lambda: text.fold_all(False)).setEnabled(bool(text.shown.folded))
    menu.addSeparator()
    menu.addAction("Close this pane", lambda: pane.close_wanted.emit(pane))
    return menu


def _checked(action: QAction, on: bool) -> None:
    action.setCheckable(True)
    action.setChecked(on)


def _copy_all(pane: Any) -> None:
    document = pane.model.document
    QGuiApplication.clipboard().setText(document.text(0, document.lines - 1))


def ask_line(pane: Any) -> None:
    """Ask for a line's number and go there."""
    lines, caret = pane.text.document.lines, max(pane.text.shown.caret, 0)
    words = f"Line (1 to {lines:,}):"
    number, good = QInputDialog.getInt(pane, "Go to line", words, caret + 1, 1, max(lines, 1))
    if good:
        pane.text.go_to_line(number - 1)


def step_difference(pane: Any, by: int) -> None:
    """The next difference after where one is, or the one before; around at the ends."""
    changes = pane.model.diff.changes if pane.model.diff else []
    if not changes:
        return
    at = pane.text.shown.caret if pane.text.shown.caret >= 0 else pane.text.visible_range()[0] - 1
    later = [line for line in changes if line > at]
    earlier = [line for line in changes if line < at]
    pane.text.go_to_line((later or changes)[0] if by > 0 else (earlier or changes)[-1])


def go_to_definition(pane: Any, line: int = -1, column: int = 0) -> None:
    """Where the symbol at a place is defined; at the place clicked last where none is given."""
    if line < 0:
        line, column = pane.text.pressed
    symbol, found = definition_at(pane.text.document, pane.text.shown.language, line, column)
    if found >= 0:
        pane.text.go_to_line(found)
    elif symbol:
        pane.bar.show_message(Message("info", f"{symbol} is not defined in this text", "pane"))
