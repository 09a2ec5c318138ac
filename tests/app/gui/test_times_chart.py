"""The picture of a run's times: painted once for each run, in little time whatever there is to see."""

from __future__ import annotations

import numpy as np
import pytest
from paintings import Paintings
from PySide6.QtWidgets import QApplication

from app.theme.look import Look
from app.views.runs.distribution_plot import DistributionPlot

pytestmark = pytest.mark.gui


@pytest.fixture
def plot(qtbot, tmp_path) -> DistributionPlot:
    made = DistributionPlot(Look(tmp_path))
    qtbot.addWidget(made)
    made.resize(420, 260)
    made.set_times("first", tuple(np.linspace(1e-6, 2e-6, 40)))
    with qtbot.waitExposed(made):
        made.show()
    qtbot.wait(50)
    return made


def test_a_result_is_painted_once(qtbot, plot):
    """What is laid out again after its first painting has the whole window painted again in the same turn."""
    paintings = Paintings([plot], inside=True)
    plot.set_times("another", tuple(np.linspace(0.1, 123.4, 40_000)))  # numbers of another width beside the axes
    qtbot.waitUntil(lambda: bool(paintings.by))
    for _ in range(10):
        QApplication.processEvents()
    assert max(map(len, paintings.by.values())) == 1, paintings.by


@pytest.mark.parametrize("mode", ["bars", "calls"])
@pytest.mark.parametrize(
    "times", [(2.0,), (1e-6,) * 3, (0.0, 1e-9), (*np.linspace(1, 2, 500), *[900.0] * 30)],
    ids=["one", "equal", "nothing", "outliers"],
)  # fmt: skip
@pytest.mark.parametrize("size", [(240, 60), (290, 100), (900, 500)])
def test_any_times_are_painted_in_any_room(plot, mode, times, size):
    plot.resize(*size)
    plot.mode.set_value(mode)
    plot.set_times("odd", times)
    picture = plot.chart.grab().toImage()
    colours = {picture.pixelColor(x, y).name() for x in range(picture.width()) for y in range(0, picture.height(), 3)}
    assert len(colours) > 2, "nothing was drawn"
