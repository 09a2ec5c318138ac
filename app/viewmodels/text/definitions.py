"""Where a symbol is defined: a function, a value, a label, a register, a piece of metadata, a function of a library."""

from __future__ import annotations

import re

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


def symbol_at(language: str, line: str, column: int) -> str:
    """The symbol at a column of a line; empty where there is none."""
    pattern = _SYMBOL.get(language)
    if pattern is None:
        return ""
    found = list(pattern.finditer(line))
    for match in found:
        if match.start() <= column <= match.end():
            return match[0]
    return ""


def definition_of(document: TextDocument, language: str, symbol: str, line: int) -> int:
    """The line that defines a symbol used on a line; -1 where this text does not define it.

    Values and registers are defined above their use, in the same function; everything else anywhere.
    """
    if not symbol:
        return -1
    name = re.escape(symbol)
    bare = re.escape(symbol[1:]) if symbol[0] in "%@$^" else name
    if language in ("llvm", "mlir") and symbol[0] == "%":
        own = rf"^\s*{name}(?::\d+)? = |\bfor {name} = |\({name} = |[(,] ?{name} ?[:=]|^define .*[ ,(]{name}[,)]"
        found = _above(document, own if language == "mlir" else own + rf"|^define .*{name}[,)]", line)
        return found if found >= 0 else _anywhere(document, rf"^{bare}:")
    if language == "ptx" and symbol[0] == "%":
        makes = rf"(?!{'|'.join(map(re.escape, _STORES))})[a-z][\w.:]*"  # stores and branches define nothing
        return _above(document, rf"^\s*(?:@!?%\w+\s+)?{makes}\s+(?:\{{[^}}]*)?{name}\b", line)
    patterns = {
        "llvm": rf"^define .*{name}\(|^{name} = |^declare .*{name}\(|^attributes {name} =",
        "mlir": rf"func\.func .*{name}\(|func .*{name}\(|global .*{name} :|^\s*{name}[(:]",
        "ptx": rf"^{name}:|^(?:\.\w+\s+)*\.(?:entry|func)\b.*\b{name}\b|^\s*(?:\.\w+\s+)*\.\w+\s+{name}\b(?!:)",
        "asm": rf"^{name}:",
        "sass": rf"^{name}:",
        "python": rf"^\s*def {name}\(|^{name}\s*[:=]",
    }
    return _anywhere(document, patterns[language]) if language in patterns else -1


def _above(document: TextDocument, pattern: str, line: int) -> int:
    compiled = re.compile(pattern)
    return next((at for at in range(line, -1, -1) if compiled.search(document.line(at, 4000))), -1)


def _anywhere(document: TextDocument, pattern: str) -> int:
    compiled = re.compile(pattern)
    return next((at for at in range(document.lines) if compiled.search(document.line(at, 4000))), -1)


def definition_at(document: TextDocument, language: str, line: int, column: int) -> tuple[str, int]:
    """The symbol at a place, and the line that defines it; -1 where there is none."""
    if not 0 <= line < document.lines:
        return "", -1
    symbol = symbol_at(language, document.line(line, 1 << 16), column)
    return symbol, definition_of(document, language, symbol, line)
