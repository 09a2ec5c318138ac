"""The graph with its header: heat, folding, finding, fitting, exporting."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QImage, QKeyEvent, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget

from app.theme.look import Look
from app.viewmodels.frame.selection import Selection
from app.viewmodels.graph.folded_graph import GraphModel
from app.views.graph.view import GraphView
from app.views.parts.controls import column, line_field
from app.views.parts.header import Header
from app.views.parts.widgets import Choice, Elided, MessageBar, flat_button, label

_LARGEST_IMAGE, _MARGIN = 16_000, 20


class GraphPanel(QWidget):
    """A GraphView and its controls."""

    export_wanted = Signal()

    def __init__(self, look: Look, model: GraphModel, selection: Selection) -> None:
        super().__init__()
        self.model = model
        self.view = GraphView(look, model, selection)
        self.bar = MessageBar(look, "graph")
        self.heat = Choice(
            "Heat", [("none", "No heat"), ("bytes", "Bytes"), ("flops", "FLOPs"), ("time", "Time")], flat=True
        )
        self.heat.chosen.connect(model.set_heat)
        self.folding = Choice("Fold by", [("layers", "By layers"), ("modules", "By modules")], flat=True)
        self.folding.chosen.connect(self.fold_by)
        self.folding.hide()
        self.field = line_field("Find in the graph", "Find by name, op, dtype, shape", self._find)
        self.field.installEventFilter(self)
        self.found = label("", "muted")
        self.found_row = Header(self.field, self.found, flat_button(look, "close", "Close", self._close_find)).spaced()
        self.found_row.hide()
        self._at = -1
        self.title = Elided("Graph", role="heading")
        self._collapsed = False
        fold = flat_button(look, "fold", "Collapse or expand all kernels or modules", self._fold_all)
        fit = flat_button(look, "fit", "Fit (Space)", self.view.fit)
        export = flat_button(look, "export", "Export as SVG or PNG", self.export_wanted.emit)
        find = flat_button(look, "find", "Find a node (Ctrl+F)", self.open_find)
        self.header = Header(self.title, self.folding, self.heat, fold, fit, find, export, wide=self.title)
        self.header.spare(export, fit, fold)  # the menu has them too
        column(self, self.bar, self.view, self.found_row)
        self.setFocusProxy(self.view)

    def fold_by(self, what: str) -> None:
        """Fold the graph by its repeated layers, or by the modules of the model that it came from."""
        self.view.reset_view()
        self.model.fold_by(what)
        self.show_folding()

    def show_folding(self) -> None:
        """Offer modules to fold by where the graph has some."""
        self._collapsed = self.model.folds.by_module
        self.folding.setVisible(self.model.has_modules)
        self.folding.set_value("modules" if self.model.folds.by_module else "layers")

    def open_find(self) -> None:
        """Ctrl+F."""
        self.found_row.show()
        self.field.setFocus()
        self.field.selectAll()

    def save_png(self, path: str) -> bool:
        """The whole graph as a picture; large ones are scaled down to what an image can hold."""
        area = self._area()
        if area is None:
            return False
        scale = min(2.0, _LARGEST_IMAGE / max(area.width(), area.height()))
        image = QImage(int(area.width() * scale), int(area.height() * scale), QImage.Format.Format_ARGB32)
        painter = QPainter(image)
        painter.scale(scale, scale)
        painter.translate(-area.topLeft())
        self.view.painter.paint_scene(painter, area)
        painter.end()
        return image.save(path)

    def save_svg(self, path: str) -> bool:
        """The whole graph as vectors."""
        area = self._area()
        if area is None:
            return False
        generator = QSvgGenerator()
        generator.setFileName(path)
        generator.setResolution(96)  # a pixel of the drawing is a pixel of a browser
        generator.setTitle(self.title.text())
        generator.setSize(QSize(int(area.width()), int(area.height())))
        generator.setViewBox(area)
        painter = QPainter()
        if not painter.begin(generator):
            return False
        self.view.painter.paint_scene(painter, area)
        return painter.end()

    def _area(self) -> QRectF | None:
        layout = self.model.layout
        if layout is None:
            return None
        return QRectF(-_MARGIN, -_MARGIN, layout.width + 2 * _MARGIN, layout.height + 2 * _MARGIN)

    def _fold_all(self) -> None:
        self._collapsed = not self._collapsed
        self.view.reset_view()
        self.model.collapse_all(self._collapsed)

    def _find(self, text: str) -> None:
        self._at = -1
        total = self.view.find_boxes(text)
        hidden = total - len(self.view.marks.found)
        words = f"{total:,} found" + (f", {hidden:,} of them folded away" if hidden > 0 else "")
        self.found.setText(words if text else "")

    def step(self, by: int) -> None:
        """Go to the next or the previous match; what hides it is opened."""
        total = len(self.view.found_nodes)
        if total:
            self._at = (self._at + by) % total if self._at >= 0 or by > 0 else total - 1
            self.view.go_to_found(self._at)
            self.found.setText(f"{self._at + 1:,} of {total:,}: {self.view.found_nodes[self._at]}")

    def _close_find(self) -> None:
        self.found_row.hide()
        self.view.find_boxes("")
        self.view.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Escape closes the field before it means anything to the window."""
        if event.type() == QEvent.Type.ShortcutOverride and event.key() == Qt.Key.Key_Escape:  # type: ignore[attr-defined]
            event.accept()
            return True
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and not self.found_row.isHidden():
            self._close_find()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.field.hasFocus():
            self.step(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        else:
            super().keyPressEvent(event)
