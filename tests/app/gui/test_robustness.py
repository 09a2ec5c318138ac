"""What goes wrong outside: crashes, full disks, lost files. A message in its place, the window alive, nothing lost."""

from __future__ import annotations

import contextlib
import os
import subprocess
import textwrap
from pathlib import Path

import pytest

from app.controllers.settings import Settings
from app.files import write_whole
from app.main_window import MainWindow
from compiler.errors import ExecutionError

pytestmark = pytest.mark.gui

CRASHES = textwrap.dedent(
    """
    @kernel("crash")
    def crash(out: Tensor, x: Tensor):
        out[position((index(1) << 44,))] = x[position((0,))]
    """
)
GRAPH = textwrap.dedent(
    """
    from compiler import Graph, TensorType, ops
    LIBRARY = ("kernels",)

    def build():
        g = Graph("g", inputs=[TensorType("f32", (64,))])
        with g:
            g.output(ops.custom("crash", [ops.relu(g.inputs[0])], TensorType("f32", (64,))))
        return g
    """
)

HARMLESS = "\n".join(line.replace('ops.custom("crash", [', "(").replace('], TensorType("f32", (64,)))', ")")
                     for line in GRAPH.splitlines() if "LIBRARY" not in line)  # fmt: skip


@pytest.fixture
def disk(tmp_path):
    """A real file system of two megabytes; skipped where none can be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("a small file system cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Take every byte that is left."""
    path = folder / "filler"
    with contextlib.suppress(OSError), open(path, "wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    return path


def run(qtbot, window):
    window.state.run = None
    window.messages.clear("run")
    window.features.do("run")
    qtbot.waitUntil(lambda: window.state.run is not None or bool(window.runs.view.bar.text), timeout=120_000)
    qtbot.waitUntil(lambda: not window.turns.busy, timeout=60_000)


def test_a_kernel_that_crashes_names_itself_and_takes_nothing_with_it(qtbot, compiled, tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "crash.py").write_text(CRASHES)
    path = tmp_path / "crashing.py"
    path.write_text(GRAPH)
    compiled.settings.trust(str(path))
    compiled.opening.open(str(path))
    qtbot.waitUntil(lambda: compiled.state.compilation.source == str(path), timeout=60_000)
    shown = compiled.state.compilation
    compiled.runs.view.sizes.clear()
    run(qtbot, compiled)
    assert compiled.state.run is None
    assert "SIGSEGV" in compiled.runs.view.bar.text and "crash" in compiled.runs.view.bar.text
    assert "SIGSEGV" in compiled.log.view.toPlainText()
    assert compiled.state.compilation is shown
    qtbot.waitUntil(lambda: compiled.runs.list.view.model.rowCount() > 0, timeout=60_000)
    qtbot.waitUntil(lambda: compiled.runs.list.view.model.record(0).status == "failed", timeout=60_000)
    compiled.opening.open("sample:mlp")
    qtbot.waitUntil(lambda: compiled.state.compilation.source == "sample:mlp", timeout=60_000)
    run(qtbot, compiled)
    assert compiled.state.run is not None and compiled.state.run.ok


def test_a_run_on_a_full_disk_is_shown_though_it_cannot_be_kept(qtbot, disk, tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELGLASS_DB", str(disk / "runs.db"))
    window = MainWindow(Settings(tmp_path / "kept"))
    window.runs.view.repeats.setValue(24)
    window.show()
    window.opening.open("sample:softmax")
    qtbot.waitUntil(lambda: window.state.compilation is not None, timeout=60_000)
    run(qtbot, window)
    assert window.state.run.number == 1
    filler = fill(disk)
    run(qtbot, window)
    assert window.state.run is not None, window.runs.view.bar.text
    assert window.state.run.number == 0 and window.state.run.ok
    said = [note for note in window.state.run.notes if "not kept" in note]
    assert said and "not kept" in window.runs.view.summary.text()
    assert said[0] in window.runs.view.notes.text()
    assert said[0] in window.runs.view.bar.text and said[0] in window.log.view.toPlainText()
    filler.unlink()
    run(qtbot, window)
    assert window.state.run.number > 1, "and once there is room again, runs are kept again"
    window.close()
    window.deleteLater()


def test_a_full_disk_under_settings_and_icons(qtbot, disk):
    fill(disk)
    window = MainWindow(Settings(disk / "config"))
    window.show()
    assert "No space left" in window.log.bar.text
    window.features.do("theme_light")
    assert window.look.theme.name == "light"
    window.close()
    window.deleteLater()


def test_saving_to_a_full_disk_says_so_and_keeps_the_old_file(qtbot, compiled, disk, monkeypatch):
    target = disk / "mine.py"
    target.write_text("what was there")
    fill(disk)
    compiled.source.pane.editor.setPlainText(compiled.source.pane.text + "# longer\n" * 3000)
    monkeypatch.setattr("app.controllers.source.path_to_save", lambda *a, **k: (str(target), ""))
    compiled.features.do("save_source")
    assert "No space left" in compiled.source.pane.bar.text
    assert target.read_text() == "what was there"
    assert sorted(p.name for p in disk.iterdir()) == ["filler", "mine.py"], "nothing half-written is left"
    assert "# longer" in compiled.source.pane.text, "the edit is still in the editor"
    compiled.source.revert("")
    compiled.messages.clear("source")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_exporting_to_a_device_that_is_full_is_said(qtbot, compiled, monkeypatch):
    run(qtbot, compiled)
    compiled.records.export((compiled.state.run.number,), "md", "/dev/full")
    qtbot.waitUntil(lambda: "No space left" in compiled.log.bar.text, timeout=60_000)
    assert "/dev/full" in compiled.log.bar.text
    compiled.log.bar.hide()


def test_files_are_written_whole_or_not_at_all(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    target.chmod(0o640)
    write_whole(target, "new")
    assert target.read_text() == "new" and target.stat().st_mode & 0o777 == 0o640
    link = tmp_path / "link.txt"
    link.symlink_to(target)
    write_whole(link, "through")
    assert link.is_symlink() and target.read_text() == "through"
    with pytest.raises(ExecutionError, match="cannot write"):
        write_whole(tmp_path / "no" / "such.txt", "x")
    assert len(list(tmp_path.iterdir())) == 2


def test_a_database_deleted_while_open_is_made_again(qtbot, compiled):
    run(qtbot, compiled)
    number = compiled.state.run.number
    for path in Path(os.environ["KERNELGLASS_DB"]).parent.glob("runs.db*"):
        path.unlink(missing_ok=True)  # whoever closes the database last deletes what lies beside it
    compiled.compiler.open_run(number)
    qtbot.waitUntil(lambda: bool(compiled.runs.list.bar.text), timeout=60_000)
    assert "there is no database" in compiled.runs.list.bar.text and compiled.state.compilation is not None
    compiled.report.view.show_run(number)
    qtbot.waitUntil(lambda: bool(compiled.report.view.bar.text), timeout=60_000)
    assert "there is no database" in compiled.report.view.bar.text
    assert "there is no database" in compiled.log.view.toPlainText()
    run(qtbot, compiled)
    assert compiled.state.run.number == 1


def test_a_source_that_vanishes_can_still_be_run_and_saved(qtbot, compiled, tmp_path, monkeypatch):
    path = tmp_path / "mine.py"
    path.write_text(HARMLESS)
    compiled.settings.trust(str(path))
    compiled.opening.open(str(path))
    qtbot.waitUntil(lambda: compiled.state.compilation.source == str(path), timeout=60_000)
    path.unlink()
    qtbot.waitUntil(lambda: "gone from disk" in compiled.log.bar.text, timeout=60_000)
    assert str(path) in compiled.log.bar.text
    compiled.runs.view.sizes.clear()
    run(qtbot, compiled)
    assert compiled.state.run is not None, compiled.runs.view.bar.text
    again = tmp_path / "again.py"
    monkeypatch.setattr("app.controllers.source.path_to_save", lambda *a, **k: (str(again), ""))
    compiled.features.do("save_source")
    assert "def build" in again.read_text()
    assert compiled.state.source == str(again)
    compiled.opening.open_recent(compiled.settings.recent().index(str(path)))
    assert "there is no file" in compiled.log.bar.text
    compiled.log.bar.hide()


def test_the_status_bar_says_what_does_not_compile(qtbot, compiled, tmp_path):
    path = tmp_path / "nothing.py"
    path.write_text("x = 1\n")
    compiled.settings.trust(str(path))
    compiled.opening.open(str(path))
    qtbot.waitUntil(lambda: compiled.status.what.text() == "nothing.py does not compile", timeout=60_000)
