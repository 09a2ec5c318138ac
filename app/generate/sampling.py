"""Which token comes next: the likeliest, or one drawn from those that temperature, top-k and top-p leave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compiler.errors import CompilerError


@dataclass(frozen=True)
class Sampling:
    """How tokens are chosen; a temperature of zero takes the likeliest, zero for `top_k` leaves all."""

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def check(self) -> None:
        """Raise for what makes no sense."""
        if not self.temperature >= 0 or self.top_k < 0 or not 0 < self.top_p <= 1:
            raise CompilerError("the temperature and top-k are at least 0, top-p is above 0 and at most 1")


def choose(logits: np.ndarray, sampling: Sampling, chance: np.random.Generator) -> int:
    """The next token."""
    if sampling.temperature == 0:
        return int(np.argmax(logits))
    with np.errstate(over="ignore"):  # a temperature of almost nothing leaves the likeliest alone
        scores = (logits.astype(np.float64) - logits.max()) / sampling.temperature
    order = np.argsort(-scores, kind="stable")
    if sampling.top_k:
        order = order[: sampling.top_k]
    weights = np.exp(scores[order] - scores[order[0]])
    shares = weights / weights.sum()
    kept = int(np.searchsorted(np.cumsum(shares), sampling.top_p)) + 1  # the fewest whose shares reach top_p
    shares = shares[:kept] / shares[:kept].sum()
    return int(order[min(int(np.searchsorted(np.cumsum(shares), chance.random(), side="right")), len(shares) - 1)])
