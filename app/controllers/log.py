"""What is said: to the bar of the place it belongs to, and all of it to the log."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.controllers.docks import DocksFeature
from app.controllers.features import Dock, Feature, Features
from app.theme.look import Look
from app.viewmodels.frame.messages import Message, Messages
from app.views.frame.log import LogView
from app.views.parts.widgets import MessageBar


class LogFeature(Feature):
    """The log, and the bar over everything for what has no other place."""

    def __init__(
        self, look: Look, messages: Messages, docks: DocksFeature, features: Features, window: QWidget
    ) -> None:
        super().__init__(window)
        self._features, self._docks = features, docks
        self.view, self.bar = LogView(look, messages), MessageBar(look, "window")
        self.docks = (Dock("log", "Log", self.view, 120),)
        messages.posted.connect(self._said)
        messages.cleared.connect(self._unsaid)

    @property
    def bars(self) -> dict[str, MessageBar]:
        """The window's."""
        return {"window": self.bar}

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
