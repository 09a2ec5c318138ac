"""The notebook of runs: opening compilations and tables of flows again, notes, tags, baselines, deleting, commands."""

from __future__ import annotations

import shlex
from typing import Any

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QInputDialog, QMessageBox

from app.controllers.compilations import Compilations
from app.controllers.docks import DocksFeature
from app.controllers.features import Feature, Shared
from app.controllers.flows import FlowsFeature
from app.controllers.records import RecordsController
from app.viewmodels.requests import (
    CompilationRow,
    RunRow,
    source_name,
)
from app.viewmodels.runs.notebook import EditRunsRequest, KeepFlowsRequest, ListFlowsRequest, OpenFlowsRequest
from app.views.parts.plain import message_box
from app.views.runs.runs import RunsView

_KINDS = {"delete": "run", "delete-compilations": "compilation", "delete-flows": "table of flows"}


class NotebookFeature(Feature):
    """What is written on the rows of the list, and what else than runs is opened from it."""

    def __init__(
        self, shared: Shared, compiler: Compilations, records: RecordsController, flows: FlowsFeature,
        docks: DocksFeature, view: RunsView,
    ) -> None:  # fmt: skip
        super().__init__(shared)
        self._compiler, self._records, self._flows, self._docks, self.view = compiler, records, flows, docks, view
        view.open_compilation_wanted.connect(compiler.open_compilation)
        view.open_flows_wanted.connect(self.open_flows)
        view.edit_wanted.connect(self.edit)
        view.copy_command_wanted.connect(self.copy_command)
        records.runs_listed.connect(lambda _: records.ask(ListFlowsRequest(), view.set_flows, "runs"))
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
        elif self.ask_delete(_KINDS[what], rows):
            self._ask(EditRunsRequest(numbers, what))

    def ask_delete(self, kind: str, rows: tuple[Any, ...]) -> bool:
        """Ask before something is forgotten for good."""
        count = len(rows)
        named = ", ".join(f"{row.number} ({source_name(row.source)})" for row in rows[:8])
        many = f"{count} {kind}s" if kind != "table of flows" else f"{count} tables of flows"
        box = message_box(
            self._window, QMessageBox.Icon.Warning, "Delete", f"Delete {f'this {kind}' if count == 1 else many}?",
            f"{named}{', ...' if count > 8 else ''}\n\nThis cannot be undone. A baseline has to be taken off first.",
        )  # fmt: skip
        delete = box.addButton("Delete", QMessageBox.ButtonRole.DestructiveRole)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
        box.exec()
        return box.clickedButton() is delete

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
        self._records.ask(request, done, "runs")

    def _keep_flows(self) -> None:
        document = self._flows.model.document()
        if document is not None:
            self._records.ask(KeepFlowsRequest(document), lambda _: self._records.list_runs(), "flows")
