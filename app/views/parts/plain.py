"""Words from outside in the window. Qt guesses whether a text is rich text, so a file name could hide what is asked.

Every message box is made here, and every tip with a name in it goes through `plain_tip`; labels are made by
`app/views/parts/widgets.py:label`, which guesses nothing either.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from PySide6.QtCore import Qt
from PySide6.QtGui import Qt as Guess
from PySide6.QtWidgets import QLabel, QMessageBox, QWidget

from compiler.printable import printable_lines

_PIECES = re.compile(r"[^/\\_.:-]*[/\\_.:-]*")  # of a path or a name: where it can be divided
_MARGIN = 12  # pixels that Qt leaves beside the words of a box, at most
_HEADING, _WIDEST = 36, 64  # letters of a word that a message box has room for: above, and below where it is asked for


def divided(words: str, fits: Callable[[str], bool]) -> str:
    """Words of which none is longer than fits in a line: a label cuts a path that it has no room for, and the end of
    one may be what matters. No sign is put in that could hide another, only ends of lines."""
    return re.sub(r"\S+", lambda word: word[0] if fits(word[0]) else "\n".join(_lines(word[0], fits)), words)


def _lines(word: str, fits: Callable[[str], bool]) -> Iterator[str]:
    line = ""
    for piece in filter(None, _PIECES.findall(word)):
        for part in (piece,) if fits(piece) else piece:  # letter by letter where there is no better place
            if line and not fits(line + part):
                yield line
                line = ""
            line += part
    yield line


def message_box(parent: QWidget, icon: QMessageBox.Icon, title: str, words: str, more: str) -> QMessageBox:
    """A box that shows its words as they are; the caller adds the buttons."""
    box = QMessageBox(parent)
    box.setIcon(icon)
    box.setWindowTitle(title)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(divided(printable_lines(words), lambda word: len(word) <= _HEADING))
    box.setInformativeText(divided(printable_lines(more), lambda word: len(word) <= _WIDEST))
    for part in box.findChildren(QLabel):  # the format that is set above is the first text's alone
        part.setTextFormat(Qt.TextFormat.PlainText)
        if part.text() == box.informativeText() != "":  # which wraps, at a width that Qt takes to be enough
            part.ensurePolished()
            part.setMinimumWidth(max(map(part.fontMetrics().horizontalAdvance, part.text().split())) + _MARGIN)
    return box


def plain_tip(words: str) -> str:
    """A tip that shows its words as they are: a tip has no format to set, so what looks rich is written out."""
    shown = printable_lines(words)
    return Guess.convertFromPlainText(shown) if Guess.mightBeRichText(shown) else shown
