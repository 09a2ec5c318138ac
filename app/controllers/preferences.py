"""Preferences at work: loads them, applies each change at once, keeps it, and serves the dialog that shows them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtGui import QFontDatabase

from app.controllers.docks import DocksFeature
from app.controllers.features import Command, Feature, Shared
from app.controllers.records import RecordsController
from app.controllers.settings import Settings
from app.theme.fonts import CODE_PIXELS
from app.viewmodels.frame import preferences
from app.viewmodels.frame.event import Event
from app.viewmodels.frame.preferences import Preferences
from app.viewmodels.requests import ListRunsRequest, StorageRequest, StorageTold
from app.views.frame.status import Status
from app.views.parts.file_dialog import path_to_save
from app.views.parts.later import polishing
from profiler.records import DATABASE_VARIABLE, READONLY_VARIABLE

if TYPE_CHECKING:
    from app.views.frame.settings_dialog import SettingsDialog

_THEMES = (("dark", "&Dark theme"), ("light", "&Light theme"), ("system", "Theme of the &system"))


class PreferencesFeature(Feature):
    """`now` is what holds; `changed(names, now)` tells which are others; `visited` when another database is open."""

    def __init__(
        self, shared: Shared, settings: Settings, records: RecordsController, status: Status, docks: DocksFeature
    ) -> None:
        super().__init__(shared)
        self._settings, self._records, self._status, self._docks = settings, records, status, docks
        look = self._look
        self.now: Preferences = preferences.load(settings.get)
        self.changed, self.visited = Event(), Event()
        self.dialog: SettingsDialog | None = None
        self._fixed = os.environ.get(DATABASE_VARIABLE)  # what the user's environment says goes before the setting
        self._visited = ""  # a database opened as a file, until the own one is wanted again
        self._may_write = False  # to that one: only when the user asks for it
        self.commands = (
            Command("own_database", "Back to my &database", "&File", 30, lambda: self.visit_database("")),
            Command("write_database", "&Write to this database", "&File", 31, self.write_visited),
            Command("settings", "Se&ttings...", "&File", 40, self.show, "Ctrl+,"),
            Command("zoom_in", "Larger code", "&View", 30, lambda: look.zoom_code(look.code_pixels + 1), "Ctrl++"),
            Command("zoom_out", "Smaller code", "&View", 31, lambda: look.zoom_code(look.code_pixels - 1), "Ctrl+-"),
            Command("zoom_reset", "Usual code size", "&View", 32, lambda: look.zoom_code(CODE_PIXELS), "Ctrl+0"),
            *(
                Command(f"theme_{name}", text, "&View", 33 + at, lambda name=name: self.set(theme=name),
                        ticked=lambda name=name: look.choice == name)
                for at, (name, text) in enumerate(_THEMES)
            ),
        )  # fmt: skip
        self._state.compiled.connect(lambda _: self._turns.add((self.ask_storage,)))
        docks.work_shown.connect(lambda: self._turns.add((self.ask_storage,)))

    def begin(self) -> None:
        """Apply what was kept; the views are there."""
        now = self.now
        self._look.set_ui_font(now.ui_family, now.ui_pixels)
        self._look.set_code_font(now.code_family, now.code_pixels)
        self._state.choose(target=now.target, flow=now.flow, opt_level=now.opt_level)
        self.changed.emit({"threads", "repeats"}, now)
        self._point_to_database()
        self._look.changed.connect(self._zoomed)
        if problem := self._settings.problem():
            self._messages.say("warning", problem, "window")

    def apply(self, wanted: Preferences) -> None:
        """Make these hold, and keep them."""
        before, self.now = self.now, wanted
        changed = set(preferences.save(self._settings.set, before, wanted))
        if changed & {"theme", "ui_family", "ui_pixels"}:
            self._look.set_ui_font(wanted.ui_family, wanted.ui_pixels, wanted.theme)
        if changed & {"code_family", "code_pixels"}:
            self._look.set_code_font(wanted.code_family, wanted.code_pixels)
        if chosen := {n: getattr(wanted, n) for n in ("target", "flow", "opt_level") if n in changed}:
            self._state.choose(**chosen)
        self.changed.emit(changed, wanted)
        if "database" in changed:
            self._move_database()
        if "cache_mib" in changed:
            self.ask_storage()
        if self.dialog is not None:
            self.dialog.set_preferences(wanted)
            problem = self._settings.problem()
            if problem:
                self._messages.say("warning", problem, "settings")

    def set(self, **changes: Any) -> None:
        """Change some of them."""
        self.apply(replace(self.now, **changes))

    def show(self) -> None:
        """Open the dialog, or bring it to the front."""
        dialog = self._make_dialog()
        dialog.begin()
        dialog.set_preferences(self.now)
        dialog.set_trusted(self._settings.trusted_count())
        dialog.fix_database(self._fixed is not None)
        dialog.show()
        dialog.raise_()
        self.ask_storage()
        self._turns.add(dialog.steps())

    def ahead(self) -> Iterator[Callable[[], object]]:
        """The dialog, made before somebody opens it."""
        yield self._make_dialog
        if self.dialog is not None:
            yield from self.dialog.steps()
            yield from polishing(self.dialog)

    def ask_storage(self, clear: bool = False) -> None:
        """What the cache holds, for the status bar and the dialog; keeps it within its limit."""
        limit = self.now.cache_mib << 20 if self.now.cache_mib < preferences.CACHE_MIB else 0
        place = "settings" if self.dialog is not None and self.dialog.isVisible() else ""
        told = (lambda _: self.ask_storage()) if clear else self._told
        self._records.ask(StorageRequest(clear, limit), told, place, writes=clear)

    def _told(self, told: StorageTold) -> None:
        self._status.set_cache(told.entries, told.bytes, told.cache)
        if self.dialog is not None:
            self.dialog.set_storage(told)

    def _make_dialog(self) -> SettingsDialog:
        """The dialog, made when it is first asked for."""
        if self.dialog is not None:
            return self.dialog
        from app.views.frame.settings_dialog import SettingsDialog  # not before the window is there

        fixed = [name for name in QFontDatabase.families() if QFontDatabase.isFixedPitch(name)]
        dialog = SettingsDialog(self._look, self.now, (QFontDatabase.families(), fixed), self._window)
        dialog.changed.connect(self.apply)
        dialog.clear_cache_wanted.connect(lambda: self.ask_storage(clear=True))
        dialog.forget_trust_wanted.connect(self._forget_trust)
        dialog.browse_wanted.connect(self._browse_database)
        dialog.bar.show_log.connect(lambda: self._docks.show("log"))
        self.dialog, self.bars = dialog, {"settings": dialog.bar}
        return dialog

    def _forget_trust(self) -> None:
        self._settings.forget_trust()
        if self.dialog is not None:
            self.dialog.set_trusted(0)

    def _browse_database(self) -> None:
        kinds = "Databases (*.db);;All files (*)"
        path, _ = path_to_save(self._window, "Trace database", self.database or "traces.db", kinds, overwrite=True)
        if path:
            self.set(database=path)

    @property
    def database(self) -> str:
        """Where a run is to be kept; empty means the user's own place."""
        return os.environ.get(DATABASE_VARIABLE, "")

    def _point_to_database(self) -> None:
        """Child processes find the database by the variable, as the command line does."""
        os.environ.pop(READONLY_VARIABLE, None)
        if self._visited:
            os.environ[DATABASE_VARIABLE] = self._visited
            if not self._may_write:
                os.environ[READONLY_VARIABLE] = "1"
        elif self._fixed is not None:
            os.environ[DATABASE_VARIABLE] = self._fixed
        elif self.now.database:
            os.environ[DATABASE_VARIABLE] = str(Path(self.now.database).expanduser())
        else:
            os.environ.pop(DATABASE_VARIABLE, None)

    def visit_database(self, path: str) -> None:
        """Look into another database file, in this session only; no path goes back to the own one."""
        if path == self._visited:
            return
        self._visited, self._may_write = path, False
        self._move_database()
        self.visited.emit()
        if path:
            words = f"{path} is open read-only: new runs are not kept there (File, Back to my database)"
            self._messages.say("info", words, "runs")
        else:
            self._messages.clear("runs")

    def write_visited(self) -> None:
        """Let the database that is visited be upgraded and take new runs."""
        if not self._visited:
            self._messages.say("info", "your own database is open, and takes new runs already", "runs")
        elif not self._may_write:
            self._may_write = True
            self._move_database()
            words = f"{self._visited} is open: its runs are listed, and new ones are kept there"
            self._messages.say("info", words, "runs")

    def _move_database(self) -> None:
        self._point_to_database()
        self._messages.clear("settings")
        self._records.forget()
        place = "settings" if self.dialog is not None and self.dialog.isVisible() else "runs"
        self._records.ask(ListRunsRequest(), self._records.runs_listed.emit, place)
        self.ask_storage()

    def _zoomed(self) -> None:
        """The size of code was changed by a key or the wheel."""
        pixels = self._look.code_pixels
        if pixels != self.now.code_pixels:
            before, self.now = self.now, replace(self.now, code_pixels=pixels)
            preferences.save(self._settings.set, before, self.now)
            if self.dialog is not None:
                self.dialog.set_preferences(self.now)
