"""Temporary folders of killed processes are taken away by the next one, and nobody else's are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from compiler.temporary import clear_abandoned, make_folder, temporary_folder

ROOT = Path(__file__).parents[2]
MAKES = "import time; from compiler.temporary import make_folder as m; print(m('run'), flush=True); time.sleep(60)"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def killed(folder):
    """The folder of a process that was killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", MAKES],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    made = Path(process.stdout.readline().strip())
    (made / "inputs.bin").write_bytes(b"secret")
    assert clear_abandoned() == 0 and made.exists()  # it is alive
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    return made


def test_the_next_one_clears_what_a_killed_one_left(killed):
    with temporary_folder("flows") as folder:
        assert not killed.exists() and Path(folder).is_dir()
    assert not Path(folder).exists()


def test_a_run_clears_what_a_killed_one_left(killed, tmp_path):
    from app.cli.main import main

    assert main(["run", "sample:softmax", "--repeat", "2", "--processes", "1", "--no-db"]) == 0
    assert not killed.exists()


def test_nothing_else_is_taken(folder, killed):
    strangers = [folder / "kernelglass-mine", folder / "other", folder / "kernelglass-link"]
    for stranger in strangers[:2]:
        stranger.mkdir()
        (stranger / "letter").write_text("mine")
    outside = folder / "outside"
    outside.mkdir()
    (outside / "letter").write_text("mine")
    strangers[2].symlink_to(outside, target_is_directory=True)
    (killed / "link").symlink_to(outside, target_is_directory=True)
    own = make_folder("run")
    assert all((stranger / "letter").read_text() == "mine" for stranger in strangers) and not killed.exists()
    assert Path(own).is_dir() and clear_abandoned() == 0
