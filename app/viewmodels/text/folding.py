"""Which lines of a text begin a region that can be folded, and where each ends."""

from __future__ import annotations

import re

import numpy as np

from app.viewmodels.text.text_document import TextDocument

_LARGEST = 32 << 20  # no folding above this: nobody folds by hand there, and the index would cost more than the text
_METADATA = re.compile(rb"attributes #\d+ = |declare ")
_ASM_LABEL = re.compile(rb"^[A-Za-z_][\w.$]*:", re.MULTILINE)


def fold_regions(document: TextDocument, language: str) -> dict[int, int]:
    """First line of each region -> its last line (which stays visible for braces, hides with the region otherwise)."""
    if not document.lines or len(document.data) > _LARGEST:
        return {}
    if language == "python":
        return _by_indentation(document)
    if language in ("asm", "sass"):
        return _by_labels(document)
    return _by_braces(document) | (metadata_regions(document) if language == "llvm" else {})


def metadata_regions(document: TextDocument) -> dict[int, int]:
    """The stretches of LLVM IR that say nothing of what is computed: declarations, attributes and metadata."""
    lines = _metadata_lines(document)
    # An empty line between two of them belongs to both.
    last = np.flatnonzero(np.diff(lines, append=document.lines + 2) > 2)
    first = np.concatenate(([0], last[:-1] + 1))[: len(last)]
    return {begin: end for begin, end in zip(lines[first].tolist(), lines[last].tolist(), strict=True) if end > begin}


def _metadata_lines(document: TextDocument) -> np.ndarray:
    """Their numbers, of all lines by their first bytes: what looked at whole texts held the window up for seconds."""
    found = document.heads == ord("!")
    words = np.flatnonzero((document.heads == ord("a")) | (document.heads == ord("d")))
    found[words] = [_METADATA.match(document.data, start) is not None for start in document.starts[words].tolist()]
    return np.flatnonzero(found)


def _by_braces(document: TextDocument) -> dict[int, int]:
    raw = np.frombuffer(document.data, np.uint8)
    opened, closed = (np.searchsorted(document.starts, np.flatnonzero(raw == ord(c)), "right") - 1 for c in "{}")
    net = np.bincount(opened, minlength=document.lines) - np.bincount(closed, minlength=document.lines)
    regions: dict[int, int] = {}
    stack: list[tuple[int, int]] = []
    depth = 0
    for line in np.flatnonzero(net):
        step = int(net[line])
        if step > 0:
            stack.append((int(line), depth))
        depth += step
        while stack and depth <= stack[-1][1] and step < 0:
            begin, _ = stack.pop()
            if line - begin > 1:
                regions[begin] = int(line) - 1
    return regions


def _by_indentation(document: TextDocument) -> dict[int, int]:
    indents: list[int] = []
    for number in range(document.lines):
        line = document.line(number)
        indents.append(len(line) - len(line.lstrip()) if line.strip() else -1)
    regions: dict[int, int] = {}
    stack: list[tuple[int, int]] = []
    last = 0
    for number, indent in enumerate(indents):
        if indent < 0:
            continue
        while stack and indent <= stack[-1][1]:
            begin, _ = stack.pop()
            if last > begin:
                regions[begin] = last
        stack.append((number, indent))
        last = number
    for begin, _ in stack:
        if last > begin:
            regions[begin] = last
    return regions


def _by_labels(document: TextDocument) -> dict[int, int]:
    labels = [m.start() for m in _ASM_LABEL.finditer(document.data)]
    lines = np.searchsorted(document.starts, np.array(labels, np.int64), "left").tolist()
    ends = [*(line - 1 for line in lines[1:]), document.lines - 1]
    return {begin: end for begin, end in zip(lines, ends) if end > begin}


_NOISE = re.compile(rb"^[ \t]*(?:\.(?!LBB\d+_\d+:)[\w.]+.*|(?://|#|;).*)?$", re.MULTILINE)
_SASS_NOISE = re.compile(rb"^[ \t]*(?:\.(?!L_x_\d+:)[\w.]+.*|//.*)?$", re.MULTILINE)
_PTX_NOISE = re.compile(rb"^[ \t]*(?:\.(?:loc|file|section)\b.*|//.*|\$L__(?:tmp|func_)\w*:.*)?$", re.MULTILINE)


def directive_lines(document: TextDocument, language: str = "asm") -> np.ndarray:
    """Lines of machine code that are no instruction and no label a branch goes to: directives, comments, blanks."""
    pattern = {"ptx": _PTX_NOISE, "sass": _SASS_NOISE}.get(language, _NOISE)
    hidden = np.zeros(document.lines, bool)
    if document.lines and len(document.data) <= _LARGEST:
        starts = np.fromiter((m.start() for m in pattern.finditer(document.data)), np.int64)
        lines = np.searchsorted(document.starts, starts, "right") - 1
        hidden[lines[lines < document.lines]] = True
    return hidden


def visible_lines(count: int, folded: dict[int, int], noise: np.ndarray | None = None) -> np.ndarray | None:
    """The lines left to be seen; None when that is all of them."""
    if not folded and noise is None:
        return None
    hidden = np.zeros(count, bool) if noise is None else noise.copy()
    for begin, end in folded.items():
        hidden[begin + 1 : end + 1] = True
    return np.flatnonzero(~hidden)
