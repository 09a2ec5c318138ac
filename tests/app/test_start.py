"""Commands and the window load what they use, and no more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = """
import contextlib, io, sys
from app.cli.main import main
with contextlib.redirect_stdout(io.StringIO()):
    status = main(sys.argv[1:])
print(' '.join(sys.modules))
sys.exit(status)
"""
HEAVY = {"numpy", "xdsl", "llvmlite", "ml_dtypes", "sqlite3", "scipy", "jinja2", "pygments", "igraph", "psutil"}
HEAVY |= {"PySide6", "pyqtgraph", "regex", "cuda", "dask", "distributed"}
WINDOW = """
import sys
from PySide6.QtWidgets import QApplication
application = QApplication([])
sheets = []
put = QApplication.setStyleSheet
QApplication.setStyleSheet = lambda self, sheet: (sheets.append(len(QApplication.allWidgets())), put(self, sheet))
from app.main_window import MainWindow
window = MainWindow()
window.show()
window.grab()  # painted, and no turn of the event loop yet
print(len(sheets), sheets[0], len(QApplication.allWidgets()), window.font() == window.look.ui_font)
label = window.welcome.findChildren(__import__("PySide6.QtWidgets").QtWidgets.QLabel)[1]
print(label.font().pixelSize(), window.look.ui_pixels)
print(' '.join(sys.modules), flush=True)
import os; os._exit(0)
"""


def fresh(code: str, folder: Path, *arguments: str) -> list[str]:
    """What a fresh interpreter prints."""
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "KERNELGLASS_CACHE": str(folder / "cache"),
        "KERNELGLASS_DB": str(folder / "traces.db"), "KERNELGLASS_CONFIG": str(folder), "QT_QPA_PLATFORM": "offscreen",
    }  # fmt: skip
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def packages(line: str) -> set[str]:
    return {name.partition(".")[0] for name in line.split()}


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (["--help"], set()),
        (["--version"], set()),
        (["samples"], set()),
        (["run", "--help"], set()),
        (["compile", "--help"], set()),
        (["cache", "info"], set()),
        (["devices"], {"llvmlite", "psutil", "cuda"}),
        (["runs"], {"sqlite3"}),
    ],
)
def test_a_command_loads_what_it_uses(arguments, needed, tmp_path):
    assert packages(fresh(COMMAND, tmp_path, *arguments)[-1]) & HEAVY <= needed


def test_a_sweep_loads_in_its_processes_what_compiles(tmp_path):
    (tmp_path / "small.toml").write_text("sources = ['sample:mlp']\n")
    found = packages(fresh(COMMAND, tmp_path, "sweep", str(tmp_path / "small.toml"), "--jobs", "1")[-1])
    assert found & HEAVY <= {"sqlite3", "psutil", "llvmlite", "cuda"}  # all but the first to say what machine this is


def test_compiling_a_sample_from_the_cache_takes_no_xdsl(tmp_path):
    compile = (
        "import sys\nfrom app.sources import load_source\nfrom compiler import compile\n"
        "compile(load_source('sample:transformer-block').graph, jobs=1)\nprint(' '.join(sys.modules))"
    )
    fresh(compile, tmp_path)
    assert packages(fresh(compile, tmp_path)[-1]) & HEAVY == {"numpy", "llvmlite"}


@pytest.mark.gui
def test_the_window_is_painted_before_what_only_later_views_need_is_loaded(tmp_path):
    sheet, font, modules = fresh(WINDOW, tmp_path)[-3:]
    found = packages(modules)
    assert "PySide6" in found
    assert not found & (HEAVY - {"PySide6", "numpy"})
    assert not {"app.views.frame.settings_dialog", "app.views.frame.shortcut_sheet"} & set(modules.split())
    # The style sheet is put on once, when the views are made: under it each of them would be styled over and over.
    times, there, all_of_them, right_font = sheet.split()
    assert times == "1" and int(there) > 0.9 * int(all_of_them) and right_font == "True"
    assert len(set(font.split())) == 1
