"""A compiled language model: a prompt in, one token after the other out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING

import numpy as np

from app.generate.on_processor import ProcessorCache
from app.generate.sampling import Sampling, choose
from compiler.errors import CompilerError, ExecutionError
from compiler.importers.llama.checkpoint import Checkpoint
from compiler.importers.llama.config import LlamaConfig
from compiler.importers.llama.graph import decode_graph, prefill_graph
from compiler.options import CompileOptions

if TYPE_CHECKING:
    from app.generate.on_device import DeviceCache


def check_asked(config: LlamaConfig, prompt: Sequence[int], most: int, sampling: Sampling) -> None:
    """Raise for what a model cannot do; that needs no compilation."""
    sampling.check()
    if not prompt:
        raise CompilerError("the prompt has no tokens")
    if min(prompt) < 0 or max(prompt) >= config.vocabulary:
        beyond = next(token for token in prompt if not 0 <= token < config.vocabulary)
        raise CompilerError(f"the prompt has token {beyond}, and the model's tokens are 0 to {config.vocabulary - 1}")
    if len(prompt) + most > config.positions:
        raise CompilerError(
            f"{len(prompt)} tokens of the prompt and {most} more are beyond the {config.positions} of the model"
        )


class Engine:
    """The two models of a checkpoint, compiled; on the device of that number, or on the processor."""

    def __init__(
        self, checkpoint: Checkpoint, options: CompileOptions, threads: int | None = None, device: int | None = None
    ) -> None:
        from compiler.pipeline import compile_graph

        self.checkpoint = checkpoint
        self.prefill = compile_graph(prefill_graph(checkpoint), options)
        self.decode = compile_graph(decode_graph(checkpoint), options)
        self._threads = threads
        self._on_device = None
        if device is not None:
            from app.generate.on_device import DeviceModels

            self._on_device = DeviceModels(self.prefill, self.decode, device)

    def cache(self, room: int) -> ProcessorCache | DeviceCache:
        """Keys and values of so many positions, none yet, where the model runs; each call of it adds its own."""
        if self._on_device is not None:
            from app.generate.on_device import DeviceCache

            return DeviceCache(self._on_device, self.checkpoint.config, room)
        return ProcessorCache(self.prefill, self.decode, self.checkpoint.config, room, self._threads)

    def generate(self, prompt: Sequence[int], most: int, sampling: Sampling) -> Iterator[tuple[int, int]]:
        """Tokens as they are made, each with the nanoseconds it took; ends with the model's own end, or after `most`.

        The first takes as long as the prompt does.
        """
        check_asked(self.checkpoint.config, prompt, most, sampling)
        config = self.checkpoint.config
        chance = np.random.default_rng(sampling.seed)
        cos, sin = config.angles(np.arange(len(prompt) + most), self.checkpoint.factors)
        cache = self.cache(len(prompt) + most)
        try:
            done = len(prompt)
            start = perf_counter_ns()
            logits = cache.first(np.array(prompt, np.int64), cos[:done], sin[:done])
            while True:
                if np.isnan(logits).any():
                    raise ExecutionError("the model's scores are not numbers: its weights are damaged, or overflow")
                token = choose(logits, sampling, chance)
                yield token, perf_counter_ns() - start
                most -= 1
                if not most or token in config.ends:
                    return
                start = perf_counter_ns()
                logits = cache.next(np.array([token], np.int64), cos[done : done + 1], sin[done : done + 1])
                done += 1
        finally:
            cache.close()
