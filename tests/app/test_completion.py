"""What the shell completes, and where the script is put."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from command_line import ROOT

QUICK = ("--repeat", "2", "--processes", "1", "--threads", "1", "--tag", "before-fix")


def completed(words: str, **more: str) -> list[str]:
    """The words that bash would offer for the last one."""
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "_KERNELGLASS_COMPLETE": "bash_complete", "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1), **more,
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-m", "app"], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


def test_samples_targets_and_commands_are_known():
    assert "sample:mlp" in completed("kernelglass run sample:ml")
    assert {"sm_90", "sm_90a"} <= set(completed("kernelglass compile sample:mlp --target sm_9"))
    assert {"report", "run", "runs"} <= set(completed("kernelglass r"))


def test_runs_and_tags_are_known(kernelglass, tmp_path):
    assert kernelglass("run", "sample:softmax", *QUICK)[0] == 0
    database = {"KERNELGLASS_DB": str(tmp_path / "traces.db")}
    assert {"1", "before-fix", "latest"} <= set(completed("kernelglass report ", **database))
    assert completed("kernelglass compare befo", **database) == ["before-fix"]
    assert completed("kernelglass runs --tag b", **database) == ["before-fix"]


@pytest.mark.parametrize("content", [None, b"not a database"])
def test_a_database_that_does_not_read_offers_no_runs(tmp_path, content):
    path = tmp_path / "t.db"
    if content is not None:
        path.write_bytes(content)
    assert completed("kernelglass report 1", KERNELGLASS_DB=str(path)) == []
    assert path.exists() == (content is not None)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_one_command_installs_it(kernelglass, tmp_path, monkeypatch, shell):
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    for _ in range(2):
        status, out, err = kernelglass("completion", "--install")
        assert (status, err) == (0, "") and "a new shell has it" in out
    (script,) = [path for path in tmp_path.rglob("*kernelglass*") if path.is_file() and "db" not in path.name]
    assert "_KERNELGLASS_COMPLETE" in script.read_text()
    if shell == "zsh":
        assert (tmp_path / ".zshrc").read_text().count("kernelglass completion") == 1


def test_an_unknown_shell_is_one_line(kernelglass, monkeypatch):
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    status, out, err = kernelglass("completion")
    assert (status, out) == (2, "") and "bash, zsh, fish" in err and err.count("\n") == 1


def test_bash_itself_completes_with_the_script(kernelglass, tmp_path):
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash here")
    script, program = tmp_path / "script", tmp_path / "kernelglass"
    script.write_text(kernelglass("completion", "bash")[1])
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m app "$@"\n')
    program.chmod(0o755)
    words = (
        f"source {script}; COMP_WORDS=(kernelglass run sample:ml); COMP_CWORD=2; "
        "_kernelglass_completion kernelglass; echo ${COMPREPLY[@]}"
    )
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([bash, "-c", words], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["sample:mlp"], done.stderr
