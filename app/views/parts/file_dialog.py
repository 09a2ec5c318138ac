"""The dialog that files are chosen with, where it is Qt's own: made in one place, so that nothing in it is cut.

Qt gives its columns widths that suit no font but its own, and its list of places that of the first of them. No class of
its own: for one of those Qt would leave out the system's dialog.
"""

from __future__ import annotations

from PySide6.QtWidgets import (
    QComboBox,
    QDialogButtonBox,
    QFileDialog,
    QFileSystemModel,
    QHeaderView,
    QLabel,
    QListView,
    QSplitter,
    QTreeView,
    QWidget,
)

from app.views.parts.later import one_shot

_NAME, _OTHERS = 0, (1, 2, 3)  # its columns: size, kind and date beside the name
_PAUSE = 20  # milliseconds: the files of a folder come one after the other
_MARGINS = 60  # pixels around and between the parts of a row
_ARROW = 40  # pixels of a list of choices beside its words
_LETTERS = 34  # of a name that there is room for, at least


def file_dialog(parent: QWidget, title: str, name: str = "", kinds: str = "") -> QFileDialog:
    """One that asks for a file; what it is for is the caller's to say."""
    dialog = QFileDialog(parent, title, "", kinds)
    if name:
        dialog.selectFile(name)
    files, held = dialog.findChild(QTreeView, "treeView"), dialog.findChild(QFileSystemModel)
    if files is not None and held is not None:
        files.header().setSectionResizeMode(_NAME, QHeaderView.ResizeMode.Stretch)
        fitting = one_shot(dialog, lambda: fit_columns(dialog), _PAUSE)
        for event in (held.directoryLoaded, files.model().rowsInserted, files.model().layoutChanged):
            event.connect(lambda *_: fitting.start())
    return dialog


def fit_columns(dialog: QFileDialog) -> None:
    """Give the list of places and each column what their words need, and the rest to the names."""
    files, places = dialog.findChild(QTreeView, "treeView"), dialog.findChild(QListView, "sidebar")
    splitter = dialog.findChild(QSplitter)
    if files is None or places is None or splitter is None:  # the system's own
        return
    for at in _OTHERS:
        files.resizeColumnToContents(at)
    beside = sum(map(files.columnWidth, _OTHERS))
    left = places.sizeHintForColumn(0) + 2 * places.frameWidth()
    right = beside + _LETTERS * files.fontMetrics().averageCharWidth()
    wide = max(left + right + _MARGINS, _for_kinds(dialog))
    over = dialog.parentWidget()
    room = over.window().width() if over is not None else dialog.width()
    dialog.resize(max(dialog.width(), min(wide, room - 40)), dialog.height())
    splitter.setSizes([left, max(splitter.width() - left, 1)])


def _for_kinds(dialog: QFileDialog) -> int:
    """The width at which the kind of files that is chosen can be read. Not by how wide its list is now: before the
    dialog is shown that is no one's choice."""
    kinds = dialog.findChild(QComboBox, "fileTypeCombo")
    if kinds is None:
        return 0
    beside = [dialog.findChild(QLabel, "fileTypeLabel"), dialog.findChild(QDialogButtonBox)]
    words = kinds.fontMetrics().horizontalAdvance(kinds.currentText())
    return words + _ARROW + sum(part.sizeHint().width() for part in beside if part is not None) + _MARGINS


def path_to_save(
    parent: QWidget, title: str, name: str, kinds: str = "", overwrite: bool = False
) -> tuple[str, str]:  # fmt: skip
    """Where to write to, and which of the kinds was chosen; no path where the user thinks better of it. Who says
    `overwrite` does not ask before a file that is there is named."""
    dialog = file_dialog(parent, title, name, kinds)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setFileMode(QFileDialog.FileMode.AnyFile)
    dialog.setOption(QFileDialog.Option.DontConfirmOverwrite, overwrite)
    return _asked(dialog)


def path_to_open(parent: QWidget, title: str, kinds: str) -> str:
    """Which file to open; none where the user thinks better of it."""
    dialog = file_dialog(parent, title, "", kinds)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    return _asked(dialog)[0]


def _asked(dialog: QFileDialog) -> tuple[str, str]:
    try:
        good = dialog.exec()
        return (dialog.selectedFiles()[0], dialog.selectedNameFilter()) if good else ("", "")
    finally:
        dialog.deleteLater()
