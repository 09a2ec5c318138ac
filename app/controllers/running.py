"""Running what was compiled: which device that is, with what, and what it says when the device is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.controllers.messages import Message
from app.viewmodels.frame.devices import CPU, DeviceRow, device_for
from app.viewmodels.requests import CeilingsRequest, DevicesRequest, MeasureRequest
from app.views.runs.run_view import read_sizes

if TYPE_CHECKING:
    from app.main_window import MainWindow


class RunController:
    """Bound to one window. The compile target decides the device; choosing a device chooses the target that fits."""

    def __init__(self, window: MainWindow) -> None:
        self._w = window
        self.devices: tuple[DeviceRow, ...] = (CPU,)
        self._preferred = CPU.name
        self._asked = False
        self.processes = 5  # as on the command line
        window.choices.device_chosen.connect(self.choose)
        window.state.chosen.connect(lambda _: self._show())
        window.roofline.measure_wanted.connect(self.measure_ceilings)
        window.run_view.run_wanted.connect(self.run)
        window.compiler.ended.connect(lambda good: None if good else window.records.list_runs())  # failed ones are kept

    def look_around(self) -> None:
        """Ask once, off the window's thread, what there is to run on and what was measured of it before."""
        if not self._asked:
            self._asked = True
            self._w.records.ask(DevicesRequest(), self.set_devices, "run")
            self._w.records.ask(CeilingsRequest(measure=False), self._w.roofline.set_ceilings, "roofline")

    def set_devices(self, devices: tuple[DeviceRow, ...]) -> None:
        """These are here."""
        self.devices = devices
        self._w.choices.set_devices(devices)
        for device in devices:
            if device.name != CPU.name and not device.missing:
                asked = CeilingsRequest(measure=False, device=device.name)
                self._w.records.ask(asked, self._w.roofline.set_ceilings, "roofline")
        self._show()

    @property
    def device(self) -> DeviceRow:
        """What a run would be on now."""
        target = self._w.state.choices.target
        preferred = next((d for d in self.devices if d.name == self._preferred), None)
        if preferred is not None and preferred.target == target and not preferred.missing:
            return preferred
        return device_for(target, self.devices)

    def choose(self, device: DeviceRow) -> None:
        """Run on this one from now on; compiles for it where that is not what is on show."""
        if device.missing:
            words = f"{device.title}: {device.missing}; compiling for a GPU works all the same, launching does not"
            self._w.messages.post(Message("warning", words, "run"))
            self._w.show_bottom("run")
            self._show()
            return
        self._preferred = device.name
        if self._w.state.choices.target != device.target:
            self._w.presenter.choice("target", device.target)
        self._show()

    def run(self) -> None:
        """Run and time the compilation on show."""
        compilation = self._w.state.compilation
        if compilation is None:
            return
        self._w.messages.clear("run")
        self._w.show_bottom("run")
        device = device_for(compilation.choices.target, self.devices)
        if compilation.choices.target == self._w.state.choices.target:
            device = self.device
        if device.missing:
            self._w.messages.post(Message("error", f"this cannot be run here: {device.missing}", "run"))
            return
        view, now = self._w.run_view, self._w.preferences.now
        try:
            sizes = read_sizes(view.sizes.text())
        except ValueError as error:
            self._w.messages.post(Message("error", str(error), "run"))
            return
        self._w.compiler.run(
            MeasureRequest(
                view.repeats.value(), view.threads.value() or None, 0, sizes, now.check, device.name,
                self._w.preferences.database, self.processes,
            )
        )  # fmt: skip

    def measure_ceilings(self) -> None:
        """Measure what the device of the run on show can do."""
        self._w.messages.clear("roofline")
        self._w.records.measure_ceilings(self._w.roofline.device)

    def _show(self) -> None:
        device = self.device
        self._w.choices.set_device(device)
        self._w.status.set_device(device.title, device.missing or device.words)
        self._w.run_view.device.setText(f"on {device.title}")
