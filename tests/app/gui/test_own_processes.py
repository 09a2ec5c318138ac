"""A window as users have it: its own processes compile, and one that starts afresh measures.

The other tests of the window have processes that begin with more (`tests/measuring`), as they start hundreds of them.
"""

from __future__ import annotations

import pytest

from app.controllers import jobs
from app.controllers.settings import Settings
from app.main_window import MainWindow
from compiler.processes.nursery import Nursery

pytestmark = pytest.mark.gui


@pytest.fixture
def window(qtbot, monkeypatch, tmp_path):
    monkeypatch.setenv("KERNELGLASS_DB", str(tmp_path / "runs.db"))
    nursery = Nursery("app.worker.main")
    monkeypatch.setattr(jobs, "_nursery", nursery)
    made = MainWindow(Settings(tmp_path / "config"))
    qtbot.addWidget(made)
    made.resize(1400, 900)
    made.show()
    yield made
    made.close()
    nursery.close()


def test_a_sample_is_compiled_and_run(qtbot, window):
    window.opening.open("sample:mlp")
    qtbot.waitUntil(lambda: window.state.compilation is not None and not window.compiler.busy, timeout=90_000)
    window.runs.view.repeats.setValue(20)
    window.runs.view.run.click()
    qtbot.waitUntil(lambda: window.state.run is not None and not window.turns.busy, timeout=120_000)
    assert len(window.state.run.totals) == 20
    assert "\u2713 check passed" in window.runs.view.summary.text()
    assert {kernel for kernel, _ in window.state.run.calls} == {"matmul_add_relu", "matmul_add"}
