"""How far a compilation has come, from the passes as they begin: the stage in words and a share of the whole."""

from __future__ import annotations

from app.viewmodels.requests import KernelCome, Progress, Report
from compiler.options import STAGE_TABLE

# Said otherwise while it is being done than when it is over.
_WORDS = {stage.name: stage.work for stage in STAGE_TABLE.values() if stage.work} | {
    "cache": "looking in the cache", "llvm": "LLVM IR", "machine": "LLVM optimising and emitting", "link": "linking",
}  # fmt: skip
# Where each stage begins and ends in a usual compilation; some follow each other for every kernel, or every module of
# some. Between, kernels count: half of them is half of the stage.
_LOWERING = (0.07, 0.32)
_SHARES = {
    "mo": (0.03, 0.05), "mogg": (0.05, 0.07), "kgen": _LOWERING, "kernel": _LOWERING, "llvm": _LOWERING,
    "machine": (0.32, 0.97), "link": (0.97, 1.0),
}  # fmt: skip


class CompileProgress:
    """Watches one compilation. What it reports never goes backwards."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._kernels = 0
        self._seen: dict[str, int] = {}
        self._share = 0.03
        self._llvm = 0.0  # the part of the whole that LLVM has done, perhaps beside earlier stages
        self._named: set[str] = set()

    def __call__(self, stage: str, name: str, kernel: str) -> None:
        """A pass begins."""
        if stage == "kernels":
            self._kernels = int(name)
            return
        if stage == "compiled":  # a part of LLVM's work is done: `name` says which share of it
            begin, end = _SHARES["machine"]
            self._llvm = max(self._llvm, (end - begin) * float(name))
            self._report(Progress(f"{_WORDS['machine']}: {kernel}", self._whole()))
            return
        if stage == "kgen" and kernel and kernel not in self._named:
            self._named.add(kernel)
            self._report(KernelCome(f"{_WORDS[stage]}: {kernel}", self._whole(), kernel, self._kernels))
        self._seen[stage] = self._seen.get(stage, 0) + 1
        begin, end = _SHARES.get(stage, (self._share, self._share))
        seen = self._seen.get("kgen", 1) if _SHARES.get(stage) == _LOWERING else self._seen[stage]
        done = (seen - 1) / self._kernels if self._kernels else 0.0
        self._share = max(self._share, begin + (end - begin) * min(done, 1.0))
        self._report(Progress(f"{_WORDS.get(stage, stage)}: {kernel or name}", self._whole()))

    def _whole(self) -> float:
        return max(self._share, min(self._share + self._llvm, _SHARES["machine"][1]))
