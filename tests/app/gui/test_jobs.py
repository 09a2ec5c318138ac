"""Child processes seen from the window: asking never waits, and every question is answered."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest
import shiboken6
from held_processes import hold, let_go

from app.controllers.jobs import Worker
from app.viewmodels.requests import Failure, LayoutRequest

NODES = 8_000  # a request of 320 kB


@pytest.fixture
def worker(qapp):
    worker = Worker("layout")
    yield worker
    worker.stop()
    assert not worker._thread.is_alive()


def chain() -> LayoutRequest:
    steps = np.arange(NODES - 1)
    return LayoutRequest(np.full((NODES, 2), 40.0), np.stack([steps, steps + 1], 1), np.full(NODES, -1))


def test_making_a_worker_does_not_wait_for_its_thread(qtbot):
    """Where no core is free for that thread, the window would not answer until there is one."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # seconds: no other thread gets the interpreter unless this one waits for something
    try:
        worker = Worker("layout")
        waited = worker._thread.ident is not None
    finally:
        sys.setswitchinterval(usual)
    assert worker.alive and worker.starting, "it is to come"
    answers = []
    worker.submit(chain(), answers.append)
    qtbot.waitUntil(lambda: len(answers) == 1, timeout=60_000)
    worker.stop()
    assert not worker.alive and not waited
    qtbot.waitUntil(lambda: not worker._thread.is_alive(), timeout=60_000)  # stop() waits for it, but not for ever


def test_a_worker_that_nobody_wants_any_more_leaves_no_thread(qapp):
    worker = Worker("layout")
    worker.stop()
    assert not worker._thread.is_alive() and not worker._thread.going_on


def test_the_threads_of_a_worker_that_qt_deleted_end(qtbot):
    """A window that is closed takes its workers along, whatever they are about to say."""
    worker = Worker("deleted")
    worker.submit(chain(), lambda _: None)
    qtbot.waitUntil(lambda: worker._process is not None)
    shiboken6.delete(worker)
    qtbot.waitUntil(lambda: not [t.name for t in threading.enumerate() if t.name.startswith("worker-deleted")])


def test_asking_a_busy_process_does_not_wait_for_it(qtbot, worker):
    answers = []
    worker.submit(chain(), answers.append)
    qtbot.waitUntil(lambda: len(answers) == 1, timeout=60_000)
    request = chain()
    held = hold(qtbot, worker)  # it reads as little as one that is busy
    given_up = threading.Timer(60, let_go, (held,))
    given_up.start()
    for _ in range(4):  # more than a pipe holds
        worker.submit(request, answers.append)
    assert given_up.is_alive(), "whoever waits until the last is read waits until it goes on"
    given_up.cancel()
    let_go(held)
    qtbot.waitUntil(lambda: len(answers) == 5, timeout=60_000)
    assert not any(isinstance(answer, Failure) for answer in answers), answers


def test_what_cannot_be_sent_is_answered_too(qtbot, worker):
    answers = []
    worker.submit(lambda: None, answers.append)
    qtbot.waitUntil(lambda: bool(answers), timeout=60_000)
    assert isinstance(answers[0], Failure) and answers[0].kind == "bug"


def test_a_process_that_dies_while_it_is_asked_is_reported(qtbot, worker):
    answers = []
    worker.submit(chain(), answers.append)
    qtbot.waitUntil(lambda: worker._process is not None, timeout=60_000)
    worker._process.kill()
    worker.submit(chain(), answers.append)
    qtbot.waitUntil(lambda: len(answers) == 2, timeout=60_000)
    assert all(isinstance(answer, Failure) and answer.kind == "crash" for answer in answers)
