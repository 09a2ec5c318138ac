"""Addresses where no scheduler is, or none for us: one clear line, the right status, and nobody waits for ever."""

import http.server
import os
import shutil
import socket
import subprocess
import sys
import threading
import time

import pytest
from command_line import ROOT, SCALE, assert_one_line

pytest.importorskip("distributed")

from app.cluster import joining
from app.cluster.joining import joined


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(joining, "_CONNECT", 1.5)


@pytest.fixture
def given_up_soon(_short, monkeypatch):
    """Where nobody ever answers, whoever waits longer hears no more."""
    monkeypatch.setattr(joining, "_CONNECT", 0.3)


@pytest.mark.parametrize(
    "address, status",
    [("", 2), ("nowhere", 2), ("tcp://", 2), ("ftp://127.0.0.1:1", 2), ("http://127.0.0.1:1", 2),
     ("tcp://127.0.0.1", 4), ("tcp://127.0.0.1:0", 4), ("tcp://127.0.0.1:99999", 4), ("tcp://127.0.0.1:x", 4),
     ("tcp://[::1", 4), ("tcp://no-such-host.invalid:8786", 4), ("tcp://127.0.0.1:9\nx", 4), ("tcp://\x1b[31m:1", 4),
     ("inproc://x", 2), ("ucx://127.0.0.1:9", 4), ("ws://127.0.0.1:9", 4), ("tcp://" + "a" * 5000 + ":1", 4),
     ("tls://127.0.0.1:9", 4), ("tcp://127.0.0.1:8786/cpu", 4)],
    ids=lambda value: str(value).encode("unicode_escape").decode()[:24],
)  # fmt: skip
def test_an_address_that_is_wrong_is_one_line(kernelglass, address, status):
    assert_one_line(kernelglass("cluster", "status", address), status)


@pytest.fixture
def port():
    """A port of this machine at which somebody listens who says what the test has him say."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


@pytest.mark.usefixtures("given_up_soon")
def test_somebody_who_never_answers_is_given_up(kernelglass, port):
    address = f"tcp://127.0.0.1:{port.getsockname()[1]}"
    assert_one_line(kernelglass("cluster", "status", address), 4, f"no scheduler at {address}")


@pytest.mark.parametrize(
    "said", [b"SSH-2.0-OpenSSH_9.2\r\n", b"\xff" * 64, bytes(64), b"\x01" + bytes(7) + b"\xff" * 8, b""],
    ids=["ssh", "ones", "zeros", "a huge frame", "nothing"],
)  # fmt: skip
def test_somebody_who_talks_of_other_things_is_no_scheduler(kernelglass, port, said):
    def talk():
        while True:
            try:
                other, _ = port.accept()
            except OSError:
                return
            with other:
                try:
                    other.sendall(said)
                    other.settimeout(0.2)
                    other.recv(100)
                except OSError:
                    pass

    threading.Thread(target=talk, daemon=True).start()
    address = f"tcp://127.0.0.1:{port.getsockname()[1]}"
    assert_one_line(kernelglass("cluster", "status", address), 4, f"no scheduler at {address}")
    port.close()


@pytest.mark.usefixtures("given_up_soon")
def test_a_web_server_is_no_scheduler(kernelglass):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.server_address[1]}"
        assert_one_line(kernelglass("cluster", "status", address), 4, f"no scheduler at {address}")
        server.shutdown()


@pytest.fixture(scope="module")
def empty():
    """A scheduler that nobody works for."""
    import dask
    import distributed

    with dask.config.set({"distributed.scheduler.allowed-failures": 3}):
        cluster = distributed.LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0")
    with cluster:
        yield cluster.scheduler_address


@pytest.fixture
def worker(empty, tmp_path):
    """Start a worker of that scheduler with another folder of this program, or another file that it loads first."""
    started = []

    def start(root, preload, *more):
        environment = os.environ | {"PYTHONPATH": f"{root}{os.pathsep}{tmp_path}"}
        command = [sys.executable, "-m", "distributed.cli.dask_worker", empty, "--nthreads", "1", "--no-dashboard",
                   "--no-nanny", "--local-directory", str(tmp_path), "--preload", preload, *more]  # fmt: skip
        started.append(
            subprocess.Popen(command, cwd=root, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        )
        with joined(empty) as cluster:
            cluster.client.wait_for_workers(1, timeout=60)

    yield start
    with joined(empty) as cluster:
        for process in started:
            process.kill()
            process.wait()
        while cluster.addresses():
            time.sleep(0.02)  # for the scheduler to see that it is gone


def test_a_scheduler_that_nobody_works_for_says_so(kernelglass, empty, tmp_path):
    (tmp_path / "scale.py").write_text(SCALE)
    spec = tmp_path / "small.toml"
    spec.write_text('sources = ["scale.py"]')
    for command in (("sweep", spec), ("flows", tmp_path / "scale.py"), ("compile", tmp_path / "scale.py")):
        assert_one_line(kernelglass(*command, "--scheduler", empty), 4, "has no worker for us", "dask worker")
    assert_one_line(kernelglass("run", tmp_path / "scale.py", "--device", f"{empty}/cpu"), 4, "has no worker for us")
    status, out, _ = kernelglass("cluster", "status", empty)
    assert status == 0 and "no workers" in out


def test_a_worker_with_another_compiler_is_given_nothing(kernelglass, empty, worker, tmp_path):
    root = tmp_path / "other"
    for room in ("app", "compiler", "kernels", "profiler", "resources"):
        shutil.copytree(ROOT / room, root / room)  # with what Python compiled, which takes longer than all else
    (root / "kernels" / "one_more.py").write_text("# another release\n")
    worker(root, "app.cluster.preload")
    (tmp_path / "scale.py").write_text(SCALE)
    result = kernelglass("compile", tmp_path / "scale.py", "--scheduler", empty)
    assert_one_line(result, 4, "has no worker for us", "another version of kernelglass")
    assert "another version" in kernelglass("cluster", "status", empty)[1]


def test_a_worker_that_says_nonsense_of_itself_is_given_nothing(kernelglass, empty, worker, tmp_path):
    (tmp_path / "nonsense.py").write_text(
        "def dask_setup(worker):\n    worker.startup_information['kernelglass'] = lambda _: b'\\xff' * 40\n"
    )
    worker(ROOT, "nonsense")
    (tmp_path / "scale.py").write_text(SCALE)
    assert_one_line(kernelglass("compile", tmp_path / "scale.py", "--scheduler", empty), 4, "has no worker for us")


def test_a_worker_with_another_dask_is_no_reason_for_more_words(kernelglass, empty, worker, tmp_path):
    (tmp_path / "older.py").write_text(
        "import dask, distributed\ndask.__version__ = distributed.__version__ = '2020.1.0'\n"
        "from app.cluster.preload import dask_setup\n"
    )
    worker(ROOT, "older")
    (tmp_path / "scale.py").write_text(SCALE)
    status, out, err = kernelglass("compile", tmp_path / "scale.py", "--scheduler", empty, "--no-cache")
    assert (status, err) == (0, "") and "exp" in out


def test_a_card_is_not_found_where_there_is_none(kernelglass, empty, worker, tmp_path):
    worker(ROOT, "app.cluster.preload")
    (tmp_path / "scale.py").write_text(SCALE)
    for device in ("cuda", "cuda:0", "cuda:7"):
        result = kernelglass("run", tmp_path / "scale.py", "--device", f"{empty}/{device}")
        assert_one_line(result, 4, "has a card")
