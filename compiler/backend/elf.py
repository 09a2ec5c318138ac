"""The symbols of ELF objects: what an object offers and needs, and where its functions lie."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

LOCAL, WEAK = 0, 2
_TABLE, _FUNCTION = 2, 2


@dataclass(frozen=True)
class Symbol:
    """An entry of the symbol table, which begins at byte `at` of the object: where in its section what it names
    begins, and how long that is."""

    at: int
    name: str
    info: int
    defined: bool
    start: int
    size: int

    @property
    def binding(self) -> int:
        """Who may see it: LOCAL, WEAK or everybody."""
        return self.info >> 4

    @property
    def is_function(self) -> bool:
        """Whether it names code."""
        return self.info & 15 == _FUNCTION


def bound(symbol: Symbol, binding: int) -> tuple[int, int]:
    """The byte of an object that has a symbol's binding, and what is there for another one."""
    return symbol.at + 4, binding << 4 | symbol.info & 15


def symbols(image: bytes) -> Iterator[Symbol]:
    """The symbols that have a name; nothing for other formats."""
    if image[:6] != b"\x7fELF\x02\x01":
        return
    (sections_at,) = struct.unpack_from("<Q", image, 40)
    entry_size, count = struct.unpack_from("<HH", image, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, sections_at + entry_size * i) for i in range(count)]
    for _, kind, _, _, start, size, link, _, _, step in headers:
        if kind == _TABLE:  # its strings are in section `link`
            strings = headers[link][4]
            for at in range(start, start + size, step):
                name, info, _, section, value, length = struct.unpack_from("<IBBHQQ", image, at)
                if name:
                    text = image[strings + name : image.index(b"\0", strings + name)].decode()
                    yield Symbol(at, text, info, bool(section), value, length)
