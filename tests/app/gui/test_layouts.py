"""Layouts for the jobs, everything in the palette, pictures of views, graphs shown while they are compiled."""

from __future__ import annotations

import shlex

import pytest
from paintings import Paintings
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication, QDockWidget

from app.controllers.layouts import LAYOUTS
from app.viewmodels.frame.shown import LAYOUT_NAMES, Shown
from app.views.frame.arrangement import BELOW, BESIDE, STACKED, fitting
from app.views.text.ir_pane import IrPane

pytestmark = pytest.mark.gui
LONG = "sample:many-kernels:37"  # in no cache yet


def settled(qtbot, window):
    qtbot.waitUntil(lambda: not window.compiler.busy and not window.turns.busy, timeout=60_000)
    qtbot.wait_at_rest(window)


@pytest.fixture
def window(qtbot, compiled):
    yield compiled
    compiled.docks.reset_layout()
    settled(qtbot, compiled)


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1600, 1000)])
def test_a_click_shows_graph_and_three_stages_wide_enough_to_read(qtbot, window, width, height):
    window.resize(width, height)
    qtbot.mouseClick(window.layouts.bar.buttons["linked"], Qt.MouseButton.LeftButton)
    settled(qtbot, window)
    bench = window.workbench
    assert bench.shape == BELOW
    qtbot.waitUntil(lambda: bench.graph_dock.height() * 2 >= bench.height() * 0.9)
    assert [pane.model.stage for pane in bench.panes] == ["kgen", "llvm", "asm"]
    assert all(pane.isVisible() and pane.width() >= 400 for pane in bench.panes)
    assert window.layouts.bar.buttons["linked"].isChecked() and window.layouts.current == "linked"
    assert not window.docks.named["explorer"].isVisible() and not any(
        d.isVisible() for d in window.docks.bottom.values()
    )


def test_the_panes_that_a_layout_lacks_are_made_part_by_part_before_they_are_shown(qtbot, window):
    bench, shown = window.workbench, []
    qtbot.waitUntil(lambda: not window.spare.busy, timeout=60_000)
    while bench.panes:
        bench.remove_pane(bench.panes[0])
    bench._resting.clear()  # as for one who is quick
    bench.pane_woken.connect(shown.append)
    window.layouts.choose("linked")
    settled(qtbot, window)
    bench.pane_woken.disconnect(shown.append)
    assert shown == bench.panes and len(shown) == 3, "none was made whole while it was shown"


@pytest.mark.parametrize(("place", "front"), [(2, "run"), (3, "timeline"), (4, "compare")])
def test_a_key_brings_the_views_of_a_job_to_the_front(qtbot, window, place, front):
    qtbot.keyClick(window, getattr(Qt.Key, f"Key_{place}"), Qt.KeyboardModifier.AltModifier)
    settled(qtbot, window)
    dock = window.docks.bottom[front]
    qtbot.waitUntil(lambda: not dock.visibleRegion().isEmpty())
    assert dock.height() >= window.height() * 0.3
    assert window.workbench.graph_dock.isVisible() == (front != "compare")
    bench = window.workbench
    if front != "compare":
        qtbot.waitUntil(lambda: bench.graph_dock.width() * 2 >= bench.width())


def test_a_visit_to_the_welcome_page_leaves_the_layout_as_it_is(qtbot, window):
    window.layouts.choose("compare_layout")
    settled(qtbot, window)

    def arranged():
        docks = [window.docks.named[name] for name in ("explorer", "inspector", "compare")]
        return [(dock.isVisible(), dock.size() if dock.isVisible() else None) for dock in docks]

    before = arranged()
    window.features.do("welcome")
    qtbot.waitUntil(lambda: not any(dock.isVisible() for dock in window.docks.named.values()))
    window.opening.open("sample:mlp")
    settled(qtbot, window)
    assert arranged() == before and window.layouts.current == "compare_layout"


def test_a_layout_chosen_while_the_window_shrinks_keeps_its_sizes(qtbot, window):
    window.resize(1600, 1000)
    settled(qtbot, window)
    window.resize(1440, 900)
    window.features.do("performance")
    settled(qtbot, window)  # the sizes a shrunken window keeps come when its size has settled
    assert window.docks.bottom["run"].height() >= window.height() * 0.3


def test_panes_that_rest_are_out_of_sight_and_come_back(qtbot, window):
    bench = window.workbench
    for name, panes in (("linked", 3), ("performance", 1), ("compare_layout", 2), ("linked", 3)):
        window.features.do(name)
        settled(qtbot, window)
        shown = [
            dock for dock in bench.findChildren(QDockWidget) if dock.isVisible() and isinstance(dock.widget(), IrPane)
        ]
        assert len(shown) == len(bench.panes) == panes
        assert sorted(dock.objectName() for dock in shown) == [f"pane-{at + 1}" for at in range(panes)]
    qtbot.waitUntil(lambda: all(pane.text.shown.document.data for pane in bench.panes))  # texts may be on their way


