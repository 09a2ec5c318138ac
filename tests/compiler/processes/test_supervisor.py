"""A child process from outside: whatever it does, the parent hears of it and is rid of it."""

import os
import signal
import sys
from pathlib import Path
from time import monotonic

import pytest

from compiler.processes.frames import NotWanted, TimeIsUp, Unreadable, Wait
from compiler.processes.supervisor import Child, ForkedChild, environment, status_name

KNOWN = {"words": tuple[str, ...]}


@pytest.fixture
def child(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    made = []

    def start(how, **more):
        made.append(Child("talking_child", KNOWN, how, keep_errors=True, **more))
        made[-1].channel.send(("a", "b"), "words", wait=Wait(monotonic() + 60))
        return made[-1]

    yield start
    for each in made:
        each.end()
        assert not each.alive


def test_what_a_child_prints_is_not_taken_for_its_answer(child):
    one = child("answer")
    assert one.channel.receive(Wait(monotonic() + 60)).value == ("a", "b")
    assert one.end(5.0) == 0
    assert "printed by a kernel" in one.errors and one.last_words == "its last words"


@pytest.mark.parametrize("how, status", [("crash", "SIGSEGV"), ("half", "status 3")])
def test_a_child_that_dies_is_gone_and_tells_how(child, how, status):
    one = child(how)
    with pytest.raises(EOFError):
        one.channel.receive(Wait(monotonic() + 60))
    assert status_name(one.end(5.0)) == status


def test_a_child_whose_memory_was_overwritten_is_unreadable(child):
    with pytest.raises(Unreadable):
        child("damage").channel.receive(Wait(monotonic() + 60))


@pytest.mark.parametrize("group", [False, True])
def test_a_child_that_hangs_is_ended(child, group):
    one = child("hang", group=group)
    with pytest.raises(TimeIsUp):
        one.channel.receive(Wait(monotonic() + 0.5))
    with pytest.raises(NotWanted):
        one.channel.receive(Wait(cancelled=lambda: True))
    assert status_name(one.end()) == "SIGKILL"


def test_children_find_our_own_modules_first_and_never_those_of_the_folder_one_works_in(monkeypatch):
    monkeypatch.syspath_prepend("")
    paths = environment()["PYTHONPATH"].split(os.pathsep)
    assert Path(paths[0]) == Path(sys.modules["compiler"].__file__).parents[1] and "" not in paths


@pytest.mark.skipif(sys.platform != "linux", reason="descriptors are counted as Linux lists them")
@pytest.mark.parametrize("kind, broken", [(Child, "subprocess.Popen"), (ForkedChild, "os.fork")])
def test_of_a_child_that_cannot_be_started_nothing_is_left(monkeypatch, kind, broken):
    def no_room(*_, **__):
        raise OSError("no room for a process")

    monkeypatch.setattr(broken, no_room)
    before = sorted(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match="no room"):
        kind("talking_child", KNOWN, "answer")
    assert sorted(os.listdir("/proc/self/fd")) == before
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
