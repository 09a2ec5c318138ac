"""The notebook of runs: opening compilations and tables of flows again, notes, tags, baselines, commands, and deleting,
which can be undone."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QInputDialog

from app.controllers.compilations import Compilations
from app.controllers.docks import DocksFeature
from app.controllers.features import Command, Feature, Shared
from app.controllers.flows import FlowsFeature
from app.controllers.records import RecordsController
from app.viewmodels.frame.messages import Message
from app.viewmodels.requests import CompilationRow, RunRow
from app.viewmodels.runs.notebook import EditRunsRequest, KeepFlowsRequest, ListFlowsRequest, OpenFlowsRequest
from app.views.runs.runs import COMPILATIONS, FLOWS, RUNS, RunsView
from compiler.errors import CompilerError

_KINDS = {
    "delete": ("run", "runs"), "delete-compilations": ("compilation", "compilations"),
    "delete-flows": ("table of flows", "tables of flows"),
}  # fmt: skip
_TABLES = {"delete": RUNS, "delete-compilations": COMPILATIONS, "delete-flows": FLOWS}


class NotebookFeature(Feature):
    """What is written on the rows of the list, and what else than runs is opened from it."""

    def __init__(
        self, shared: Shared, compiler: Compilations, records: RecordsController, flows: FlowsFeature,
        docks: DocksFeature, view: RunsView,
    ) -> None:  # fmt: skip
        super().__init__(shared)
        self._compiler, self._records, self._flows, self._docks, self.view = compiler, records, flows, docks, view
        self._deleted: list[EditRunsRequest] = []  # what is off the list and not yet out of the database
        self.commands = (Command("undo_delete", "&Undo deleting", "&Edit", 24, self.undo_delete, "Ctrl+Z"),)
        view.bar.acted.connect(self.undo_delete)
        records.leaving.connect(self.finish_deleting)
        view.open_compilation_wanted.connect(compiler.open_compilation)
        view.open_flows_wanted.connect(self.open_flows)
        view.edit_wanted.connect(self.edit)
        view.copy_command_wanted.connect(self.copy_command)
        listed = lambda rows: view.set_rows(FLOWS, rows)  # noqa: E731
        records.runs_listed.connect(lambda _: records.ask(ListFlowsRequest(), listed, "runs"))
        flows.measured.connect(self._keep_flows)

    def edit(self, what: str, rows: tuple[Any, ...]) -> None:
        """Write on rows or forget them, as the user says."""
        numbers = tuple(row.number for row in rows)
        if what == "note":
            text, good = QInputDialog.getText(self._window, "Note", f"Note on run {numbers[0]}:", text=rows[0].note)
            if good:
                self._ask(EditRunsRequest(numbers[:1], "note", text.strip()))
        elif what == "tag":
            words = "A tag to put on; one that they have already is taken off:"
            tag, good = QInputDialog.getText(self._window, "Tag", words)
            if good and tag.strip():
                has = all(tag.strip() in row.tags for row in rows)
                self._ask(EditRunsRequest(numbers, "untag" if has else "tag", tag.strip()))
        elif what == "pin":
            self._ask(EditRunsRequest(numbers[:1], "unpin" if rows[0].pinned else "pin"))
        else:
            self._delete(what, numbers)

    def _delete(self, what: str, numbers: tuple[int, ...]) -> None:
        """Take rows off the list. They stay in the database until the window closes or another database is opened."""
        request = EditRunsRequest(numbers, what)

        def can_be(database: str) -> None:
            self._deleted.append(replace(request, database=database))
            self._show_deleted()
            kind, many = _KINDS[what]
            words = f"deleted {kind if len(numbers) == 1 else many} {', '.join(map(str, numbers[:8]))}"
            words += ", ..." if len(numbers) > 8 else ""
            self._messages.post(Message("info", words, "runs", action="Undo"))

        self._messages.clear("runs")
        self._records.ask(replace(request, trial=True), can_be, "runs")

    def undo_delete(self) -> None:
        """Bring back what was deleted last."""
        if not self._deleted:
            self._messages.say("info", "nothing was deleted that could come back", "runs")
            return
        request = self._deleted.pop()
        self._show_deleted()
        kind, many = _KINDS[request.what]
        words = f"{kind if len(request.numbers) == 1 else many} {', '.join(map(str, request.numbers[:8]))} back again"
        self._messages.post(Message("info", words, "runs", action="Undo" if self._deleted else ""))

    def _show_deleted(self) -> None:
        self.view.hide_rows({(_TABLES[r.what], number) for r in self._deleted for number in r.numbers})

    def finish_deleting(self) -> None:
        """What was deleted goes from the database now, and cannot come back."""
        deleted, self._deleted = self._deleted, []
        if not deleted:
            return
        from app.worker.notebook_jobs import edit_runs  # here, as there may be no process left to ask

        for request in deleted:
            try:
                edit_runs(request, lambda _: None)
            except CompilerError as error:  # somebody else deleted it, or the file is gone: it is not there
                self._messages.log(f"what was deleted could not be taken from the database: {error}")
        self._show_deleted()

    def stop(self) -> None:
        """The window closes."""
        self.finish_deleting()

    def open_flows(self, number: int) -> None:
        """Show a stored table of flows in its view."""

        def opened(document: dict[str, Any]) -> None:
            if self._flows.busy:
                self._messages.say("info", "flows are being measured: stop that first to open a stored table", "runs")
                return
            self._flows.model.load(document)
            self._docks.show("flows")

        self._records.ask(OpenFlowsRequest(number), opened, "runs")

    def copy_command(self, row: RunRow | CompilationRow) -> None:
        """The command line that does the same again, to the clipboard."""
        words = row.how.split()
        flow, level = next((w for w in words if "kernel" in w), ""), next((w for w in words if w[:2] == "-O"), "")
        flow_words = ["--flow", flow] if flow else []
        if isinstance(row, RunRow):
            parts = ["kernelglass", "run", row.source, "--device", row.device, *flow_words, level, "--check"]
        else:
            parts = ["kernelglass", "compile", row.source, "--target", row.target, *flow_words, level]
        text = shlex.join(filter(None, parts))
        QGuiApplication.clipboard().setText(text)
        self._messages.say("info", f"copied: {text}", "runs")

    def _ask(self, request: EditRunsRequest) -> None:
        def done(words: str) -> None:
            self._messages.say("info", words, "runs")
            self._records.list_runs()

        self._messages.clear("runs")
        self._records.ask(request, done, "runs", writes=True)

    def _keep_flows(self) -> None:
        document = self._flows.model.document()
        if document is not None:
            self._records.ask(KeepFlowsRequest(document), lambda _: self._records.list_runs(), "flows", writes=True)
