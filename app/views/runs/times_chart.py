"""The times of a run as a picture: bars with the median and its interval, or every call in the order it was made.

Painted here and not by a plotting library: one is laid out and painted anew several times for each picture, and with
it all of the window, in the very turn in which a run's result comes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from app.theme.look import Look, tint
from app.viewmodels.frame.formats import seconds
from app.viewmodels.runs.run_figures import Distribution
from app.views.parts.primitives import draw_rects
from profiler.scale import Scale

TALL = 130  # pixels below which there is no room to name the lower axis
_LEAST = 60
_FAR = 1.6  # outliers further out than this share of the bars' end are drawn at the edge, so that the bars keep room
_EDGE = 12.0  # pixels right of the axes, for half of the last number
_DOT = 3.0
_FAR_DOT = 4.5


@dataclass(frozen=True)
class _Axes:
    """Where values lie: in `ground`, in the unit of the numbers that are written beside it."""

    ground: QRectF
    across: Scale
    up: Scale

    def x(self, values: np.ndarray) -> np.ndarray:
        """Where values lie from left to right."""
        return _places(self.across, values)

    def y(self, values: np.ndarray) -> np.ndarray:
        """Where values lie from top to bottom."""
        return _places(self.up, values)


class TimesChart(QWidget):
    """Shows a distribution, or the calls it was made of."""

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self._shown: Distribution | None = None
        self._times: np.ndarray = np.empty(0)
        self._calls = False
        self.setMinimumHeight(_LEAST)
        look.changed.connect(self.update)

    def show_times(self, shown: Distribution | None, times: tuple[float, ...], calls: bool) -> None:
        """Show a distribution of some times, in seconds; as `calls` one by one."""
        self._shown, self._times, self._calls = shown, np.array(times, dtype=float), calls
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, found = QPainter(self), self._shown
        painter.fillRect(self.rect(), QColor(self._look.theme.panel))
        if found is not None:
            self._paint_calls(painter, found) if self._calls else self._paint_bars(painter, found)

    def _paint_bars(self, painter: QPainter, found: Distribution) -> None:
        theme, (scale, unit) = self._look.theme, found.scale
        top = float(found.counts.max()) or 1.0
        first, end = float(found.edges[0]), found.cut
        if found.outliers:
            end = min(max(found.outliers), found.cut * _FAR)
        span = max(end - first, 1e-12)
        axes = self._axes(painter, (first - span * 0.02, end + span * 0.02), (0.0, top * 1.04), scale)
        self._paint_axes(painter, axes, f"one call, {unit}", "calls", whole=True)
        ground = axes.ground
        low_x, high_x, middle = axes.x(np.array([found.low, found.high, found.median]) * scale)
        painter.fillRect(QRectF(low_x, ground.top(), high_x - low_x, ground.height()), tint(theme.series[1], 50))
        left, right = axes.x(found.edges[:-1] * scale), axes.x(found.edges[1:] * scale)
        high = axes.y(found.counts)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(tint(theme.series[0], 190))
        wide = np.maximum(right - left - 1, 1.0)
        draw_rects(painter, np.column_stack([left, high, wide, ground.bottom() - high])[found.counts > 0])
        painter.setPen(QPen(QColor(theme.series[1]), 2))
        painter.drawLine(QPointF(middle, ground.top()), QPointF(middle, ground.bottom()))
        far = np.unique(np.round(axes.x(np.minimum(found.outliers, end) * scale)))
        self._paint_diamonds(painter, far, np.full(len(far), ground.bottom() - _FAR_DOT - 1))
        self._paint_words(painter, found, axes, float(middle))

    def _paint_words(self, painter: QPainter, found: Distribution, axes: _Axes, middle: float) -> None:
        """The median over its line, and how many outliers there are, where that is not in its way."""
        theme, metrics, ground = self._look.theme, QFontMetricsF(painter.font()), axes.ground
        words = f"median {seconds(found.median)}"
        wide = metrics.horizontalAdvance(words)
        begin = metrics.horizontalAdvance("calls") + 14  # what is counted upwards stands in the same row
        x = min(max(middle - wide / 2, begin), ground.right() + _EDGE - wide)
        row = QRectF(x, ground.top() - metrics.height() - 3, wide + 1, metrics.height())
        painter.setPen(QColor(theme.text))
        painter.drawText(row, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, words)
        if not found.outliers:
            return
        several = "s" * (len(found.outliers) != 1)
        words = f"{len(found.outliers)} outlier{several}, up to {seconds(max(found.outliers))}"
        wide = metrics.horizontalAdvance(words)
        x = ground.right() + _EDGE - wide - 8  # as far from the edge as other words
        if x <= row.right() + 10:
            row.translate(0, metrics.height() + 4)  # into the picture, where there is more of it than of words
            if ground.height() < 3 * metrics.height() or x < ground.left() + 4:
                return
        painter.setPen(QColor(theme.warning))
        place = QRectF(x, row.top(), wide + 1, row.height())
        painter.drawText(place, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, words)

    def _paint_calls(self, painter: QPainter, found: Distribution) -> None:
        theme, (scale, unit) = self._look.theme, found.scale
        count, top = len(self._times), float(self._times.max())
        axes = self._axes(painter, (0.0, count + 1.0), (0.0, top * 1.04), scale, calls=True)
        self._paint_axes(painter, axes, "call", f"time, {unit}", whole=False)
        ground, values = axes.ground, self._times * scale
        low_y, high_y, middle = axes.y(np.array([found.low, found.high, found.median]) * scale)
        painter.fillRect(QRectF(ground.left(), high_y, ground.width(), low_y - high_y), tint(theme.series[1], 50))
        places = np.column_stack([axes.x(np.arange(1.0, count + 1)), axes.y(values)])
        far = self._times > found.cut
        near = np.unique(np.round(places[~far]), axis=0)  # of a million calls most lie on each other
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(tint(theme.series[0], 200))
        draw_rects(painter, np.column_stack([near - _DOT / 2, np.full((len(near), 2), _DOT)]))
        painter.setPen(QPen(QColor(theme.series[1]), 2))
        painter.drawLine(QPointF(ground.left(), middle), QPointF(ground.right(), middle))
        self._paint_diamonds(painter, *np.unique(np.round(places[far]), axis=0).T)

    def _paint_diamonds(self, painter: QPainter, across: np.ndarray, down: np.ndarray) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._look.theme.panel), 1))
        painter.setBrush(QColor(self._look.theme.warning))
        for x, y in zip(across.tolist(), down.tolist()):
            painter.drawPolygon(
                QPolygonF([QPointF(x + a * _FAR_DOT, y + b * _FAR_DOT) for a, b in ((0, -1), (1, 0), (0, 1), (-1, 0))])
            )
        painter.restore()

    def _axes(
        self, painter: QPainter, across: tuple[float, float], up: tuple[float, float], scale: float,
        calls: bool = False,
    ) -> _Axes:  # fmt: skip
        """The place for the picture: what the numbers beside it leave."""
        metrics = QFontMetricsF(painter.font())
        sizes = (1.0, scale) if calls else (scale, 1.0)
        (left, right), (bottom, top) = ([value * size for value in ends] for ends, size in zip((across, up), sizes))
        widest = metrics.horizontalAdvance(_number(round(top) if not calls else top / 3))
        below = metrics.height() * (2 if self.height() >= TALL else 1) + 5
        ground = QRectF(
            widest + 14, metrics.height() + 5, max(self.width() - widest - 14 - _EDGE, 10.0),
            max(self.height() - metrics.height() - 5 - below, 8.0),
        )  # fmt: skip
        return _Axes(
            ground, Scale(left, right, ground.left(), ground.right()), Scale(bottom, top, ground.bottom(), ground.top())
        )

    def _paint_axes(self, painter: QPainter, axes: _Axes, below: str, beside: str, whole: bool) -> None:
        """Both axes with their numbers; `whole` ones upwards where what is counted has no halves."""
        theme, ground, metrics = self._look.theme, axes.ground, QFontMetricsF(painter.font())
        line, middle = metrics.height(), Qt.AlignmentFlag.AlignVCenter
        painter.setPen(QColor(theme.strong_border))
        painter.drawLine(ground.topLeft(), ground.bottomLeft())
        painter.drawLine(ground.bottomLeft(), ground.bottomRight())
        painter.setPen(QColor(theme.muted))
        painter.drawText(QRectF(6, ground.top() - line - 3, self.width(), line), middle, beside)
        for value in axes.up.ticks(max(int(ground.height() / (line * 1.7)), 1)):
            if not whole or value == int(value):
                place = QRectF(0, axes.up(value) - line / 2, ground.left() - 6, line)
                painter.drawText(place, middle | Qt.AlignmentFlag.AlignRight, _number(value))
        for value in axes.across.ticks(max(int(ground.width() / (4 * line)), 1)):
            wide = metrics.horizontalAdvance(_number(value))
            x = min(axes.across(value) - wide / 2, self.width() - wide - 2)
            painter.drawText(QRectF(x, ground.bottom() + 3, wide + 1, line), middle, _number(value))
        if self.height() >= TALL:
            place = QRectF(ground.left(), ground.bottom() + 3 + line, ground.width(), line)
            painter.drawText(place, middle | Qt.AlignmentFlag.AlignHCenter, below)


def _places(scale: Scale, values: np.ndarray) -> np.ndarray:
    """Where many values lie on a linear scale."""
    share = (np.clip(values, scale.low, scale.high) - scale.low) / (scale.high - scale.low)
    return scale.begin + share * (scale.end - scale.begin)


def _number(value: float) -> str:
    """A number of an axis: never by powers of ten, which nobody reads at a glance."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.4g}"
