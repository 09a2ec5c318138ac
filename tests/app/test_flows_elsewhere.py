"""`kernelglass flows --scheduler`: cells measured by a worker, each alone on its machine, as they are measured here."""

import contextlib
import os
import signal
import threading
from pathlib import Path

import psutil
import pytest
from command_line import SCALE, assert_one_line
from forked_workers import forked_workers

pytest.importorskip("distributed")

from app.cluster.joining import joined
from app.cluster.turns import FOLDER_VARIABLE, alone_here, beside_others

CELLS = ("--no-start-up", "--debug", "none", "--repeat", 1)


@pytest.fixture(scope="module")
def cluster():
    """A scheduler with two workers."""
    with forked_workers(), joined("local", 2) as found:
        yield found


@pytest.fixture
def scale(tmp_path):
    path = tmp_path / "scale.py"
    path.write_text(f"import os\nassert os.getpid() == {os.getpid()}, 'read where the command was typed'\n{SCALE}")
    return path


def flow_children():
    """Processes that compile cells for a worker of ours."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "app.worker.sent_flow_child" in " ".join(process.cmdline()):
                found.append(process)
    return found


def test_a_worker_measures_the_cells_and_says_which_machine_it_was(cluster, kernelglass, scale):
    found = document_last(kernelglass("flows", scale, "--scheduler", cluster.address, "--json", "--repeat", 1))
    assert len(found["cells"]) == 8 and len(found["start_up"]) == 4 and found["kernels"] == 1
    for cell in found["cells"]:
        assert cell["peak_bytes"] > 20 << 20 and cell["user_s"] > 0 and cell["elapsed_s"] > 0
    ratios = [cell["memory_ratio"] for cell in found["cells"] if cell["flow"] == "all-kernel"]
    assert all(ratios) and all(cell["first_result_s"] > 0 for cell in found["start_up"])
    cold, warm = (next(c for c in found["cells"] if c["cache"] == cache) for cache in ("cold", "warm"))
    assert warm["compile_s"] < cold["compile_s"]
    assert "by the worker tcp://127.0.0.1:" in found["notes"][0]
    left = [Path(folder) for folders in cluster.client.run(caches).values() for folder in folders]
    assert left == []


def caches():
    from app.flows.cell_work import _folders

    return list(_folders.values())


def test_local_starts_a_worker_for_the_one_command(kernelglass, scale):
    status, text, _ = kernelglass("flows", scale, "--scheduler", "local", *CELLS)
    assert status == 0 and "all-kernel" in text and "by the worker" in text


def test_what_is_wrong_is_one_line_and_the_right_status(cluster, kernelglass, scale, tmp_path):
    assert_one_line(kernelglass("flows", scale, "--scheduler", "tcp://127.0.0.1:9", *CELLS), 4, "no scheduler")
    assert_one_line(kernelglass("flows", scale, "--scheduler", "nowhere", *CELLS), 2, "tcp://HOST:PORT")
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    (kernels / "broken.py").write_text("def exp(:\n")
    status, out, err = kernelglass("flows", scale, "--scheduler", cluster.address, *CELLS, "--library", kernels)
    assert (status, out) == (3, "") and str(kernels / "broken.py") in err.splitlines()[-1]  # as without a scheduler


def test_a_lost_worker_is_replaced_by_one_like_it(cluster, kernelglass, scale):
    killed, moment = [], threading.Event()

    def kill_one():
        while not killed:
            for process in flow_children():
                with contextlib.suppress(psutil.Error):
                    worker = process.parent()
                    assert worker is not None
                    os.kill(worker.pid, signal.SIGKILL)
                    killed.append(worker.pid)
                    return
            moment.wait(0.02)

    killer = threading.Thread(target=kill_one, daemon=True)
    killer.start()
    found = document_last(kernelglass("flows", scale, "--scheduler", cluster.address, "--json", *CELLS))
    killer.join(60)
    assert len(killed) == 1 and len(found["cells"]) == 4
    assert all(cell["repeats"] == 1 for cell in found["cells"])


def document_last(result):
    import json

    status, out, err = result
    assert status == 0, err
    return json.loads(out)


def test_what_is_timed_has_the_machine_for_itself(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "turns"))
    inside, seen, lock = [], [], threading.Lock()

    def turn(how, kind, number):
        with how():
            with lock:
                inside.append(kind)
                seen.append(tuple(inside))
            waited.wait(0.02)
            with lock:
                inside.remove(kind)

    waited = threading.Event()
    threads = [
        threading.Thread(target=turn, args=(alone_here, "timed", n) if n % 3 == 0 else (beside_others, "compiled", n))
        for n in range(18)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(seen) == 18
    assert all("timed" not in together or len(together) == 1 for together in seen)
    assert any(len(together) > 1 for together in seen), "what is only compiled goes on beside each other"


def test_a_turn_of_a_process_that_was_killed_is_over(tmp_path, monkeypatch):
    import subprocess
    import sys

    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "turns"))
    code = "from app.cluster.turns import alone_here\nwith alone_here():\n    print('in', flush=True)\n    input()"
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None and other.stdout.readline() == "in\n"
    other.kill()
    other.wait()
    with alone_here():
        pass
