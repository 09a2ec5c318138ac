"""Messages of one kind that arrive in several threads at once, the first time that any of them does."""

from __future__ import annotations

import subprocess
import sys

FIRST_TIMES = """
import sys, threading
from dataclasses import make_dataclass

from compiler.processes.frames import opened, parcel

THREADS = 4
kinds, parcels = {}, []
for number in range(100):
    inner = make_dataclass(f"Inner{number}", [(f"field_{at}", int) for at in range(20)])
    kind = make_dataclass(f"Outer{number}", [("one", inner), ("many", tuple[inner, ...]), ("named", dict[str, inner])])
    value = inner(*range(20))
    kinds[kind.__name__] = kind
    parcels.append(parcel(kind(value, (value,), {"a": value})))
meet, read = threading.Barrier(THREADS), []

def work():
    for each in parcels:
        meet.wait()
        read.append(opened(each, kinds).many[0].field_19)

sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=work) for _ in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(read), set(read))
"""


def test_threads_that_meet_a_kind_of_message_at_once_all_read_it():
    found = subprocess.run([sys.executable, "-c", FIRST_TIMES], capture_output=True, text=True)
    assert (found.returncode, found.stdout.strip()) == (0, "400 {19}"), found.stderr
