"""How far a compilation has come, from the passes as they begin: the stage in words and a share of the whole."""

from __future__ import annotations

from app.viewmodels.requests import KernelCome, Progress, Report
from compiler.options import STAGE_TABLE

# Said otherwise while it is being done than when it is over.
_WORDS = {stage.name: stage.work for stage in STAGE_TABLE.values() if stage.work} | {
    "cache": "looking in the cache", "llvm": "LLVM IR", "machine": "LLVM optimising and emitting", "link": "linking",
}  # fmt: skip
# Where each stage begins and ends in a usual compilation. Between, kernels count: half of them is half of the stage.
_SHARES = {
    "mo": (0.03, 0.05), "mogg": (0.05, 0.07), "kgen": (0.07, 0.24), "kernel": (0.24, 0.27), "llvm": (0.27, 0.32),
    "machine": (0.32, 0.97), "link": (0.97, 1.0),
}  # fmt: skip


class CompileProgress:
    """Watches one compilation. What it reports never goes backwards."""

    def __init__(self, report: Report, flow: str) -> None:
        self._report = report
        self._per_kernel = flow == "per-kernel"
        self._kernels = 0
        self._seen: dict[str, int] = {}
        self._share = 0.03
        self._named: set[str] = set()

    def __call__(self, stage: str, name: str, kernel: str) -> None:
        """A pass begins."""
        if stage == "kernels":
            self._kernels = int(name)
            return
        if stage == "compiled":  # a part of LLVM's work is done: `name` says which share of it
            begin, end = _SHARES["machine"]
            self._share = max(self._share, begin + (end - begin) * float(name))
            self._report(Progress(f"{_WORDS['machine']}: {kernel}", self._share))
            return
        if stage == "kgen" and kernel and kernel not in self._named:
            self._named.add(kernel)
            self._report(KernelCome(f"{_WORDS[stage]}: {kernel}", self._share, kernel, self._kernels))
        seen = self._seen[stage] = self._seen.get(stage, 0) + 1
        begin, end = _SHARES.get(stage, (self._share, self._share))
        if self._per_kernel and stage in ("kgen", "kernel", "llvm"):  # these follow each other for every kernel
            begin, end, seen = _SHARES["kgen"][0], _SHARES["llvm"][1], self._seen.get("kgen", 1)
        done = (seen - 1) / self._kernels if self._kernels else 0.0
        self._share = max(self._share, begin + (end - begin) * min(done, 1.0))
        self._report(Progress(f"{_WORDS.get(stage, stage)}: {kernel or name}", self._share))
