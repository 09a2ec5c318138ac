"""Keys and values in the memory of a CUDA device: weights are copied there once, tokens in and logits out each step."""

from __future__ import annotations

import numpy as np

from compiler.importers.llama.config import LlamaConfig
from compiler.importers.llama.graph import PAST, TOKENS
from compiler.model import Model
from profiler.measure.cuda.device import open_device
from profiler.measure.cuda.growing import GrowingModel
from profiler.measure.cuda.weights import Weights


class DeviceModels:
    """The models that take a prompt and one more token, on one device, with one copy of the weights."""

    def __init__(self, prefill: Model, decode: Model, index: int) -> None:
        self.device = open_device(index)
        self.weights = Weights(self.device)
        self.prefill = GrowingModel(prefill, self.device, self.weights)
        self.decode = GrowingModel(decode, self.device, self.weights)
        self.prefill.load({TOKENS: 1})  # now, so that the first token does not wait for it
        self.decode.load({PAST: 1})


class DeviceCache:
    """One pair of arrays a layer on the device, for `room` positions."""

    def __init__(self, models: DeviceModels, config: LlamaConfig, room: int) -> None:
        self._models = models
        self._pool = models.device.pool
        self._row = config.kv_heads * config.head_size * np.dtype(np.float32).itemsize
        self._names = [f"{kind}{number}" for number in range(config.layers) for kind in ("k", "v")]
        self._held = {name: self._pool.allocate(room * self._row, f"cache {name}") for name in self._names}
        self._calls = models.decode.up_to({PAST: room - 1}, self._places(0))
        self._done = 0

    def first(self, tokens: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
        """Take a prompt in; the logits after it."""
        self._done = len(tokens)
        with self._models.prefill.up_to({TOKENS: self._done}, self._places(0)) as calls:
            (logits,) = calls((tokens, cos, sin, *[None] * len(self._names)))
        return logits[0]

    def next(self, token: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
        """Take one more token in; the logits after it."""
        self._calls.resize({PAST: self._done})
        self._calls.point(self._places(self._done))
        (logits,) = self._calls((token, cos, sin, *[None] * (2 * len(self._names))))
        self._done += 1
        return logits[0]

    def _places(self, done: int) -> dict[str, int]:
        """Where the models find what was before, and put what is new."""
        found = {f"past_{name}": held.pointer for name, held in self._held.items()}
        return found | {f"new_{name}": held.pointer + done * self._row for name, held in self._held.items()}

    def close(self) -> None:
        """Give its memory back."""
        self._calls.close()
        for held in self._held.values():
            self._pool.free(held)
        self._held = {}
