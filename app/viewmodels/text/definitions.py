"""Where a symbol is defined: a function, a value, a label, a register, a piece of metadata, a function of a library."""

from __future__ import annotations

import re
from collections.abc import Iterable

from app.viewmodels.text.text_document import TextDocument

_SYMBOL = {
    "llvm": re.compile(r'[%@]"[^"]+"|[%@][\w.$-]+|![0-9]+|#\d+'),
    "mlir": re.compile(r"[%@][\w.$-]+|\^\w+"),
    "ptx": re.compile(r"\$[\w$]+|%[a-z]+\d+|[A-Za-z_][\w$]*"),
    "asm": re.compile(r"\.?[A-Za-z_][\w.$]*"),
    "sass": re.compile(r"\.L_\w+"),
    "python": re.compile(r"[A-Za-z_]\w*"),
}
_STORES = ("st.", "red.", "bra", "bar.", "cp.")


def definition_of(document: TextDocument, language: str, symbol: str, line: int) -> int:
    """The line that defines a symbol used on a line; -1 where this text does not define it.

    Values and registers are defined above their use, in the same function; everything else anywhere.
    """
    if not symbol:
        return -1
    above, anywhere, name = range(line, -1, -1), range(document.lines), re.escape(symbol)
    bare = re.escape(symbol[1:]) if symbol[0] in "%@$^" else name
    if language in ("llvm", "mlir") and symbol[0] == "%":
        own = rf"^\s*{name}(?::\d+)? = |\bfor {name} = |\({name} = |[(,] ?{name} ?[:=]|^define .*[ ,(]{name}[,)]"
        found = _first(document, own if language == "mlir" else own + rf"|^define .*{name}[,)]", above)
        return found if found >= 0 else _first(document, rf"^{bare}:", anywhere)
    if language == "ptx" and symbol[0] == "%":
        makes = rf"(?!{'|'.join(map(re.escape, _STORES))})[a-z][\w.:]*"  # stores and branches define nothing
        return _first(document, rf"^\s*(?:@!?%\w+\s+)?{makes}\s+(?:\{{[^}}]*)?{name}\b", above)
    patterns = {
        "llvm": rf"^define .*{name}\(|^{name} = |^declare .*{name}\(|^attributes {name} =",
        "mlir": rf"func\.func .*{name}\(|func .*{name}\(|global .*{name} :|^\s*{name}[(:]",
        "ptx": rf"^{name}:|^(?:\.\w+\s+)*\.(?:entry|func)\b.*\b{name}\b|^\s*(?:\.\w+\s+)*\.\w+\s+{name}\b(?!:)",
        "asm": rf"^{name}:",
        "sass": rf"^{name}:",
        "python": rf"^\s*def {name}\(|^{name}\s*[:=]",
    }
    return _first(document, patterns[language], anywhere) if language in patterns else -1


def _first(document: TextDocument, pattern: str, lines: Iterable[int]) -> int:
    compiled = re.compile(pattern)
    return next((at for at in lines if compiled.search(document.line(at, 4000))), -1)


def definition_at(document: TextDocument, language: str, line: int, column: int) -> tuple[str, int]:
    """The symbol at a place, and the line that defines it; -1 where there is none."""
    if not 0 <= line < document.lines:
        return "", -1
    pattern, text = _SYMBOL.get(language), document.line(line, 1 << 16)
    found = pattern.finditer(text) if pattern is not None else ()
    symbol = next((match[0] for match in found if match.start() <= column <= match.end()), "")
    return symbol, definition_of(document, language, symbol, line)
