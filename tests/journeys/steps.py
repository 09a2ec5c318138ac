"""The ten journeys of a user through the window; each is a function of the robot that does it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication, QMenu, QMessageBox, QPushButton
from robot import Robot

from app.views.frame.dock_tabs import every_tab

GRAPH = """
from compiler import Graph, TensorType, ops

def build():
    g = Graph("mine", inputs=[TensorType("f32", ("M", 256)), TensorType("f32", (256, 256))])
    with g:
        x, w = g.inputs
        g.output(ops.relu(x @ w + 1))
    return g

DIMS = {"M": 64}
"""
BROKEN = {
    "syntax": GRAPH.replace("ops.relu(", "ops.relu((", 1),
    "shapes": GRAPH.replace("(256, 256)", "(128, 256)"),
    "no-build": "x = 1\n",
}
LARGE = """
from compiler import Graph, TensorType, ops

def build():
    g = Graph("large", inputs=[TensorType("f32", (64, 64))] * 2)
    with g:
        x, w = g.inputs
        for layer in range(100):
            for step in range(24):
                x = ops.tanh(x + float(step)) if step % 3 else x * 0.5 + x
            x = x @ w
        g.output(x)
    return g
"""


def _welcome(robot: Robot, name: str) -> None:
    """Click a sample of the welcome page."""
    from app.views.frame.welcome import Card

    def card():
        return next(c for c in robot.window.welcome.findChildren(Card) if c.source == f"sample:{name}")

    def in_sight():
        return card().visibleRegion().contains(card().rect().center())

    robot.until(lambda: card().isVisible(), "the samples", 20)
    for _ in range(12):  # on a small screen some of the samples are further down
        if robot.ask(in_sight):
            break
        robot.move(lambda: robot.window.welcome)
        robot.wheel(-3)
    robot.click(card)
    robot.until(lambda: robot.window.state.compilation is not None, f"{name} compiled")
    robot.settled()


def _file(robot: Robot, path: Path) -> None:
    """Ctrl+O, the path, Enter; a Python file is trusted."""
    robot.open_path(str(path))

    def trust() -> QPushButton | None:
        asked = QApplication.activeModalWidget()
        buttons = asked.findChildren(QPushButton) if isinstance(asked, QMessageBox) else []
        return next((button for button in buttons if button.text().startswith("Trust")), None)

    button = robot.until(trust, "to be asked for trust", 20)
    robot.click(lambda: button)
    robot.until(lambda: robot.window.state.source == str(path), "the file to be open")
    robot.settled()


def _node(robot: Robot, node: str):
    """A point on a node of the graph, in sight."""
    view = robot.window.graph.panel.view
    robot.ask(lambda: view.point_of(node))
    return lambda: view.point_of(node).toPoint()


def first_start(robot: Robot) -> None:
    """A fresh profile: everything on the screen, a sample in one click, panes one can read."""
    window = robot.window
    robot.shot("welcome")
    robot.check(robot.on_screen(lambda: window), "the window is larger than the screen")
    robot.check(robot.on_screen(lambda: window.status), "the status bar is not on the screen")
    _welcome(robot, "mlp")
    robot.shot("opened")
    bench = window.workbench
    graph, whole = robot.ask(lambda: (bench.graph_dock.width() * bench.graph_dock.height(), bench.width()))
    robot.check(robot.ask(lambda: bench.graph_dock.width()) * 2 >= whole, "the graph has less than half of the centre")
    narrow = robot.ask(lambda: min(pane.width() for pane in bench.panes))
    robot.check(narrow >= 280, f"a pane is {narrow} pixels wide")
    robot.check(graph > robot.ask(lambda: window.docks.bottom["timeline"].width() * 100), "the graph is tiny")
    for title in ("Funnel", "Fusion", "Memory", "Run", "Roofline", "Flows"):
        _tab(robot, title)
    robot.shot("flows-tab")


def _tab(robot: Robot, title: str) -> None:
    """Click a tab; one that has no room in its bar is chosen from the list at the bar's end."""
    from PySide6.QtWidgets import QTabBar

    def titles(bar: QTabBar) -> list[str]:
        return [bar.tabText(at) for at in range(bar.count())]

    def sought() -> QTabBar:
        return next(b for b in robot.window.findChildren(QTabBar) if b.isVisible() and title in titles(b))

    found = robot.ask(sought)  # once: looking through every widget takes the window's thread longer than most it does

    def bar() -> QTabBar:
        return found

    def middle() -> QPoint:
        return bar().tabRect(titles(bar()).index(title)).center()

    if robot.ask(lambda: bar().rect().contains(middle()) and bar().childAt(middle()) is None):
        robot.click(bar, middle)
    else:
        robot.click(lambda: every_tab(bar()))
        menu = robot.until(lambda: isinstance(m := QApplication.activePopupWidget(), QMenu) and m, "the list", 10)
        action = robot.ask(lambda: next(a for a in menu.actions() if a.text() == title))
        robot.click(lambda: menu, lambda: menu.actionGeometry(action).center())
    robot.until(lambda: bar().tabText(bar().currentIndex()) == title, f"the tab {title} in front", 10)


