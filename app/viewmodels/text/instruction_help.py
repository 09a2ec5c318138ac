"""What the instruction under the mouse does, in a sentence: LLVM's, PTX's, MLIR's operations and the graph's ops.

The sentences ship with the program (`resources/help/instructions.json`), those of LLVM's intrinsics once for LLVM and
MLIR; those of ops are their documentation's.
"""

from __future__ import annotations

import json
import re
from functools import cache

from app.resources import resource_folder
from app.viewmodels.compilation import LIBRARY, WHOLE_STAGES
from app.viewmodels.text.text_document import TextDocument

_WORD = {
    "llvm": re.compile(r"(?<![\w.%@!#\"])[a-z]+(?![\w.\"])|(?<=@)llvm(?:\.[a-z_0-9]+)+"),
    "ptx": re.compile(r"(?<![\w.$%\[+-])[a-z][a-z0-9_]*(?=[.\s;])|%[a-z_]+(?:64)?\b|\bWARP_SZ\b"),
    "mlir": re.compile(r"(?<![\w.%@!#])[a-z_]+(?:\.[a-z_0-9]+)+"),
}
_OPENS_PTX = re.compile(r"^\s*(?:@!?%\w+\s+)?$")


@cache
def sentences() -> dict[str, dict[str, str]]:
    """All of them, by language and instruction."""
    return json.loads((resource_folder() / "help" / "instructions.json").read_text(encoding="utf-8"))


def known_words(language: str, line: str) -> list[tuple[int, int, str]]:
    """The instructions of a line: where each begins and ends, and its name among the sentences."""
    pattern = _WORD.get(language)
    found: list[tuple[int, int, str]] = []
    for match in pattern.finditer(line) if pattern else ():
        word = match[0]
        if language == "ptx" and not word.startswith("%") and not _OPENS_PTX.match(line[: match.start()]):
            continue
        found.append((match.start(), match.end(), word))
    return found


def help_for(language: str, line: str, column: int) -> str:
    """The sentence for the instruction at a column of a line; empty where there is none."""
    for begin, end, word in known_words(language, line):
        if begin <= column < end:
            return f"{word}: {said}" if (said := sentence(language, word)) else ""
    return ""


def sentence(language: str, word: str) -> str:
    """What an instruction does; of an op the first line of its builder's own documentation, where it has one of its
    name."""
    if not word.startswith("mo."):
        return sentences().get(language, {}).get(word) or sentences()["intrinsics"].get(word, "")
    from compiler.graph import ops

    name = word.removeprefix("mo.")
    builder = getattr(ops, name, None)
    return sentences()["ops"].get(name) or (getattr(builder, "__doc__", None) or "").partition("\n")[0]


def line_tip(document: TextDocument, stage: str, language: str, line: int, column: int) -> str:
    """What the instruction at a column (-1: none) does, and which line of source the line was made of."""
    file, at = document.place(line) if stage not in (*WHOLE_STAGES, LIBRARY, "source") else ("", 0)
    said = help_for(language, document.line(line, 4000), column) if column >= 0 else ""
    place = f"made at {file.rsplit('/', 1)[-1]}:{at}" if at else ""
    caller, line_there = document.library_place(line)
    if at and line_there and (caller, line_there) != (file, at):
        place += f", for {caller.rsplit('/', 1)[-1]}:{line_there}"
    return "\n".join(part for part in (said, place) if part)
