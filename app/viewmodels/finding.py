"""Finding everywhere: the expression behind what was typed, and the lines of a text that match it."""

from __future__ import annotations

import re

import numpy as np

from app.viewmodels.requests import Hit
from app.viewmodels.text_document import TextDocument


def expression(text: str, regex: bool, case: bool) -> str:
    """What was typed as a regular expression; ValueError says what is wrong with it."""
    source = text if regex else re.escape(text)
    try:
        re.compile(source.encode(), re.MULTILINE)
    except re.error as error:
        raise ValueError(str(error).split(" at ")[0]) from None
    return source if case else f"(?i:{source})"


def found_lines(document: TextDocument, pattern: re.Pattern[bytes], most: int) -> list[int]:
    """The lines with a match, each once, at most so many."""
    lines: list[int] = []
    for part in document.search(pattern, most * 8):
        for line in np.unique(part[:, 0]).tolist():
            if not lines or lines[-1] != line:
                lines.append(int(line))
        if len(lines) >= most:
            break
    return lines[:most]


def hits(document: TextDocument, pattern: re.Pattern[bytes], stage: str, kernel: str, most: int) -> list[Hit]:
    """The same as records that say where each line is."""
    return [
        Hit(stage, kernel, line, document.line(line, 400).strip()[:200])
        for line in found_lines(document, pattern, most)
    ]
