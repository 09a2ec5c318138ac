"""Children that are forked from a process which has everything loaded: like fresh ones, whatever happens to either."""

import os
import signal
import sys
from pathlib import Path
from time import monotonic, sleep

import psutil
import pytest

from compiler.processes.frames import Wait
from compiler.processes.nursery import Nursery
from compiler.processes.supervisor import status_name

KNOWN = {"words": tuple[str, ...]}
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="children start afresh elsewhere")


@pytest.fixture
def nursery(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    nursery = Nursery("talking_child")
    yield nursery
    nursery.close()


def asked(nursery, how):
    child = nursery.child(KNOWN, how)
    child.channel.send(("a", "b"), "words", wait=Wait(monotonic() + 60))
    return child


def answer(child):
    return child.channel.receive(Wait(monotonic() + 60)).value


def gone(pid):
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def until(condition):
    limit = monotonic() + 60
    while not condition():
        assert monotonic() < limit
        sleep(0.01)


def test_a_child_has_the_folder_and_the_environment_of_whoever_asks_now(nursery, monkeypatch, tmp_path):
    first = asked(nursery, "where")
    assert answer(first) == (os.getcwd(), "", "True", "True")
    monkeypatch.setenv("WHO", "changed since")
    monkeypatch.chdir(tmp_path)
    second = asked(nursery, "where")
    assert answer(second) == (str(tmp_path), "changed since", "True", "True")
    for child in (first, second):
        with pytest.raises(EOFError):
            answer(child)
        assert child.end(5.0) == 0


@pytest.mark.parametrize("how, status", [("crash", "SIGSEGV"), ("half", "status 3")])
def test_a_child_that_dies_is_gone_tells_how_and_leaves_its_siblings_alone(nursery, how, status):
    sibling, child = asked(nursery, "answer"), asked(nursery, how)
    with pytest.raises(EOFError):
        answer(child)
    assert status_name(child.end(5.0)) == status
    assert answer(sibling) == ("a", "b")
    sibling.end()


def test_ending_a_child_ends_what_it_started(nursery):
    child = asked(nursery, "family")
    pids = [int(pid) for pid in answer(child)]
    assert status_name(child.end()) == "SIGKILL"
    child.kill()  # nothing is left to end, whoever has its number now
    until(lambda: all(gone(pid) for pid in pids))


def test_a_child_that_is_ended_before_it_is_born_does_nothing(nursery):
    child = nursery.child(KNOWN, "hang")
    child.kill()
    child.end()
    later = asked(nursery, "answer")
    assert answer(later) == ("a", "b")
    later.end()


def test_children_outlive_a_nursery_that_dies_and_the_next_comes_from_another(nursery):
    child = asked(nursery, "family")
    pids = [int(pid) for pid in answer(child)]
    nursery._process.kill()
    until(lambda: not nursery._process.alive)
    again = asked(nursery, "answer")
    assert answer(again) == ("a", "b")
    again.end()
    assert child.end() == -signal.SIGKILL
    until(lambda: all(gone(pid) for pid in pids))


def test_no_child_is_left_when_everybody_hangs_up(nursery):
    child = asked(nursery, "answer")
    assert answer(child) == ("a", "b")
    process = psutil.Process(nursery._process.pid)
    nursery.close()
    child.channel.close()
    until(lambda: gone(process.pid))
    assert nursery._process is None
