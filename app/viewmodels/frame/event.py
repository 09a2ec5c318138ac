"""A list of listeners: how view models say that they changed, without Qt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Event:
    """Call `emit` and every listener is called, in the order they were connected."""

    def __init__(self) -> None:
        self._listeners: list[Callable[..., Any]] = []

    def connect(self, listener: Callable[..., Any]) -> None:
        """Add a listener."""
        self._listeners.append(listener)

    def disconnect(self, listener: Callable[..., Any]) -> None:
        """Take a listener away; one that is not there is no error, since views close in any order."""
        self._listeners = [known for known in self._listeners if known != listener]

    def clear(self) -> None:
        """Take every listener away: who said something is closed, and whoever listened may be gone."""
        self._listeners = []

    def emit(self, *values: Any) -> None:
        """Tell everybody."""
        for listener in tuple(self._listeners):
            listener(*values)
