"""A compiled model in the window: it is code, so it opens only when it is trusted."""

from __future__ import annotations

import pytest

from app.sources import load_source
from compiler import compile

pytestmark = pytest.mark.gui


def test_a_compiled_model_opens_only_when_trusted(qtbot, compiled, tmp_path, monkeypatch):
    window = compiled
    path = tmp_path / "theirs.kgx"
    compile(load_source("sample:mlp").graph).save(path)
    asked = []
    monkeypatch.setattr(window.opening, "ask_trust", lambda p: asked.append(p) or False)
    assert not window.opening.open(str(path))
    assert asked == [str(path)]
    monkeypatch.setattr(window.opening, "ask_trust", lambda p: True)
    assert window.opening.open(str(path))
    qtbot.waitUntil(lambda: not window.compiler.busy and window.graph.model.layout is not None, timeout=60_000)
    assert window.state.source == str(path)
