"""Ctrl+C at any moment of any command: one line, status 130, no traceback, never swallowed, and a sound database."""

from __future__ import annotations

import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from command_line import ROOT, SCALE
from tiny_checkpoints import checkpoint

SLICES, TRIES = 20, 25  # 500 in all


def held(pid: int) -> bool:
    """Stop a process where it is; False where it has begun to end, and only the system is still taking it apart."""
    os.kill(pid, signal.SIGSTOP)
    while True:
        state, flags = _state(pid)
        if state in "ZX" or flags & EXITING:
            return False
        if state == "T":
            return True
        time.sleep(0.0005)


def _state(pid: int) -> tuple[str, int]:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return words[0], int(words[6])


EXITING = 0x4  # PF_EXITING of Linux


def pythons_own(said: str) -> bool:
    """Whether all of a traceback is of Python's start, before any line of ours."""
    places = re.findall(r'File "([^"]*)"', said)
    return bool(places) and not any(place.startswith(str(ROOT)) for place in places)


class Tried:
    """Commands in processes that lead a session of their own, as a shell's do, with a database and a cache."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.database = folder, folder / "traces.db"
        self.source = folder / "scale.py"
        self.source.write_text(SCALE)
        quick = ("--repeat", "20", "--processes", "2", "--threads", "1")
        flows = ("-O", "0", "--debug", "none", "--repeat", "1", "--no-start-up")
        self.commands = [
            ("run", self.source, *quick), ("run", "sample:mlp", "--check", *quick), ("compile", "sample:mlp"),
            ("compile", "sample:softmax", "--no-cache", "--emit", "asm"), ("flows", self.source, *flows), ("runs",),
            ("runs", "--json"), ("compare", "1", "2"), ("compare", "1", "2", "--again"), ("runs", "vacuum"),
            ("report", "1", "-o", folder / "r.html"), ("export", "1", "--format", "perfetto", "-o", folder / "t.json"),
            ("cache", "info"), ("devices",), ("samples",), ("--help",), ("gui", "sample:mlp"), ("completion", "bash"),
            ("compile", self.source, "--repeat", "2"), ("runs", "history", self.source), ("runs", "search", "mo"),
            ("run", self.source, *quick, "--sample"), ("hot", "1"), ("kernels",), ("cluster", "plan", self.source),
            ("bisect", "1", "2", "--kind", "wrong", "--bound", "1e-30"),
            ("compile", self.source, "-o", folder / "m.kgx"),
            ("sweep", self._spec(), "--db", folder / "sweep-{turn}.db"),
            ("generate", checkpoint(folder / "model"), "--tokens", "1,2,3", "-n", "8", "--no-cache"),
        ]  # fmt: skip
        self.lengths: dict[int, float] = {}
        self._turn = 0

    def _spec(self) -> Path:
        """A sweep of two cells; each time it is called with a database of its own, so that there is something to do."""
        spec = self.folder / "spec.toml"
        spec.write_text("sources = ['scale.py']\nlevels = [0, 3]\n")
        return spec

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        environment = {
            **os.environ, "PYTHONPATH": str(ROOT), "KERNELGLASS_DB": str(self.database), "PYTHONUNBUFFERED": "1",
            "KERNELGLASS_CACHE": str(self.folder / "cache"), "KERNELGLASS_CONFIG": str(self.folder / "config"),
            "XDG_DATA_HOME": str(self.folder / "data"), "QT_QPA_PLATFORM": "offscreen",
        }  # fmt: skip
        self._turn += 1
        words = [str(argument).replace("{turn}", str(self._turn)) for argument in arguments]
        command = [sys.executable, "-m", "app", *words]
        return subprocess.Popen(
            command, cwd=self.folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip

    def length(self, number: int) -> float:
        """How long a command takes when nobody interrupts it; a window stays."""
        if number not in self.lengths:
            begun = time.monotonic()
            if self.commands[number][0] == "gui":
                return 4.0
            process = self.start(*self.commands[number])
            _, said = process.communicate(timeout=300)
            assert process.returncode == 0, said
            self.lengths[number] = time.monotonic() - begun
        return self.lengths[number]

    def interrupt(self, number: int, after: float) -> str | None:
        """Ctrl+C so many seconds after the start; what is wrong with how it ended, in words.

        None where it came before the program's first line, or after its last: nobody was there to hear it.
        """
        process = self.start(*self.commands[number])
        try:
            _, said = process.communicate(timeout=after)
            over = True
        except subprocess.TimeoutExpired:
            over = not held(process.pid)
            if not over:
                os.killpg(process.pid, signal.SIGINT)
                os.killpg(process.pid, signal.SIGCONT)
        if over:
            _, said = process.communicate(timeout=60)
            return None if process.returncode == 0 and "Traceback" not in said else f"ended by itself: {said}"
        try:
            _, said = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return "swallowed: it did not end"
        if process.returncode in (-signal.SIGINT, 1) and pythons_own(said):  # 1 where it cannot load what runs modules
            return None
        if process.returncode != 130:
            return f"status {process.returncode}: {said}"
        if "Traceback" in said or "Exception ignored" in said or "interrupted" not in said:
            return f"said {said!r}"
        return ""

    def sound(self) -> None:
        connection = sqlite3.connect(self.database)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()
        assert self.start("runs").wait(60) == 0  # whatever was under way is marked by whoever opens it next
        connection = sqlite3.connect(self.database)
        assert connection.execute("SELECT count(*) FROM runs WHERE status = 'running'").fetchone() == (0,)
        connection.close()


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    made = Tried(tmp_path_factory.mktemp("interrupts"))
    for more in (("--sample",), ()):
        assert made.start(*made.commands[0], *more).wait(120) == 0
    return made


@pytest.fixture(scope="module")
def interpreter_start() -> float:
    """Until Python itself has started it is not ours to answer: seconds that it takes to reach a first line."""
    took = []
    for _ in range(5):
        begun = time.monotonic()
        subprocess.run([sys.executable, "-c", "import runpy"], check=True)
        took.append(time.monotonic() - begun)
    return max(took)


def test_while_it_loads(tried, interpreter_start):
    for step in range(6):
        assert tried.interrupt(5, interpreter_start + 0.03 * step) in ("", None)
    tried.sound()


def test_while_it_runs(tried):
    """While a child is timed, and its parent waits for it."""
    process = tried.start("run", "sample:mlp", "--budget", "60", "--processes", "1")
    connection = sqlite3.connect(tried.database, timeout=30)
    while connection.execute("SELECT count(*) FROM runs WHERE status = 'running'").fetchone() == (0,):
        assert process.poll() is None
        time.sleep(0.05)
    connection.close()
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and said.strip().splitlines()[-1] == "kernelglass: interrupted"
    connection = sqlite3.connect(tried.database)
    newest = connection.execute("SELECT status, error FROM runs ORDER BY id DESC LIMIT 1").fetchone()
    connection.close()
    assert newest == ("interrupted", "interrupted by the user")


def test_a_bisection_that_is_stopped_says_what_it_knows_and_that_it_was_interrupted(tried):
    process = tried.start("bisect", "1", "2", "--kind", "wrong", "--bound", "1e-30")
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("1. "):
            break
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and said.splitlines()[-1] == "kernelglass: interrupted"


def test_a_table_that_is_kept_says_that_it_was_interrupted(tried):
    process = tried.start("flows", tried.source, "-O", "0", "--debug", "none", "--repeat", "50", "--no-start-up")
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("[3/"):
            break
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and said.count("interrupted") == 1
    assert said.splitlines()[-1] == "kernelglass: interrupted"


def test_repeats_that_were_not_all_made_are_no_answer(tried):
    process = tried.start("compile", tried.source, "--repeat", "50")
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("[1/"):
            break
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and said.split() == ["kernelglass:", "interrupted"]


@pytest.mark.gui
def test_a_window_that_is_closed_so_says_it(tried):
    process = tried.start("gui", "sample:mlp")
    while not psutil.Process(process.pid).children():  # the window is there when it has a worker to open the source
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(1)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and said.count("interrupted") == 1
    assert said.splitlines()[-1] == "kernelglass: interrupted"


SWALLOWS = (
    """
