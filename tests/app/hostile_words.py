"""Words from outside at their worst: every control character, and what HTML, SQL, shells and Qt take for orders."""

from __future__ import annotations

import re

CONTROLS = "".join(map(chr, [*range(1, 32), *range(127, 160), 0xAD, 0x200B, 0x2028, 0x202E, 0x2066, 0xFEFF]))
TERMINAL = "\x1b]0;owned\x07\x1b[2J\x1b[31m\rkernelglass: all is well\x9b1A"
HTML = "<b>model.mlir<b> is a graph file, safe to open.<!--<script>alert(1)</script><img src=x onerror=alert(2)>&lt;"
SQL = "'; DROP TABLE runs; --\" OR 1=1"
SHELL = "$(touch owned)`touch owned`; rm -rf . | cat & !! \\ ${HOME}"
MARKDOWN = "| [x](javascript:alert(1)) **bold** # head $a$ ~~gone~~"
HOSTILE = CONTROLS + TERMINAL + HTML + SQL + SHELL + MARKDOWN
FILE_NAME = (
    "=" + TERMINAL + "\n\u202e" + "<b>x<b> is safe.<!--'; DROP `touch o` $(o) \\"
)  # names are short and have no slash

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u202e\u2066\ufeff\ud800-\udfff]")


def orders(text: str) -> list[str]:
    """The characters of a text that a terminal would obey, or that would make it look like another."""
    return [hex(ord(found)) for found in _OBEYED.findall(text)]
