"""Words from outside in the window. Qt guesses whether a text is rich text, so a file name could hide what is asked.

Every message box is made here, and every tip with a name in it goes through `plain_tip`; labels are made by
`app/views/parts/widgets.py:label`, which guesses nothing either.
"""

from __future__ import annotations

import re

from PySide6.QtCore import Qt
from PySide6.QtGui import Qt as Guess
from PySide6.QtWidgets import QLabel, QMessageBox, QWidget

from compiler.printable import printable_lines

_LONG = 16  # letters of a word from which on it may be wider than the room there is
_WORD, _PIECE = re.compile(rf"\S{{{_LONG},}}"), re.compile(rf"[/\\_.:-]+|.{{{_LONG}}}")
_BREAK = "\u200b"  # a place without a width at which Qt may go on in the next line


def breakable(words: str) -> str:
    """Words that can go on in the next line inside a path or a long name: a label cuts what has no place to break."""
    return _WORD.sub(lambda word: _PIECE.sub(rf"\g<0>{_BREAK}", word[0]), words)


def message_box(parent: QWidget, icon: QMessageBox.Icon, title: str, words: str, more: str) -> QMessageBox:
    """A box that shows its words as they are; the caller adds the buttons."""
    box = QMessageBox(parent)
    box.setIcon(icon)
    box.setWindowTitle(title)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(breakable(printable_lines(words)))
    box.setInformativeText(breakable(printable_lines(more)))
    for part in box.findChildren(QLabel):  # the format that is set above is the first text's alone
        part.setTextFormat(Qt.TextFormat.PlainText)
    return box


def plain_tip(words: str) -> str:
    """A tip that shows its words as they are: a tip has no format to set, so what looks rich is written out."""
    shown = printable_lines(words)
    return Guess.convertFromPlainText(shown) if Guess.mightBeRichText(shown) else shown
