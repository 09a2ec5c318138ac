"""The row below a pane's header that takes the kernel's name while the header is too narrow to show it whole."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QHBoxLayout

from app.views.parts.header import ANY_WIDTH, Header
from app.views.parts.widgets import Choice

_BUTTON = 32  # what a button of the header takes, with its share of the spacing


class KernelRow(QFrame):
    """Moves the choices of kernel and target between the header and itself; hidden while it holds neither."""

    def __init__(self, header: Header, stage: Choice, kernel: Choice, target: Choice) -> None:
        super().__init__()
        self.setProperty("role", "header")
        self._header, self._stage, self._kernel, self._target = header, stage, kernel, target
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(8, 0, 6, 1)
        self._row.setSpacing(2)
        self._row.addStretch(1)
        self.hide()

    def fit(self, room: int, of_kernel: bool, for_target: bool) -> None:
        """Both into the header where the kernel's whole name fits there, else below; the name gives way before the
        stage's does."""
        stage, kernel, target = self._stage, self._kernel, self._target
        stage.setMinimumWidth(min(stage.sizeHint().width(), max(room - 2 * _BUTTON - 16, 48)))
        target.setMinimumWidth(min(target.sizeHint().width(), max(room // 2 - 12, 48)))
        own = target.sizeHint().width() if for_target else 0
        below = of_kernel and room < stage.sizeHint().width() + kernel.sizeHint().width() + own + 4 * _BUTTON
        if below != self.isHidden():
            return
        for at, widget in enumerate((kernel, target)):
            layout, place = (self._row, at) if below else (self._header.layout(), at + 1)
            layout.insertWidget(place, widget)  # type: ignore[attr-defined]
            widget.setMaximumWidth(ANY_WIDTH)
        kernel.setVisible(of_kernel)
        target.setVisible(for_target)
        self.setVisible(below)
