"""Reports seen from the window: the preview of what is chosen, saving it, and the whole of it in a browser."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from app.controllers.messages import Message
from app.viewmodels.requests import ExportRequest, ReportRequest

if TYPE_CHECKING:
    from app.main_window import MainWindow


class ReportController:
    """Bound to one window."""

    def __init__(self, window: MainWindow) -> None:
        self._w = window
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        view = window.report
        view.preview_wanted.connect(self.preview)
        view.save_wanted.connect(lambda runs, kind: window.commands.export_runs(runs, kind))
        view.browser_wanted.connect(self.open_in_browser)
        window.records.runs_listed.connect(view.set_runs)

    def preview(self, runs: tuple[int, ...]) -> None:
        """Show what the report of these runs says."""
        self._w.messages.clear("report")
        self._w.records.ask(ReportRequest(runs), self._w.report.set_preview, "report")

    def show(self, run: int = 0) -> None:
        """Open the view, on a run where one is given."""
        self._w.show_bottom("report")
        if run:
            self._w.report.show_run(run)

    def open_in_browser(self, runs: tuple[int, ...]) -> None:
        """Write the HTML to a folder of this session and let the system open it."""
        try:
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="kernelglass-report-")
        except OSError as error:
            text = f"no file can be made for the browser: {error.strerror or error}"
            self._w.messages.post(Message("error", text, "report"))
            return
        path = Path(self._folder.name) / f"report-{'-'.join(map(str, runs))}.html"
        self._w.records.ask(ExportRequest(runs, "html", str(path)), self._open, "report")

    def stop(self) -> None:
        """The window closes: what was made for the browser goes."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _open(self, path: str) -> None:
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(path)):
            text = f"no browser answers; the report is at {path} until the window is closed"
            self._w.messages.post(Message("warning", text, "report"))
