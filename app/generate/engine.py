"""A compiled language model and its cache of keys and values: a prompt in, one token after the other out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter_ns

import numpy as np

from app.generate.sampling import Sampling, choose
from compiler.errors import CompilerError
from compiler.importers.llama.checkpoint import Checkpoint
from compiler.importers.llama.graph import decode_graph, prefill_graph
from compiler.options import CompileOptions


class Engine:
    """The two models of a checkpoint, compiled."""

    def __init__(self, checkpoint: Checkpoint, options: CompileOptions, threads: int | None = None) -> None:
        from compiler.pipeline import compile_graph

        self.checkpoint = checkpoint
        self.prefill = compile_graph(prefill_graph(checkpoint), options)
        self.decode = compile_graph(decode_graph(checkpoint), options)
        self._threads = threads

    def generate(self, prompt: Sequence[int], most: int, sampling: Sampling) -> Iterator[tuple[int, int]]:
        """Tokens as they are made, each with the nanoseconds it took; ends with the model's own end, or after `most`.

        The first takes as long as the prompt does.
        """
        sampling.check()
        config = self.checkpoint.config
        if not prompt:
            raise CompilerError("the prompt has no tokens")
        if min(prompt) < 0 or max(prompt) >= config.vocabulary:
            raise CompilerError(f"tokens are 0 to {config.vocabulary - 1}")
        if len(prompt) + most > config.positions:
            raise CompilerError(
                f"{len(prompt)} tokens of the prompt and {most} more are beyond the {config.positions} of the model"
            )
        chance = np.random.default_rng(sampling.seed)
        cos, sin = config.angles(np.arange(len(prompt) + most), self.checkpoint.factors)
        shape = (len(prompt) + most, config.kv_heads, config.head_size)
        cache = [np.zeros(shape, np.float32) for _ in range(2 * config.layers)]
        done = len(prompt)
        start = perf_counter_ns()
        new = [rows[:done] for rows in cache]
        (logits,) = self.prefill.execute(
            np.array(prompt, np.int64), cos[:done], sin[:done], *new, threads=self._threads
        )  # fmt: skip
        while True:
            token = choose(logits[0], sampling, chance)
            yield token, perf_counter_ns() - start
            most -= 1
            if not most or token in config.ends:
                return
            start = perf_counter_ns()
            rows = [part for held in cache for part in (held[:done], held[done : done + 1])]
            (logits,) = self.decode.execute(
                np.array([token], np.int64), cos[done : done + 1], sin[done : done + 1], *rows, threads=self._threads
            )
            done += 1