def linked_panes(robot: Robot) -> None:
    """Graph, MLIR, LLVM and machine code beside each other and linked, in at most three clicks."""
    window = robot.window
    _welcome(robot, "mlp")
    robot.clicks = 0
    robot.click(lambda: window.layouts.bar.buttons["linked"])
    robot.settled()
    robot.click(lambda: window.graph.panel.view, _node(robot, "matmul_0"))
    robot.check(robot.clicks <= 3, f"{robot.clicks} clicks")
    panes = window.workbench.panes
    robot.until(lambda: all(p.isVisible() and p.text.shown.lit.any() for p in panes), "every pane to be lit", 20)
    robot.check([p.model.stage for p in panes] == ["kgen", "llvm", "asm"], "other stages")
    robot.check(robot.ask(lambda: min(p.width() for p in panes)) >= 400, "panes are narrow")
    robot.shot("linked")
    robot.click(lambda: panes[2].text.viewport(), lambda: QPoint(200, 90))
    robot.shot("from-a-line")
    for name in ("performance", "compile_time", "compare_layout"):
        robot.click(lambda name=name: window.layouts.bar.buttons[name])
        robot.settled()
        robot.shot(name)
    robot.key("alt+1")
    robot.settled()


def run(robot: Robot) -> None:
    """Run and time: progress at once, a check, rows that add up, the run in the list."""
    window = robot.window
    _welcome(robot, "mlp")
    robot.key("F5")
    robot.until(lambda: window.status.cancel.isVisible(), "Cancel to be there", 2)
    robot.until(lambda: window.state.run is not None, "a run")
    robot.settled()
    robot.shot("run")
    shares = robot.ask(lambda: [row.share for row in window.runs.view._rows])
    robot.check(abs(sum(shares[1:]) - 1) < 1e-6, f"shares are {shares}")
    for title in ("Launches", "Roofline", "Memory"):
        _tab(robot, title)
        robot.shot(title.lower())
    robot.until(lambda: window.runs.list.view.model.rowCount() >= 1, "the run in the list")


def what_if(robot: Robot) -> None:
    """Cut an edge from its menu: compiled again, compared kernel by kernel; and back."""
    window = robot.window
    _welcome(robot, "mlp")
    before = robot.ask(lambda: [kernel.name for kernel in window.state.compilation.kernels])
    kernels = lambda: [kernel.name for kernel in window.state.compilation.kernels]  # noqa: E731
    robot.click(lambda: window.graph.panel.view, _node(robot, "relu_0"), button=3)
    menu = robot.until(lambda: isinstance(m := QApplication.activePopupWidget(), QMenu) and m, "the menu", 10)
    action = robot.ask(lambda: next(a for a in menu.actions() if a.text().startswith("Cut here")))
    robot.shot("menu")
    robot.click(lambda: menu, lambda: menu.actionGeometry(action).center())
    robot.until(lambda: kernels() != before, "other kernels")
    robot.until(lambda: window.comparison.view.comparison is not None, "the comparison")
    robot.settled()
    robot.shot("compared")
    robot.palette("Drop what-if edits")
    robot.until(lambda: kernels() == before, "the edge to be fused again")
    robot.settled()


