"""Memory of a process and what it started, counted from zero."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from profiler.measure.tree_memory import process_bytes, tree_bytes, tree_of, watched

ROOT = Path(__file__).parents[2]
MIB = 1 << 20
HOLDS = "held = bytearray(b'x') * (64 << 20); print('there', flush=True); input()"
PARENT = f"""
import subprocess, sys
inner = subprocess.Popen([sys.executable, "-c", {HOLDS!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
inner.stdout.readline()
print("there", flush=True)
input()
inner.communicate(b"\\n")
"""

pytestmark = pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="the system tells no PSS")


def test_what_a_process_started_is_counted_with_it():
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=pipe, stdout=pipe, text=True) as process:
        with watched(process.pid) as peak:
            assert process.stdout and process.stdout.readline() == "there\n"
            whole = tree_bytes(process.pid)
            assert len(tree_of(process.pid)) == 2
            assert 64 * MIB < whole < 100 * MIB and process_bytes(process.pid) < 30 * MIB
            until = time.monotonic() + 30  # it looks now and then, and may not have looked since the memory was there
            while peak.bytes <= 64 * MIB and time.monotonic() < until:
                time.sleep(0.01)
            process.communicate("\n")
        assert peak.bytes > 64 * MIB
    assert tree_bytes(process.pid) == 0


def test_the_highest_figure_of_a_process_does_not_begin_with_its_parents():
    code = """
import resource, subprocess, sys
held = bytearray(b"x") * (200 << 20)
inner = "from profiler.measure.tree_memory import highest_resident; print(highest_resident())"
print(subprocess.run([sys.executable, "-c", inner], capture_output=True, text=True, close_fds=False).stdout)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert 1 * MIB < int(done.stdout) < 100 * MIB, done
