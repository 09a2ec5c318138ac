"""A view that paints itself and can be walked with the keyboard: what such views have in common."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QAccessible, QAccessibleEvent, QColor, QHelpEvent, QPainter, QPen
from PySide6.QtWidgets import QToolTip, QWidget

from app.theme.look import Look
from app.views.parts.plain import plain_tip


def mark_keyboard(painter: QPainter, view: QWidget, look: Look) -> None:
    """Paint the frame that lists have, too, while a view has the keyboard."""
    if view.hasFocus():
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(look.theme.accent), 1))
        painter.drawRect(view.rect().adjusted(0, 0, -1, -1))


def announce(widget: QWidget, text: str) -> None:
    """Describe the widget anew, and tell a screen reader where one is listening."""
    if widget.accessibleDescription() == text:
        return
    widget.setAccessibleDescription(text)
    if QAccessible.isActive():
        QAccessible.updateAccessibility(QAccessibleEvent(widget, QAccessible.Event.DescriptionChanged))


class PaintedChart(QWidget):
    """Painted anew when the theme changes, and by Qt when the keyboard comes or goes; its tips are of the place one is
    at."""

    def __init__(self, look: Look, name: str, least_height: int) -> None:
        super().__init__()
        self._look = look
        self.setMouseTracking(True)
        self.setMinimumHeight(least_height)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(name)
        look.changed.connect(self.update)

    def tip(self, point: QPoint) -> str:
        """What is said about a place under the mouse."""
        raise NotImplementedError

    def point_at(self, anything: bool) -> None:
        """Show by the mouse pointer whether there is something to click."""
        self.setCursor(Qt.CursorShape.PointingHandCursor if anything else Qt.CursorShape.ArrowCursor)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), plain_tip(self.tip(event.pos())), self)
            return True
        return super().event(event)
