"""Children that are forked from a process which has everything loaded: like fresh ones, whatever happens to either."""

import os
import signal
import subprocess
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


def test_what_is_loaded_for_later_gives_way_and_children_do_not(nursery):
    first = asked(nursery, "nice")
    assert first.channel.receive(Wait(monotonic() + 60)).value == (str(os.nice(0)),)
    assert first.begun
    (process,) = [p for p in psutil.Process().children() if "talking_child" in p.cmdline()]

    def niceness():
        return {os.getpriority(os.PRIO_PROCESS, thread.id) for thread in process.threads()}

    until(lambda: niceness() == {os.nice(0), os.nice(0) + 3})
    second = asked(nursery, "nice")
    assert answer(second) == (str(os.nice(0)),)
    for child in (first, second):
        child.end(5.0)


def test_no_collection_walks_what_was_loaded(nursery):
    child = asked(nursery, "walked")
    assert answer(child) == ()
    child.end(5.0)


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


FORKING = """
import atexit, os, signal, sys, threading
sys.path.insert(0, {folder!r})
from compiler.processes.nursery import Nursery

def interrupted(*_):
    raise SystemExit("the program was interrupted")

signal.signal(signal.SIGINT, interrupted)
atexit.register(lambda: os.write(1, b"the program ends\\n"))
nursery = Nursery("talking_child")
{before}
nursery.start(fork=True)
child = nursery.child({{"words": tuple[str, ...]}}, {how!r})
child.channel.send(("a", "b"), "words")
{then}
print(type(nursery._process).__name__, *child.channel.receive().value, flush=True)
child.end(5.0)
"""


def program(how="answer", before="", then=""):
    """What a program says that has a nursery as a fork of itself, its exit status, and what came on its errors."""
    code = FORKING.format(folder=str(Path(__file__).parent), how=how, before=before, then=then)
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, input="what the program is given", capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    return done.stdout.splitlines(), done.returncode, done.stderr


def test_a_nursery_may_be_a_fork_of_a_program_that_begins():
    said, status, errors = program("where")
    assert said == [f"ForkedChild {Path(__file__).parents[3]}  True True", "the program ends"] and status == 0
    assert "printed by Python" in errors and "printed by a kernel" in errors  # and not among what the program says


@pytest.mark.parametrize("closed", [(0,), (0, 1), (0, 1, 2)])
def test_a_program_without_input_or_output_may_be_forked_as_well(closed):
    before = f"[os.close(number) for number in {closed}]"
    then = "words = child.channel.receive().value; child.end(5.0); os._exit(40 + len(words))"
    assert program(before=before, then=then)[1] == 42


def test_a_nursery_that_is_a_fork_hears_no_interrupt_of_the_program():
    said, status, _ = program(then="os.kill(nursery._process.pid, signal.SIGINT)")
    assert said == ["ForkedChild a b", "the program ends"] and status == 0


def test_a_program_with_threads_is_not_forked():
    waiting = "gate = threading.Event(); threading.Thread(target=gate.wait, daemon=True).start()"
    said, status, _ = program(before=waiting)
    assert said == ["Child a b", "the program ends"] and status == 0


def test_after_a_fork_that_was_killed_the_next_child_comes_from_a_fresh_process():
    then = """
child.channel.receive()
child.end(5.0)
os.kill(nursery._process.pid, signal.SIGKILL)
while nursery._process.alive:
    pass
child = nursery.child({"words": tuple[str, ...]}, "answer")
child.channel.send(("a", "b"), "words")
"""
    said, status, _ = program(then=then)
    assert said == ["Child a b", "the program ends"] and status == 0


def test_a_mistake_in_a_fork_is_told_as_in_any_child():
    said, status, errors = program(
        before="nursery = Nursery('no_such_module')", then="nursery._process.channel.receive()"
    )
    assert said == ["the program ends"] and status == 1 and "No module named 'no_such_module'" in errors
