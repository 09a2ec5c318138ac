"""One truth: the window has one current model, and no view shows, or runs, another's under its name."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from app.viewmodels.frame.inspection import inspect

pytestmark = pytest.mark.gui
BROKEN = "def build():\n    raise ValueError('no such model')\n"


def shown(qtbot, window):
    """Until nothing is under way and every view has been given what there is."""
    qtbot.waitUntil(lambda: not window.compiler.busy and not window.turns.busy, timeout=60_000)


def test_the_figures_of_a_run_go_with_its_model(qtbot, compiled):
    compiled.runs.view.repeats.setValue(20)
    compiled.features.do("run")
    qtbot.waitUntil(lambda: compiled.state.run is not None and not compiled.turns.busy, timeout=120_000)
    shown(qtbot, compiled)
    assert compiled.runs.roofline.calls and compiled.runs.launches.timeline is not None
    compiled.runs.view.repeats.setValue(0)
    compiled.opening.open("sample:softmax")
    qtbot.waitUntil(lambda: compiled.state.compilation.name == "softmax", timeout=60_000)
    shown(qtbot, compiled)
    assert not compiled.runs.roofline.calls and not compiled.runs.roofline.view.model.rowCount()
    assert compiled.runs.launches.timeline is None
    assert not compiled.graph.model.times


def test_a_source_that_does_not_build_leaves_no_model_under_its_name(qtbot, compiled, tmp_path):
    path = tmp_path / "broken.py"
    path.write_text(BROKEN)
    compiled.settings.trust(str(path))
    compiled.opening.open(str(path))
    shown(qtbot, compiled)
    assert compiled.windowTitle() == "broken.py - Kernelglass"
    assert "no such model" in compiled.source.pane.bar.text
    assert compiled.state.compilation is None and compiled.state.run is None
    assert not compiled.choices.run.isEnabled() and compiled.choices.compile.isEnabled()
    qtbot.keyClick(compiled, Qt.Key.Key_F5)
    assert not compiled.compiler.busy
    for table in (compiled.explorer.kernels.view, compiled.what_if.ledger.view, compiled.passes.view.view):
        assert not table.model.rowCount()
    assert compiled.timeline.view.timeline is None
    _, told = inspect(compiled.state.on_show, frozenset())
    assert not any("0 " in entry.value for section in told for entry in section.entries), "nothing was counted"
    assert compiled.graph.panel.title.text() == "broken.py"
    qtbot.waitUntil(lambda: not compiled.graph.model.pending, timeout=60_000)
    assert not compiled.graph.model.scene.labels
    for pane in compiled.workbench.panes:
        assert "broken.py is not compiled" in pane.bar.text and not pane.model.document.data
    worse = tmp_path / "worse.py"
    worse.write_text(BROKEN)
    compiled.settings.trust(str(worse))
    compiled.opening.open(str(worse))
    shown(qtbot, compiled)
    # Not the name of the one before.
    qtbot.waitUntil(lambda: compiled.explorer.inspector.toPlainText().startswith("worse.py"), timeout=60_000)
    for pane in compiled.workbench.panes:
        qtbot.waitUntil(lambda pane=pane: "worse.py is not compiled" in pane.bar.text, timeout=60_000)
    compiled.opening.open("sample:mlp")
    qtbot.waitUntil(lambda: compiled.state.compilation is not None, timeout=60_000)
    shown(qtbot, compiled)
    assert compiled.explorer.kernels.view.model.rowCount() and compiled.choices.run.isEnabled()


def test_a_model_whose_successor_was_cancelled_is_named_and_not_run(qtbot, compiled):
    before = compiled.state.compilation
    compiled.opening.open("sample:transformer-block")
    qtbot.keyClick(compiled, Qt.Key.Key_Escape)
    assert compiled.state.compilation is before and compiled.state.current is None
    assert "transformer-block is not compiled" in compiled.log.bar.text and "still mlp" in compiled.log.bar.text
    assert not compiled.choices.run.isEnabled()
    compiled.features.do("run")
    assert not compiled.compiler.busy
    compiled.opening.open("sample:mlp")
    shown(qtbot, compiled)
    assert compiled.choices.run.isEnabled() and not compiled.log.bar.isVisible()
