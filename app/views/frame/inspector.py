"""The inspector: what is known about the selection, in sections; names are links that select."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QUrl
from PySide6.QtWidgets import QTextBrowser

from app.theme.look import Look
from app.viewmodels.compilation import Compilation
from app.viewmodels.frame.inspection import Entry, Section, inspect
from app.viewmodels.frame.selection import Selection
from app.viewmodels.requests import RunTimes
from app.views.parts.later import one_shot


class Inspector(QTextBrowser):
    """One page of rich text, made anew for each selection: ten times cheaper than widgets, and it can be copied."""

    def __init__(self, look: Look, selection: Selection) -> None:
        super().__init__()
        self._look, self._selection = look, selection
        self._compilation: Compilation | None = None
        self._run: RunTimes | None = None
        self._links: list[tuple[str, ...]] = []
        self.setOpenLinks(False)
        self.setProperty("code", True)
        self.setObjectName("inspector-text")
        self.setMinimumWidth(210)
        self.setAccessibleName("Inspector")
        self.document().setDocumentMargin(10)
        self.anchorClicked.connect(self._follow)
        self._timer = one_shot(self, self.refresh)  # several changes in one turn of the event loop are shown once
        selection.changed.connect(lambda nodes, origin: self._timer.start(0))
        look.changed.connect(lambda: self._timer.start(0))
        self.refresh()

    def set_compilation(self, compilation: Compilation) -> None:
        """Inspect another compilation."""
        self._compilation, self._run = compilation, None
        self._timer.start(0)

    def set_run(self, run: RunTimes) -> None:
        """Measured times to show beside the estimates."""
        self._run = run
        self._timer.start(0)

    def refresh(self) -> None:
        """Say what there is to say about the selection now."""
        theme = self._look.theme
        self._links = []
        if self._compilation is None:
            self.setHtml(
                f"<p style='color:{theme.faint}'>Compile something, then click a node, a line or a kernel.</p>"
            )
            return
        title, sections = inspect(self._compilation, self._selection.nodes, self._run)
        parts = [f"<div style='font-size:15px; font-weight:600'>{escape(title)}</div>"]
        parts += [self._section(section) for section in sections if section.entries]
        style = (
            f"a {{ color: {theme.text}; text-decoration: none; font-weight: 600; }} td {{ padding: 1px 10px 2px 0; }}"
        )
        self.document().setDefaultStyleSheet(style)
        self.setHtml("".join(parts))

    def _section(self, section: Section) -> str:
        theme = self._look.theme
        style = f"margin:12px 0 3px 0; color:{theme.faint}; font-size:10px; font-weight:600"
        head = f"<p style='{style}'>{escape(section.title.upper())}</p>"
        entries = section.entries[:100]
        if any(entry.good is not None for entry in entries):
            return head + "".join(self._decision(entry) for entry in entries)
        rows = "".join(
            f"<tr><td style='color:{theme.muted}; white-space:nowrap'>{escape(entry.name)}</td>"
            f"<td>{self._value(entry)}</td></tr>"
            for entry in entries
        )
        return f"{head}<table cellspacing='0' cellpadding='0'>{rows}</table>"

    def _value(self, entry: Entry) -> str:
        return self._link(entry.value, entry.nodes) if entry.nodes else escape(entry.value)

    def _decision(self, entry: Entry) -> str:
        theme = self._look.theme
        mark, colour = ("\u2713", theme.good) if entry.good else ("\u2717", theme.warning)
        return (
            f"<p style='margin:4px 0 0 0'><span style='color:{colour}'>{mark}</span> "
            f"{self._link(entry.name, entry.nodes)}</p>"
            f"<p style='margin:0 0 4px 14px; color:{theme.muted}'>{escape(entry.value)}</p>"
        )

    def _link(self, text: str, nodes: tuple[str, ...]) -> str:
        self._links.append(nodes)
        return f"<a href='nodes:{len(self._links) - 1}'>{escape(text)}</a>"

    def _follow(self, url: QUrl) -> None:
        index = int(url.path())
        if index < len(self._links):
            self._selection.select(self._links[index])
