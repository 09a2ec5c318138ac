"""Python's cycle collector, kept from walking what is there to stay."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

_RARELY = 400_000  # new objects between two looks: more than a model of 128 layers makes


@contextmanager
def rare_collection() -> Iterator[None]:
    """While modules are loaded or IR is made: thousands of small objects that stay, walked over and over."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], _RARELY) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@cache
def collect_rarely() -> None:
    """For programs of our own that do one thing and end: nearly all they make stays, and would be walked as each module
    that is loaded, or each model that is compiled, is done."""
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(max(before[0], _RARELY), *before[1:])


@cache
def end_without_collection() -> None:
    """For programs of our own, not for whoever uses the compiler as a library.

    When the interpreter ends it looks for cycles among all objects, twice, to free memory that is about to go anyway: a
    tenth of a short process that has loaded xDSL. Frozen objects are passed over; whatever must happen at the end
    (`atexit`, `weakref.finalize`) has happened or happens all the same.
    """
    atexit.register(gc.freeze)
