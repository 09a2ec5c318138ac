"""Keys and values in the memory of the host, for models that run on its processor."""

from __future__ import annotations

import numpy as np

from compiler.importers.llama.config import LlamaConfig
from compiler.model import Model


class ProcessorCache:
    """One pair of arrays a layer, for `room` positions; the models are given parts of them."""

    def __init__(self, prefill: Model, decode: Model, config: LlamaConfig, room: int, threads: int | None) -> None:
        self._prefill, self._decode, self._threads = prefill, decode, threads
        shape = (room, config.kv_heads, config.head_size)
        self._held = [np.zeros(shape, np.float32) for _ in range(2 * config.layers)]
        self._done = 0

    def first(self, tokens: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
        """Take a prompt in; the logits after it."""
        self._done = len(tokens)
        new = [rows[: self._done] for rows in self._held]
        (logits,) = self._prefill.execute(tokens, cos, sin, *new, threads=self._threads)
        return logits[0]

    def next(self, token: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
        """Take one more token in; the logits after it."""
        at = self._done
        rows = [part for held in self._held for part in (held[:at], held[at : at + 1])]
        (logits,) = self._decode.execute(token, cos, sin, *rows, threads=self._threads)
        self._done += 1
        return logits[0]

    def close(self) -> None:
        """Let go of the arrays."""
        self._held = []
