"""Outside words made plain: a name from a file, a graph or a database never commands the terminal that shows it.

A control character is an order to a terminal, and one that turns the direction of writing makes a name look like
another. Both are shown as Python writes them in a string: an escape character as `\\x1b`.
"""

from __future__ import annotations

import re
from typing import Any

# What Python calls not printable, but for the blanks that only look like one; lone halves of a pair are among it.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000110bd\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff\ue000-\uf8ff]"
)
_HIDDEN_IN_LINES = re.compile(_HIDDEN.pattern.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))


def printable(words: object) -> str:
    """Words on one line, with whatever would not be seen, or would be obeyed, shown as an escape."""
    text = str(words)
    if text.isascii() and text.isprintable():  # what nearly all of them are, by the hundreds
        return text
    return _HIDDEN.sub(_shown, text)


def printable_lines(text: str) -> str:
    """A text of several lines: line ends and tabs stay what they are."""
    return _HIDDEN_IN_LINES.sub(_shown, text)


def printable_document(document: Any) -> Any:
    """Plain data with every text in it, keys too, on one line and printable."""
    if isinstance(document, dict):
        return {printable(key) if isinstance(key, str) else key: printable_document(v) for key, v in document.items()}
    if isinstance(document, list | tuple):
        return type(document)(printable_document(value) for value in document)
    return printable(document) if isinstance(document, str) else document


def _shown(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape", "surrogatepass").decode("ascii")
