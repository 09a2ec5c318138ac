"""Running what was compiled: on which device and with what, its times in every view of it, and the runs kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from PySide6 import QtCore, QtGui, QtWidgets

from app.cluster.places import is_elsewhere
from app.controllers.compilations import Compilations
from app.controllers.compile import CompileFeature
from app.controllers.docks import DocksFeature
from app.controllers.features import Command, Dock, Feature, Shared
from app.controllers.measuring_queue import MEASURING_FLOWS, RUNNING
from app.controllers.preferences import PreferencesFeature
from app.controllers.records import MOVED, RecordsController
from app.viewmodels.frame.devices import CPU, DeviceRow
from app.viewmodels.frame.preferences import Preferences
from app.viewmodels.requests import CeilingsRequest, DevicesRequest, Failure, RunRequest
from app.viewmodels.runs.run_figures import call_figures, run_words
from app.viewmodels.timeline.timeline import run_timeline
from app.views.frame.status import Status
from app.views.frame.toolbar import ChoiceBar
from app.views.parts.later import in_thread
from app.views.runs.roofline import RooflineView
from app.views.runs.run_view import RunView, read_sizes
from app.views.runs.runs import COMPILATIONS, RunsView
from app.views.timeline.view import TimelineView

_Question = DevicesRequest | CeilingsRequest


class RunsFeature(Feature):
    """The compile target decides the device; choosing a device chooses the target that fits."""

    unreached = QtCore.Signal(object)  # a device of another machine was chosen that nobody has reached yet

    def __init__(
        self, shared: Shared, compiler: Compilations, records: RecordsController, preferences: PreferencesFeature,
        compile_: CompileFeature, choices: ChoiceBar, status: Status, docks: DocksFeature,
    ) -> None:  # fmt: skip
        super().__init__(shared)
        self._compiler, self._records, self._preferences, self._compile = compiler, records, preferences, compile_
        self._choices, self._status, self._docks = choices, status, docks
        look, state, messages = self._look, self._state, self._messages
        self._asked = self._warm = self._loaded = False
        self.processes = 5  # as on the command line
        self.view, self.roofline = RunView(look, state.selection), RooflineView(look, state.selection)
        self.plots = [self.roofline.prepare]  # what makes the plots of runs, in advance
        self.launches = TimelineView(look, state.selection)
        self.launches.note = "Run (F5) to see the launches on each thread."
        self.list = RunsView(look)
        self.bars = {"run": self.view.bar, "runs": self.list.bar, "roofline": self.roofline.bar}
        self.docks = (
            Dock("run", "Run", self.view, 50),
            Dock("launches", "Launches", self.launches, 60),
            Dock("roofline", "Roofline", self.roofline, 70),
        )
        self.commands = (
            Command("run", "&Run and time", "&Run", 10, self.run, "F5"),
            Command("measure_ceilings", "Measure this &machine", "&Run", 30, self._measure_machine),
        )
        choices.run_pressed.connect(lambda *_: self.run())
        choices.device_chosen.connect(self.choose)
        self.view.run_wanted.connect(lambda *_: self.run())
        self.roofline.measure_wanted.connect(self.measure_ceilings)
        self.list.open_wanted.connect(compiler.open_run)
        self.list.compare_wanted.connect(records.compare)
        self.list.compare_compilations_wanted.connect(records.compare_compilations)
        records.runs_listed.connect(self.list.set_runs)
        records.compilations_listed.connect(lambda rows: self.list.set_rows(COMPILATIONS, rows))
        records.ceilings_measured.connect(self.roofline.set_ceilings)
        records.started.connect(lambda what: status.start(what, "machine"))
        records.progressed.connect(lambda stage, done: status.set_progress(stage, done, "machine"))
        records.ended.connect(lambda good: status.end(good, "machine"))
        records.ended.connect(compiler.measuring.go_on)
        compiler.measuring.watch(lambda: records.busy)
        compiler.measuring.waits.connect(self._waits)
        compiler.started.connect(lambda what: messages.clear("run") if what == RUNNING else None)
        compiler.ended.connect(lambda good: None if good else records.list_runs())  # failed ones are kept
        preferences.changed.connect(self._preferred)
        docks.work_shown.connect(lambda: self._turns.add((records.list_runs, self._look_around)))
        compiler.started.connect(lambda what: self._about_to_run() if what == RUNNING else None)
        state.equipped.connect(choices.set_devices)
        for event in (state.chosen, state.equipped):
            event.connect(lambda _: self._show_device())
        shown = (self._show_launches, self._show_roofline)
        self.when_compiled(self._show_run, *shown)
        self.when_run(self._show_run, self._show_counters, *shown, self._tell)

    def cancel(self) -> bool:
        """End a measurement of this machine."""
        return self._records.cancel()

    def stop(self) -> None:
        """End the processes that ask the database."""
        self._records.stop()

    def choose(self, device: DeviceRow) -> None:
        """Run on this one from now on; compiles for it where that is not what is on show."""
        if device.missing and is_elsewhere(device.name):
            self._show_device()
            self.unreached.emit(device)
            return
        if device.missing:
            words = f"{device.title}: {device.missing}; compiling for a GPU works all the same, launching does not"
            self._messages.say("warning", words, "run")
            self._docks.show("run")
            self._show_device()
            return
        self._state.prefer(device)
        if self._state.choices.target != device.target:
            self._compile.choose("target", device.target)

    def run(self, sample: bool = False) -> None:
        """Run and time the compilation on show; `sample` also looks where inside the kernels the time goes."""
        compilation = self._state.current
        if compilation is None:
            return
        self._messages.clear("run")
        self._docks.show("run")
        device = self._state.device_for(compilation.choices.target)
        if device.missing:
            self._messages.say("error", f"this cannot be run here: {device.missing}", "run")
            return
        view = self.view
        try:
            sizes = read_sizes(view.sizes.text())
        except ValueError as error:
            self._messages.say("error", str(error), "run")
            return
        self._compiler.run(
            RunRequest(
                view.repeats.value(), view.threads.value() or None, 0, sizes, self._preferences.now.check, device.name,
                self._preferences.database, self.processes, sample,
            )
        )  # fmt: skip

    def measure_ceilings(self) -> None:
        """Measure what the device of the run on show can do."""
        self._messages.clear("roofline")
        device = self.roofline.device
        self._compiler.measuring.ask(f"Measuring {device}", lambda: self._records.measure_ceilings(device))

    def _waits(self, what: str) -> None:
        """Something was asked for while another measurement goes on: say so where its result will be."""
        place = {RUNNING: "run", MEASURING_FLOWS: "flows"}.get(what, "roofline")
        if not what.startswith("Timing "):  # the strip of the edit says that it is on its way
            self._messages.say("info", f"{what}: next, when this has ended", place)

    def _measure_machine(self) -> None:
        self._docks.show("roofline")
        self.measure_ceilings()

    def _look_around(self) -> None:
        """Ask once, off the window's thread, what there is to run on and what was measured of it before."""
        if not self._asked:
            self._asked = True
            self._ask(DevicesRequest(), self._found)
            self._ask(CeilingsRequest(measure=False), self.roofline.set_ceilings)

    def _ask(self, request: _Question, good: Callable[[Any], object]) -> None:
        def answered(value: Any) -> None:
            if not isinstance(value, Failure):
                good(value)
            elif value.kind == MOVED:  # and the same is true there
                self._ask(request, good)
            else:
                self._messages.failure(value, "run" if isinstance(request, DevicesRequest) else "roofline")

        self._records.put(request, answered)

    def _found(self, devices: tuple[DeviceRow, ...]) -> None:
        self._state.set_devices(devices)
        for device in devices:
            if device.name != CPU.name and not device.missing:
                self._ask(CeilingsRequest(measure=False, device=device.name), self.roofline.set_ceilings)

    def _about_to_run(self) -> None:
        """What the result is shown with is made while processes start."""
        if self._loaded:
            self._turns.add(self.plots)
        else:
            self._warm_up(self._turns.add)

    def _warm_up(self, make: Callable[[Sequence[Callable[[], object]]], object]) -> None:
        """Load and make what the first run is shown with before there is one: all at once would be felt."""
        if self._warm:
            return
        self._warm = True

        def load(_cancelled: object) -> None:
            import pyqtgraph  # noqa: F401

        def loaded(_: object) -> None:
            self._loaded = True
            make(self.plots)

        # Qt's binding makes a type when its name is first asked for, and two threads at once would end the program:
        # every one that pyqtgraph asks for is made here before it does.
        names = [partial(getattr, module, name) for module in (QtCore, QtGui, QtWidgets) for name in dir(module)]
        self._turns.add([*names, lambda: in_thread(self, load, loaded)])

    def ahead(self) -> Iterator[Callable[[], object]]:
        """What runs are shown with."""
        yield lambda: self._warm_up(self._spare.add)

    def _preferred(self, names: set[str], now: Preferences) -> None:
        if "threads" in names:
            self.view.threads.setValue(now.threads)
        if "repeats" in names:
            self.view.repeats.setValue(now.repeats)

    def _show_device(self) -> None:
        device = self._state.device
        self._choices.set_device(device)
        self._status.set_device(device.title, device.missing or device.words)
        self.view.device.setText(f"on {device.title}")

    def _show_run(self) -> None:
        """The run of what is compiled, or that there is none."""
        if (run := self._state.run) is None:
            self.view.clear()
        else:
            self.view.set_times(self._state.on_show, run)

    def _show_counters(self) -> None:
        if (run := self._state.run) is not None:
            self.view.set_counters(run)

    def _show_launches(self) -> None:
        if (run := self._state.run) is None:
            self.launches.clear()
        else:
            self.launches.set_timeline(run_timeline(self._state.on_show, run))

    def _show_roofline(self) -> None:
        compilation, run = self._state.on_show, self._state.run
        if run is None:
            device = self._state.device
            self.roofline.set_calls([], CPU.name if device.missing else device.name)
        else:
            self.roofline.set_calls(call_figures(compilation, run), run.device, run.elsewhere, run.ceilings)

    def _tell(self) -> None:
        run = self._state.run
        self._records.list_runs()
        if run is None:
            return
        self._status.finish(run_words(run))
        if not run.number and (why := next((note for note in run.notes if "not kept" in note), "")):
            self._messages.say("warning", why, "run")
        if run.ok is False:
            self._messages.say("error", f"the check failed: {'; '.join(run.checks)}", "run")
