"""The report view: a preview of what was kept, every format saved, the whole report handed to the browser."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices

from app.viewmodels.report.report_preview import ReportPreview
from app.viewmodels.requests import RunRow

pytestmark = pytest.mark.gui


class Browser(QObject):
    """Takes what Qt would hand to the system's browser."""

    def __init__(self):
        super().__init__()
        self.urls = []

    @Slot(QUrl)
    def opened(self, url):
        self.urls.append(url)


def run_once(qtbot, window):
    window.state.run = None
    window.features.do("run")
    qtbot.waitUntil(lambda: window.state.run is not None and not window.turns.busy, timeout=120_000)
    return window.state.run.number


def test_a_report_is_of_the_run_on_show_until_another_is_chosen(qtbot, compiled):
    first, view = run_once(qtbot, compiled), compiled.report.view
    compiled.docks.show("report")
    qtbot.waitUntil(lambda: view.preview is not None and view.preview.runs == (first,))
    compiled.docks.show("timeline")
    qtbot.wait_at_rest(compiled)
    asked = []
    view.preview_wanted.connect(asked.append)
    second = run_once(qtbot, compiled)
    qtbot.waitUntil(lambda: view.run.value == str(second))
    qtbot.wait_at_rest(compiled)
    assert not asked, "nobody sees it"
    compiled.docks.bottom["report"].raise_()  # as a click on its tab does
    qtbot.waitUntil(lambda: view.preview is not None and view.preview.runs == (second,))
    view.run.set_value(str(first))
    view.run.chosen.emit(str(first))
    qtbot.waitUntil(lambda: view.preview is not None and view.preview.runs == (first,))
    compiled.records.list_runs()
    qtbot.waitUntil(lambda: not compiled.records.busy)
    assert view.run.value == str(first), "what is chosen stays chosen"
    compiled.docks.show("timeline")


def test_a_run_that_is_not_listed_yet_is_reported_on_all_the_same(compiled):
    view, row = compiled.report.view, RunRow(1, "", "mine.py", "cpu", "ok", 1.0, "", "")
    view.set_runs((row,))
    asked = []
    view.preview_wanted.connect(asked.append)
    view.show_run(2)
    assert asked == [(2,)] and view.save.isEnabled()
    view.set_runs((row,))
    assert view.chosen() == (2,), "an older list arrived"
    view.set_runs((replace(row, number=2), row))
    assert view.run.value == "2" and view.chosen() == (2,)
    view.set_preview(ReportPreview((2,), "mine.py, run 2", "", ()))
    assert "run 2" in view.page.toPlainText()
    view.run.set_value("1")
    view.run.chosen.emit("1")
    assert asked == [(2,), (1,)]
    assert not view.page.toPlainText(), "no text of another run under its name"
    assert "run 1" in view.page.placeholderText()
    view.set_preview(ReportPreview((1,), "mine.py, run 1", "", ()))
    view.follow(2)
    assert not view.page.toPlainText()


def test_preview_save_and_browser(qtbot, compiled, tmp_path, monkeypatch):
    first, second = run_once(qtbot, compiled), run_once(qtbot, compiled)
    view = compiled.report.view
    qtbot.waitUntil(lambda: view.run.findData(str(second)) >= 0, timeout=60_000)
    compiled.features.do("report")
    qtbot.waitUntil(lambda: view.preview is not None and view.preview.runs == (second,), timeout=60_000)
    page = view.page.toPlainText()
    assert f"sample:mlp, run {second}" in page
    for words in ("Time of a call", "Kernels", "matmul_add_relu", "Compilation", "Machine", "95% interval"):
        assert words in page

    for kind in ("html", "md", "csv", "json", "perfetto"):
        target = tmp_path / f"report.{kind}"
        monkeypatch.setattr("app.controllers.report.path_to_save", lambda *a, t=target, **k: (str(t), ""))
        view.formats[kind].trigger()
        qtbot.waitUntil(lambda t=target: t.exists(), timeout=60_000)
    assert "<html" in (tmp_path / "report.html").read_text() and "<script" in (tmp_path / "report.html").read_text()
    assert "matmul" in (tmp_path / "report.md").read_text()
    assert len(list(csv.reader((tmp_path / "report.csv").open()))) > 2
    assert json.loads((tmp_path / "report.json").read_text())["run"]["id"] == second
    assert "traceEvents" in json.loads((tmp_path / "report.perfetto").read_text())

    browser = Browser()
    QDesktopServices.setUrlHandler("file", browser, "opened")
    try:
        qtbot.mouseClick(view.browser, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda: bool(browser.urls), timeout=60_000)
    finally:
        QDesktopServices.unsetUrlHandler("file")
    assert Path(browser.urls[0].toLocalFile()).read_text().count("matmul_add_relu") > 1

    view.against.set_value(str(first))
    view.against.chosen.emit(str(first))
    qtbot.waitUntil(lambda: view.preview is not None and view.preview.runs == (first, second), timeout=60_000)
    assert "verdict" in view.page.toPlainText()
    assert "perfetto" not in view.formats
    view.against.set_value("")
    view.against.chosen.emit("")


def test_a_report_that_cannot_be_written_is_said(qtbot, compiled, tmp_path, monkeypatch):
    number = run_once(qtbot, compiled)
    view = compiled.report.view
    qtbot.waitUntil(lambda: view.run.findData(str(number)) >= 0, timeout=60_000)
    view.show_run(number)
    target = tmp_path / "nowhere" / "report.md"
    monkeypatch.setattr("app.controllers.report.path_to_save", lambda *a, **k: (str(target), ""))
    view.formats["md"].trigger()
    qtbot.waitUntil(lambda: "cannot write" in compiled.log.bar.text, timeout=60_000)
    assert str(target) in compiled.log.bar.text
    assert "cannot write" in compiled.log.view.toPlainText()
