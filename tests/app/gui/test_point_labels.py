"""Names beside the points of a plot: each on the first side where it covers nothing."""

import pytest

from app.viewmodels.runs.point_labels import SIDES, place_labels

SIZE = (16.0, 14.0)


def test_a_point_by_itself_has_its_name_at_the_right():
    assert place_labels([(0, 0)], [SIZE], 6) == [(1, 0)]


def test_a_name_gives_way_to_a_neighbour_and_to_its_name():
    close = [(0.0, 0.0), (14.0, 0.0)]
    assert place_labels(close, [SIZE] * 2, 6) == [(-1, 0), (1, 0)]
    above = [(0.0, 0.0), (0.0, 4.0)]
    first, second = place_labels(above, [SIZE] * 2, 6)
    assert first != second


def test_a_crowd_is_named_all_the_same():
    assert place_labels([(0, 0)] * 20, [SIZE] * 20, 6)[-1] == SIDES[0]


def test_a_logarithmic_axis_has_plain_numbers_that_do_not_run_into_each_other(qapp):
    pytest.importorskip("pyqtgraph")
    from app.views.parts.log_axis import LogAxis

    axis = LogAxis("bottom")
    axis.setRange(-1, 2)
    ticks = [-1.0, -0.69897, -0.30103, 0.0, 0.30103, 0.60206, 0.69897, 0.95424, 1.0, 2.0, 3.0]
    axis.setFixedWidth(120)
    axis.resize(120, 20)
    assert axis.logTickStrings(ticks, 1, 1) == ["0.1", "", "", "1", "", "", "", "", "10", "100", "1,000"]
    axis.setFixedWidth(900)
    axis.resize(900, 20)
    assert axis.logTickStrings(ticks, 1, 1) == ["0.1", "0.2", "0.5", "1", "2", "", "5", "", "10", "100", "1,000"]


def test_no_intensity_is_written_by_powers_of_ten(qtbot, tmp_path):
    from app.theme.look import Look
    from app.viewmodels.frame.selection import Selection
    from app.views.runs.roofline import RooflineView

    view = RooflineView(Look(tmp_path), Selection())
    qtbot.addWidget(view)
    shown = next(column.show for column in view.view.model.columns if column.title == "FLOP/B")
    assert [shown(value) for value in (0.125, 42.67, 1365.3)] == ["0.125", "42.7", "1365"]
