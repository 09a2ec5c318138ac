"""Which cell a process is given next, so that processes end together and none loads what another has loaded.

What a cell takes is learnt from those of the same source that are done. What takes long goes first, so that nobody is
left with it in the end; what is not known yet goes before that. A process stays with targets that it had while what
takes longest can wait: code generators and dialects of another take their time to load.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from math import inf

from app.sweep.child import CompileTask

_AS_LONG = 0.5
"""The share of the longest cell's seconds from which on another is as good a choice, however little is left."""


@dataclass
class _Group:
    """Cells of a source for a target, which take about as long as each other."""

    source: tuple[str, str]
    target: str
    left: deque[int] = field(default_factory=deque)
    begun: bool = False
    seconds: float = 0.0
    done: int = 0


class Order:
    """Tasks that wait, for threads that take from it, one for each of so many processes."""

    def __init__(self, tasks: Sequence[CompileTask], processes: int) -> None:
        self._lock = threading.Lock()
        self._tasks = tasks
        self._processes = processes
        self._groups: dict[tuple[str, str, str], _Group] = {}
        for number, task in enumerate(tasks):
            self._group(task).left.append(number)

    def take(self, had: Set[str] = frozenset()) -> int | None:
        """The number of the next task for a process that had some for these targets; None where none is left."""
        with self._lock:
            expected = [(self._expected(group), group) for group in self._groups.values() if group.left]
            if not expected:
                return None
            longest = max(seconds for seconds, _ in expected)
            each = sum(seconds * len(group.left) for seconds, group in expected) / self._processes
            taken = {group.target for group in self._groups.values() if group.begun}

            def in_time(seconds: float) -> bool:
                """Whether nobody is left with the longest where one that takes so long goes before it."""
                return seconds >= _AS_LONG * longest or seconds + longest <= each < inf

            def worth(found: tuple[float, _Group]) -> tuple[bool, bool, float]:
                seconds, group = found
                suits = group.target in had if had else group.target not in taken
                return suits, not group.begun, seconds

            _, best = max((found for found in expected if in_time(found[0])), key=worth)
            best.begun = True
            return best.left.popleft()

    def learn(self, number: int, seconds: float) -> None:
        """A task took so long."""
        with self._lock:
            group = self._group(self._tasks[number])
            group.seconds += seconds
            group.done += 1

    def clear(self) -> None:
        """Nobody wants what is left."""
        with self._lock:
            for group in self._groups.values():
                group.left.clear()

    def _group(self, task: CompileTask) -> _Group:
        key = task.source, task.library, task.options.target
        return self._groups.setdefault(key, _Group(key[:2], key[2]))

    def _expected(self, group: _Group) -> float:
        """Seconds of a cell, by those of its group, or of its source for other targets; without end where none is
        known."""
        known = [group] if group.done else [other for other in self._groups.values() if other.source == group.source]
        done = sum(other.done for other in known)
        return sum(other.seconds for other in known) / done if done else inf
