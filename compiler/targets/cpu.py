"""CPU targets: this machine ("cpu") and a few named ones that can be compiled for anywhere."""

from __future__ import annotations

import platform
import re
from functools import cache
from pathlib import Path

from compiler.errors import CompilerError
from compiler.targets.emission import Emission
from compiler.targets.target import AddressSpaces, Family, Limits, Target, target_machine

# llvmlite reports only a handful of AArch64 features; the kernel's flags say more.
_AARCH64_FLAGS = {
    "asimdhp": "fullfp16",
    "asimddp": "dotprod",
    "asimdrdm": "rdm",
    "asimdfhm": "fp16fml",
    "bf16": "bf16",
    "i8mm": "i8mm",
    "atomics": "lse",
    "lrcpc": "rcpc",
}
_NAMED = {
    "x86-64-v2": ("x86_64", "x86-64-v2", ""),
    "x86-64-v3": ("x86_64", "x86-64-v3", "+avx2,+fma,+f16c"),
    "x86-64-v4": ("x86_64", "x86-64-v4", "+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512dq,+avx512vl"),
    "armv8": ("aarch64", "generic", "+neon"),
    "neoverse-n1": ("aarch64", "neoverse-n1", "+neon,+fullfp16,+dotprod,+lse"),
    "neoverse-v1": ("aarch64", "neoverse-v1", "+neon,+fullfp16,+dotprod,+lse,+bf16,+i8mm"),
}
_DESCRIBED = "cpu:"
_EMISSION = Emission(
    intrinsics=(("aarch64", "aarch64"), ("x86", "x86_64")),
    short_loops='"kg-short-loops"',  # on cards loops are also short where threads are few, and nobody has timed those
)
# What a processor's name lets LLVM use beyond the features that are spelled out.
_IMPLIED = {"x86-64-v2": {"sse4.2", "popcnt"}, "x86-64-v3": {"bmi2"}, "x86-64-v4": {"bmi2"}, "neoverse-v1": {"sve"}}


@cache
def cpu_target(name: str) -> Target:
    """The record of one CPU target; `cpu` looks at this machine, `cpu:TRIPLE:CPU:FEATURES` describes another."""
    if name == "cpu":
        return _host()
    if name.startswith(_DESCRIBED):
        return _described(name)
    arch, cpu, features = _NAMED[name]
    return _make(name, arch, f"{arch}-unknown-linux-gnu", cpu, features)


def runs_here(target: Target) -> bool:
    """Whether this machine's processor can execute code for `target`."""
    if target.name == "cpu" or not target.emission.in_process:
        return target.name == "cpu"
    host = cpu_target("cpu")
    needed = target.feature_set | _IMPLIED.get(target.name, set())
    return target.arch == host.arch and needed <= host.feature_set


def assembles(target: Target) -> bool:
    """Whether inline assembly for `target` becomes code here: a text keeps it as it is, llvmlite reads the host's."""
    return target.emission.emits_text or target.arch == cpu_target("cpu").arch


def _host() -> Target:
    import llvmlite.binding as llvm

    triple = llvm.get_process_triple()
    arch = _arch(triple)
    features = dict(llvm.get_host_cpu_features())
    if arch == "aarch64":
        features["neon"] = True
        features.update({ours: True for flag, ours in _AARCH64_FLAGS.items() if flag in _kernel_flags()})
    text = ",".join(f"{'+' if on else '-'}{feature}" for feature, on in sorted(features.items()))
    return _make("cpu", arch, triple, llvm.get_host_cpu_name(), text)


def _described(name: str) -> Target:
    """The target that a portable name has in it (`Target.portable_name`)."""
    found = re.fullmatch(rf"{_DESCRIBED}([\w.-]+):([\w.+-]*):((?:[+-][\w.-]+(?:,|$))*)", name)
    arch = "" if found is None else _arch(found[1])
    if found is None or arch not in ("aarch64", "x86_64"):
        raise CompilerError(f"{name[:80]!r} describes no processor; it is cpu:TRIPLE:CPU:FEATURES")
    return _make(name, arch, found[1], found[2], found[3])


def _arch(triple: str) -> str:
    first = triple.split("-")[0]
    return {"arm64": "aarch64", "amd64": "x86_64"}.get(first.lower(), first)


def _kernel_flags() -> frozenset[str]:
    """CPU flags the operating system reports: /proc/cpuinfo on Linux; Apple's cores all have these."""
    if platform.system() == "Darwin":
        return frozenset({"asimdhp", "asimddp", "asimdrdm", "atomics", "lrcpc"})
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    return frozenset(
        flag
        for line in text.splitlines()
        if line.split(":")[0].strip() in ("Features", "flags")
        for flag in line.split(":", 1)[1].split()
    )


def _make(name: str, arch: str, triple: str, cpu: str, features: str) -> Target:
    on = frozenset(part[1:] for part in features.split(",") if part.startswith("+"))
    x86 = arch == "x86_64"
    simd_bytes = 64 if "avx512f" in on else 32 if "avx2" in on else 16
    return Target(
        name=name,
        kind="cpu",
        arch=arch,
        triple=triple,
        data_layout=str(target_machine(triple, cpu, features, 2).target_data),
        cpu=cpu,
        features=features,
        simd_bytes=simd_bytes,
        vector_registers=32 if not x86 or simd_bytes == 64 else 16,
        warp_size=1,
        spaces=AddressSpaces(),
        limits=Limits(),
        emission=_EMISSION,
        native_f16="f16c" in on if x86 else arch == "aarch64",
        native_f16_fma=not x86 or "avx512fp16" in on,
        # Not on x86: vcvtneps2bf16 flushes subnormals, which would differ from every other target.
        native_bf16=arch == "aarch64" and "bf16" in on,
        native_saturation=arch == "aarch64",
        feature_set=on,
    )


FAMILY = Family(order=0, names=("cpu", *_NAMED), emission=_EMISSION, make=cpu_target, described=_DESCRIBED)
