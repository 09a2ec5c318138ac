"""The plot of a run's times with its heading: which launch, and what of its times is shown."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.theme.look import Look
from app.viewmodels.frame.formats import seconds
from app.viewmodels.runs.run_figures import Distribution, distribution
from app.views.parts.controls import Fitting, column
from app.views.parts.header import Header
from app.views.parts.plain import plain_tip
from app.views.parts.widgets import Choice, Elided
from app.views.runs.times_chart import TALL, TimesChart
from profiler.records import Summary
from profiler.units import percent

MODES = (("bars", "Distribution"), ("calls", "Every call"))


class DistributionPlot(Fitting, QWidget):
    """Empty until there are times."""

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._times: tuple[float, ...] = ()
        self.shown: Distribution | None = None
        self.name = ""
        self.title = Elided(where=Qt.TextElideMode.ElideMiddle, role="muted")
        self.title.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.title.setMinimumWidth(60)
        self.mode = Choice("What the plot shows", MODES, flat=True)
        self.mode.chosen.connect(lambda _: self._show())
        self.chart = TimesChart(look)
        controls = Header(self.mode, self.title, wide=self.title)
        column(self, controls, self.chart, main=self.chart)
        self.setMinimumWidth(240)

    def _fit(self) -> None:
        """What the times are of; with their unit, where the axis has no room to say it."""
        unit = f", {self.shown.scale[1]}" if self.shown is not None and self.chart.height() < TALL else ""
        self.title.setText(f"{self.name}{unit}")

    def set_times(self, name: str, times: tuple[float, ...], summary: Summary | None = None) -> None:
        """Show these times, in seconds."""
        self._times = times
        self.shown = distribution(times, summary)
        self.name = name
        self._fit()
        self._show()

    def describe(self) -> str:
        """The plot in words, for those who do not see it."""
        found = self.shown
        if found is None:
            return "no times"
        far = f", {len(found.outliers)} outliers up to {seconds(max(found.outliers))}" if found.outliers else ""
        return (
            f"{self.name}: median {seconds(found.median)}, {percent(found.coverage)} interval "
            f"{seconds(found.low)} to {seconds(found.high)}{far}"
        )

    def _show(self) -> None:
        words = self.describe()
        self.chart.setAccessibleName(words)
        self.chart.setToolTip(plain_tip(words))
        self.chart.show_times(self.shown, self._times, self.mode.value == "calls")
