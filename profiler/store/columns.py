"""What may stand in each column: a file whose bytes were damaged can hold a text where a number was.

SQLite keeps the type with the value, not with the column, so a flipped bit can turn one into the other without breaking
the file. Every row that is read is checked here by the names of its columns; nobody after has to think of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from profiler.store.shapes import AMOUNT, COUNT, NUMBER, PLAIN, TEXT, WHOLE_NUMBER

_WHOLE = {
    "id", "position", "opt_level", "seed", "count", "flops", "bytes", "loads", "stores", "threads", "launches", "size",
    "ops_before", "ops_after", "bytes_before", "bytes_after", "worker", "run", "accepted", "pinned", "number", "n",
    "kernels",
}  # fmt: skip
_REAL = {"median", "low", "high", "minimum", "seconds", "start", "compile_seconds", "value", "ratio"}
_TEXT = {
    "name", "stage", "kernel", "key", "nodes", "slots", "producer", "consumer", "rule", "reason", "bytes_saved",
    "started", "finished", "status", "process", "device", "dims", "error", "signal", "request", "conditions", "memory",
    "note", "tags", "tag", "thread_seconds", "counting", "unit", "measured", "fingerprint", "description", "first_seen",
    "created", "target", "flow", "debug", "options", "versions", "stats", "hash", "graph_name", "graph_hash",
    "commit", "problem", "defaults", "choices", "definitions",
}  # fmt: skip
_MAY_BE_MISSING = {
    "finished", "threads", "median", "low", "high", "minimum", "count", "error", "signal", "kernel", "flops", "bytes",
    "loads", "stores", "counting", "value", "flow", "opt_level", "debug", "compile_seconds", "tags", "id",
    "commit",
}  # fmt: skip
_MAY_BE_NEGATIVE = {"position", "ops_before", "ops_after", "bytes_before", "bytes_after", "value", "seed"}


def problem(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The first value of some rows that cannot be, in words; empty where all can."""
    checks = [(number, name, _CHECKS[name]) for number, name in enumerate(names) if name in _CHECKS]
    for row in rows:
        for number, name, fits in checks:
            value = row[number]
            if value is None:
                if name not in _MAY_BE_MISSING:
                    return f"{name} is missing"
            elif not fits(value):
                words = repr(value)
                return f"{name} is {words if len(words) <= 40 else words[:37] + '...'}"
    return ""


_CHECKS: dict[str, Callable[[Any], bool]] = {
    **{name: PLAIN[WHOLE_NUMBER if name in _MAY_BE_NEGATIVE else COUNT] for name in _WHOLE},
    **{name: PLAIN[NUMBER if name in _MAY_BE_NEGATIVE else AMOUNT] for name in _REAL},
    **{name: PLAIN[TEXT] for name in _TEXT},
    "data": lambda value: isinstance(value, bytes),
    "source": lambda value: isinstance(value, str | int),  # a text, and in one table the number of a text
}
