"""Syntax colouring a line at a time: one regular expression a language, so that only visible lines cost anything."""

from __future__ import annotations

import re
from functools import lru_cache

Token = tuple[int, int, str]  # start column, end column, kind

_NUMBER = r"(?<![\w.%@])-?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)\b"
_STRING = r'"(?:[^"\\]|\\.)*"?'
_LANGUAGES = {
    "mlir": (
        ("comment", r"//.*"),
        ("string", _STRING),
        ("value", r"%[\w$.#-]+"),
        ("symbol", r"@[\w$.-]+|\^\w+|#[A-Za-z_]\w*"),
        ("type", r"![\w.]+|\b(?:vector|memref|tensor)<[^>]*>|\b(?:index|i\d+|ui\d+|si\d+|f\d+|bf16|none)\b"),
        ("op", r"\b[a-z_]\w*(?:\.\w+)+"),
        ("keyword", r"\b(?:to|step|iter_args|else|loc|attributes|private|public|dense|true|false|unit)\b"),
        ("number", _NUMBER),
    ),
    "llvm": (
        ("comment", r";.*"),
        ("string", r'c?"[^"]*"?'),
        ("value", r"%[\w$.-]+"),
        ("symbol", r"@[\w$.-]+"),
        ("directive", r"#dbg_\w+|![\w.]*|#\d+"),
        ("label", r"^[\w$.-]+:"),
        ("type", r"\b(?:void|ptr|half|bfloat|float|double|i\d+|label|metadata|token)\b|<\d+ x [^>]*>"),
        (
            "keyword",
            r"\b(?:define|declare|ret|br|switch|phi|call|tail|load|store|getelementptr|inbounds|alloca|icmp|fcmp|select"
            r"|add|sub|mul|[us]div|[us]rem|shl|[la]shr|and|or|xor|f(?:add|sub|mul|div|rem|neg)|[sz]ext|f?trunc|fpext"
            r"|[us]itofp|fpto[us]i|bitcast|inttoptr|ptrtoint|extractelement|insertelement|shufflevector|extractvalue"
            r"|insertvalue|unreachable|fence|atomicrmw|cmpxchg|freeze|nsw|nuw|exact|disjoint|nneg|to|undef|poison"
            r"|zeroinitializer|true|false|null|target|source_filename|attributes|private|internal|constant|global"
            r"|unnamed_addr|align|noalias|nocapture|readonly|writeonly|nonnull|distinct)\b",
        ),
        ("number", _NUMBER),
    ),
    "asm": (
        ("comment", r"(?://|;|#(?!\d|-)).*"),
        ("label", r"^[\w.$]+:"),
        ("directive", r"^\s*\.[\w.]+"),
        ("string", _STRING),
        ("keyword", r"^\s+[a-zA-Z][\w.]*"),
        ("register", r"\b(?:[wxvqdsbhzp]\d{1,2}(?:\.\d*[bhsdq])?|sp|xzr|wzr|lr|fp)\b"
                     r"|\b(?:%?[er][a-ds][xip]|%?r\d+[dwb]?|%?[xyz]mm\d+)\b"
                     r"|%\w+"),
        ("symbol", r"\.L\w+|:lo12:\w+"),
        ("number", r"#?-?(?:0x[0-9A-Fa-f]+|\b\d+(?:\.\d+)?)\b"),
    ),
    "ptx": (
        ("comment", r"//.*"),
        ("label", r"^\$?[\w$]+:"),
        ("string", _STRING),
        ("directive", r"^\s*\.(?:loc|file|version|target|address_size|section)\b.*"),
        ("keyword", r"^\s*(?:@!?%\w+\s+)?[a-z][\w.:]*"
                    r"|\.(?:entry|visible|func|param|reg|shared|local|const|align|maxntid|pragma)"),
        ("type", r"\.(?:pred|[bsuf]\d+(?:x\d)?)\b"),
        ("register", r"%[\w.]+"),
        ("number", _NUMBER + r"|\b0[fd][0-9A-Fa-f]+"),
    ),
    "sass": (
        ("comment", r"/\*.*?\*/|//.*"),
        ("label", r"^[\w.$]+:"),
        ("directive", r"^\s*\.[\w.]+"),
        ("string", _STRING),
        ("register", r"\bU?(?:R|P)(?:\d+|[ZT])\b(?:\.\w+)*|\bSR\w*\b(?:\.\w+)*|\bB\d+\b"),
        ("keyword", r"(?<=\s)[A-Z][A-Z0-9]+(?:\.[A-Z0-9_]+)*(?=\s|$)"),
        ("symbol", r"\.L_\w+"),
        ("number", _NUMBER),
    ),
    "python": (
        ("comment", r"#.*"),
        ("string", r"[rbf]?(?:\"{3}(?:(?!\"{3}).)*(?:\"{3})?|'{3}(?:(?!'{3}).)*(?:'{3})?"
                   r"|'(?:[^'\\]|\\.)*'?|\"(?:[^\"\\]|\\.)*\"?)"),
        ("symbol", r"@\w+"),
        (
            "keyword",
            r"\b(?:def|return|if|elif|else|for|while|in|not|and|or|is|import|from|as|with|class|lambda|pass|break"
            r"|continue|None|True|False|raise|try|except|finally|yield|assert|global|nonlocal)\b",
        ),
        ("type", r"\b(?:Tensor|FusedInput|FusedOutput|SIMD|TensorType|Graph|int|float|str|bool|tuple|list|dict"
                 r"|f16|bf16|f32|f64|i1|i8|i16|i32|i64|u8)\b"),
        ("op", r"\b[A-Za-z_]\w*(?=\()"),
        ("number", _NUMBER),
    ),
}  # fmt: skip
_LONG = ('"""', "'''")  # the quotes of strings that may go over lines
_LIMIT = 4_000  # columns of a line that are coloured; constants can be a megabyte long


@lru_cache(maxsize=len(_LANGUAGES))
def _expression(language: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{kind}>{rule})" for kind, rule in _LANGUAGES[language]))


@lru_cache(maxsize=8192)
def tokens(language: str, line: str, inside: str = "") -> tuple[Token, ...]:
    """The coloured pieces of a line, left to right; what lies between them is plain text. `inside` are the quotes of a
    string that began on a line before."""
    if language not in _LANGUAGES:
        return ()
    begin = (line.find(inside) + len(inside) if inside in line else len(line)) if inside else 0
    found = _expression(language).finditer(line, begin, min(len(line), _LIMIT))
    before = ((0, begin, "string"),) if begin else ()
    return (*before, *((m.start(), m.end(), m.lastgroup or "text") for m in found if m.end() > m.start()))


def left_open(line: str, inside: str = "") -> str:
    """The quotes of a Python string that goes on after this line, if one does."""
    if inside and inside not in line:
        return inside
    for start, stop, kind in tokens("python", line, inside)[bool(inside) :]:
        words = line[start:stop].lstrip("rbf")
        if kind == "string" and words[:3] in _LONG and (len(words) < 6 or words[-3:] != words[:3]):
            return words[:3]
    return ""


def lines_inside_strings(text: bytes) -> dict[int, str]:
    """The lines of a Python text that begin inside a string, with its quotes."""
    if not any(quotes.encode() in text for quotes in _LONG):
        return {}
    found, inside = {}, ""
    for number, line in enumerate(text.decode("utf-8", "replace").split("\n")):
        if inside:
            found[number] = inside
        if inside or any(quotes in line for quotes in _LONG):
            inside = left_open(line, inside)
    return found
