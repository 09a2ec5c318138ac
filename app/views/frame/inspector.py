"""The inspector: what is known about the selection, in sections; names are links that select."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QMimeData, QRectF, Qt, QUrl, Signal
from PySide6.QtGui import QColor, QImage, QPainter, QTextDocument
from PySide6.QtWidgets import QTextBrowser

from app.theme.look import Look
from app.viewmodels.compilation import Compilation
from app.viewmodels.frame.formats import sentence
from app.viewmodels.frame.inspection import Entry, Section, inspect
from app.viewmodels.frame.selection import Selection
from app.viewmodels.frame.weights import Weights
from app.viewmodels.requests import RunTimes
from app.views.parts.later import NEXT, one_shot

_MOST = 40  # entries of a section: more are counted
_BREAK = "\u200b"  # a place where a line may end: nothing is seen there
WIDE, HIGH = 220, 72  # pixels of a histogram
_SHARP = 2  # pixels of the picture a pixel of the page: screens have up to so many


def breakable(name: str) -> str:
    """A name that a narrow page breaks between its words, not inside one."""
    return name.replace("_", f"_{_BREAK}")


class Inspector(QTextBrowser):
    """One page of rich text, made anew for each selection: ten times cheaper than widgets, and it can be copied.

    `weights_wanted(node)`: the statistics of a constant are asked for, which `set_weights` or `set_no_weights` answers.
    """

    weights_wanted = Signal(str)

    def __init__(self, look: Look, selection: Selection) -> None:
        super().__init__()
        self._look, self._selection = look, selection
        self._compilation: Compilation | None = None
        self._run: RunTimes | None = None
        self._notes: dict[str, str] = {}
        self._links: list[tuple[str, ...]] = []
        self._weights: dict[str, Weights | str] = {}  # by constant: what it holds, or why that is not known
        self.setOpenLinks(False)
        self.setProperty("code", True)
        self.setObjectName("inspector-text")
        self.setMinimumWidth(210)
        self.setAccessibleName("Inspector")
        self.document().setDocumentMargin(10)
        self.anchorClicked.connect(self._follow)
        self._timer = one_shot(self, self.refresh, NEXT)  # several changes are shown once, after what is more urgent
        selection.changed.connect(lambda nodes, origin: self._timer.start())
        look.changed.connect(lambda: self._timer.start())
        self.refresh()

    def set_compilation(self, compilation: Compilation) -> None:
        """Inspect another compilation."""
        self._compilation, self._run, self._weights = compilation, None, {}
        self._timer.start()

    def set_run(self, run: RunTimes) -> None:
        """Measured times to show beside the estimates."""
        self._run = run
        self._timer.start()

    def set_notes(self, notes: dict[str, str]) -> None:
        """What was noted on kernels."""
        if notes != self._notes:
            self._notes = notes
            self._timer.start()

    def set_weights(self, weights: Weights) -> None:
        """What a constant holds."""
        self._weights[weights.node] = weights
        self._timer.start()

    def set_no_weights(self, node: str, why: str) -> None:
        """Why that cannot be told."""
        self._weights[node] = sentence(why)
        self._timer.start()

    def ask_weights(self) -> None:
        """Ask what the selected constant holds, unless that is known or on its way."""
        node = self._constant()
        if node and not isinstance(self._weights.get(node), Weights):
            self._weights[node] = "reading\u2026"
            self.weights_wanted.emit(node)
            self._timer.start()

    def _constant(self) -> str:
        """The selected constant, where it is the only node selected."""
        nodes = self._selection.nodes
        record = self._compilation.node_table.get(next(iter(nodes))) if self._compilation and len(nodes) == 1 else None
        return record.name if record is not None and record.kind == "constant" else ""

    def createMimeDataFromSelection(self) -> QMimeData:
        data = super().createMimeDataFromSelection()
        told = QMimeData()  # names as they are: nobody finds one again that has places to break in it
        told.setText(data.text().replace(_BREAK, ""))
        if data.hasHtml():
            told.setHtml(data.html().replace(_BREAK, ""))
        return told

    def toPlainText(self) -> str:
        """What the page says, with the names as they are."""
        return super().toPlainText().replace(_BREAK, "")

    def loadResource(self, kind: int, name: QUrl) -> object:
        weights = self._weights.get(self._constant())
        if kind == QTextDocument.ResourceType.ImageResource.value and isinstance(weights, Weights):
            return histogram_image(self._look, weights)
        return None  # a page of this program names nothing else

    def refresh(self) -> None:
        """Say what there is to say about the selection now."""
        theme = self._look.theme
        self._links = []
        if self._compilation is None:
            self.setHtml(
                f"<p style='color:{theme.faint}'>Compile something, then click a node, a line or a kernel.</p>"
            )
            return
        title, sections = inspect(self._compilation, self._selection.nodes, self._run, self._notes)
        parts = [f"<div style='font-size:15px; font-weight:600'>{escape(breakable(title))}</div>"]
        parts += [self._section(section) for section in sections if section.entries]
        if node := self._constant():
            parts.insert(2, self._weights_section(self._weights.get(node)))
        style = (
            f"a {{ color: {theme.text}; text-decoration: none; font-weight: 600; }} td {{ padding: 1px 10px 2px 0; }}"
        )
        self.document().setDefaultStyleSheet(style)
        self.setHtml("".join(parts))

    def _head(self, title: str) -> str:
        style = f"margin:12px 0 3px 0; color:{self._look.theme.faint}; font-size:10px; font-weight:600"
        return f"<p style='{style}'>{escape(title.upper())}</p>"

    def _section(self, section: Section) -> str:
        theme = self._look.theme
        head = self._head(section.title)
        entries = section.entries[:_MOST]
        rest = len(section.entries) - len(entries)
        more = f"<p style='color:{theme.faint}; margin:3px 0 0 0'>and {rest:,} more</p>" if rest else ""
        if any(entry.good is not None for entry in entries):
            return head + "".join(self._decision(entry) for entry in entries) + more
        rows = "".join(
            f"<tr><td style='color:{theme.muted}; white-space:nowrap'>{escape(entry.name)}</td>"
            f"<td>{self._link(entry.value, entry.nodes) if entry.nodes else escape(breakable(entry.value))}</td></tr>"
            for entry in entries
        )
        return f"{head}<table cellspacing='0' cellpadding='0'>{rows}</table>{more}"

    def _weights_section(self, weights: Weights | str | None) -> str:
        """The statistics of a constant, or the offer to read them."""
        if weights is None:
            return (
                self._head("Weights") + "<p style='margin:0'><a href='weights:'>Read statistics and histogram</a></p>"
            )
        if isinstance(weights, str):
            return self._section(Section("Weights", (Entry("", weights),)))
        section = self._section(Section("Weights", tuple(Entry(*line) for line in weights.lines)))
        if not weights.counts:
            return section
        words, faint = escape(weights.words), self._look.theme.faint
        return (
            f"{section}<p style='margin:6px 0 0 0'>"
            f"<img src='histogram:{escape(weights.node)}' width='{WIDE}' height='{HIGH}' alt='{words}'><br>"
            f"<span style='color:{faint}'>{weights.low:.4g} \u2026 {weights.high:.4g}</span></p>"
        )

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
        return f"<a href='nodes:{len(self._links) - 1}'>{escape(breakable(text))}</a>"

    def _follow(self, url: QUrl) -> None:
        if url.scheme() == "weights":
            self.ask_weights()
            return
        index = int(url.path())
        if index < len(self._links):
            self._selection.select(self._links[index])


def histogram_image(look: Look, weights: Weights) -> QImage:
    """The bars of a histogram as a picture; what has elements at all is at least a pixel high."""
    image = QImage(WIDE * _SHARP, HIGH * _SHARP, QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(_SHARP)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    top = max(weights.counts, default=0) or 1
    step = WIDE / max(len(weights.counts), 1)
    for index, count in enumerate(weights.counts):
        tall = max(count / top * (HIGH - 4), 1.0) if count else 0.0
        bar = QRectF(index * step, HIGH - 1 - tall, max(step - 1, 1.0), tall)
        painter.fillRect(bar, QColor(look.theme.series[0]))
    painter.fillRect(QRectF(0, HIGH - 1, WIDE, 1), QColor(look.theme.strong_border))
    painter.end()
    return image