def flows(robot: Robot) -> None:
    """Per-kernel against all-kernel: cells fill in as they end, and stopping keeps them."""
    window = robot.window
    _welcome(robot, "softmax")
    _tab(robot, "Flows")
    robot.click(lambda: window.flows.view.measure)
    robot.until(lambda: window.flows.busy, "measuring to begin", 10)
    done = lambda: sum(bool(row.figures) for row in window.flows.model.rows())  # noqa: E731
    robot.until(lambda: done() >= 2 or not window.flows.busy, "two cells", 240)
    robot.shot("measuring")
    if robot.ask(lambda: window.flows.busy):
        robot.click(lambda: window.flows.view.measure)
    robot.until(lambda: not window.flows.busy, "measuring to stop", 20)
    robot.check(robot.ask(done) >= 2, "finished cells are gone")
    robot.shot("stopped")


def edit(robot: Robot) -> None:
    """An edited kernel with a mistake, with a wrong result, and one that never ends."""
    window = robot.window
    _welcome(robot, "mlp")
    pane, kernel = window.source.pane, robot.ask(lambda: window.state.compilation.kernels[1])
    _tab(robot, "Source")
    robot.palette(f"Edit kernel {kernel.name}")
    robot.until(lambda: pane.key == kernel.name and pane.editor.isVisible(), "the kernel in the editor", 10)
    texts = {
        "mistake": kernel.source.replace("v1 = add(", "v1 = no_such(", 1),
        "wrong": kernel.source.replace("v1 = add(", "v1 = 2.0 * add(", 1),
    }
    _replace(robot, texts["mistake"])
    robot.key("ctrl+Return")
    robot.until(lambda: "no_such" in pane.bar.text, "the mistake to be told", 60)
    robot.shot("mistake")
    _replace(robot, texts["wrong"])
    robot.key("ctrl+Return")
    robot.until(lambda: "check failed" in pane.strip.text(), "the check to fail")
    robot.shot("wrong")
    robot.key("Escape")
    robot.settled()
    _replace(robot, _endless(kernel.source))
    robot.key("ctrl+Return")
    robot.until(lambda: window.compiler.busy.startswith("Timing") or pane.bar.text, "the timing to begin", 60)
    robot.shot("endless")
    robot.key("Escape")
    robot.until(lambda: not window.compiler.busy, "Escape to end it", 20)
    robot.palette("Revert")
    robot.settled()


def _endless(source: str) -> str:
    """The kernel with a loop before its first statement that never ends."""
    lines = source.splitlines()
    at = next(i for i, line in enumerate(lines) if "view0 =" in line or "def epilogue" in line)
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    loop = [f"{indent}turns = 1", f"{indent}while turns > 0:", f"{indent}    turns = turns % 7 + 1"]
    return "\n".join([*lines[:at], *loop, *lines[at:]]) + "\n"


def _replace(robot: Robot, text: str) -> None:
    """Ctrl+A and Ctrl+V in the editor: what a user pastes."""
    robot.click(lambda: robot.window.source.pane.editor.viewport())
    robot.ask(lambda: QApplication.clipboard().setText(text))
    robot.key("ctrl+a", "ctrl+v")
    robot.until(lambda: robot.window.source.pane.text.strip() == text.strip(), "the text in the editor", 10)


def compare_and_export(robot: Robot) -> None:
    """Two runs compared, somebody else's database looked into, a report written."""
    window, folder = robot.window, Path(os.environ["KERNELGLASS_CONFIG"])
    theirs = folder / "theirs.db"
    words = [sys.executable, "-m", "app.cli.main", "run", "sample:softmax", "--repeat", "3", "--processes", "1"]
    robot.run(*words, "--db", str(theirs))
    held = theirs.read_bytes()
    _welcome(robot, "mlp")
    for _ in range(2):
        robot.ask(lambda: setattr(window.state, "run", None))
        robot.key("F5")
        robot.until(lambda: window.state.run is not None, "a run")
        robot.settled()
    robot.key("alt+4")
    robot.settled()
    table = window.runs.list.view.table
    robot.until(lambda: window.runs.list.view.model.rowCount() >= 2, "two runs", 20)
    robot.click(lambda: table.viewport(), lambda: QPoint(60, 13))
    robot.tool("keydown", "ctrl")
    robot.click(lambda: table.viewport(), lambda: QPoint(60, 39))
    robot.tool("keyup", "ctrl")
    robot.click(lambda: window.runs.list.compare)
    robot.until(lambda: window.comparison.view.comparison is not None, "the comparison", 60)
    robot.settled()
    robot.shot("compared")
    robot.open_path(str(theirs))
    robot.until(lambda: "read-only" in window.runs.list.bar.text, "the other database", 30)
    robot.shot("their-database")
    robot.check(theirs.read_bytes() == held, "somebody else's database was written to")
    robot.palette("Back to my database")
    robot.until(lambda: window.runs.list.view.model.rowCount() >= 2, "one's own runs again", 30)
    _tab(robot, "Report")
    robot.settled()
    robot.shot("report")


