"""Which process something belongs to: told apart from every other, a fork of it included."""

import json
import os
import platform
import sys

import psutil
import pytest

from compiler.processes.identity import is_alive, process_mark


def test_a_process_has_one_mark_while_it_lives():
    assert process_mark() == process_mark() and is_alive(process_mark())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it is told when a process began")
@pytest.mark.parametrize("seconds", [-3600.0, 0.5, 86400.0])
def test_a_process_lives_on_when_the_clock_is_set(monkeypatch, seconds):
    own = process_mark()
    told = psutil.Process.create_time
    monkeypatch.setattr(psutil.Process, "create_time", lambda process: told(process) + seconds)
    assert is_alive(own) and process_mark() == own


def test_marks_of_earlier_versions_are_understood():
    host, pid, _ = json.loads(process_mark())
    began = psutil.Process().create_time()
    assert is_alive(json.dumps([host, pid, began])) and not is_alive(json.dumps([host, pid, began - 60]))


@pytest.mark.parametrize("began", ["", "another 17", None, [], 17])
@pytest.mark.parametrize("pid", [0, -1, 1 << 70, "self", "../self", None])
def test_what_is_no_mark_is_nobody(pid, began):
    assert not is_alive(json.dumps([platform.node(), pid, began]))
    assert not is_alive("[]") and not is_alive("{")


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
def test_a_fork_has_a_mark_of_its_own_which_ends_with_it():
    ours = process_mark()
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writes, process_mark().encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        theirs = pipe.read()
    os.waitpid(pid, 0)
    assert theirs and theirs != ours and not is_alive(theirs)
