"""What the window measures is not timed at the niceness its worker gives itself."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROGRAM = """
import os, subprocess, sys, threading
from compiler.processes.own_priority import OwnPriority

mine = lambda: os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
child = [sys.executable, "-c", "import os; print(os.getpriority(os.PRIO_PROCESS, 0))"]
begun = mine()
usual = OwnPriority()
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


TIMED = """
import os, threading
from app.worker import main, store_jobs
from app.viewmodels.requests import CeilingsRequest, FlowsRequest, ListRunsRequest
from app.viewmodels.runs.bisecting import BisectRequest
from app.viewmodels.runs.serving import GenerateRequest
from app.viewmodels.runs.tuning import TuneRequest

def mine(*_):
    return os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

os.sched_getaffinity = lambda _: set(range(CORES))
begun = mine()
handlers = main._Handlers(main.OwnPriority())
main.give_way()
timed = CeilingsRequest, FlowsRequest, BisectRequest, GenerateRequest, TuneRequest
store_jobs._JOBS.update(dict.fromkeys((*timed, ListRunsRequest), mine))
for kind in timed:
    told = handlers.answer(kind.__new__(kind), None)
    assert told == begun, (kind, told)
print(handlers.answer(ListRunsRequest.__new__(ListRunsRequest), None) == (os.SCHED_BATCH, min(begun[1] + NICE, 19)))
"""


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="Linux alone has it")
@pytest.mark.parametrize(("cores", "nice"), [(2, 10), (16, 5)])
def test_a_worker_gives_way_in_all_that_is_not_timed_and_more_where_cores_are_few(cores, nice):
    program = TIMED.replace("CORES", str(cores)).replace("NICE", str(nice))
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