import pathlib, time
try:
    pathlib.Path(__file__).with_suffix(".begun").touch()
    time.sleep(60)
except BaseException:
    pass
"""
    + SCALE
)
DESTRUCTOR = (
    """
import pathlib, time
class Slow:
    def __del__(self):
        pathlib.Path(__file__).with_suffix(".begun").touch()
        time.sleep(1.5)
thing = Slow()
del thing
time.sleep(60)
"""
    + SCALE
)


@pytest.mark.parametrize("code", [SWALLOWS, DESTRUCTOR], ids=["swallowed", "in a destructor"])
def test_code_that_swallows_it_does_not_hide_it(tried, code):
    source = tried.folder / "swallows.py"
    source.write_text(code)
    begun = source.with_suffix(".begun")
    begun.unlink(missing_ok=True)
    process = tried.start("compile", source)
    while not begun.exists():
        assert process.poll() is None
        time.sleep(0.02)  # for another process, which says where it is in a file
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in said and "Exception ignored" not in said
    assert "kernelglass: interrupted" in said


LATE = """
import os, threading, time
import app.cli.interrupts as interrupts
threading._register_atexit(time.sleep, 0.2)  # while the program waits for its threads
press = compile("os.kill(os.getpid(), 2)", "<frozen importlib._bootstrap>", "exec")
interrupts.run_program(lambda: exec(press, {"os": os}) or 0)
"""


def test_one_that_waits_for_an_import_does_not_come_after_the_work():
    done = subprocess.run([sys.executable, "-c", LATE], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, "kernelglass: interrupted\n")


def test_a_program_started_without_it_is_not_interrupted(tried):
    code = "import signal, subprocess as s, sys; signal.signal(2, signal.SIG_IGN); sys.exit(s.call(sys.argv[1:]))"
    process = subprocess.Popen(
        [sys.executable, "-c", code, sys.executable, "-m", "app", "samples"], cwd=ROOT, stdout=subprocess.DEVNULL
    )
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", range(SLICES))
def test_at_random_moments_over_all_commands(tried, interpreter_start, number):
    draw = random.Random(number)
    wrong = []
    for turn in range(TRIES):
        command = (number * TRIES + turn) % len(tried.commands)
        found = None
        while found is None:  # until one was heard
            after = draw.uniform(interpreter_start, max(tried.length(command), interpreter_start + 0.1))
            found = tried.interrupt(command, after)
        if found:
            wrong.append((tried.commands[command][:2], round(after, 3), found))
    assert not wrong, "\n".join(map(str, wrong))
    tried.sound()
