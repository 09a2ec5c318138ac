"""About: what this is, which version, and the parts it runs on, ready to be copied into a report of a problem."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from functools import cache

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QGridLayout, QLabel, QVBoxLayout, QWidget

from app.theme.icons import pixmap
from app.theme.look import Look
from app.views.parts.controls import in_row, paragraph, push_button
from app.views.parts.widgets import label

PARTS = ("PySide6_Essentials", "xdsl", "llvmlite", "numpy", "pyqtgraph", "igraph")
_WIDE = 420  # pixels of the words


@cache
def versions() -> Sequence[tuple[str, str]]:
    """(part, version) of this program and of what it is built on; what is not installed is left out."""
    from importlib.metadata import PackageNotFoundError, version

    found = [("Python", platform.python_version()), ("System", platform.platform(terse=True))]
    for part in ("kernelglass", *PARTS):
        try:
            found.append((part.replace("_", " "), version(part)))
        except PackageNotFoundError:
            continue
    return found


class AboutDialog(QDialog):
    """Shows (part, version) rows; Copy takes them to the clipboard."""

    def __init__(self, look: Look, rows: Sequence[tuple[str, str]], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("About Kernelglass")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.rows = list(rows)
        known = dict(rows)
        self._look, self._mark = look, QLabel()
        look.changed.connect(self._dress)
        self._dress()
        name = label(f"Kernelglass {known.get('kernelglass', '')}".strip(), "title")
        words = paragraph(
            "A graph-to-kernel compiler you can look through: fusion, IR, LLVM and machine code, with times, "
            "and every line knows its node. Apache License 2.0."
        )
        words.setFixedWidth(_WIDE)
        words.setMinimumHeight(words.heightForWidth(_WIDE))
        top = QGridLayout()
        top.setHorizontalSpacing(14)
        top.addWidget(self._mark, 0, 0, 2, 1, Qt.AlignmentFlag.AlignTop)
        top.addWidget(name, 0, 1)
        top.addWidget(words, 1, 1)
        top.setColumnStretch(1, 1)
        top.setVerticalSpacing(8)
        table = QGridLayout()
        table.setHorizontalSpacing(16)
        table.setVerticalSpacing(4)
        for row, (part, version) in enumerate(entry for entry in rows if entry[0] != "kernelglass"):
            for at, words in enumerate((label(part, "muted"), label(version))):
                # Both, to stand on one line: Qt sets words that can be selected a pixel higher.
                words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
                table.addWidget(words, row, at)
        table.setColumnStretch(1, 1)
        table.setContentsMargins(0, 8, 0, 0)
        top.addLayout(table, 2, 1)
        self.copy = push_button("Copy versions", lambda: QGuiApplication.clipboard().setText(self.text()))
        close = push_button("Close", self.close)
        close.setDefault(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 20, 20, 16)
        layout.setSizeConstraint(QVBoxLayout.SizeConstraint.SetFixedSize)
        layout.setSpacing(16)
        layout.addLayout(top)
        layout.addLayout(in_row(None, self.copy, close))
        close.setFocus()

    def _dress(self) -> None:
        self._mark.setPixmap(pixmap("app", self._look.theme.accent, 44))

    def text(self) -> str:
        """The rows as text."""
        return "\n".join(f"{part} {version}" for part, version in self.rows)
