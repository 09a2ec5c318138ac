"""Names beside the points of a plot: each on the first side where it covers nothing."""

from math import inf

import pytest
from PySide6.QtCore import QPointF

from app.viewmodels.runs.point_labels import SIDES, beside, dot, meet, place_labels

SIZE = (16.0, 14.0)
EVERYWHERE = (-inf, -inf, inf, inf)


def test_a_point_by_itself_has_its_name_at_the_right():
    assert place_labels([(0, 0)], [SIZE], 6, EVERYWHERE) == [(1, 0)]


def test_a_name_stays_in_the_room_there_is():
    room = (-20.0, -20.0, 20.0, 20.0)
    assert place_labels([(12, 12)], [SIZE], 6, room) == [(-1, 0)], "it would end beyond the right edge"
    assert place_labels([(0, -15)], [SIZE], 6, room) == [(0, 1)], "nor beyond the one above"


def test_a_name_in_a_crowd_lies_farther_away_and_on_no_point():
    points = [(float(x), float(y)) for x in (-11, 0, 11) for y in (-11, 0, 11)]
    sides = place_labels(points, [SIZE] * 9, 6, EVERYWHERE)
    boxes = [beside(*point, SIZE, side, 6) for point, side in zip(points, sides)]
    outer = [box for point, box in zip(points, boxes) if point != (0, 0)]
    assert not any(meet(box, dot(*point, 6)) for box in outer for point in points)


def test_a_name_gives_way_to_a_neighbour_and_to_its_name():
    close = [(0.0, 0.0), (14.0, 0.0)]
    assert place_labels(close, [SIZE] * 2, 6, EVERYWHERE) == [(-1, 0), (1, 0)]
    above = [(0.0, 0.0), (0.0, 4.0)]
    first, second = place_labels(above, [SIZE] * 2, 6, EVERYWHERE)
    assert first != second


@pytest.mark.parametrize(("size", "launches"), [((800, 170), 2), ((800, 170), 7), ((700, 200), 7), ((1200, 500), 7)])
def test_no_name_of_a_roof_lies_on_a_launch_or_its_number(qtbot, tmp_path, size, launches):
    """In a view as low as the window's bottom is on a small screen, too; one full of launches may have no room."""
    from app.theme.look import Look
    from app.viewmodels.frame.selection import Selection
    from app.viewmodels.requests import CeilingsTold
    from app.viewmodels.runs.run_figures import CallFigures
    from app.views.runs.roofline import RooflineView
    from profiler.analysis.roofline import rates
    from profiler.records import Ceiling

    look = Look(tmp_path, "dark")
    look.apply("dark")  # whatever the tests before left: the font decides what has room
    view = RooflineView(look, Selection())
    qtbot.addWidget(view)
    view.resize(*size)
    view.show()
    limits = (("copy L0", 500.0, "GB/s"), ("copy L1", 150.0, "GB/s"), ("copy memory", 12.0, "GB/s"),
              ("multiply-add f32", 79.8, "GFLOP/s"), ("multiply-add f64", 40.0, "GFLOP/s"))  # fmt: skip
    ceilings = (Ceiling(name, 0, value, unit, value, value) for name, value, unit in limits)
    view.set_ceilings(CeilingsTold("cpu", tuple(ceilings)))
    figures = ((1.0, 6.8), (40.0, 58.8), (16.0, 25.7), (26.0, 60.0), (1.0, 20.0), (38.0, 24.0), (30.0, 20.0))
    rated = [
        rates("k", at, 1.0, int(gflop * 1e9), int(gflop / dense * 1e9))
        for at, (dense, gflop) in enumerate(figures[:launches])
    ]
    view.set_calls([CallFigures(at, "k", ("n",), None, (1.0, 1.0), 1.0, rate) for at, rate in enumerate(rated)])
    qtbot.waitUntil(lambda: view._plot is not None and len(view._plot.drawn) > 2)
    box = view._plot.box

    def covers(item):
        at, room = box.mapViewToScene(item.pos()), item.textItem.boundingRect()
        left, top = at.x() - item.anchor.x() * room.width(), at.y() - item.anchor.y() * room.height()
        return left + 1, top + 1, left + room.width() - 1, top + room.height() - 1

    def covered(one, other):
        return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]

    def settled():
        view._draw()
        seen = box.mapRectToScene(box.rect()).adjusted(-2, -2, 2, 2)
        for item in (item for item in view._plot.drawn if hasattr(item, "toPlainText")):
            left, top, right, bottom = covers(item)
            assert seen.contains(left, top) and seen.contains(right, bottom), f"{item.toPlainText()} is cut"
        (dots,) = (item for item in view._plot.drawn if hasattr(item, "points"))
        items = [item for item in view._plot.drawn if hasattr(item, "toPlainText")]
        names = [covers(item) for item in items if not item.toPlainText().isdigit()]
        numbers = [covers(item) for item in items if item.toPlainText().isdigit()]
        spots = [box.mapViewToScene(point.pos()) for point in dots.points()]
        places = [*numbers, *((spot.x() - 4, spot.y() - 4, spot.x() + 4, spot.y() + 4) for spot in spots)]
        return names, [(name, place) for name in names for place in places if covered(name, place)]

    full = size[1] < 200 and launches > 2
    qtbot.waitUntil(lambda: box.width() > size[0] / 6 and (full or bool(settled()[0])))
    assert not settled()[1]
    named = {item.toPlainText() for item in view._plot.drawn if hasattr(item, "toPlainText")}
    assert not any("L0" in words for words in named), "its roof is out of sight"
    for item in (item for item in view._plot.drawn if hasattr(item, "toPlainText")):
        left, top, right, bottom = covers(item)
        at = box.mapViewToScene(item.pos())
        if item.toPlainText().isdigit():  # a letter's width is between a launch and its number
            digits = 2 * item.textItem.document().documentMargin()
            beside = max(left - at.x(), at.x() - right, top - at.y(), at.y() - bottom)
            assert beside + digits <= 12, f"{item.toPlainText()} is {beside + digits:.0f} pixels away"
        else:  # what is behind a name hides no peak, its own or another's
            flat = [line for line in view._plot.drawn if hasattr(line, "yData") and len(set(line.yData)) == 1]
            heights = [box.mapViewToScene(QPointF(line.xData[0], line.yData[0])) for line in flat]
            assert len(heights) == 2
            assert not any(top < spot.y() < bottom and right > spot.x() for spot in heights), item.toPlainText()


def test_a_crowd_is_named_all_the_same():
    assert place_labels([(0, 0)] * 20, [SIZE] * 20, 6, EVERYWHERE)[-1] == SIDES[0]


def test_a_logarithmic_axis_has_plain_numbers_that_do_not_run_into_each_other(qapp):
    pytest.importorskip("pyqtgraph")
    from app.views.parts.plot import LogAxis

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
