"""Reports seen from the window: the preview of what is chosen, saving it, and the whole of it in a browser."""

from __future__ import annotations

import shutil
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from app.controllers.docks import DocksFeature
from app.controllers.features import Command, Dock, Feature, Shared
from app.controllers.records import RecordsController
from app.viewmodels.requests import ExportRequest, ReportRequest
from app.views.parts.file_dialog import path_to_save
from app.views.report.report import ReportView
from compiler.temporary import make_folder


class ReportFeature(Feature):
    """The report of a run, or of several compared."""

    def __init__(self, shared: Shared, records: RecordsController, docks: DocksFeature) -> None:
        super().__init__(shared)
        self._records, self._docks = records, docks
        self.view = ReportView(self._look)
        self.bars = {"report": self.view.bar}
        self._folder = ""
        self.docks = (Dock("report", "Report", self.view, 110),)
        self.commands = (Command("report", "R&eport", "&Run", 20, self._show_current, "Ctrl+E"),)
        self.view.preview_wanted.connect(self.preview)
        self.view.save_wanted.connect(self.export)
        self.view.browser_wanted.connect(self.open_in_browser)
        records.runs_listed.connect(self.view.set_runs)
        records.moved.connect(self.view.forget)
        self.when_run(self._follow)

    def _show_current(self) -> None:
        """The report of the run on show, or of the newest one: first as a preview."""
        run = self._state.run
        self.show(run.number if run is not None else 0)

    def _follow(self) -> None:
        if (run := self._state.run) is not None and run.number:
            self.view.follow(run.number)

    def export(self, runs: tuple[int, ...], kind: str) -> None:
        """Write a run or a comparison where the user says."""
        name = f"run-{'-'.join(map(str, runs))}.{'json' if kind == 'perfetto' else kind}"
        path, _ = path_to_save(self._window, "Export", name)
        if path:
            self._records.export(runs, kind, path)

    def preview(self, runs: tuple[int, ...]) -> None:
        """Show what the report of these runs says."""
        self._messages.clear("report")
        self._records.ask(ReportRequest(runs), self.view.set_preview, "report")

    def show(self, run: int = 0) -> None:
        """Open the view, on a run where one is given."""
        self._docks.show("report")
        if run:
            self.view.show_run(run)

    def open_in_browser(self, runs: tuple[int, ...]) -> None:
        """Write the HTML to a folder of this session and let the system open it."""
        try:
            self._folder = self._folder or make_folder("report")
        except OSError as error:
            text = f"no file can be made for the browser: {error.strerror or error}"
            self._messages.say("error", text, "report")
            return
        path = Path(self._folder) / f"report-{'-'.join(map(str, runs))}.html"
        self._records.ask(ExportRequest(runs, "html", str(path)), self._open, "report", writes=True)

    def stop(self) -> None:
        """The window closes: what was made for the browser goes."""
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""

    def _open(self, path: str) -> None:
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(path)):
            text = f"no browser answers; the report is at {path} until the window is closed"
            self._messages.say("warning", text, "report")