def test_panes_without_the_graph_share_all_the_room_with_another(qtbot, window):
    window.features.do("compare_layout")
    settled(qtbot, window)
    window.features.do("add_pane")
    settled(qtbot, window)
    widths = [window.workbench._pane_docks[pane].width() for pane in window.workbench.panes]
    assert len(widths) == 3 and max(widths) - min(widths) <= 2, widths


def test_a_layout_shows_the_middle_once_all_have_their_shares(qtbot, window):
    """One picture, apart from those of what is around it: each takes long."""
    window.resize(1600, 1000)
    settled(qtbot, window)
    graph, bench = window.graph.panel.view, window.workbench
    painted = Paintings([graph])
    for name in ("performance", "compile_time", "linked"):
        painted.by.clear()
        window.layouts.choose(name)
        settled(qtbot, window)
        qtbot.waitUntil(lambda: bench.updatesEnabled() and painted.complete)
        assert [size for size, _ in painted.by[graph]] == [graph.size()], name


def test_who_has_the_keyboard_keeps_it_and_nobody_else_is_looked_for(qtbot, window, monkeypatch):
    """Qt would go from widget to widget through the whole window while the middle is laid out."""
    asked = []
    monkeypatch.setattr("app.main_window.keyboard.step", lambda window, further: asked.append(window) or further())
    view = window.graph.panel.view
    view.setFocus()
    qtbot.waitUntil(view.hasFocus)
    for shape in (BELOW, BESIDE):
        window.workbench.arrange(shape)
        assert view.hasFocus() and not asked
    settled(qtbot, window)
    window.features.do("palette")
    qtbot.waitUntil(window.help.palette.field.hasFocus)
    qtbot.keyClick(window.help.palette.field, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not window.help.palette.isVisible())
    assert window.hasFocus() and not asked


def test_layouts_are_known_by_one_list_of_names():
    assert tuple(layout.name for layout in LAYOUTS) == LAYOUT_NAMES
    assert fitting(1200, 2) == BESIDE and fitting(1000, 2) == STACKED


def offered(qtbot, window, text):
    window.features.do("palette")
    qtbot.keyClicks(window.help.palette.field, text)
    found = window.help.palette.list
    qtbot.waitUntil(lambda: not window.help.palette.filling.isActive())
    return [found.item(row).text() for row in range(found.count())]


def test_letters_in_the_palette_do_not_have_all_below_it_painted_again(qtbot, window):
    window.features.do("palette")
    palette = window.help.palette
    below = [pane.text.viewport() for pane in window.workbench.panes] + [window.graph.panel.view]
    qtbot.wait_at_rest(window)
    entries = palette.list.viewport()
    painted, offered = Paintings(below), Paintings([entries])
    area = QRect(entries.mapTo(window, entries.rect().topLeft()), entries.size())
    assert any(area.intersects(QRect(widget.mapTo(window, QPoint()), widget.size())) for widget in below)
    for letter in "tar":
        offered.by.clear()
        qtbot.keyClicks(palette.field, letter)
        qtbot.waitUntil(lambda: not palette.filling.isActive() and offered.complete)
        assert not [box for box in painted.boxes if box.intersects(area)]
    palette.hide()


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("sm_90a", "Target: sm_90a (H100, H200)"), ("-O1", "Optimisation level: -O1"), ("stage: llvm", "Stage: LLVM"),
        ("kernel: matmul_add_relu", "Kernel: matmul_add_relu"), ("node: relu_0", "Node: relu_0"),
        ("view: roofline", "View: Roofline"), ("open sample softmax", "Open sample softmax"),
        ("many-kernels:12", "Open sample many-kernels:12"), ("open recent mlp", "Open recent mlp"),
    ],
)  # fmt: skip
def test_everything_there_is_can_be_typed(qtbot, window, typed, first):
    assert offered(qtbot, window, typed)[0] == first
    qtbot.keyClick(window.help.palette.field, Qt.Key.Key_Escape)


def test_letters_that_come_at_once_are_looked_up_once_and_enter_does_what_was_typed(qtbot, window):
    palette, filled = window.help.palette, []
    window.features.do("palette")
    model = palette.list.model()
    listening = model.rowsInserted.connect(lambda *_: filled.append(palette.field.text()))
    try:
        for text in ("no", "node: re", "node: relu_0"):  # no turn of the event loop between them
            palette.field.setText(text)
        assert not filled
        qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    finally:
        model.disconnect(listening)
    assert set(filled) == {"node: relu_0"}
    qtbot.waitUntil(lambda: window.state.selection.nodes == {"relu_0"})


