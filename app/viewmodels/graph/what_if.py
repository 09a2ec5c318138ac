"""A what-if: edges forced to be fused or cut, and whether the compiler could do it."""

from __future__ import annotations

from dataclasses import dataclass

from app.viewmodels.compilation import Compilation
from compiler.options import CompileOptions


@dataclass(frozen=True)
class WhatIf:
    """What was chosen before, and what is being tried."""

    before: CompileOptions
    pairs: tuple[tuple[str, str], ...]
    fuse: bool

    def refused(self, compilation: Compilation) -> str:
        """Why nothing came of it; empty where at least one of the edges is as it was wanted."""
        decided = {(d.producer, d.consumer): d for d in compilation.ledger}
        known = [decided[pair] for pair in self.pairs if pair in decided]
        if not known or any(decision.accepted == self.fuse for decision in known):
            return ""
        first = known[0]
        return f"cannot {'fuse' if self.fuse else 'cut'} {first.producer} \u2192 {first.consumer}: {first.reason}"
