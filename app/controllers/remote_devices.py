"""Devices of other machines in the window: named once, remembered, reached when they are chosen, and taken away."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from app.cluster.places import check_place, is_elsewhere
from app.controllers.docks import DocksFeature
from app.controllers.features import Command, Feature, Shared
from app.controllers.jobs import Worker
from app.controllers.runs import RunsFeature
from app.controllers.settings import Settings
from app.viewmodels.frame.devices import NOT_ASKED, DeviceRow, remote_row
from app.viewmodels.requests import Failure, RemoteDeviceRequest
from compiler.errors import CompilerError

if TYPE_CHECKING:
    from app.views.frame.remote_devices import RemoteDevicesDialog

_KEPT = "remote_devices"
_MOST = 50
_ASKING = "being asked"


class RemoteDevicesFeature(Feature):
    """Nobody is asked before the user chooses the device: a scheduler is trusted code, and may be far away."""

    def __init__(self, shared: Shared, settings: Settings, runs: RunsFeature, docks: DocksFeature) -> None:
        super().__init__(shared)
        self._settings, self._runs, self._docks = settings, runs, docks
        self.dialog: RemoteDevicesDialog | None = None
        self._asking: dict[str, Worker] = {}
        self.rows: dict[str, DeviceRow] = {place: remote_row(place, missing=NOT_ASKED) for place in self._kept()}
        self.commands = (Command("remote_devices", "Devices of &other machines...", "&Run", 31, self.show),)
        self._state.equipped.connect(lambda _: self._equip())
        runs.unreached.connect(lambda device: self.reach(device.name))
        docks.work_shown.connect(lambda: self._turns.add((self._equip,)))

    def stop(self) -> None:
        """End the processes that ask."""
        for worker in self._asking.values():
            worker.stop()
        self._asking.clear()

    def show(self) -> None:
        """The dialog in which they are added and taken away."""
        from app.views.frame.remote_devices import RemoteDevicesDialog  # not before somebody opens it

        if self.dialog is None:
            self.dialog = RemoteDevicesDialog(self._window)
            self.dialog.add_wanted.connect(self.add)
            self.dialog.remove_wanted.connect(self.remove)
            self.dialog.reach_wanted.connect(self.reach)
        self.dialog.set_devices(tuple(self.rows.values()))
        self.dialog.show()
        self.dialog.raise_()

    def add(self, text: str) -> None:
        """One more: remembered, and run on from now on where it can be reached."""
        place = text.strip()
        try:
            check_place(place)
            if len(self.rows) >= _MOST and place not in self.rows:
                raise CompilerError(f"there are {_MOST} already; remove one first")
        except CompilerError as error:
            if self.dialog is not None:
                self.dialog.say(error.message)
            return
        self.rows.setdefault(place, remote_row(place))
        self._keep()
        self.reach(place)

    def remove(self, place: str) -> None:
        """Forget one; runs that were made there stay."""
        self.rows.pop(place, None)
        if (worker := self._asking.pop(place, None)) is not None:
            worker.stop()
        self._keep()
        self._equip()

    def reach(self, place: str) -> None:
        """Ask a device what it is, in a process of its own: a machine that does not answer holds up nothing."""
        if place not in self.rows or place in self._asking:
            return
        self._messages.clear("run")
        self._set(replace(self.rows[place], missing=_ASKING))
        worker = self._asking[place] = Worker("store", self)
        worker.submit(RemoteDeviceRequest(place), lambda told: self._told(place, worker, told))

    def _told(self, place: str, worker: Worker, told: DeviceRow | Failure) -> None:
        if self._asking.get(place) is not worker:
            return
        del self._asking[place]
        worker.stop()
        row = remote_row(place, missing=told.message) if isinstance(told, Failure) else told
        self._set(row)
        if row.missing:
            self._messages.say("error", f"{row.title} cannot be used: {row.missing}", "run")
        else:
            self._runs.choose(row)

    def _set(self, row: DeviceRow) -> None:
        self.rows[row.name] = row
        self._equip()

    def _equip(self) -> None:
        """Put them behind the devices of this machine, in the chooser and in the dialog."""
        here = tuple(device for device in self._state.devices if not is_elsewhere(device.name))
        wanted = (*here, *self.rows.values())
        if self._state.devices != wanted:
            self._state.set_devices(wanted)
        if self.dialog is not None:
            self.dialog.set_devices(tuple(self.rows.values()))

    def _kept(self) -> list[str]:
        """Those that are remembered; what is none any more, or was put there by hand, is left out."""
        found: list[str] = []
        entries: list[Any] = self._settings.get(_KEPT, [])
        for entry in entries[:_MOST]:
            try:
                check_place(entry if isinstance(entry, str) else "")
            except CompilerError:
                continue
            found.append(entry)
        return list(dict.fromkeys(found))

    def _keep(self) -> None:
        self._settings.set(_KEPT, list(self.rows))
