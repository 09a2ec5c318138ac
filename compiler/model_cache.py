"""Whole models in the cache: a graph that was compiled before starts without being compiled."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from compiler.artifact.stored_model import model_key, restore_model, store_model
from compiler.cache import key_of, pack, producer, target_identity, unpack
from compiler.compilation import Compilation, Compiled
from compiler.passes.fusion.edits import final_sources, problem_of
from compiler.trace import Trace

if TYPE_CHECKING:
    from compiler.cache import Cache
    from compiler.dialects.mo import GraphOp
    from compiler.graph.graph import Graph
    from compiler.passes.fusion.records import FusionResult
    from compiler.targets.target import Target


class ModelEntry:
    """The place of a model in the cache; where there is no cache, or the model is compiled to see how, it is empty."""

    def __init__(self, graph: Graph, run: Compilation) -> None:
        self._graph = graph
        self._run = run
        self._cache = None if run.options.recompiles else run.cache

    @cached_property
    def _key(self) -> str:
        return model_key(self._graph, self._run.options, self._run.target, self._run.library)

    def find(self) -> Compiled | None:
        """The model as an earlier compilation left it."""
        if self._cache is None:
            return None
        run = self._run
        with run.trace.span("find-model", "cache"):
            key = self._key
            if run.options.tuned:
                # Which of the choices concern this model is known since it was compiled with any.
                problems = self._cache.get("model", self._problems_key)
                if problems is None:
                    return None
                key = self._tuned_key(unpack(problems)[0])
            payload = self._cache.get("model", key)
            return None if payload is None else restored(self._graph, run, payload)

    def keep(self, made: Compiled) -> None:
        """Keep a model, unless it is not worth it."""
        if self._cache is None:
            return
        with self._run.trace.span("keep-model", "cache"):
            payload = store_model(made.host, made.objects, self._graph)
            if payload is None:
                return
            key, run = self._key, self._run
            if run.options.tuned:
                problems = sorted({problem_of(kernel, run.target) for kernel in made.host.fusion.kernels})
                self._cache.put("model", self._problems_key, pack(problems))
                key = self._tuned_key(problems)
            self._cache.put("model", key, payload)

    def known(self, about: object, find: Callable[[], Any]) -> Any:
        """What somebody finds out about the model, as JSON has it: found once, then beside it in the cache.

        `about` says what, and on what it depends besides the model; nothing found, None, is not kept.
        (`compiler.compilation.Known`)
        """
        if self._cache is None:
            return find()
        key = key_of("known", self._key, self._run.options.tuned, about)
        payload = self._cache.get("model", key)
        if payload is not None:
            return unpack(zlib.decompress(payload))[0]
        found = find()
        if found is not None:
            self._cache.put("model", key, zlib.compress(pack(found), 1))  # IR shrinks to a seventh
        return found

    @property
    def _problems_key(self) -> str:
        return key_of("problems", self._key)

    def _tuned_key(self, problems: Collection[str]) -> str:
        """The key of the model with the choices for its own problems; those of other models' make no difference."""
        used = sorted((each.problem, each.choices) for each in self._run.options.tuned if each.problem in problems)
        return key_of(self._key, used) if used else self._key


def restored(graph: Graph, run: Compilation, payload: bytes) -> Compiled:
    """A model from what was stored of it.

    Graph ops are not: whoever asks for them has the graph's half of the compilation done again, and what that takes is
    not part of this one.
    """

    @cache
    def optimised() -> GraphOp:
        from compiler.passes.graph.run import graph_passes

        return graph_passes(graph, Trace(), run.options.recognise)

    @cache
    def fused() -> FusionResult:
        from compiler.passes.fusion.run import fuse_graph

        return fuse_graph(optimised(), run.library, run.options, Trace())

    host, objects = restore_model(payload, graph, fused)
    for kernel in host.fusion.kernels:
        run.trace.add("model-hit", "cache", kernel.name, run.trace.begun, 0.0)
    return Compiled(optimised, host, final_sources(host.fusion.kernels, run.options, run.target), tuple(objects))


def find_runtime(kept: Cache | None, target: Target) -> None:
    """Have the threads' runtime from a cache, where whoever is first leaves it."""
    if kept is None:
        return
    from compiler.backend.runtime import runtime_object, supply_runtime

    key = key_of("runtime", target_identity(target), producer())
    image = kept.get("object", key)
    if image is not None:
        supply_runtime(target, image)
    else:
        kept.put("object", key, runtime_object(target))
