"""Devices of other machines in the window: added, remembered, run on, lost and taken away."""

from __future__ import annotations

import os
import signal

import psutil
import pytest
from forked_workers import forked_workers
from PySide6.QtCore import Qt
from timed_children import measuring

from app.viewmodels.frame.devices import NOT_ASKED, DeviceRow, device_for, remote_row
from profiler.measure.machine import this_machine
from profiler.store import open_store, queries

pytest.importorskip("distributed")

from app.cluster.joining import joined

pytestmark = pytest.mark.gui
WAIT = 90_000


@pytest.fixture(scope="module")
def cluster():
    """A scheduler with one worker."""
    with forked_workers(), joined("local", 1) as found:
        yield found


@pytest.fixture
def window(qtbot, compiled):
    """The shared window, with no device of another machine before and after."""
    yield compiled
    for place in list(compiled.remote_devices.rows):
        compiled.remote_devices.remove(place)
    compiled.runs.choose(compiled.state.devices[0])
    if compiled.remote_devices.dialog is not None:
        compiled.remote_devices.dialog.close()


def added(qtbot, window, place):
    """Type a device into the dialog and wait for what comes of it."""
    window.features.do("remote_devices")
    dialog = window.remote_devices.dialog
    dialog.place.setText(place)
    qtbot.mouseClick(dialog.add, Qt.MouseButton.LeftButton)
    if place in window.remote_devices.rows:
        qtbot.waitUntil(lambda: not window.remote_devices._asking, timeout=WAIT)
    return dialog


def test_a_list_without_devices_says_how_one_comes_into_it(qtbot, window):
    window.features.do("remote_devices")
    dialog = window.remote_devices.dialog
    assert dialog.none_yet.isVisible() and "start a worker" in dialog.none_yet.text() and not dialog.list.isVisible()
    dialog.set_devices((remote_row("tcp://10.0.0.1:8786/cpu", missing=NOT_ASKED),))
    assert dialog.list.isVisible() and not dialog.none_yet.isVisible()
    dialog.set_devices(())
    assert dialog.none_yet.isVisible()


def test_a_device_is_added_remembered_run_on_and_removed(qtbot, window, cluster):
    place = f"{cluster.address}/cpu"
    dialog = added(qtbot, window, place)
    assert window.state.device.name == place and window.choices.device.value == place
    assert this_machine().name in dialog.list.item(0).text()
    assert window.settings.get("remote_devices", []) == [place]
    window.state.run = None
    told = []
    window.compiler.progressed.connect(lambda stage, _: told.append(stage))
    window.runs.run()
    qtbot.waitUntil(lambda: window.state.run is not None and not window.turns.busy, timeout=WAIT)
    run = window.state.run
    assert run.ok and len(run.totals) == 24 and run.device == "cpu" and run.spans
    assert any(words.startswith("run: ") for words in told)
    with open_store(window.database) as store:
        row = queries.run_row(store, run.number)
        assert row["conditions"]["remote"] == place and row["device"] == "cpu"
        assert queries.machine_row(store, row["machine"])["fingerprint"] == this_machine().fingerprint
    dialog.list.setCurrentRow(0)
    qtbot.mouseClick(dialog.remove, Qt.MouseButton.LeftButton)
    assert window.state.device.name == "cpu" and window.choices.device.findData(place) < 0
    assert window.settings.get("remote_devices", []) == []


def test_what_is_remembered_is_there_and_asked_only_when_it_is_chosen(qtbot, window, cluster):
    place = f"{cluster.address}/cpu"
    window.remote_devices.rows[place] = remote_row(place, missing=NOT_ASKED)
    window.remote_devices._equip()
    assert window.state.device.name == "cpu" and not window.remote_devices._asking
    index = window.choices.device.findData(place)
    window.choices.device.setCurrentIndex(index)
    window.choices.device.activated.emit(index)
    qtbot.waitUntil(lambda: window.state.device.name == place, timeout=WAIT)


def test_one_that_cannot_be_reached_says_why_and_takes_nothing_away(qtbot, window):
    dialog = added(qtbot, window, "tcp://127.0.0.1:9/cpu")
    assert "no scheduler at tcp://127.0.0.1:9" in window.runs.view.bar.text
    assert "no scheduler" in dialog.list.item(0).text() and window.state.device.name == "cpu"
    dialog.list.doItemsLayout()
    row, words = dialog.list.visualItemRect(dialog.list.item(0)), dialog.list.item(0).text()
    assert row.right() < dialog.list.viewport().width(), "all of why is in sight"
    wide = max(map(dialog.list.fontMetrics().horizontalAdvance, words.splitlines()))
    assert wide < row.width() or row.height() > 3 * dialog.list.fontMetrics().height()
    tip = window.choices.device.itemData(
        window.choices.device.findData("tcp://127.0.0.1:9/cpu"), Qt.ItemDataRole.ToolTipRole
    )
    assert "no scheduler" in tip


@pytest.mark.parametrize("text", ["toaster", "tcp://host/tpu", "", "tcp://h:1/cpu <b>x</b>"])
def test_what_is_no_device_is_said_and_not_kept(qtbot, window, text):
    dialog = added(qtbot, window, text)
    assert not window.remote_devices.rows
    assert not text or "tcp://HOST:PORT/cpu" in dialog.said.text()


def test_a_lost_worker_ends_the_run_as_interrupted_and_the_window_goes_on(qtbot, window, cluster):
    added(qtbot, window, f"{cluster.address}/cpu")
    window.state.run = None
    window.runs.view.repeats.setValue(1_000_000)
    window.runs.run()
    qtbot.waitUntil(lambda: bool(measuring()), timeout=WAIT)
    worker = psutil.Process(measuring()[0]).parent()
    assert worker is not None
    os.kill(worker.pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: not window.compiler.busy, timeout=WAIT)
    assert "was lost" in window.runs.view.bar.text and window.state.run is None
    with open_store(window.database) as store:
        assert newest(store)["status"] == "interrupted"
    cluster.client.wait_for_workers(1, timeout=60)
    window.runs.view.repeats.setValue(24)
    window.runs.run()
    qtbot.waitUntil(lambda: window.state.run is not None and not window.turns.busy, timeout=WAIT)


def test_cancel_ends_a_run_elsewhere(qtbot, window, cluster):
    added(qtbot, window, f"{cluster.address}/cpu")
    window.runs.view.repeats.setValue(1_000_000)
    window.runs.run()
    qtbot.waitUntil(lambda: bool(measuring()), timeout=WAIT)
    window.features.cancel()
    qtbot.waitUntil(lambda: not window.compiler.busy and not measuring(), timeout=WAIT)


def newest(store):
    return queries.run_row(store, max(row["id"] for row in store.rows("SELECT id FROM runs")))


def test_code_for_a_card_is_not_sent_elsewhere_unasked():
    there = DeviceRow("tcp://h:1/cuda:0", "cuda:0 at h:1", "sm_90a", "")
    assert device_for("sm_90a", [there]).missing and device_for("cpu", [there]).name == "cpu"
