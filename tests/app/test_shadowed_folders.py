"""Whoever works in a folder that has an `app`, a `compiler` or a `profiler` of its own gets ours all the same."""

import os
import subprocess
import sys

import pytest
from command_line import ROOT, SCALE

COMMANDS = {
    "run": ("run", "scale.py", "--repeat", "2", "--processes", "1"),
    "flows": ("flows", "scale.py", "--repeat", "1", "--debug", "none", "--no-start-up"),
    "workers": ("compile", "sample:many-kernels:24", "--no-cache", "--jobs", "2", "-O", "3"),
}


@pytest.fixture
def folder(tmp_path):
    for name in ("app", "compiler", "profiler", "kernels", "resources"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise SystemExit('this is the {name} of somebody else')\n")
    (tmp_path / "scale.py").write_text(SCALE)
    return tmp_path


def started(folder, *command):
    """As the installed command starts: the folder one works in is not on the path."""
    code = "import sys; from app.cli.main import main; sys.exit(main(sys.argv[1:]))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "KERNELGLASS_CACHE": str(folder / "cache")}
    return subprocess.run(
        [sys.executable, "-P", "-c", code, *command], cwd=folder, env=environment, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_start_our_own_processes(folder, name):
    done = started(folder, *COMMANDS[name])
    assert done.returncode == 0 and "somebody else" not in done.stderr, done.stderr


def test_the_windows_worker_is_ours(folder):
    code = """
import sys
from PySide6.QtCore import QCoreApplication, QTimer
from app.controllers.jobs import Worker
from app.viewmodels.requests import DevicesRequest
application = QCoreApplication([])
said = []
worker = Worker("store")
worker.submit(DevicesRequest(), lambda reply: (said.append(reply), application.quit()))
QTimer.singleShot(60_000, application.quit)
application.exec()
worker.stop()
print(said)
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    assert "DeviceRow" in done.stdout and "somebody else" not in done.stderr, done.stderr
