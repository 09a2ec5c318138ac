"""The window itself: opening, compiling, cancelling, failing, trusting, remembering."""

from __future__ import annotations

import textwrap

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent

from app.controllers.settings import Settings
from app.main_window import MainWindow

pytestmark = pytest.mark.gui

GOOD = textwrap.dedent(
    """
    from compiler import Graph, TensorType, ops

    def build():
        g = Graph("g", inputs=[TensorType("f32", ("M",))])
        with g:
            g.output(ops.relu(g.inputs[0] + 1))
        return g
    """
)


def settle(qtbot, window):
    qtbot.waitUntil(lambda: not window.compiler.busy and window.graph.model.layout is not None, timeout=60_000)


@pytest.fixture
def window(compiled):
    return compiled


def test_the_welcome_page_opens_a_sample_in_one_click(qtbot, window):
    window.docks.show_welcome()
    card = window.welcome.cards["sample:softmax"]
    qtbot.mouseClick(card, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.docks.stack.currentWidget() is window.workbench)
    assert window.status.cancel.isVisible()
    qtbot.waitUntil(lambda: window.state.compilation.name == "softmax", timeout=60_000)
    settle(qtbot, window)
    assert not window.status.cancel.isVisible()
    assert window.settings.recent()[0] == "sample:softmax"


def test_panes_say_that_the_first_source_is_on_its_way(qtbot, qapp, tmp_path):
    window = MainWindow(Settings(tmp_path / "kept"))
    window.show()
    window.opening.open("sample:mlp")
    assert {pane.text.shown.empty for pane in window.workbench.panes} == {"mlp is being compiled\u2026"}
    window.features.do("cancel")
    qtbot.waitUntil(lambda: not window.compiler.busy)
    assert {pane.text.shown.empty for pane in window.workbench.panes} == {"mlp is not compiled"}
    window.close()
    window.deleteLater()


def test_a_closed_window_asks_nothing_more(qtbot, qapp, tmp_path):
    window = MainWindow(Settings(tmp_path / "kept"))
    window.show()
    window.close()
    window.records.list_runs()  # as a view does that is painted once more
    assert window.records._quick is None
    window.deleteLater()


def test_cancelling_ends_the_compilation_and_the_next_one_works(qtbot, window):
    before = window.state.compilation
    window.opening.open("sample:transformer-block")
    assert window.compiler.busy
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert not window.compiler.busy
    assert window.state.compilation is before
    window.opening.open("sample:softmax")
    qtbot.waitUntil(lambda: window.state.compilation.name == "softmax", timeout=60_000)
    settle(qtbot, window)


def test_changing_a_choice_compiles_again_and_keeps_the_selection(qtbot, compiled):
    compiled.state.selection.select(["relu_0"])
    compiled.choices.level.set_value("0")
    compiled.choices.level.chosen.emit("0")
    qtbot.waitUntil(lambda: compiled.state.compilation.choices.opt_level == 0, timeout=60_000)
    assert compiled.state.selection.nodes == {"relu_0"}
    assert compiled.state.previous.choices.opt_level == 3


def test_an_error_in_an_edit_is_shown_at_its_line_and_the_old_compilation_stays(qtbot, compiled):
    before = compiled.state.compilation
    broken = compiled.source.pane.text + "\nraise ValueError('no such thing')\n"
    compiled.source.pane.editor.setPlainText(broken)
    compiled.features.do("compile")
    qtbot.waitUntil(lambda: bool(compiled.source.pane.bar.text), timeout=60_000)
    assert "no such thing" in compiled.source.pane.bar.text
    line = broken.rstrip().count("\n") + 1
    assert compiled.source.pane.editor.textCursor().blockNumber() + 1 == line
    assert compiled.state.compilation is before
    assert "no such thing" in compiled.log.view.toPlainText()


def test_an_edited_kernel_takes_the_place_of_the_generated_one(qtbot, compiled):
    name = compiled.state.compilation.kernels[0].name
    compiled.source.pane.which.set_value(name)
    compiled.source.pane.key_chosen.emit(name)
    edited = compiled.source.pane.text + "\n# edited\n"
    compiled.source.pane.editor.setPlainText(edited)
    compiled.source.pane.ask_compile()
    qtbot.waitUntil(lambda: "# edited" in compiled.state.compilation.kernels[0].source, timeout=60_000)


