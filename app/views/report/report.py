"""Report: choose a run, or two to compare; see what the report says; save it in any format or open it in a browser."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu, QStackedWidget, QTextBrowser, QWidget

from app.theme.look import Look
from app.viewmodels.frame.formats import seconds
from app.viewmodels.report.report_preview import ReportPreview, ReportSection
from app.viewmodels.requests import RunRow, source_name
from app.views.parts.controls import column, open_menu, paragraph, push_button
from app.views.parts.header import Header
from app.views.parts.later import one_shot
from app.views.parts.widgets import Choice, MessageBar, label
from app.views.runs.runs import FORMATS

RUN_FORMATS = (("html", "HTML, one file with linked IR"), *FORMATS[1:])
COMPARISON_FORMATS = tuple(entry for entry in RUN_FORMATS if entry[0] != "perfetto")
_MOST_LISTED = 200


class ReportView(QWidget):
    """Says which runs it wants a preview of, and in which format the report is wanted."""

    preview_wanted = Signal(object)
    save_wanted = Signal(object, str)
    browser_wanted = Signal(object)

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self.preview: ReportPreview | None = None
        self._followed = ""  # the run reported on, where it is not listed yet
        self._asked: tuple[int, ...] = ()
        self._coming = one_shot(self, self._ask)
        self.bar = MessageBar(look, "report")
        self.run = Choice("Run to report on", flat=True)
        self.against = Choice("Run to compare it with", flat=True)
        for choice in (self.run, self.against):
            choice.chosen.connect(lambda _: self._chosen_here())
        self.save = push_button("Save as", name="Save the report as")
        self._menu = QMenu(self.save)
        open_menu(self.save, self._menu)
        tip = "The whole report: one HTML file, with the IR linked line by line"
        self.browser = push_button("Open in browser", lambda: self.browser_wanted.emit(self.chosen()), tip)
        self.page = QTextBrowser()
        self.page.setOpenLinks(False)
        self.page.setProperty("code", True)
        self.page.setAccessibleName("Preview of the report")
        self.page.document().setDocumentMargin(16)
        empty = paragraph(
            "Nothing to report on yet. Run what is compiled (F5): a report is of a run that was kept, or of two.",
            (16, 16, 16, 16),
        )
        self._stack = QStackedWidget()
        self._stack.addWidget(empty)
        self._stack.addWidget(self.page)
        controls = Header(
            label("Report of", "muted"),
            self.run,
            label("against", "muted"),
            self.against,
            None,
            self.browser,
            self.save,
        )
        column(self, self.bar, controls.spaced(), self._stack, main=self._stack)
        look.changed.connect(self._show)
        self._fill_menu()
        self._enable()

    def set_runs(self, runs: tuple[RunRow, ...]) -> None:
        """What there is to report on, the newest first; what is chosen stays chosen."""
        entries = [(str(row.number), _title(row)) for row in runs[:_MOST_LISTED]]
        self.run.set_entries(entries)
        self.against.set_entries([("", "nothing"), *entries])
        self._choose_followed()

    def follow(self, number: int) -> None:
        """Report on the run that is on show now, until another is chosen here."""
        self._followed = str(number)
        self._choose_followed()

    def _choose_followed(self) -> None:
        if self._followed and self.run.findData(self._followed) >= 0:
            self.run.set_value(self._followed)
            self._followed = ""
        self._enable()
        self._leave_other()
        self.update()  # which asks for the report, where it is seen

    def show_run(self, number: int) -> None:
        """Report on a run."""
        self.follow(number)
        self._ask()

    def chosen(self) -> tuple[int, ...]:
        """The run; with what it is compared with before it, where there is one."""
        if not (run := self._followed or self.run.value):
            return ()
        other = self.against.value
        return (int(run),) if other in ("", run) else (int(other), int(run))

    def set_preview(self, preview: ReportPreview) -> None:
        """A preview arrived; one that nobody wants any more is dropped."""
        if preview.runs == self.chosen():
            self.preview = preview
            self._show()

    def forget(self) -> None:
        """What was told is of another database, whose runs have the same numbers."""
        self.preview, self._asked, self._followed = None, (), ""
        self.page.clear()
        self.update()

    def paintEvent(self, event) -> None:
        super().paintEvent(event)
        if self.chosen() != self._asked:  # behind another tab nobody asks for what nobody sees
            self._coming.start()

    def _chosen_here(self) -> None:
        self._followed = ""
        self._ask()

    def _ask(self) -> None:
        self._asked = self.chosen()
        self._leave_other()
        self._fill_menu()
        self._enable()
        if self.chosen():
            self.preview_wanted.emit(self.chosen())

    def _leave_other(self) -> None:
        """Take away what was told of other runs than those that are chosen."""
        if self.preview is not None and self.preview.runs != self.chosen():
            self.preview = None
            self.page.clear()
        runs = " against run ".join(map(str, reversed(self.chosen())))
        self.page.setPlaceholderText(f"The report of run {runs} comes here." if runs else "")

    def _fill_menu(self) -> None:
        self._menu.clear()
        formats = RUN_FORMATS if len(self.chosen()) < 2 else COMPARISON_FORMATS
        self.formats = {
            kind: self._menu.addAction(title, lambda k=kind: self.save_wanted.emit(self.chosen(), k))
            for kind, title in formats
        }

    def _enable(self) -> None:
        there = bool(self.chosen())
        for widget in (self.run, self.against, self.save, self.browser):
            widget.setEnabled(there)
        self._stack.setCurrentIndex(int(there))

    def _show(self) -> None:
        if self.preview is not None:
            at = self.page.verticalScrollBar().value()
            self.page.setHtml(self._html(self.preview))
            self.page.verticalScrollBar().setValue(at)

    def _html(self, preview: ReportPreview) -> str:
        theme, pixels = self._look.theme, self._look.ui_pixels
        parts = [
            f"<div style='font-size:{round(pixels * 1.5)}px; font-weight:600'>{escape(preview.title)}</div>",
            f"<div style='color:{theme.muted}'>{escape(preview.subtitle)}</div>",
        ]
        if preview.warning:
            parts.append(f"<p style='color:{theme.warning}'>\u26a0 {escape(preview.warning)}</p>")
        parts += [self._section(section) for section in preview.sections]
        return "".join(parts)

    def _section(self, section: ReportSection) -> str:
        theme, pixels = self._look.theme, self._look.ui_pixels
        style = f"margin:16px 0 4px 0; font-size:{pixels + 2}px; font-weight:600"
        parts = [f"<p style='{style}'>{escape(section.title)}</p>"]
        parts += [f"<div>{escape(line)}</div>" for line in section.lines]
        if section.rows:
            cell = "padding:2px 14px 2px 0"
            head = "".join(
                f"<th align='{_side(section, i)}' style='{cell}; color:{theme.muted}; font-weight:400'>{escape(h)}</th>"
                for i, h in enumerate(section.header)
            )
            rows = []
            for index, row in enumerate(section.rows):
                cells = "".join(
                    f"<td align='{_side(section, i)}' style='{cell}'>{escape(text)}</td>" for i, text in enumerate(row)
                )
                if section.shares:
                    bar = "\u2588" * max(round(section.shares[index] * 16), 1)
                    cells += f"<td style='color:{theme.series[0]}'>{bar}</td>"
                rows.append(f"<tr>{cells}</tr>")
            parts.append(f"<table cellspacing='0' style='margin-top:4px'><tr>{head}</tr>{''.join(rows)}</table>")
        return "".join(parts)


def _side(section: ReportSection, column: int) -> str:
    return "right" if column in section.right else "left"


def _title(row: RunRow) -> str:
    took = seconds(row.median) if row.median > 0 else row.status
    return f"run {row.number}: {source_name(row.source)}, {took}"
