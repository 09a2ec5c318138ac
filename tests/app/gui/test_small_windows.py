"""What has to give way in a small window, and what never does: the real window at 1280x720."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hands import point_of_line
from PySide6.QtCore import QByteArray, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QContextMenuEvent, QTextBlock, QTextDocument
from PySide6.QtWidgets import QApplication, QFrame, QMenu, QTabBar

from app.controllers.docks import first_size
from app.controllers.settings import Settings
from app.main_window import MainWindow
from app.theme.tokens import ROW
from app.viewmodels.frame.messages import Message
from app.viewmodels.runs.comparison import SAME_FUSION, ComparisonView, Fact, KernelVerdict, Side, SideVerdict
from app.views.frame.arrangement import BESIDE, READABLE
from app.views.graph import places
from app.views.graph.places import any_box_in

pytestmark = pytest.mark.gui


@pytest.fixture
def small(qtbot, compiled):
    """The compiled sample in a small window, its docks as they come."""
    compiled.resize(1280, 720)
    compiled.docks.reset_layout()
    qtbot.wait_at_rest(compiled)
    yield compiled
    for pane in compiled.workbench.panes[2:]:
        compiled.workbench.remove_pane(pane)


def whole(choice) -> bool:
    """Whether a choice shows its text unshortened."""
    return choice.width() >= choice.fontMetrics().horizontalAdvance(choice.currentText()) + 25


def test_the_first_window_is_whole_on_its_screen(qtbot, tmp_path):
    window = MainWindow(Settings(tmp_path / "config"))
    qtbot.addWidget(window)
    room = window.screen().availableGeometry().size()
    assert first_size(room) == first_size(room).boundedTo(room)
    assert window.size() == first_size(room).expandedTo(window.minimumSizeHint())
    window.close()
    assert first_size(QSize(1280, 720)).height() <= 690, "with its title bar"
    assert first_size(QSize(1920, 1080)) == QSize(1440, 900)
    assert first_size(QSize(3840, 2160)).width() > 2300, "not lost in the middle of a large screen"


def test_the_graph_has_half_of_the_middle_and_more_than_the_timeline(qtbot, small):
    bench, timeline = small.workbench, small.docks.bottom["timeline"]
    qtbot.waitUntil(lambda: bench.graph_dock.width() * 2 >= bench.width())
    graph = bench.graph_dock
    assert graph.width() * graph.height() > timeline.width() * timeline.height()


def test_a_message_in_a_view_behind_takes_no_room_from_the_graph(qtbot, small):
    bench, timeline = small.workbench, small.docks.bottom["timeline"]
    words = "Other programs took a third of the time of the calls, so that the median is less certain than it looks. "
    small.runs.view.bar.show_message(Message("warning", 3 * words, "run"))
    try:
        small.docks.reset_layout()
        qtbot.waitUntil(lambda: bench.graph_dock.width() * 2 >= bench.width())
        qtbot.wait_at_rest(small)
        assert timeline.height() <= 185
    finally:
        small.runs.view.bar.hide()


def test_every_tab_of_the_bottom_is_listed_where_they_have_no_room(qtbot, small):
    from app.views.frame.dock_tabs import every_tab

    bar = next(bar for bar in small.findChildren(QTabBar) if bar.accessibleName() == "Views" and bar.count() > 3)
    every = every_tab(bar)
    qtbot.waitUntil(every.isVisible)
    assert every.geometry().right() == bar.width() - 1
    qtbot.mouseClick(every, Qt.MouseButton.LeftButton)
    menu = every.findChild(QMenu)
    names = [action.text() for action in menu.actions()]
    assert names == [bar.tabText(index) for index in range(bar.count())]
    next(action for action in menu.actions() if action.text() == "Log").trigger()
    menu.close()
    assert not small.log.view.visibleRegion().isEmpty()
    small.resize(3000, 900)
    qtbot.waitUntil(lambda: not every.isVisible())
    small.docks.show("timeline")


def test_no_tab_of_the_bottom_ends_in_the_middle_of_a_letter(qtbot, small):
    from app.views.frame.dock_tabs import every_tab

    bar = next(bar for bar in small.findChildren(QTabBar) if bar.accessibleName() == "Views" and bar.count() > 3)
    faded = {"left": bar.findChild(QFrame, "fade-left"), "right": bar.findChild(QFrame, "fade-right")}
    seen = set()
    for name in ("timeline", "tune", "compare", "log"):
        small.docks.show(name)
        qtbot.wait_at_rest(small)
        edge = every_tab(bar).geometry().left()
        tabs = [bar.tabRect(at) for at in range(bar.count())]
        cut = {"left": [tab for tab in tabs if tab.left() < -9 and tab.right() > 0],
               "right": [tab for tab in tabs if tab.left() < edge and tab.right() > edge + 9]}  # fmt: skip
        for side, found in cut.items():
            if found:  # its words begin nine pixels inside it
                seen.add(side)
                assert faded[side].isVisible() and found[0].intersects(faded[side].geometry()), (name, side)
            if faded[side].isVisible():
                assert not tabs[bar.currentIndex()].intersects(faded[side].geometry()), (name, side)
    assert seen == {"left", "right"}, seen
    small.docks.show("timeline")


def test_everything_stays_in_sight_when_the_window_gets_another_size(qtbot, small):
    small.opening.open("sample:transformer-block")
    qtbot.waitUntil(lambda: small.state.compilation.source == small.state.source and not small.turns.busy)
    view = small.graph.panel.view
    qtbot.waitUntil(lambda: view.model.layout is not None)
    everything = QRectF(0, 0, view.model.layout.width, view.model.layout.height)
    sizes = QSize(1700, 1000), QSize(1280, 720)
    for size in sizes:  # not what such a graph is opened with
        small.resize(size)
        qtbot.waitUntil(lambda: view.camera.width == view.width())
        qtbot.wait_at_rest(small)
        assert not view.camera.seen().contains(everything)
    view.fit()
    for size in sizes:
        small.resize(size)
        qtbot.waitUntil(lambda: view.camera.width == view.width())
        qtbot.wait_at_rest(small)
        assert view.camera.seen().contains(everything)
    view.zoom(2.0)
    scale = view.camera.scale
    small.resize(1400, 800)
    qtbot.wait_at_rest(small)
    assert view.camera.scale == scale, "what the user chose to look at is kept"
    view.reset_view()
    view.start_view()


def test_the_sides_give_back_their_room_when_the_window_shrinks(qtbot, small):
    explorer, inspector = (small.docks.named[name] for name in ("explorer", "inspector"))
    small.resize(3000, 1600)
    small.docks.reset_layout()
    qtbot.waitUntil(lambda: explorer.width() > 400 and inspector.width() > 440)
    small.resize(2400, 1600)
    small.resize(1280, 720)
    qtbot.waitUntil(lambda: explorer.width() <= 232 and inspector.width() <= 242)
    qtbot.waitUntil(lambda: all(pane.width() >= READABLE for pane in small.workbench.panes))
    qtbot.waitUntil(lambda: small.docks.bottom["timeline"].height() <= 200)


def test_what_a_large_screen_was_left_with_leaves_a_small_one_its_middle(qtbot, small):
    explorer, inspector = (small.docks.named[name] for name in ("explorer", "inspector"))
    small.resize(3840, 2160)
    small.docks.reset_layout()
    qtbot.waitUntil(lambda: explorer.width() > 400 and inspector.width() > 440)
    kept = small.docks.layout_states()
    small.resize(1280, 720)
    qtbot.wait_at_rest(small)
    small.docks.restore_layout(kept)
    qtbot.waitUntil(lambda: explorer.width() <= 232 and inspector.width() <= 242)
    qtbot.waitUntil(lambda: all(pane.width() >= READABLE for pane in small.workbench.panes))
    qtbot.waitUntil(lambda: small.docks.bottom["timeline"].height() <= 200)
    for size in (b"", b"1x", b"99999999999x1", b"\xff"):
        small.docks.restore_layout(kept | {"size": QByteArray(size)})
    small.docks.restore_layout({name: state for name, state in kept.items() if name != "size"})


def test_a_side_that_a_hand_has_widened_keeps_its_part_of_the_window(qtbot, small):
    inspector = small.docks.named["inspector"]
    small.resize(1600, 900)
    qtbot.wait_at_rest(small)
    small.resizeDocks([inspector], [500], Qt.Orientation.Horizontal)
    qtbot.waitUntil(lambda: abs(inspector.width() - 500) < 8)
    small.resize(1400, 900)
    qtbot.waitUntil(lambda: abs(inspector.width() - 500 * 1400 / 1600) < 8)
    small.resize(1600, 900)
    qtbot.wait_at_rest(small)
    assert inspector.width() < 460, "a window that grows gives its room to the middle"


@pytest.mark.parametrize("size", [QSize(1600, 1000), QSize(3840, 2160)])
def test_a_window_that_grows_has_its_views_as_one_that_began_so_large(qtbot, small, size):
    bottom, bench = small.docks.bottom["timeline"], small.workbench
    docks = (bottom, *(small.docks.named[name] for name in ("explorer", "inspector")))

    def arrangement():
        qtbot.wait_at_rest(small)
        assert all(abs(pane.width() - bench.panes[0].width()) < 3 for pane in bench.panes)
        return bench.shape, [dock.size() for dock in docks]

    first = arrangement()
    small.resize(size)
    qtbot.waitUntil(lambda: bottom.height() > 230)
    grown = arrangement()
    small.docks.reset_layout()
    assert arrangement() == grown
    small.resize(1280, 720)
    qtbot.waitUntil(lambda: bottom.height() < 160)
    assert arrangement() == first, "and it can become small again"


def test_a_layout_for_a_job_keeps_its_shares_in_a_window_that_grows(qtbot, small):
    small.layouts.choose("performance")
    qtbot.waitUntil(lambda: not small.turns.busy and small.layouts.current == "performance")
    run = small.docks.bottom["run"]
    small.resize(1600, 1000)
    qtbot.waitUntil(lambda: run.height() > 400)


def test_a_bottom_that_a_hand_has_sized_stays_so_in_a_window_that_grows(qtbot, small):
    timeline = small.docks.bottom["timeline"]
    small.resizeDocks([timeline], [240], Qt.Orientation.Vertical)
    qtbot.waitUntil(lambda: timeline.height() > 200)
    held = timeline.height()
    small.resize(1600, 1000)
    qtbot.waitUntil(lambda: small.docks._before is None and not small.docks._resizing.isActive())
    qtbot.wait_at_rest(small)
    assert timeline.height() == held


def test_names_break_between_their_words_in_a_narrow_inspector(qtbot, small):
    inspector = small.explorer.inspector
    small.state.selection.select(["matmul_0"])
    qtbot.waitUntil(lambda: inspector.toPlainText().startswith("matmul_0"))
    page = inspector.document().clone()  # the view makes its own as wide as itself again when bars come and go
    lines: list[str] = []
    for width in range(round(page.idealWidth()), 0, -10):  # with any font, and whatever else is told of the node
        page.setTextWidth(width)
        assert page.size().width() == width  # now it is laid out
        lines = [
            block.text()[line.textStart() : line.textStart() + line.textLength()]
            for block in _blocks(page)
            if "matmul_" in block.text()
            for line in (block.layout().lineAt(at) for at in range(block.layout().lineCount() - 1))
        ]
        if any("_" in line for line in lines):
            break
    assert any(line.endswith("_\u200b") for line in lines), "it is narrow enough to break the kernel's name"
    assert all(line.endswith((" ", "_\u200b")) for line in lines), lines
    inspector.selectAll()
    inspector.copy()
    assert "matmul_add_relu" in QApplication.clipboard().text(), "what is copied is the name itself"


def _blocks(document: QTextDocument) -> Iterator[QTextBlock]:
    block = document.begin()
    while block.isValid():
        yield block
        block = block.next()


def test_a_graph_is_in_sight_after_every_layout(qtbot, small):
    view = small.graph.panel.view
    view._look_from(view.camera.moved(QPointF(50_000, 50_000)))
    assert not any_box_in(view.model, view.camera.seen())
    small.graph.model.collapse_all(True)
    qtbot.waitUntil(lambda: not small.graph.model.pending, timeout=60_000)
    assert any_box_in(view.model, view.camera.seen())
    small.graph.model.collapse_all(False)
    qtbot.waitUntil(lambda: not small.graph.model.pending, timeout=60_000)
    view.reset_view()
    view.start_view()


def test_a_small_graph_opens_whole_and_no_map_lies_over_its_nodes(qtbot, small):
    view = small.graph.panel.view
    view.reset_view()
    view.start_view()
    everything = QRectF(0, 0, view.model.layout.width, view.model.layout.height)
    assert view.camera.seen().contains(everything)
    for factor in (1.5, 1.5, 1.5):
        view.zoom(factor)
        minimap = view.painter.minimap
        under = view.camera.transform().inverted()[0].mapRect(minimap.rect(view.camera))
        assert not (minimap.needed(view.camera) and any_box_in(view.model, under))
    view.reset_view()
    view.start_view()


@pytest.fixture
def side_by_side(qtbot, small):
    """Panes beside each other however narrow they get, as a user may have them."""
    bench = small.workbench
    bench.readable = 0
    bench.arrange(BESIDE)
    yield small
    bench.readable = READABLE
    for pane in bench.panes[2:]:
        bench.remove_pane(pane)
    bench.arrange_usual()


def test_by_itself_a_small_window_has_panes_one_can_read(qtbot, small):
    bench = small.workbench
    qtbot.waitUntil(lambda: bench.graph_dock.width() * 2 >= bench.width())
    qtbot.waitUntil(lambda: min(pane.width() for pane in bench.panes) >= READABLE)
    assert all(pane.isVisible() and pane.height() >= 100 for pane in bench.panes)
    small.resize(1920, 1080)
    small.docks.reset_layout()
    qtbot.waitUntil(lambda: bench.shape == BESIDE and min(pane.width() for pane in bench.panes) >= READABLE)


def test_panes_share_the_width_when_one_comes_or_goes(qtbot, side_by_side):
    small = side_by_side
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


def test_the_heat_of_the_graph_can_be_read_beside_three_panes(qtbot, side_by_side):
    small = side_by_side
    small.workbench.add_pane("llvm")
    qtbot.waitUntil(lambda: small.graph.panel.width() < 300)
    qtbot.waitUntil(lambda: whole(small.graph.panel.heat))


def test_a_graph_that_is_not_small_begins_at_a_size_one_can_read(qtbot, small, monkeypatch):
    monkeypatch.setattr(places, "SMALL", 0)
    view = small.graph.panel.view
    view.reset_view()
    view.start_view()
    assert view.camera.scale >= 0.8
    assert view.camera.seen().top() <= 0, "at its beginning"


def test_every_reason_of_the_fusion_ledger_is_whole(qtbot, small):
    small.docks.show("ledger")
    ledger = small.what_if.ledger.view
    qtbot.waitUntil(lambda: ledger.table.isVisible() and ledger.model.rowCount() > 0)
    at = [column.title for column in ledger.model.columns].index("Why")
    qtbot.waitUntil(lambda: ledger.table.columnWidth(at) >= ledger.table.sizeHintForColumn(at))


def test_where_the_ir_of_two_runs_differs_is_whole(qtbot, small):
    verdict = SideVerdict(1.03, "0.98 to 1.07", "no measurable difference")
    row = KernelVerdict("whole model", (), ("", ""), ("2.91 ms", "2.90 ms"), (None, verdict), "", SAME_FUSION)
    sides = (Side("run 11", 0, 0.0), Side("run 12", 0, 0.0))
    small.state.set_comparison(ComparisonView("run 11 against run 12", (), (), sides, (row,), "", (), True))
    view = small.comparison.view.view
    qtbot.waitUntil(lambda: view.table.isVisible() and view.model.rowCount() == 1)
    last = len(view.model.columns) - 1
    qtbot.waitUntil(lambda: view.model.index(0, last).data() == "same fusion")  # not what was compared before
    qtbot.waitUntil(lambda: view.table.columnWidth(last) >= view.table.sizeHintForColumn(last))


def test_what_differs_is_said_in_a_line_where_its_table_has_no_room(qtbot, small):
    facts = (Fact("optimisation", ("-O2", "-O3")),)
    sides = (Side("run 1", 0, 0.0), Side("run 2", 0, 0.0))
    small.state.set_comparison(ComparisonView("run 1 against run 2", facts, (), sides, (), "", (), True))
    small.docks.show("compare")
    line = small.comparison.view.differs  # which may still say what an earlier comparison had
    qtbot.waitUntil(lambda: line.isVisible() and "optimisation: -O2 | -O3" in line.text())
    assert not small.comparison.view.facts.isVisible()
    small.resize(1920, 1080)
    qtbot.waitUntil(small.comparison.view.facts.isVisible)
    assert not small.comparison.view.differs.isVisible()
    table = small.comparison.view.facts.model
    assert [table.columns[at].text(table.record(0)) for at in range(3)] == ["optimisation", "-O2", "-O3"]


def test_a_bisection_and_a_message_lie_over_nothing_of_the_comparison(qtbot, small):
    view = small.comparison.view
    facts, sides = (Fact("optimisation", ("-O2", "-O3")),), (Side("run 1", 0, 0.0), Side("run 2", 0, 0.0))
    small.state.set_comparison(ComparisonView("run 1 against run 2", facts, (), sides, (), "bootstrap", (), True))
    small.docks.show("compare")
    view.bisection.say("one of 7 makes the results wrong", going=False)
    try:
        for message in (False, True):
            if message:
                view.bar.show_message(Message("error", "it could not be compiled", "compare"))
            qtbot.wait_at_rest(small)
            head = view.title.parentWidget()
            assert head.height() >= head.minimumHeight()
            assert message or view.view.table.viewport().height() >= 2 * ROW
            parts = [part for part in (view.bar, head, view.bisection, view.split) if part.isVisible()]
            edges = [(part.mapTo(view, part.rect().topLeft()).y(), part.height()) for part in parts]
            assert all(y + high <= below for (y, high), (below, _) in pairwise(edges)), edges
            assert edges[-1][0] + edges[-1][1] <= view.height(), edges
    finally:
        view.bar.hide()
        view.bisection.hide()


def test_the_right_button_offers_what_can_be_done_with_a_text(qtbot, small):
    text = small.workbench.panes[0].text
    spot = point_of_line(text, 0)
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
