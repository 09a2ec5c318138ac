"""The heartbeat: what the window's thread spends without answering is told, to whoever asked for it."""

from __future__ import annotations

import json
import time

import pytest

from app.controllers.heartbeat import VARIABLE, Heartbeat, heartbeat_of

pytestmark = pytest.mark.gui


def test_a_stall_is_told_with_how_long_the_thread_worked(qtbot, tmp_path):
    path = tmp_path / "stalls.jsonl"
    heart = Heartbeat(str(path))
    qtbot.wait(40)
    heart.begin()
    end = time.perf_counter() + 0.12
    while time.perf_counter() < end:
        pass
    qtbot.waitUntil(lambda: bool(heart.stalls))
    assert heart.longest.seconds >= 0.1 and heart.busiest.worked > 0
    heart.end()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert any(line.get("seconds", 0) >= 0.1 for line in lines[:-1]) and lines[-1]["over"] >= 1


def test_nobody_asked_so_nothing_beats(qapp, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert heartbeat_of(qapp) is None
