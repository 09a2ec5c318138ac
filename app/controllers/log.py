"""What is said: to the bar of the place it belongs to, and all of it to the log."""

from __future__ import annotations

from app.controllers.docks import DocksFeature
from app.controllers.features import Dock, Feature, Features, Shared
from app.viewmodels.frame.messages import Message
from app.views.frame.log import LogView
from app.views.parts.widgets import MessageBar


class LogFeature(Feature):
    """The log, and the bar over everything for what has no other place."""

    def __init__(self, shared: Shared, docks: DocksFeature, features: Features) -> None:
        super().__init__(shared)
        self._features, self._docks = features, docks
        self.view, self.bar = LogView(self._look, self._messages), MessageBar(self._look, "window")
        self.bars = {"window": self.bar}
        self.docks = (Dock("log", "Log", self.view, 120),)
        self._messages.posted.connect(self._said)
        self._messages.cleared.connect(self._unsaid)

    def begin(self) -> None:
        """Every feature is there: from any of their bars one comes to the log."""
        for feature in self._features:
            for bar in feature.bars.values():
                bar.show_log.connect(lambda: self._docks.show("log"))

    def _said(self, message: Message) -> None:
        if (bar := self._features.bar(message.place)) is not None:
            bar.show_message(message)

    def _unsaid(self, place: str) -> None:
        if (bar := self._features.bar(place)) is not None:
            bar.hide()
