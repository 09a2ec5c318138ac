"""Finding one's way: the command palette, every key on one sheet, and what this program is."""

from __future__ import annotations

from PySide6.QtGui import QAction

from app.controllers.features import Command, Feature, Features, Shared
from app.views.frame.command_palette import CommandPalette


class HelpFeature(Feature):
    """What shows every command; `actions` are those the palette offers."""

    def __init__(self, shared: Shared, features: Features) -> None:
        super().__init__(shared)
        self._features = features
        self.actions: list[QAction] = []
        self.palette = CommandPalette(self._window)
        self.commands = (
            Command("palette", "&Command palette", "&View", 10, lambda: self.palette.open(self.actions),
                    "Ctrl+Shift+P"),
            Command("shortcuts", "&Keyboard shortcuts", "&Help", 11, self._shortcuts, "?"),
            Command("about", "&About", "&Help", 12, self._about),
        )  # fmt: skip

    def _shortcuts(self) -> None:
        from app.views.frame.shortcut_sheet import ShortcutSheet

        ShortcutSheet(self._features.shortcut_groups(), self._window).show()

    def _about(self) -> None:
        from app.views.frame.about import AboutDialog, versions  # asked for once in a while: not before the first paint

        AboutDialog(self._look, versions(), self._window).show()
