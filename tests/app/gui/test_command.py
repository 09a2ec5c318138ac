"""`kernelglass gui` where no window can be had: one line, exit status 4, and Qt is not even imported."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli.commands.gui import _missing
from app.cli.window_libraries import install_words, loads, loses_references, missing_libraries

pytestmark = pytest.mark.gui
ROOT = Path(__file__).resolve().parents[3]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    hidden = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT, env=hidden | environment, timeout=60
    )


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems always have a display")
def test_without_a_display_it_says_so_in_one_line():
    result = run("-m", "app", "gui")
    assert result.returncode == 4
    assert result.stderr.count("\n") == 1
    assert "no display" in result.stderr


def test_missing_libraries_are_named():
    assert "PySide6-Essentials" in _missing(ModuleNotFoundError("no module", name="PySide6"))
    words = _missing(ImportError("libEGL.so.1: cannot open shared object file"))
    assert "libEGL.so.1" in words
    assert "libegl1" in words


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="X11 is found on Linux")
def test_a_library_of_x11_that_is_missing_is_named_before_qt_starts(tmp_path):
    library = tmp_path / "libxcb-icccm.so.4"
    library.touch()  # found first and not a library: as good as missing, whatever this machine has
    result = run("-m", "app", "gui", DISPLAY=":77", LD_LIBRARY_PATH=str(tmp_path))
    assert result.returncode == 4, result.stderr
    assert result.stderr.count("\n") == 1
    assert "libxcb-icccm.so.4" in result.stderr
    assert ("libxcb.so.1" in result.stderr) is not loads("libxcb.so.1"), "only what is missing"


@pytest.mark.parametrize(
    ("release", "command"),
    [
        ('ID=ubuntu\nID_LIKE="debian"\n', "apt install libxcb-icccm4 libxcb-keysyms1"),
        ("ID=fedora\n", "dnf install xcb-util-wm xcb-util-keysyms"),
        ("ID=manjaro\nID_LIKE=arch\n", "pacman -S xcb-util-wm xcb-util-keysyms"),
        ('ID="opensuse-leap"\nID_LIKE="suse opensuse"\n', "zypper install libxcb-icccm4 libxcb-keysyms1"),
        ("ID=unheard-of\n", ""),
    ],
)
def test_the_command_is_the_one_of_the_distribution(release, command):
    gone = ("libxcb-icccm.so.4", "libxcb-keysyms.so.1")
    assert install_words(missing_libraries(lambda name: name not in gone), release) == command


def test_qt_is_one_that_keeps_references():
    from PySide6.QtCore import QObject

    assert not loses_references(lambda: QObject().setObjectName(""))


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="None is not counted any more")
def test_a_binding_that_gives_references_away_is_noticed():
    release = ctypes.pythonapi.Py_DecRef
    keep = ctypes.pythonapi.Py_IncRef
    release.argtypes = keep.argtypes = [ctypes.py_object]
    release.restype = keep.restype = None
    assert loses_references(lambda: release(None))
    for _ in range(64):
        keep(None)


def test_the_command_line_and_the_workers_never_import_qt():
    code = "import sys, app.cli.main, app.worker.main, app.worker.compile_session, app.viewmodels.graph.layout; "
    code += "import app.viewmodels.graph.folded_graph, app.viewmodels.state, app.viewmodels.frame.messages; "
    result = run("-c", code + "print([m for m in sys.modules if m.startswith(('PySide6', 'pyqtgraph'))])")
    assert result.stdout.strip() == "[]", result.stdout + result.stderr
