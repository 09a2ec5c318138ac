"""Which process something belongs to: told apart from every other, a fork of it included."""

import os
import sys

import pytest

from compiler.processes.identity import is_alive, process_mark


def test_a_process_has_one_mark_while_it_lives():
    assert process_mark() == process_mark() and is_alive(process_mark())


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
