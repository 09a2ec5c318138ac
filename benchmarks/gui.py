"""The bounds of the window, measured: stalls, layout of 10,000 nodes, 200 MB of IR, a million events, links, start.

Prints each figure beside its bound and the ratio of the two; exits with 1 when one is broken. Stalls are what a 4 ms
heartbeat on the window's own thread misses (the longest, and 99.9 % of beats), and the CPU time that thread spent
between two beats. Where the machine is busy with other work (load above its cores), a stall also counts that work:
then the CPU time decides, and the wall times are printed for the record.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

STALL_MS = 50.0 if len(os.sched_getaffinity(0)) > 2 else 100.0
BEAT_MS = 4


class Bench:
    """The window, a heartbeat, and what was found."""

    def __init__(self) -> None:
        import numpy as np
        from PySide6.QtCore import Qt, QTimer
        from PySide6.QtWidgets import QApplication

        self.np = np
        self.application = QApplication.instance() or QApplication([])
        self.results: list[tuple[str, float, float, str, bool]] = []
        self.busy = os.getloadavg()[0] > len(os.sched_getaffinity(0))
        self._last = 0.0
        self._gaps: list[float] = []
        self._costs: list[float] = []
        self._last_cost = 0.0
        self._timer = QTimer()
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(BEAT_MS)
        self._timer.timeout.connect(self._beat)

    def _beat(self) -> None:
        now = time.perf_counter()
        self._gaps.append((now - self._last) * 1e3 - BEAT_MS)
        self._last = now
        self._costs.append((time.thread_time() - self._last_cost) * 1e3)
        self._last_cost = time.thread_time()

    def watch(self, name: str, work, done, limit: float = 120.0) -> float:
        """Start `work`, run the event loop until `done`, and note the stalls; returns the seconds it took."""
        self._gaps.clear()
        self._costs.clear()
        self._last_cost = time.thread_time()
        self._last = time.perf_counter()
        self._timer.start()
        start = time.perf_counter()
        work()
        while not done() and time.perf_counter() - start < limit:
            self.application.processEvents()
            time.sleep(0.0005)
        took = time.perf_counter() - start
        for _ in range(10):
            self.application.processEvents()
            time.sleep(0.002)
        self._timer.stop()
        gaps = self.np.array(self._gaps or [0.0])
        self.add(f"{name}: longest stall, CPU", max(self._costs or [0.0]), STALL_MS, "ms")
        self.add(f"{name}: longest stall", float(gaps.max()), STALL_MS, "ms")
        self.add(f"{name}: 99.9 % of stalls", float(self.np.quantile(gaps, 0.999)), STALL_MS, "ms")
        return took

    def add(self, name: str, value: float, bound: float, unit: str, more_is_better: bool = False) -> None:
        """One figure and its bound."""
        self.results.append((name, value, bound, unit, more_is_better))

    def report(self) -> int:
        """Print the table; how many bounds are broken."""
        broken = 0
        for name, value, bound, unit, more in self.results:
            good = value >= bound if more else value <= bound
            excused = not good and self.busy and "CPU" not in name
            broken += not good and not excused
            verdict = "ok" if good else "over, but the machine is busy" if excused else "BROKEN"
            print(f"{name:52} {value:10.2f} {unit:5} bound {bound:8.2f}  ratio {value / bound:6.2f}  {verdict}")
        return broken


def cold_start() -> float:
    """Seconds from a fresh interpreter to a window that has been painted."""
    code = (
        "import os,sys;os.environ['QT_QPA_PLATFORM']='offscreen';"
        "from PySide6.QtWidgets import QApplication;a=QApplication([]);"
        "from app.main_window import MainWindow;w=MainWindow();w.show();a.processEvents();w.grab();os._exit(0)"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "KERNELGLASS_CONFIG": folder}
        times = []
        for _ in range(3):
            start = time.perf_counter()
            subprocess.run(
                [sys.executable, "-c", code], check=True, env=environment, cwd=Path(__file__).resolve().parent.parent
            )
            times.append(time.perf_counter() - start)
    return min(times)


def large_compilation(count: int = 10_000):
    """A deep model: layers of eight nodes with residual edges, in groups of four."""
    from app.viewmodels.compilation import CallRecord, Compilation, CompileChoices, KernelRecord, NodeRecord

    nodes, calls = [], []
    for i in range(count):
        operands = tuple(
            f"op_{j}" for j in {i - 1, i - 2 if i % 4 == 0 else i - 1, i - 8 if i % 8 == 7 else i - 1} if j >= 0
        )
        nodes.append(
            NodeRecord(f"op_{i}", i + 1, "add", "op", "f32", "[M, 512]", "", operands, i // 4, "core", 1000 + i, i)
        )
    for c in range((count + 3) // 4):
        names = tuple(f"op_{i}" for i in range(4 * c, min(4 * c + 4, count)))
        calls.append(CallRecord(c, f"kernel_{c}", names, (), (), 100, 100))
    kernels = tuple(KernelRecord(c.kernel, c.nodes, "", (), 1) for c in calls)
    return Compilation("bench", "", "bench", CompileChoices(), (), tuple(nodes), tuple(calls), kernels, (), ())


def main() -> int:
    """Measure everything."""
    bench = Bench()
    np = bench.np
    bench.add("cold start to a painted window", cold_start(), 2.0, "s")
    from app.main_window import MainWindow
    from app.settings import Settings

    with tempfile.TemporaryDirectory() as folder:
        os.environ["KERNELGLASS_DB"] = str(Path(folder) / "runs.db")
        window = MainWindow(Settings(Path(folder)))
        window.resize(1600, 1000)
        window.show()
        bench.watch("starting", lambda: None, lambda: window.compiler._spare is not None)
        _compiling(bench, window)
        _linking(bench, window)
        _graph(bench, window)
        _text(bench, window, np)
        _events(bench, window, np)
        window.close()
    return 1 if bench.report() else 0


def _compiling(bench: Bench, window) -> None:
    def settled() -> bool:
        panes = window.workbench.panes
        return not window.compiler.busy and window.graph.layout is not None and not any(p.model.loading for p in panes)

    took = bench.watch("compiling transformer-block", lambda: window.opening.open("sample:transformer-block"), settled)
    print(f"transformer-block from click to all panes: {took:.2f} s")


def _linking(bench: Bench, window) -> None:
    nodes = [node.name for node in window.state.compilation.nodes if node.call >= 0]
    times, costs = [], []
    for node in nodes:
        kernel = window.state.compilation.kernels_of(frozenset([node]))[0]
        if any(pane.model.kernel != kernel for pane in window.workbench.panes):
            continue
        start, begun = time.perf_counter(), time.thread_time()
        window.state.selection.select([node])
        bench.application.processEvents()  # the views that changed paint themselves here
        bench.application.processEvents()
        times.append((time.perf_counter() - start) * 1e3)
        costs.append((time.thread_time() - begun) * 1e3)
    bench.add("linked highlight, painted, CPU (median)", float(bench.np.median(costs)), 50.0, "ms")
    bench.add("linked highlight, painted (median)", float(bench.np.median(times)), 50.0, "ms")
    bench.add("linked highlight, painted (longest)", float(max(times)), STALL_MS, "ms")


def _graph(bench: Bench, window) -> None:
    compilation = large_compilation()
    view = window.graph_panel.view
    view.reset_view()
    took = bench.watch(
        "10,000 nodes", lambda: window.graph.set_compilation(compilation), lambda: window.graph.layout is not None
    )
    bench.add("10,000 nodes laid out", took, 2.0, "s")
    frames = []
    for step in range(40):
        view.zoom(1.25 if step % 2 else 0.7)
        view.origin.setY(view.origin.y() - 150)
        start = time.thread_time()
        view.repaint()
        frames.append((time.thread_time() - start) * 1e3)
    view.fit()
    start = time.thread_time()
    view.repaint()
    bench.add("10,000 nodes: a frame of all of it, CPU", (time.thread_time() - start) * 1e3, STALL_MS, "ms")
    bench.add("10,000 nodes: frames while moving, CPU (90 %)", float(bench.np.quantile(frames, 0.9)), 50.0, "ms")


def _text(bench: Bench, window, np) -> None:
    from app.jobs import Thread
    from app.viewmodels.compilation import LineText
    from app.viewmodels.text_document import index_text

    line = b"  %x = call <4 x float> @llvm.fma.v4f32(<4 x float> %a, <4 x float> %b), !dbg !12\n"
    text = line * (200 * 1024 * 1024 // len(line))
    ids = (np.arange(len(text) // len(line)) % 5).astype(np.int32)
    sets = ((), ("op_1",), ("op_2",), ("op_3",), ("op_4",))
    packed = LineText(text, sets, ids.tobytes())
    pane = window.workbench.panes[-1]
    pane.model.stage = "llvm"
    arrived = []
    thread = Thread(window)

    def show(document) -> None:
        pane.model.set_document(document)
        pane.text.repaint()
        arrived.append(document)

    took = bench.watch(
        "200 MB of IR", lambda: thread.start(lambda c: index_text(packed, c), show), lambda: bool(arrived)
    )
    bench.add("200 MB of IR opened", took, 3.0, "s")
    frames = []
    for row in np.linspace(0, pane.text.rows, 60).astype(int):
        pane.text.verticalScrollBar().setValue(int(row))
        start = time.perf_counter()
        pane.text.repaint()
        frames.append((time.perf_counter() - start) * 1e3)
    bench.add("200 MB of IR: scrolling frames (90 %)", float(np.quantile(frames, 0.9)), 33.0, "ms")
    start = time.perf_counter()
    pane.text.set_lit(pane.text.document.lit_lines(frozenset(["op_2"])), reveal=True)
    pane.text.repaint()
    bench.add("200 MB of IR: highlight", (time.perf_counter() - start) * 1e3, STALL_MS, "ms")


def _events(bench: Bench, window, np) -> None:
    from app.viewmodels.timeline import Timeline

    count = 1_000_000
    generator = np.random.default_rng(0)
    lane = generator.integers(0, 8, count)
    start = np.sort(generator.random(count)) * 10
    timeline = Timeline(
        [f"worker {i}" for i in range(8)],
        lane,
        start,
        generator.random(count) * 5e-5,
        lane + generator.integers(0, 5, count),
        [f"event {i}" for i in range(16)],
    )
    view = window.timeline
    window.show_bottom("timeline")
    view.set_timeline(timeline)
    bench.application.processEvents()
    frames = []
    for step in range(60):
        view.zoom(0.85 if step < 30 else 1.2)
        view.pan(0.02)
        begun = time.thread_time()
        view.repaint()
        frames.append(time.thread_time() - begun)
    bench.add(
        "a million events: frames a second, CPU (slowest 10 %)",
        float(1 / np.quantile(frames, 0.9)),
        30.0,
        "fps",
        more_is_better=True,
    )


if __name__ == "__main__":
    sys.exit(main())
