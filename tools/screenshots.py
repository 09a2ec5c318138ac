"""Screenshots of every view in both themes, made by driving the real window: `make screenshots`.

Without `--views`, the pictures of the guide. To look at the program as a user of another screen does:
`tools/screenshots.py --size 1280x720 --views all --out /tmp/small`, or with QT_SCALE_FACTOR=2.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

# Drawn only when asked for: the guide does not show them.
BOTTOM = ("timeline", "hottest", "launches", "history", "sweep", "generate", "library", "find", "log")
MORE = (*BOTTOM, "kernels", "samples", "runs", "message", "shortcuts", "about")


def main() -> int:
    """Compile a sample, open each view, save what it looks like."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/guide/images"))
    parser.add_argument("--sample", default="transformer-block")
    parser.add_argument("--size", default="1600x1000")
    parser.add_argument("--themes", default="dark,light")
    parser.add_argument("--views", default="", help=f"names with commas between them, or all; beyond the guide: {MORE}")
    arguments = parser.parse_args()
    from PySide6.QtWidgets import QApplication

    from app.controllers.settings import Settings
    from app.main_window import MainWindow

    application = QApplication([])
    arguments.out.mkdir(parents=True, exist_ok=True)
    width, height = (int(part) for part in arguments.size.split("x"))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KERNELGLASS_DB"] = str(Path(folder) / "runs.db")
        # Compiled anew: a start from the cache has little to show.
        os.environ["KERNELGLASS_CACHE"] = str(Path(folder) / "cache")
        window = MainWindow(Settings(Path(folder)))
        window.resize(width, height)
        window.show()
        for theme in arguments.themes.split(","):
            _shoot(application, window, arguments, theme)
        window.close()
    return 0


def _wait(application, condition, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        _turn()
    for _ in range(20):
        _turn()


def _turn() -> None:
    """A moment of a real event loop: what is to be deleted later is deleted in no other."""
    from PySide6.QtCore import QEventLoop, QTimer

    loop = QEventLoop()
    QTimer.singleShot(10, loop.quit)
    loop.exec()


def _shoot(application, window, arguments, theme: str) -> None:
    wanted = set(filter(None, arguments.views.split(",")))

    def save(name: str, widget=None) -> None:
        if "all" in wanted or name in wanted or (not wanted and name not in MORE):
            _wait(application, lambda: True)
            (widget or window).grab().save(str(arguments.out / f"{name}-{theme}.png"))

    window.look.apply(theme)
    window.docks.show_welcome()
    save("welcome")
    window.opening.open(f"sample:{arguments.sample}")
    _wait(application, lambda: not window.compiler.busy and window.graph.model.layout is not None)
    if window.state.previous is not None:  # the second theme
        window.features.do("compile_afresh")
        _wait(application, lambda: not window.compiler.busy)
    _wait(application, lambda: not any(pane.model.loading for pane in window.workbench.panes))
    save("overview")
    window.state.selection.select(["matmul_0"])
    _wait(application, lambda: not any(pane.model.loading for pane in window.workbench.panes))
    save("linked")
    for name in ("funnel", "ledger", "memory"):
        window.docks.show(name)
        save(name)
    for _ in range(2):
        window.state.run = None
        window.features.do("run")
        _wait(application, lambda: window.state.run is not None)
    save("run")
    window.records.compare((1, 2))
    _wait(application, lambda: window.comparison.view.view.model.rowCount() > 0)
    window.explorer.tabs.setCurrentIndex(3)
    save("compare")
    window.explorer.tabs.setCurrentIndex(1)
    window.docks.show("roofline")
    window.runs.measure_ceilings()
    _wait(application, lambda: not window.records.busy, 120.0)
    save("roofline")
    window.explorer.tabs.setCurrentIndex(0)
    window.docks.show("launches")
    window.graph.panel.heat.set_value("time")
    window.graph.model.set_heat("time")
    save("heat")
    window.graph.model.set_heat("none")
    window.graph.panel.heat.set_value("none")
    window.workbench.source_dock.raise_()
    save("source")
    window.workbench.graph_dock.raise_()
    window.docks.show("timeline")
    window.features.do("palette")
    save("palette")
    window.help.palette.hide()
    pane = window.workbench.panes[-1]
    pane.model.show(stage="llvm-opt")
    _wait(application, lambda: not pane.model.loading)
    pane.compare.setChecked(True)
    _wait(application, lambda: pane.model.diff is not None)
    save("diff")
    pane.compare.setChecked(False)
    pane.model.show(stage="asm")
    _more(application, window, save)


def _more(application, window, save) -> None:
    """The views that need work of their own: passes of a kernel, flows, a report, settings, folded layers."""
    kernel = window.state.compilation.kernels[1].name
    window.explorer.tabs.setCurrentIndex(1)
    window.passes.show_kernel(kernel)
    _wait(application, lambda: any(step.llvms for step in window.passes.view.view.model.shown))
    window.passes.view.view.table.selectRow(min(6, window.passes.view.view.model.rowCount() - 1))
    save("passes")
    window.explorer.tabs.setCurrentIndex(0)
    window.docks.show("flows")
    if not window.flows.view.rows:
        for level, action in window.flows.view.levels.entries.items():
            action.setChecked(level == "3")  # of those chosen at first the last, so that one always is
        window.flows.view.measure.click()
        _wait(application, lambda: not window.flows.busy, 300)
    save("flows")
    window.report.show(1)
    _wait(application, lambda: bool(window.report.view.page.toPlainText()))
    save("report")
    window.docks.show("timeline")
    window.preferences.show()
    _wait(application, lambda: False, 0.5)
    save("settings", window.preferences.dialog)
    window.preferences.dialog.close()
    _frame(window, save)
    window.opening.open("sample:llama-32")
    _wait(
        application,
        lambda: not window.compiler.busy and window.graph.model.layout is not None and not window.graph.model.pending,
    )
    _wait(application, lambda: not any(pane.model.loading for pane in window.workbench.panes))
    save("layers")


def _frame(window, save) -> None:
    """What is around the views: the explorer's tabs, lanes and log, a message, the dialogs."""
    from app.viewmodels.frame.messages import Message
    from app.views.frame.about import AboutDialog
    from app.views.frame.shortcut_sheet import ShortcutSheet

    for name in BOTTOM:
        window.docks.show(name)
        save(name)
    for index, name in ((0, "kernels"), (2, "samples"), (3, "runs")):
        window.explorer.tabs.setCurrentIndex(index)
        save(name, window.docks.named["explorer"])
    window.explorer.tabs.setCurrentIndex(0)
    window.messages.post(Message("warning", "the file changed on disk; your edit is kept (Ctrl+R reloads)", "graph"))
    save("message")
    window.messages.clear("graph")
    for command, kind in (("shortcuts", ShortcutSheet), ("about", AboutDialog)):
        window.features.do(command)
        dialog = window.findChildren(kind)[-1]
        save(command, dialog)
        dialog.close()
    window.docks.show("timeline")


if __name__ == "__main__":
    sys.exit(main())
