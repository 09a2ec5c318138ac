"""The one bridge that messages of any layer cross: to the bar of the place they belong to, and to the log."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from app.viewmodels.frame.event import Event
from app.viewmodels.requests import Failure


@dataclass(frozen=True)
class Message:
    """Something to tell the user. `place` names the view whose bar shows it; empty means the log only.

    `action` is what can be done about it: a button in the bar.
    """

    level: str
    text: str
    place: str = "window"
    detail: str = ""
    file: str = ""
    line: int = 0
    action: str = ""
    at: float = field(default_factory=time.time)


class Messages:
    """Keeps what was said and tells the listeners."""

    def __init__(self) -> None:
        self.posted = Event()
        self.cleared = Event()
        self.all: list[Message] = []

    def post(self, message: Message) -> None:
        """Say something."""
        self.all.append(message)
        del self.all[:-5000]
        self.posted.emit(message)

    def say(self, level: str, text: str, place: str = "window") -> None:
        """Say something at a place."""
        self.post(Message(level, text, place))

    def log(self, text: str, detail: str = "") -> None:
        """For the log only."""
        self.post(Message("info", text, "", detail))

    def failure(self, failure: Failure, place: str) -> None:
        """Say why a job failed; a bug of ours asks to be reported."""
        text = failure.message if failure.kind != "bug" else f"{failure.message} (a bug: the log has the details)"
        self.post(Message("error", text, place, failure.detail, failure.file, failure.line))

    def clear(self, place: str) -> None:
        """What a place said is over."""
        self.cleared.emit(place)
