"""NumPy for a process that computes next to nothing with it: no threads of its own, and nothing else is changed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CODE = """
import os, psutil
from compiler.processes.numpy_alone import load_numpy_alone
before = dict(os.environ)
load_numpy_alone()
import numpy
print(psutil.Process().num_threads(), dict(os.environ) == before, float(numpy.ones((300, 300)).dot(numpy.ones(300))[0]))
"""


@pytest.mark.parametrize(("asked", "threads"), [(None, {1}), ("1", {1}), ("2", {1, 2})])
def test_no_thread_is_started_unless_the_environment_asks_for_it(asked, threads):
    rest = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    given = {"OPENBLAS_NUM_THREADS": asked} if asked else {}
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=ROOT, env=rest | given, capture_output=True, text=True, timeout=60, check=True
    )
    count, same, product = done.stdout.split()
    assert int(count) in threads and same == "True" and product == "300.0"
