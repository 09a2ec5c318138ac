"""Tuning in the real window: rows as they come, stopping, the queue, and what compilations take over."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from app.viewmodels.frame.inspection import inspect
from app.viewmodels.runs.tuning import TuneRow, TuneTold
from compiler.options import Tuned
from compiler.passes.fusion.edits import problem_of
from compiler.pipeline import compile_graph
from profiler.measure.machine import this_machine
from profiler.store import open_store
from profiler.store.tuned import TunedRow, forget_tuned, keep_tuned, tuned_rows

pytestmark = pytest.mark.gui


@pytest.fixture
def tuning(compiled):
    yield compiled.tuning
    compiled.tuning.cancel()
    compiled.tuning.view.end("", ())
    compiled.compiler.measuring.forget()


def test_tuning_shows_rows_as_it_goes_and_can_be_stopped(qtbot, compiled, tuning):
    tuning.view.budget.setValue(3600)  # however busy this machine is
    qtbot.mouseClick(compiled.runs.view.tune, Qt.MouseButton.LeftButton)
    assert compiled.docks.named["tune"].isVisible() and tuning.view.start.text() == "Stop"
    qtbot.waitUntil(lambda: tuning.view.table.model.total > 0, timeout=120_000)
    qtbot.waitUntil(lambda: "Round 1" in tuning.view.said.text(), timeout=120_000)
    kernels = {kernel.name for kernel in compiled.state.compilation.kernels}
    assert {tuning.view.table.model.record(at).kernel for at in range(tuning.view.table.model.total)} <= kernels
    asked = []
    compiled.compiler.measuring.ask("another", lambda: asked.append(1))  # nothing is measured beside it
    assert asked == [] and compiled.compiler.measuring.waiting == ("another",)
    qtbot.mouseClick(tuning.view.start, Qt.MouseButton.LeftButton)
    assert tuning.view.start.text() == "Tune" and tuning.view.said.text().startswith("Stopped")
    qtbot.waitUntil(lambda: asked == [1])


def test_the_result_is_told_and_why_it_is_not_kept(compiled, tuning):
    row = TuneRow("matmul", "depth 256", "depth 512", 3, 0.8, "0.790 to 0.810", "faster", True)
    tuning.view.begin()
    tuning._done(TuneTold((row,), ("what was tuned is not kept: it is read-only",)))
    assert "1 of 1 kernels are faster tuned" in tuning.view.said.text()
    assert "not kept" in tuning.view.bar._text.text()
    assert not compiled.compiler.busy  # nothing to compile with


def test_a_compilation_takes_over_what_was_tuned_and_the_switch_turns_it_off(qtbot, compiled, tuning):
    from app.sources import load_source
    from compiler.options import CompileOptions

    window, source = compiled, load_source("sample:mlp")
    model = compile_graph(source.graph, CompileOptions())
    kernel = next(k for k in model.kernels if any(c.name == "register tile" for c in k.record.choices))
    (tile,) = [c for c in kernel.record.choices if c.name == "register tile"]
    other = next(value for value in tile.candidates if value != tile.default)
    problem = problem_of(kernel.fused, model.target)
    chosen = Tuned(problem, (("register tile", other),))
    with open_store(window.database) as store:
        keep_tuned(store, this_machine(), TunedRow(
            problem, kernel.name, "sample:mlp", "cpu", (), chosen.choices, {}, {}, None, 0.9, 0.88, 0.92,
        ))  # fmt: skip
    try:
        window.compile.compile()
        qtbot.waitUntil(lambda: bool(window.state.compilation.tuned), timeout=120_000)
        words = f"register tile {other[0]} x {other[1]}"
        assert window.state.compilation.tuned == ((kernel.name, words),)
        told = [entry for _, sections in [inspect(window.state.compilation, frozenset(kernel.nodes[:1]))]
                for section in sections for entry in section.entries]  # fmt: skip
        assert any((entry.name, entry.value) == ("tuned to", words) for entry in told)
        window.features.do("use_tuned")
        qtbot.waitUntil(lambda: not window.state.compilation.tuned, timeout=120_000)
    finally:
        if not window.compile.use_tuned:
            window.compile.use_tuned = True
        with open_store(window.database) as store:
            forget_tuned(store, [(row.problem, row.fingerprint) for row in tuned_rows(store)])