def own_graph(robot: Robot) -> None:
    """A graph of one's own, then broken three ways: each error at its place, nothing of another model on show."""
    window, folder = robot.window, Path(os.environ["KERNELGLASS_CONFIG"])
    good = folder / "mine.py"
    good.write_text(GRAPH)
    _file(robot, good)
    robot.check(robot.ask(lambda: len(window.state.compilation.kernels)) == 1, "not compiled")
    robot.shot("mine")
    for name, text in BROKEN.items():
        path = folder / f"{name}.py"
        path.write_text(text)
        _file(robot, path)
        robot.until(lambda: window.source.pane.bar.text or window.log.bar.text, "the error to be told", 30)
        robot.check(robot.ask(lambda: window.state.compilation is None), "another model stays under this name")
        robot.shot(name)


def keyboard_only(robot: Robot) -> None:
    """No mouse: palette, layouts, graph, panes, run, find."""
    window = robot.window
    robot.palette("Open sample softmax")
    robot.until(lambda: window.state.compilation is not None, "softmax compiled")
    robot.settled()
    robot.key("alt+1")
    robot.settled()
    robot.palette("Graph")
    robot.key("Escape")
    robot.ask(lambda: window.graph.panel.view.setFocus())
    robot.key("Down", "Down", "Return", "space", "f")
    robot.shot("walked")
    robot.key("ctrl+shift+f")
    robot.type("exp")
    robot.key("Return")
    robot.until(lambda: window.search.view.view.model.rowCount() > 0, "something found", 60)
    robot.shot("found")
    robot.palette("Target: sm_90a")
    robot.until(lambda: window.state.on_show.choices.target == "sm_90a", "PTX", 120)
    robot.settled()
    robot.palette("Target: cpu")
    robot.until(lambda: window.state.on_show.choices.target == "cpu", "the CPU again", 120)
    robot.settled()
    robot.key("F5")
    robot.until(lambda: window.state.run is not None, "a run")
    robot.settled()
    robot.check(robot.clicks == 0, "the mouse was used")
    robot.key("question")
    robot.shot("shortcuts")
    robot.key("Escape")


def large(robot: Robot) -> None:
    """Thousands of nodes, 32 layers, 256 kernels: the new graph at once, a bar and the time left, never a freeze."""
    window, folder = robot.window, Path(os.environ["KERNELGLASS_CONFIG"])
    path, graph = folder / "large.py", window.graph.model
    path.write_text(LARGE)
    robot.palette("Open sample softmax")
    robot.until(lambda: window.state.compilation is not None, "softmax compiled")
    robot.settled()
    robot.key("alt+1")
    robot.settled()
    for source in (str(path), "sample:llama-32", "sample:many-kernels:256"):
        if source.startswith("sample:"):
            robot.palette(f"Open sample {source.removeprefix('sample:')}")
        else:
            robot.ask(lambda: window.settings.trust(str(path)))
            robot.open_path(source)
        robot.until(lambda source=source: window.state.source == source, "the source to be open", 30)
        robot.until(
            lambda source=source: graph.compilation.source == source and not graph.pending, "the new graph", 120
        )
        robot.shot(f"graph-of-{Path(source).stem.split(':')[-1]}")
        robot.until(lambda: not window.compiler.busy, "it to be compiled", 300)
        robot.settled()
        robot.move(lambda: window.graph.panel.view)
        robot.wheel(-6)
        robot.wheel(8)
        robot.shot(f"large-{Path(source).stem.split(':')[-1]}")


JOURNEYS = {
    "first-start": first_start, "linked-panes": linked_panes, "run": run, "what-if": what_if, "flows": flows,
    "edit": edit, "compare-and-export": compare_and_export, "own-graph": own_graph, "keyboard-only": keyboard_only,
    "large": large,
}  # fmt: skip
