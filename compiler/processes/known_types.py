"""Types that msgspec reads, looked into by one thread at a time.

It keeps what it finds about a record with the record's class, from the moment it begins to look: a second thread that
meets it half found would read through pointers that are not there yet, and the process would crash.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, TypeVar

import msgspec

_Kind = TypeVar("_Kind")
_ONE_AT_A_TIME = Lock()
_looked_into: set[Any] = set()


def readable(kind: type[_Kind]) -> type[_Kind]:
    """The same type, which any number of threads may now read at once."""
    if kind not in _looked_into:
        with _ONE_AT_A_TIME:
            msgspec.msgpack.Decoder(kind)
            _looked_into.add(kind)
    return kind