def test_cutting_an_edge_compiles_again_and_opens_the_comparison(qtbot, compiled):
    before = compiled.state.compilation
    assert before.node_table["add_0"].call == before.node_table["relu_0"].call
    compiled.what_if.force((("add_0", "relu_0"),), False)
    qtbot.waitUntil(lambda: compiled.state.compilation.choices.force_cut == {("add_0", "relu_0")}, timeout=60_000)
    after = compiled.state.compilation
    assert after.node_table["add_0"].call != after.node_table["relu_0"].call
    assert compiled.state.previous is before


def test_a_foreign_python_file_runs_only_when_trusted(qtbot, window, tmp_path, monkeypatch):
    path = tmp_path / "theirs.py"
    marker = tmp_path / "ran"
    path.write_text(f"open({str(marker)!r}, 'w').close()\n" + GOOD)
    asked = []
    monkeypatch.setattr(window.opening, "ask_trust", lambda p: asked.append(p) or False)
    assert not window.opening.open(str(path))
    assert asked == [str(path)]
    assert not marker.exists()
    monkeypatch.setattr(window.opening, "ask_trust", lambda p: True)
    assert window.opening.open(str(path))
    settle(qtbot, window)
    assert marker.exists()
    monkeypatch.setattr(window.opening, "ask_trust", lambda p: pytest.fail("asked again"))
    assert window.opening.open(str(path))
    settle(qtbot, window)


def test_an_onnx_model_opens_at_once_and_a_pytorch_export_only_when_trusted(qtbot, window, tmp_path, monkeypatch):
    onnx = pytest.importorskip("onnx")
    shapes = [onnx.helper.make_tensor_value_info(name, 1, ["N", 4]) for name in "xy"]
    node = onnx.helper.make_node("Relu", ["x"], ["y"], name="/block/act")
    path, export = tmp_path / "net.onnx", tmp_path / "net.pt2"
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([node], "net", shapes[:1], shapes[1:])), path)
    export.write_bytes(b"an archive")
    asked = []
    monkeypatch.setattr(window.opening, "ask_trust", lambda p: asked.append(p) or False)
    assert window.opening.open(str(path))
    qtbot.waitUntil(lambda: window.state.compilation.source == str(path), timeout=60_000)
    assert "block.act" in window.state.compilation.node_table
    assert asked == []
    assert not window.opening.open(str(export))
    assert asked == [str(export)]


def test_a_file_that_changes_on_disk_is_compiled_again(qtbot, window, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(GOOD)
    window.settings.trust(str(path))
    window.opening.open(str(path))
    qtbot.waitUntil(lambda: window.state.compilation.source == str(path), timeout=60_000)
    path.write_text(GOOD.replace("ops.relu", "ops.exp"))
    qtbot.waitUntil(lambda: "exp_0" in window.state.compilation.node_table, timeout=60_000)


def test_a_file_that_vanishes_leaves_the_window_as_it_is(qtbot, window, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(GOOD)
    window.settings.trust(str(path))
    window.opening.open(str(path))
    qtbot.waitUntil(lambda: window.state.compilation.source == str(path), timeout=60_000)
    path.unlink()
    qtbot.waitUntil(lambda: "gone from disk" in window.log.bar.text, timeout=60_000)
    assert window.state.compilation is not None
    assert not window.opening.open(str(tmp_path / "never.py"))
    assert "there is no file" in window.log.bar.text


def test_a_file_can_be_dropped_anywhere(qtbot, window, tmp_path):
    path = tmp_path / "dropped.py"
    path.write_text(GOOD)
    window.settings.trust(str(path))
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path))])
    event = QDropEvent(
        QPointF(10, 10), Qt.DropAction.CopyAction, mime, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    )
    window.dropEvent(event)
    qtbot.waitUntil(lambda: window.state.compilation.name == "dropped", timeout=60_000)


def test_a_worker_that_dies_is_a_message_and_texts_come_back(qtbot, compiled):
    worker = compiled.compiler._current
    compiled.features.do("run")
    worker._process.kill()
    qtbot.waitUntil(lambda: bool(compiled.runs.view.bar.text), timeout=60_000)
    assert "the window is fine" in compiled.runs.view.bar.text
    pane = compiled.workbench.panes[0]
    pane.model.show(stage="kgen")
    qtbot.waitUntil(lambda: not pane.model.loading, timeout=60_000)
    assert not pane.model.error
    assert pane.text.document.lines > 10


def test_every_action_is_in_the_palette_and_can_be_found(qtbot, window):
    window.features.do("palette")
    assert window.help.palette.list.count() >= 40
    qtbot.keyClicks(window.help.palette.field, "lightth")
    qtbot.waitUntil(lambda: "Light theme" in window.help.palette.list.item(0).text())
    qtbot.keyClick(window.help.palette.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.look.theme.name == "light")
