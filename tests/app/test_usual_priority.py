"""What the window measures is not timed at the niceness its worker gives itself."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """
import os, subprocess, sys, threading
from app.worker.usual_priority import UsualPriority

mine = lambda: os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
child = [sys.executable, "-c", "import os; print(os.getpriority(os.PRIO_PROCESS, 0))"]
begun = mine()
usual = UsualPriority()
os.nice(5)
assert mine() == begun + 5 and usual.call(mine) == begun, (mine(), usual.call(mine))
started = usual.call(lambda: int(subprocess.run(child, capture_output=True, text=True).stdout))
assert started == begun, started
assert threading.active_count() == 1, "a fork stays safe"
try:
    usual.call(lambda: 1 / 0)
except ZeroDivisionError:
    print("said")
assert usual.call(lambda: "again") == "again"
"""


def test_a_thread_begun_before_keeps_the_priority_and_starts_processes_with_it():
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "said\n"), done.stderr
