"""`kernelglass devices`: what this machine can run kernels on."""

from __future__ import annotations

from dataclasses import asdict

import click

from app.cli.options import json_option
from app.cli.output import print_json, say
from app.text_tables import size
from compiler.errors import UnavailableError


@click.command("devices")
@json_option
def command(as_json: bool) -> None:
    """Show the CPU and the CUDA devices of this machine."""
    from profiler.measure.devices import cpu_device, cuda_devices

    cpu = cpu_device()
    missing = None
    try:
        cuda = cuda_devices()
    except UnavailableError as error:
        cuda, missing = [], str(error)
    if as_json:
        print_json({"cpu": asdict(cpu), "cuda": [asdict(device) for device in cuda], "cuda_unavailable": missing})
        return
    say(f"cpu     {cpu.name} ({cpu.arch}, LLVM {cpu.llvm_cpu})")
    say(
        f"        {cpu.physical_cores} cores, {cpu.logical_cores} threads, {cpu.usable_cores} usable, "
        f"{size(cpu.memory_bytes)} memory"
    )
    say(f"        {cpu.simd_bits}-bit vectors: {' '.join(cpu.features)}")
    for device in cuda:
        say(
            f"cuda:{device.index}  {device.name} ({device.target}, {device.multiprocessors} multiprocessors, "
            f"{size(device.memory_bytes)} memory, driver {device.driver})"
        )
    if missing:
        say(f"cuda    none: {missing}")
