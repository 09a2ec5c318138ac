"""Expressions that backtrack without end: the window goes on, says so, and finds the next thing."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from PySide6.QtCore import QTimer

import app.viewmodels.frame.patterns as patterns
from app.viewmodels.frame.patterns import TOO_SLOW, TooSlowError, compile_pattern
from app.viewmodels.text.text_document import index_text, line_text

pytestmark = pytest.mark.gui
ENDLESS = r"(\w*)*\1[?!]"


def test_an_expression_is_given_up_after_its_time(monkeypatch):
    monkeypatch.setattr(patterns, "SECONDS", 0.2)
    began = time.perf_counter()
    with pytest.raises(TooSlowError):
        list(compile_pattern(ENDLESS).spans(b"matmul_add_relu" * 40))
    assert time.perf_counter() - began < 2


def test_what_is_not_an_expression_says_why():
    for wrong in ("(", "[a", "*a", "(" * 5000):
        with pytest.raises(ValueError) as error:
            compile_pattern(wrong)
        assert str(error.value)


def test_the_window_goes_on_while_an_expression_does_not_end(qtbot, compiled, monkeypatch):
    monkeypatch.setattr(patterns, "SECONDS", 2)
    pane = compiled.workbench.panes[0]
    line = b"matmul_add_relu" * 160 + b"\n"  # half a minute's work
    pane.text.set_document(_document(line), "asm", np.zeros(1, np.int32))
    bar = pane.find_bar
    beats: list[tuple[float, float]] = []
    timer = QTimer()
    timer.setInterval(5)
    timer.timeout.connect(lambda: beats.append((time.perf_counter(), time.thread_time())))
    timer.start()
    bar.open()
    bar.regex.setChecked(True)
    bar.field.setText(ENDLESS)
    qtbot.waitUntil(
        lambda: bar.count.text() == TOO_SLOW or TOO_SLOW in bar.field.accessibleDescription(), timeout=20_000
    )
    timer.stop()
    assert bar.field.property("state") == "error"
    waited, worked = (max(b - a for a, b in itertools.pairwise(times)) for times in zip(*beats, strict=True))
    assert worked < 0.4, "matching is nothing for the window's thread"
    assert waited < 1, "it must not hold the window, which gets a core within half of its time on a busy machine too"
    monkeypatch.setattr(patterns, "SECONDS", 0.5)
    bar.field.setText("add")
    qtbot.waitUntil(lambda: "of 160" in bar.count.text(), timeout=20_000)
    bar.close_bar()
    view = compiled.search.view
    view.regex.setChecked(True)
    view.field.setText(ENDLESS)
    view.search()
    qtbot.waitUntil(
        lambda: any(end in view.field.accessibleDescription() for end in (TOO_SLOW, " in ")), timeout=60_000
    )
    view.field.setText("relu_0")
    view.search()
    qtbot.waitUntil(lambda: " in " in view.row.count.text(), timeout=60_000)
    for row in (bar, view):
        row.regex.setChecked(False)
        row.field.clear()
    pane.model.show(stage="asm")  # or the next test would find this text under the name of its own


def _document(data: bytes):
    text = data.decode()
    return index_text(line_text(text, ((),) * len(text.splitlines())))
