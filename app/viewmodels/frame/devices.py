"""What kernels can be compiled for and run on, as the window's choosers show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.cluster.places import is_elsewhere
from compiler.targets.nvptx import runs_on

TARGETS = (
    ("cpu", "CPU (this machine)"),
    ("sm_80", "sm_80 (A100)"),
    ("sm_90a", "sm_90a (H100, H200)"),
    ("sm_100", "sm_100 (B200)"),
    ("gfx942", "gfx942 (MI300)"),
)


@dataclass(frozen=True)
class DeviceRow:
    """One device: its name in requests, a title, the compile target that fits it, and what is missing to use it."""

    name: str
    title: str
    target: str
    words: str
    missing: str = ""


CPU = DeviceRow("cpu", "CPU", "cpu", "this machine's processor")


NOT_ASKED = "not asked for yet: choose it to reach it"


def remote_row(place: str, target: str = "", words: str = "", missing: str = "") -> DeviceRow:
    """A device of another machine, `tcp://HOST:PORT/cpu`; one of no target says why it cannot be used."""
    host, _, device = place.partition("://")[2].rpartition("/")
    return DeviceRow(place, f"{device.replace('cpu', 'CPU')} at {host}", target, words, missing)


def device_for(target: str, devices: Sequence[DeviceRow]) -> DeviceRow:
    """The device here that runs code for a compile target; one that says why there is none otherwise."""
    devices = [d for d in devices if not is_elsewhere(d.name)]  # those are chosen by name
    if target == "cpu":
        return next((d for d in devices if d.name == "cpu"), CPU)
    if target.startswith("sm_"):
        usable = [d for d in devices if d.target and d.name != "cpu" and runs_on(target, d.target)]
        if usable:
            return usable[0]
        cards = [d for d in devices if d.name != "cpu"]
        why = next((d.missing for d in cards if d.missing), "")
        if not why:
            has = ", ".join(f"{d.words}" for d in cards) or "no CUDA device"
            why = f"this machine has {has}"
        return DeviceRow("cuda", "CUDA: none", "", "", f"{target} needs a CUDA device: {why}")
    return DeviceRow("none", target, "", "", f"kernels for {target} can be compiled and read here, but not launched")
