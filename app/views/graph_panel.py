"""The graph with its header: heat, folding, finding, fitting, exporting."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QImage, QKeyEvent, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from app.theme.look import Look
from app.viewmodels.graph import GraphModel
from app.viewmodels.selection import Selection
from app.views.graph_view import GraphView
from app.views.widgets import Choice, MessageBar, flat_button, header, label

_LARGEST_IMAGE = 16_000


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
        self.field = QLineEdit()
        self.field.setPlaceholderText("Find by name, op, dtype, shape")
        self.field.setAccessibleName("Find in the graph")
        self.field.setClearButtonEnabled(True)
        self.field.textChanged.connect(self._find)
        self.found = label("", "muted")
        self.found_row = header(self.field, self.found, flat_button(look, "close", "Close", self._close_find))
        self.found_row.hide()
        self.title = label("Graph", "heading")
        self._collapsed = False
        self.header = header(
            self.title, None, self.heat,
            flat_button(look, "fold", "Collapse or expand all groups", self._fold_all),
            flat_button(look, "fit", "Fit (Space)", self.view.fit),
            flat_button(look, "find", "Find a node (Ctrl+F)", self.open_find),
            flat_button(look, "export", "Export as SVG or PNG", self.export_wanted.emit),
        ).spare(self.title)  # fmt: skip
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for widget in (self.bar, self.view, self.found_row):
            layout.addWidget(widget)

    def open_find(self) -> None:
        """Ctrl+F."""
        self.found_row.show()
        self.field.setFocus()
        self.field.selectAll()

    def save_png(self, path: str) -> bool:
        """The whole graph as a picture; large ones are scaled down to what an image can hold."""
        layout = self.model.layout
        if layout is None:
            return False
        scale = min(2.0, _LARGEST_IMAGE / max(layout.width + 40, layout.height + 40))
        image = QImage(int((layout.width + 40) * scale), int((layout.height + 40) * scale), QImage.Format.Format_ARGB32)
        painter = QPainter(image)
        painter.scale(scale, scale)
        painter.translate(20, 20)
        self.view.paint_all(painter, QRectF(-20, -20, layout.width + 40, layout.height + 40))
        painter.end()
        return image.save(path)

    def save_svg(self, path: str) -> bool:
        """The whole graph as vectors."""
        layout = self.model.layout
        if layout is None:
            return False
        generator = QSvgGenerator()
        generator.setFileName(path)
        generator.setSize(QSize(int(layout.width + 40), int(layout.height + 40)))
        generator.setViewBox(QRectF(-20, -20, layout.width + 40, layout.height + 40))
        painter = QPainter()
        if not painter.begin(generator):
            return False
        self.view.paint_all(painter, QRectF(-20, -20, layout.width + 40, layout.height + 40))
        return painter.end()

    def _fold_all(self) -> None:
        self._collapsed = not self._collapsed
        self.view.reset_view()
        self.model.collapse_all(self._collapsed)

    def _find(self, text: str) -> None:
        total = self.view.find_boxes(text)
        self.found.setText(f"{total} found" if text else "")

    def _close_find(self) -> None:
        self.found_row.hide()
        self.view.find_boxes("")
        self.view.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and not self.found_row.isHidden():
            self._close_find()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.field.hasFocus():
            boxes = sorted(self.view.found)
            if boxes:
                self.view.selection.select(self.model.box_nodes[boxes[0]])
        else:
            super().keyPressEvent(event)
