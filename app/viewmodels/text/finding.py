"""Finding everywhere: the expression behind what was typed, and the lines of a text that match it."""

from __future__ import annotations

import re

import numpy as np

from app.viewmodels.frame.patterns import Pattern, compile_pattern
from app.viewmodels.requests import Hit
from app.viewmodels.text.text_document import TextDocument

_FLAGS = re.compile(r"\(\?([amsux]+)\)")  # an expression may begin with flags of its own


def expression(text: str, regex: bool, case: bool) -> str:
    """What was typed as a regular expression; ValueError says what is wrong with it."""
    source = text if regex else re.escape(text)
    if not case:
        given = _FLAGS.match(source)
        source = f"(?i{given[1]}){source[given.end() :]}" if given else f"(?i){source}"
    compile_pattern(source)
    return source


def found_lines(document: TextDocument, pattern: Pattern, most: int) -> list[int]:
    """The lines with a match, each once, at most so many."""
    lines: list[int] = []
    for part in document.search(pattern, most * 8):
        for line in np.unique(part[:, 0]).tolist():
            if not lines or lines[-1] != line:
                lines.append(int(line))
        if len(lines) >= most:
            break
    return lines[:most]


def hits(document: TextDocument, pattern: Pattern, stage: str, kernel: str, most: int) -> list[Hit]:
    """The same as records that say where each line is."""
    return [
        Hit(stage, kernel, line, document.line(line, 400).strip()[:200])
        for line in found_lines(document, pattern, most)
    ]