def test_a_node_typed_is_selected_and_a_stage_typed_is_shown(qtbot, window):
    offered(qtbot, window, "node: relu_0")
    qtbot.keyClick(window.help.palette.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.state.selection.nodes == {"relu_0"})
    offered(qtbot, window, "stage: kgen")
    qtbot.keyClick(window.help.palette.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "kgen" in [pane.model.stage for pane in window.workbench.panes])


def test_any_view_is_a_picture(qtbot, window, tmp_path):
    for name in ("timeline", "funnel", "inspector"):
        window.docks.show(name)
        settled(qtbot, window)
        view = window.docks.named[name].widget()
        png, svg = tmp_path / f"{name}.png", tmp_path / f"{name}.svg"
        assert window.pictures.write_picture(view, str(png), name)
        assert window.pictures.write_picture(view, str(svg), name)
        assert not QImage(str(png)).isNull() and QSvgRenderer(str(svg)).isValid()
    window.pictures.copy(window.docks.named["timeline"].widget())
    assert not QGuiApplication.clipboard().pixmap().isNull()
    assert not window.pictures.write_picture(view, str(tmp_path / "no" / "such.png"), "x")


def test_a_command_brings_back_what_is_on_the_screen(qtbot, window):
    window.state.selection.select(["relu_0"])
    window.features.do("performance")
    settled(qtbot, window)
    window.features.do("copy_command")
    words = shlex.split(QGuiApplication.clipboard().text())
    assert words[:3] == ["kernelglass", "gui", "sample:mlp"]
    for option, value in (("--target", "cpu"), ("-O", "3"), ("--layout", "performance"), ("--select", "relu_0")):
        assert words[words.index(option) + 1] == value
    window.state.selection.select(())
    window.open_as("sample:mlp", Shown("cpu", "per-kernel", 2, layout="linked", selected=("relu_0",)))
    settled(qtbot, window)
    assert window.state.compilation.choices.flow == "per-kernel" and window.state.compilation.choices.opt_level == 2
    qtbot.waitUntil(lambda: window.state.selection.nodes == {"relu_0"})
    assert window.layouts.current == "linked"


def test_a_long_compilation_shows_its_graph_before_its_kernels_and_goes_back_when_cancelled(qtbot, window):
    assert window.opening.open(LONG)
    qtbot.waitUntil(lambda: window.preview.shown or not window.compiler.busy, timeout=60_000)
    assert window.preview.shown, "it was compiled before anything could be shown"
    assert window.graph.panel.title.text() == "many-kernels:37 (compiling)"
    assert window.graph.panel.title.width() > 60, "the name of what is on show goes last"
    assert len(window.graph.model.compilation.nodes) > 37 and window.state.compilation.source == "sample:mlp"
    qtbot.waitUntil(lambda: window.explorer.kernels.view.model.rowCount() > 2, timeout=60_000)
    assert 0 < window.status.progress.value() < 100
    window.state.selection.select([window.graph.model.compilation.nodes[-1].name])  # one that no other view knows yet
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert window.graph.panel.title.text() == "mlp" and window.explorer.kernels.view.model.rowCount() == 2
    window.opening.open("sample:mlp")
    settled(qtbot, window)


def test_a_view_of_the_bottom_comes_with_its_tabs(qtbot, window):
    """Alone it would have neither a name nor a way to another view."""
    window.layouts.choose("linked")
    bottom = window.docks.bottom
    qtbot.waitUntil(lambda: not window.turns.busy and not any(dock.isVisible() for dock in bottom.values()))
    window.search.find_everywhere()
    qtbot.waitUntil(lambda: not window.turns.busy and all(dock.isVisible() for dock in bottom.values()))
    assert not window.search.view.visibleRegion().isEmpty(), "the one that was asked for is at the front"
    assert window.search.view.field.hasFocus()


def test_a_source_that_is_edited_stays_in_front_when_the_window_grows(qtbot, window):
    bench = window.workbench
    window.resize(1280, 720)
    qtbot.wait_at_rest(window)
    bench.source_dock.raise_()
    window.source.pane.editor.setFocus()
    qtbot.wait_at_rest(window)
    stacked = bench.shape
    window.resize(3000, 1600)
    qtbot.waitUntil(lambda: bench.shape != stacked)
    qtbot.wait_at_rest(window)
    assert not bench.source_dock.visibleRegion().isEmpty()
    assert QApplication.focusWidget() is window.source.pane.editor
    bench.graph_dock.raise_()
