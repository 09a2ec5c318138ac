"""The line that says how far a long command is: on a terminal one that updates and goes, on a pipe nothing."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import pytest
from command_line import ROOT, in_a_process

from app.cli.progress import duration, line

RUN = ("run", "sample:softmax", "--repeat", "48", "--processes", "2", "--threads", "1", "--no-db")
MEASURING_IN_FORKS = "import measuring_in_forks\nfrom app.cli.main import main\nraise SystemExit(main())"


def on_a_terminal(*arguments: str, program: tuple[str, ...] = ("-m", "app"), **more: str) -> tuple[int, str]:
    """A command whose stderr is a terminal; its status and what it wrote there."""
    ours, theirs = pty.openpty()
    path = os.pathsep.join(map(str, (ROOT, ROOT / "tests" / "measuring")))
    environment = {**os.environ, "PYTHONPATH": path, "TERM": "xterm", **more}
    process = subprocess.Popen(
        [sys.executable, *program, *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=theirs
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        said += part
    os.close(ours)
    return process.wait(60), said.decode()


def test_a_run_tells_a_terminal_how_far_it_is_and_leaves_nothing():
    status, said = on_a_terminal(*RUN)
    assert status == 0 and "process 2" in said and re.search(r" 5\d%", said) and "left" in said
    assert said.endswith("\r\x1b[K") and "\n" not in said


def test_a_compilation_never_goes_back_and_counts_what_llvm_does_beside_it():
    from app.worker.compile_progress import CompileProgress

    told: list[float] = []
    watch = CompileProgress(lambda progress: told.append(progress.done))
    watch("kernels", "4", "")
    for number in range(2):
        watch("kgen", "elaborate", f"k{number}")
    watch("llvm", "emit-llvm", "k0")
    before = told[-1]
    watch("compiled", "0.5", "k0")  # LLVM has done half of what will come, while two kernels are still to be elaborated
    assert before < told[-1] < 0.5
    for number in range(2, 4):
        watch("kgen", "elaborate", f"k{number}")
    watch("machine", "llvm", "4 units")
    watch("compiled", "1.0", "k3")
    assert told[-1] == pytest.approx(0.97)
    watch("link", "link", "")
    assert told == sorted(told) and told[-1] <= 1.0


LONG = {
    "compile": (("compile", "sample:attention", "--no-cache"), "LLVM optimising and emitting: attention_kernel"),
    "cold compiles": (("compile", "sample:softmax", "--repeat", "2"), "2 of 2, "),
    "stages": ((*RUN, "--check", "--stages"), "checking "),  # which runs it once more for each stage
}


@pytest.mark.parametrize("name", LONG)
def test_other_long_commands_tell_it_too(name):
    arguments, words = LONG[name]
    program = ("-c", MEASURING_IN_FORKS) if "--stages" in arguments and sys.platform == "linux" else ("-m", "app")
    status, said = on_a_terminal(*arguments, program=program)
    assert status == 0 and words in said and re.search(r"[1-9]\d%", said)
    assert said.endswith("\r\x1b[K") and "\n" not in said


# All of them are measured in tests/profiler/test_work_and_traffic.py.
TWO_CEILINGS = """
from app.cli.main import main
from profiler.measure.ceilings import cpu_probes as probes
every = probes.cpu_probes
probes.cpu_probes = lambda threads: every(threads)[:2]
raise SystemExit(main())
"""


def test_ceilings_tell_it_and_reports_leave_nothing(tmp_path, runs_at):
    path = str(runs_at(tmp_path / "t.db", 1, "sample:softmax", "--repeat", "48", "--threads", "1"))
    report = ("report", "1", "-o", str(tmp_path / "r.html"), "--ceilings", "--db", path)
    status, said = on_a_terminal(*report, program=("-c", TWO_CEILINGS))
    assert status == 0 and "measuring " in said and re.search(r"[1-9]\d%", said) and "writing the report" in said
    assert said.endswith("\r\x1b[K") and "\n" not in said


def test_a_pipe_gets_nothing():
    done = in_a_process(*RUN)
    assert done.returncode == 0 and done.stderr == ""


@pytest.mark.parametrize(("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colour_where_the_terminal_has_it_and_it_is_wanted(variables, coloured):
    status, said = on_a_terminal("run", "sample:nosuch", **variables)
    assert status == 2 and ("\x1b[31m" in said) == coloured
    assert "there is no sample" in said


def test_the_line_fits_the_terminal_and_its_words_are_plain():
    assert len(line("x" * 500, 0.5, 10, 80)) < 80
    assert "\x1b" not in line("process \x1b[2J", 0.5, 10, 80) and "about 10 s left" in line("a", 0.5, 10, 80)
    assert "left" not in line("a", 0.0, 10, 80) and line("checking", None, 10, 80) == "checking ..."
    assert [duration(x) for x in (0.1, 59, 600, 7200)] == ["1 s", "59 s", "10 min", "2.0 h"]
