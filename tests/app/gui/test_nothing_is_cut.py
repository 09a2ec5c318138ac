"""No words are cut: in dialogs at their least and their usual size, in the headings of tables and in the bars above
views at any width; in both themes, with the usual font and with a large one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QRect, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractSpinBox, QCheckBox, QDialog, QLabel, QMessageBox, QPushButton, QWidget

from app.controllers.settings import Settings
from app.main_window import MainWindow
from app.viewmodels.frame.devices import remote_row
from app.views.frame.about import AboutDialog, versions
from app.views.frame.remote_devices import RemoteDevicesDialog
from app.views.frame.shortcut_sheet import ShortcutSheet
from app.views.parts.header import Header
from app.views.parts.table import RecordView
from app.views.parts.widgets import Elided

pytestmark = pytest.mark.gui
USUAL, LARGE = 13, 20
LOOKS = [(theme, pixels) for pixels in (USUAL, LARGE) for theme in ("dark", "light")]


@pytest.fixture(scope="module")
def plain(qapp, tmp_path_factory) -> Iterator[MainWindow]:
    """A window of its own, without a model: one font after the other is put on it."""
    folder = tmp_path_factory.mktemp("plain")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELGLASS_DB", str(folder / "runs.db"))
        window = MainWindow(Settings(folder / "config"))
    window.resize(1280, 720)
    window.show()
    yield window
    window.look.set_ui_font("", USUAL, "dark")
    window.close()
    window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture(params=LOOKS, ids=[f"{theme}-{pixels}" for theme, pixels in LOOKS], scope="module")
def window(request, plain) -> MainWindow:
    """That window in a theme, with a font."""
    theme, pixels = request.param
    plain.look.set_ui_font("", pixels, theme)
    QCoreApplication.processEvents()
    return plain


def cut(words: QWidget) -> str:
    """What is wrong with the room of a label, a button or a box to tick; empty where its words are whole."""
    if isinstance(words, Elided):
        return f"shortened to {QLabel.text(words)!r}" if QLabel.text(words) != words.text() else ""
    if isinstance(words, QLabel) and words.wordWrap():
        needed = words.heightForWidth(words.width())
        widest = max(words.fontMetrics().horizontalAdvance(word) for word in QLabel.text(words).split())
        if widest > words.contentsRect().width():
            return f"a word needs {widest} pixels of {words.contentsRect().width()}"
        return f"needs a height of {needed}, has {words.height()}" if needed > words.height() else ""
    needed = words.minimumSizeHint()
    if needed.width() > words.width() or needed.height() > words.height():
        return f"needs {needed.width()}x{needed.height()}, has {words.width()}x{words.height()}"
    return ""


def all_whole(dialog: QWidget) -> list[str]:
    """Words of a dialog that are cut, at the size it comes in and at the least it can be given."""
    QCoreApplication.processEvents()
    wrong, usual = [], dialog.size()
    for what, size in (("usual", usual), ("least", dialog.minimumSizeHint())):
        dialog.resize(size)
        found = ["not looked at yet"]
        for turn in range(40):  # a word that wraps, or comes only now, asks for another height and gets it turns later
            QTest.qWait(0 if turn < 3 else 10)
            if turn >= 2 and not (found := cut_words(dialog)):
                break
        wrong += [f"{dialog.windowTitle()}, {what} size: {words}" for words in found]
    dialog.resize(usual)
    return wrong


def cut_words(dialog: QWidget) -> list[str]:
    """What of it is cut now."""
    shown = [
        words
        for kind in (QLabel, QPushButton, QCheckBox)
        for words in dialog.findChildren(kind)
        if words.isVisible() and words.text()
    ]
    return [f"{words.text()[:60]!r} {problem}" for words in shown if (problem := cut(words))]


def about(window: MainWindow) -> Iterator[QDialog]:
    yield AboutDialog(window.look, versions(), window)


def settings(window: MainWindow) -> Iterator[QDialog]:
    window.preferences.show()
    dialog = window.preferences.dialog
    assert dialog is not None
    for row in range(dialog.sections.count()):
        dialog.sections.setCurrentRow(row)
        yield dialog


def remote_devices(window: MainWindow) -> Iterator[QDialog]:
    dialog = RemoteDevicesDialog(window)
    yield dialog
    dialog.say("tcp://somewhere is no place of a device: it is written tcp://HOST:PORT/cpu or tcp://HOST:PORT/cuda:0")
    yield dialog
    dialog.set_devices((remote_row("tcp://10.0.0.1:8786/cuda:0", missing="nobody answers at tcp://10.0.0.1:8786"),))
    yield dialog


@pytest.mark.parametrize("dialogs", [about, settings, remote_devices])
def test_words_of_dialogs_are_whole(window, dialogs: Callable[[MainWindow], Iterator[QDialog]]):
    wrong = []
    for dialog in dialogs(window):
        dialog.show()
        wrong += all_whole(dialog)
    dialog.close()
    assert not wrong, "\n".join(wrong)


def test_numbers_stand_clear_of_the_frame_of_their_field(window):
    """As words in the fields beside them do; where Qt puts a number by itself differs from version to version."""
    fields = [field for dialog in settings(window) for field in dialog.findChildren(QAbstractSpinBox)]
    fields += window.findChildren(QAbstractSpinBox)
    assert len(fields) >= 10
    for field in fields:
        begins = field.lineEdit().geometry().left() + field.lineEdit().textMargins().left()
        assert 5 <= begins <= 10, f"{field.accessibleName()}: {begins} pixels"
    window.preferences.dialog.close()


def test_fields_are_as_high_as_their_neighbours(window):
    """Numbers, choices and lines of text: in the settings below each other, in a bar beside each other."""
    high = {}
    for dialog in settings(window):
        dialog.show()
        QCoreApplication.processEvents()
        fields = {name: field for name, field in dialog.fields.items() if not isinstance(field, QCheckBox)}
        high |= {name: field.height() for name, field in fields.items() if field.isVisible()}
    window.preferences.dialog.close()
    usual = window.font().pixelSize() == USUAL  # with a larger font, Qt rounds each kind in its own way
    assert len(high) > 8 and max(high.values()) - min(high.values()) <= (0 if usual else 5), high
    run = window.runs.view
    assert run.threads.sizeHint().height() == run.repeats.sizeHint().height() == run.sizes.sizeHint().height()


def test_every_choice_of_tokens_is_there_in_a_small_window(window):
    view = window.generating.view
    fields = (view.most, view.temperature, view.top_k, view.top_p, view.seed)
    bar, size = view.most.parentWidget(), view.most.parentWidget().size()
    pixels = window.font().pixelSize()
    laid_out(bar, 800 * max(pixels, USUAL) // USUAL, bar.height())  # the bottom's room in a window of 1280 pixels
    narrow = [field.accessibleName() for field in fields if field.width() < 70]
    bar.resize(size)
    assert not narrow


def test_both_lines_of_a_device_elsewhere_are_whole_where_the_keyboard_is(window):
    """Inside the frame that the row with the keyboard has, for which Qt leaves no room by itself."""
    dialog = RemoteDevicesDialog(window)
    dialog.set_devices((remote_row("tcp://10.0.0.1:8786/cuda:0", missing="nobody answers at tcp://10.0.0.1:8786"),))
    dialog.show()
    QCoreApplication.processEvents()
    row = dialog.list.visualItemRect(dialog.list.item(0))
    words = dialog.list.fontMetrics().boundingRect(QRect(), Qt.AlignmentFlag.AlignLeft, dialog.list.item(0).text())
    dialog.close()
    assert row.height() >= words.height() + 6


def test_words_of_questions_are_whole(window, monkeypatch):
    wrong = []

    def look_at(box: QMessageBox) -> int:
        box.show()
        wrong.extend(all_whole(box))
        box.hide()
        return 0

    monkeypatch.setattr(QMessageBox, "exec", look_at)
    window.opening.ask_trust("/home/somebody/with/a/folder/of/some/depth/and-a-long-name-of-a-file.py")
    type(window.source).ask_edits(window.source, ["matmul_add_relu", "mine.py"])
    assert not wrong, "\n".join(wrong)


def test_keys_and_what_they_do_have_room_on_their_sheet(window):
    sheet = ShortcutSheet(window.look, window.features.shortcut_groups(), window)
    sheet.show()
    for wide in (sheet.width(), sheet.minimumSizeHint().width()):
        sheet.resize(wide, sheet.height())
        QCoreApplication.processEvents()
        page = sheet.page
        places = [line.place for line in page._lines]
        assert max(place.right() for place in places) <= page.width()
        for at, place in enumerate(places):
            assert not any(place.intersects(other) for other in places[at + 1 :])
        for line in page._lines:
            words = line.place.width() - (page._key + 14 if line.keys else 0)
            assert max(page.fontMetrics().horizontalAdvance(word) for word in line.words.split()) <= words, line
    sheet.close()


def laid_out(widget: QWidget, wide: int, high: int = 300) -> None:
    """Give a widget a size at once, whether it is in sight or behind a tab: there Qt would wait until it is shown."""
    widget.resize(wide, high)
    for _ in range(2):  # what is hidden in the first leaves its room to others in the second
        for part in (widget, *widget.findChildren(QWidget)):
            QCoreApplication.sendEvent(part, QResizeEvent(part.size(), part.size()))
        if (layout := widget.layout()) is not None:
            layout.invalidate()
            layout.activate()


WIDTHS = (200, 260, 320, 400, 480, 560, 640, 760, 900, 1100, 1400)


def tables(window: MainWindow) -> list[RecordView]:
    found = window.findChildren(RecordView)
    assert len(found) >= 8
    return found


def test_headings_of_tables_are_whole_at_any_width(window):
    wrong = set()
    for view in tables(window):
        header, size = view.table.horizontalHeader(), view.size()
        for wide in WIDTHS:
            laid_out(view, wide)
            for at in range(header.count()):
                if header.isSectionHidden(at):
                    continue
                title = view.model.columns[at].title
                needed = header.fontMetrics().horizontalAdvance(title) + 16  # what the style sheet has beside it
                if header.sectionSize(at) < needed:
                    name = view.table.accessibleName()
                    wrong.add(f"{name}, {title!r}: {header.sectionSize(at)} pixels of {needed} at {wide}")
        view.resize(size)
    assert not wrong, "\n".join(sorted(wrong))


def test_what_stands_in_a_bar_never_overlaps(window):
    wrong = set()
    assert len(window.findChildren(Header)) >= 20
    below = {pane.header: pane for pane in window.workbench.panes}  # which also fits what stands in its header
    for bar in window.findChildren(Header):
        size = bar.size()
        for wide in range(bar.minimumSizeHint().width(), 1200, 45):
            if bar in below:
                laid_out(below[bar], wide)
            laid_out(bar, wide, bar.height())
            if wide < bar.minimumSizeHint().width():  # nobody can make it so narrow
                continue
            inside = [w for w in bar.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
                      if not w.isHidden() and w.maximumWidth() > 0]  # fmt: skip
            for at, one in enumerate(inside):
                rest = [other for other in inside[at + 1 :] if one.geometry().intersects(other.geometry())]
                named = f"{one.accessibleName() or one.toolTip() or type(one).__name__}"
                wrong.update(
                    f"{named} over {other.accessibleName() or type(other).__name__} at {wide}" for other in rest
                )
                if not QRect(0, 0, wide, bar.height()).contains(one.geometry()):
                    wrong.add(f"{named} leaves its bar at {wide}: {one.geometry()}")
        bar.resize(size)
    assert not wrong, "\n".join(sorted(wrong))
