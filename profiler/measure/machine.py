"""This machine: its fingerprint, and how busy and how fast it is right now."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from profiler.records import Machine


@cache
def this_machine() -> Machine:
    """The processor, its caches, cores and memory: what times depend on. Names of hosts and users are not in it."""
    from profiler.measure.devices import cpu_device

    cpu = cpu_device()
    described = asdict(cpu) | {"memory_bytes": round(cpu.memory_bytes, -9), "system": platform.system()}
    described["caches"] = {name: size for name, size in cache_sizes().items()}
    text = json.dumps(described, sort_keys=True)
    name = f"{cpu.name}, {cpu.usable_cores} of {cpu.logical_cores} cores"
    return Machine(hashlib.sha256(text.encode()).hexdigest()[:16], name, json.loads(text))


def machine_with(device: str) -> Machine:
    """This machine as a run on `device` sees it: the graphics card is part of it where the run is there."""
    host = this_machine()
    if device == "cpu":
        return host
    from profiler.measure.devices import cuda_device

    card = cuda_device(device)
    facts = {"name": card.name, "target": card.target, "memory_bytes": card.memory_bytes, "driver": card.driver}
    return with_card(host, facts)


def with_card(host: Machine, facts: dict[str, Any]) -> Machine:
    """A host and a card as one machine with a fingerprint of its own."""
    text = json.dumps([host.fingerprint, facts], sort_keys=True)
    name = f"{facts['name']} in {host.name}"
    return Machine(hashlib.sha256(text.encode()).hexdigest()[:16], name, {**host.description, "card": facts})


@cache
def cache_sizes() -> dict[str, int]:
    """Bytes of each data cache of the first core, as the system tells: L1, L2, L3; typical sizes where it does not."""
    found: dict[str, int] = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            if folder.joinpath("type").read_text().strip() == "Instruction":
                continue
            level = folder.joinpath("level").read_text().strip()
            text = folder.joinpath("size").read_text().strip()
            found[f"L{level}"] = int(text.rstrip("KM")) * {"K": 1 << 10, "M": 1 << 20}.get(text[-1], 1)
        except (OSError, ValueError):
            continue
    return found or {"L1": 32 << 10, "L2": 512 << 10, "L3": 8 << 20}


def busy_notes() -> tuple[str, ...]:
    """Whether other programs keep this machine busy now, in words."""
    return tuple(note for note in conditions()["notes"] if "busy" in note)


def conditions() -> dict[str, Any]:
    """Load and clock now: a time taken on a busy or throttled machine should say so."""
    import psutil

    from compiler.backend.runtime import default_threads

    load = os.getloadavg() if hasattr(os, "getloadavg") else (0.0, 0.0, 0.0)
    found: dict[str, Any] = {"load": [round(x, 2) for x in load], "cores": default_threads()}
    frequency = getattr(psutil, "cpu_freq", lambda: None)()
    found["megahertz"] = round(frequency.current) if frequency and frequency.current else None
    governor = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    found["governor"] = governor.read_text().strip() if governor.exists() else None
    notes = []
    if load[0] > 0.5 * found["cores"]:
        notes.append(f"the machine was busy (load {load[0]:.1f} on {found['cores']} cores)")
    if found["megahertz"] is None:
        notes.append("the system does not tell the clock frequency")
    if found["governor"] not in (None, "performance"):
        notes.append(f"the clock may change (governor {found['governor']})")
    found["notes"] = notes
    return found
