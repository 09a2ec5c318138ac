"""What a command does before the command line is loaded: a sweep's process begins to load the compiler, never for
nothing; other commands load sooner, and are the same."""

import os
import signal
import subprocess
import sys
from time import monotonic, sleep

import psutil
import pytest
from command_line import ROOT, SCALE

from app.cli import head_start
from app.cli.main import main
from app.sweep import packing
from app.sweep.cell_work import KNOWN
from app.sweep.child import CompileTask
from compiler.options import CompileOptions
from compiler.processes.frames import opened

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes start afresh elsewhere")


@pytest.fixture
def begun(monkeypatch):
    """What was begun by the words of a command."""
    monkeypatch.setattr(head_start, "_begun", made := [])
    yield made
    for nursery in made:
        nursery.close()


def test_a_sweep_is_given_the_process_that_was_begun_and_the_next_one_another(begun):
    head_start.begin(["sweep", "small.toml", "--jobs", "2"])
    (first,) = begun
    assert head_start.sweep_nursery() is first and not begun
    second = head_start.sweep_nursery()
    assert second is not first
    for nursery in (first, second):
        nursery.close()


@pytest.mark.parametrize("words", [["--scheduler", "local"], ["--scheduler=tcp://127.0.0.1:9"]])
def test_a_sweep_on_a_cluster_is_given_a_process_that_packs_its_cells(begun, words):
    head_start.begin(["sweep", "small.toml", *words])
    (first,) = begun
    assert head_start.sweep_nursery(spread=True) is first
    child = first.child(packing.ANSWERS)
    child.channel.send(packing.Cells((CompileTask("sample:softmax", CompileOptions("cpu")),)))
    sent = opened(child.channel.receive().value.parcel, KNOWN)
    assert (sent.source, sent.options.target) == ("sample:softmax", "cpu")
    child.end()
    first.close()


@pytest.mark.parametrize(
    "words",
    [
        [], ["samples"], ["run", "sweep"], ["sweep", "--help"], ["sweep", "a.toml", "--table"],
        ["sweep", "a.toml", "--scheduler", "local", "--table"],
    ],
)  # fmt: skip
def test_nothing_is_begun_for_commands_that_do_no_cells(begun, words):
    head_start.begin(words)
    assert not begun


def test_what_is_begun_has_nothing_of_the_command_line_loaded():
    code = (
        "import sys, app.cli.main, app.cli.head_start, compiler.processes.nursery; "
        "print(*sorted(name for name in sys.modules if name.startswith(('click', 'app'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout == "app app.cli app.cli.head_start app.cli.interrupts app.cli.main\n"


def left_in(session: int) -> list[int]:
    """The processes of a session that have not ended."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except (OSError, psutil.Error):
            continue
    return found


def ended(session: int) -> bool:
    limit = monotonic() + 60
    while left_in(session) and monotonic() < limit:
        sleep(0.05)
    return not left_in(session)


@pytest.mark.parametrize("words", [("none.toml",), ("scale.toml", "--nonsense"), ()])
def test_of_a_command_that_was_mistaken_no_process_is_left(tmp_path, words):
    command = [sys.executable, "-m", "app", "sweep", *words]
    client = subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    _, said = client.communicate(timeout=60)
    assert client.returncode == 2 and said.count("\n") == 1
    assert ended(client.pid)


def test_of_a_sweep_that_is_killed_no_process_is_left(tmp_path):
    (tmp_path / "scale.py").write_text(SCALE)
    (tmp_path / "small.toml").write_text("sources = ['scale.py']\nlevels = [0, 1, 2, 3]\n")
    command = [sys.executable, "-m", "app", "sweep", "small.toml", "--db", str(tmp_path / "kept.db"), "--jobs", "2"]
    client = subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    while len(left_in(client.pid)) < 2 and client.poll() is None:
        sleep(0.005)
    client.send_signal(signal.SIGKILL)
    client.wait()
    assert ended(client.pid)


def test_what_its_processes_call_is_compiled_by_the_first_sweep(tmp_path):
    (tmp_path / "scale.py").write_text(SCALE)
    (tmp_path / "small.toml").write_text("sources = ['scale.py']\nlevels = [0, 1]\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "KERNELGLASS_CACHE": str(tmp_path / "cache")}
    written = []
    for turn in range(2):
        command = [sys.executable, "-m", "app", "sweep", "small.toml", "--jobs", "1", "--db", f"{turn}.db"]
        subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True, timeout=120)
        (entry,) = [path for path in (tmp_path / "cache" / "methods").rglob("*") if path.is_file()]
        written.append((entry.stat().st_ino, entry.stat().st_size))
    assert written[0] == written[1] and written[0][1] > 10_000


def output(tmp_path, *words):
    """What a command prints, as a program with a cache of its own; and what it left there to load sooner."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "KERNELGLASS_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-m", "app", *words],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    left = [path for path in (tmp_path / "cache" / "methods").rglob("*") if path.is_file()]
    return done.stdout, [(path.stat().st_ino, path.stat().st_size) for path in left]


def test_a_command_that_loads_sooner_prints_the_same_and_leaves_what_helps_the_next(tmp_path, capsys):
    (tmp_path / "scale.py").write_text(SCALE)
    words = "compile", str(tmp_path / "scale.py"), "--no-cache", "--emit", "kernel"
    assert main(words) == 0
    here = capsys.readouterr().out
    first, left = output(tmp_path, *words)
    again, kept = output(tmp_path, *words)
    assert first == again == here
    assert len(left) == 1 and left[0][1] > 10_000 and kept == left, "the second has nothing new"


@pytest.mark.parametrize("words", [("samples",), ("compile", "--help"), ("--version",)])
def test_commands_that_make_few_records_have_nothing_to_load_sooner(tmp_path, words):
    assert output(tmp_path, *words)[1] == []


def test_libraries_that_a_file_loads_make_records_as_python_does(tmp_path):
    theirs = """
import inspect
from dataclasses import dataclass

@dataclass
class Size:
    rows: int

assert str(inspect.signature(Size)) == "(rows: int) -> None" and Size.__doc__ == "Size(rows: int)"
"""
    (tmp_path / "scale.py").write_text(theirs + SCALE)
    assert "scale" in output(tmp_path, "compile", "scale.py", "--no-cache")[0]
