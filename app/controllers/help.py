"""Finding one's way: the command palette, every key on one sheet, and what this program is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module

from PySide6.QtGui import QAction

from app.controllers.features import Command, Feature, Features, Shared
from app.views.frame.command_palette import CommandPalette, Offer
from app.views.parts.later import in_thread, next_turn


class HelpFeature(Feature):
    """What shows every command; the palette offers the `actions`, all `things` there are, and what a text names."""

    def __init__(self, shared: Shared, features: Features) -> None:
        super().__init__(shared)
        self._features = features
        self.actions: list[QAction] = []
        self.things: Callable[[], Sequence[Offer]] = list
        self.typed: Callable[[str], Sequence[Offer]] = lambda _: ()
        self.palette = CommandPalette(self._window)
        self.commands = (
            Command("palette", "&Command palette", "&View", 10, self._open_palette, "Ctrl+Shift+P"),
            Command("shortcuts", "&Keyboard shortcuts", "&Help", 11, self._shortcuts, "?"),
            Command("about", "&About", "&Help", 12, self._about),
        )

    def ahead(self) -> Iterator[Callable[[], object]]:
        """What the sheet and the dialog are made of."""
        yield lambda: import_module("app.views.frame.shortcut_sheet")
        yield lambda: import_module("app.views.frame.about")
        versions = import_module("app.views.frame.about").versions
        yield lambda: in_thread(self, lambda _: versions(), lambda _: None)

    def _open_palette(self) -> None:
        self.palette.open(self.actions, self.things(), self.typed)

    def _shortcuts(self) -> None:
        from app.views.frame.shortcut_sheet import ShortcutSheet

        sheet = ShortcutSheet(self._look, self._features.shortcut_groups(), self._window)
        next_turn(sheet, sheet.show)  # to make it and to show it are felt together

    def _about(self) -> None:
        from app.views.frame.about import AboutDialog, versions  # asked for once in a while: not before the first paint

        AboutDialog(self._look, versions(), self._window).show()
