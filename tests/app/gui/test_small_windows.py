"""What has to give way in a small window, and what never does: the real window at 1280x720."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QMenu

from app.controllers.settings import Settings
from app.main_window import MainWindow
from app.viewmodels.runs.comparison import ComparisonView, Fact, Side

pytestmark = pytest.mark.gui


@pytest.fixture
def small(qtbot, compiled):
    """The compiled sample in a small window, its docks as they come."""
    compiled.resize(1280, 720)
    compiled.docks.reset_layout()
    qtbot.wait(50)
    yield compiled
    for pane in compiled.workbench.panes[2:]:
        compiled.workbench.remove_pane(pane)


def whole(choice) -> bool:
    """Whether a choice shows its text unshortened."""
    return choice.width() >= choice.fontMetrics().horizontalAdvance(choice.currentText()) + 25


def test_panes_share_the_width_when_one_comes_or_goes(qtbot, small):
    bench = small.workbench
    for change in (lambda: bench.add_pane("llvm"), lambda: bench.remove_pane(bench.panes[0])):
        change()
        qtbot.waitUntil(lambda: max(p.width() for p in bench.panes) - min(p.width() for p in bench.panes) <= 4)
    assert bench.graph_dock.width() >= 150


def test_a_pane_of_another_target_always_says_which(qtbot, small):
    pane = small.workbench.panes[1]
    pane.set_target("sm_90a")
    extra = small.workbench.add_pane("llvm")
    qtbot.waitUntil(lambda: not any(p.model.loading for p in small.workbench.panes), timeout=60_000)
    assert pane.target.isVisible()
    assert whole(pane.target)
    assert whole(pane.stage)
    pane.set_target("cpu")
    small.workbench.remove_pane(extra)


def test_the_heat_of_the_graph_can_be_read_beside_three_panes(qtbot, small):
    small.workbench.add_pane("llvm")
    qtbot.waitUntil(lambda: small.graph.panel.width() < 300)
    qtbot.waitUntil(lambda: whole(small.graph.panel.heat))


def test_a_graph_begins_at_a_size_one_can_read(qtbot, small):
    view = small.graph.panel.view
    view.reset_view()
    view.start_view()
    assert view.camera.scale >= 0.8
    assert view.camera.seen().top() <= 0, "at its beginning"


def test_what_differs_is_said_in_a_line_where_its_table_has_no_room(qtbot, small):
    facts = (Fact("optimisation", ("-O2", "-O3")),)
    sides = (Side("run 1", 0, 0.0), Side("run 2", 0, 0.0))
    small.comparison.view.set_comparison(ComparisonView("run 1 against run 2", facts, (), sides, (), "", (), True))
    small.docks.show("compare")
    qtbot.waitUntil(small.comparison.view.isVisible)
    assert small.comparison.view.differs.isVisible()
    assert "optimisation: -O2 | -O3" in small.comparison.view.differs.text()
    assert not small.comparison.view.facts.isVisible()
    small.resize(1920, 1080)
    qtbot.waitUntil(small.comparison.view.facts.isVisible)
    assert not small.comparison.view.differs.isVisible()
    table = small.comparison.view.facts.model
    assert [table.columns[at].text(table.record(0)) for at in range(3)] == ["optimisation", "-O2", "-O3"]


def test_the_right_button_offers_what_can_be_done_with_a_text(qtbot, small):
    text = small.workbench.panes[0].text
    spot = text.point_of_line(0)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, spot, text.viewport().mapToGlobal(spot))
    QApplication.sendEvent(text.viewport(), event)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    offered = [action.text() for action in menu.actions()]
    menu.close()
    assert "Copy the selected lines\tCtrl+C" in offered
    assert "Find...\tCtrl+F" in offered


def test_panes_without_a_text_say_how_to_get_one(qtbot, tmp_path):
    window = MainWindow(Settings(tmp_path / "config"))
    qtbot.addWidget(window)
    assert all("Open a sample or a file" in pane.text.shown.empty for pane in window.workbench.panes)
    assert all(pane.kernel.isHidden() for pane in window.workbench.panes)
    assert window.search.view.view.table.empty.startswith("Type what to look for")
    assert "Compile something" in window.passes.view.view.table.empty
    window.close()
