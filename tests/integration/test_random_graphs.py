"""Every random graph gives the reference's result: at O0 and O3, fused and unfused, on one and two threads."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from compiler import reference
from compiler.errors import ExecutionError
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph


def _sibling(name: str):
    spec = importlib.util.spec_from_file_location(f"kg_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


graphs = _sibling("random_graphs")
many = _sibling("many_graphs")
agreement = _sibling("agreement")
WAYS = [(0, True), (3, True), (3, False), (0, False)]  # optimisation level, fused; each on one and on two threads


def check(recipe, ways=WAYS) -> None:
    """Compile a recipe every way and compare with the reference."""
    graph = recipe.build()
    arrays = recipe.arrays()
    try:
        with np.errstate(all="ignore"):
            expected = reference(graph, *arrays)
            wide = reference(recipe.build(widen=True), *recipe.arrays(widen=True))
    except ExecutionError:  # sizes this graph cannot take, an empty maximum say: the model has to refuse them too
        with pytest.raises(ExecutionError):
            compile_graph(graph, CompileOptions(opt_level=0, cache=False)).execute(*arrays)
        return
    for opt_level, fuse in ways:
        model = compile_graph(graph, CompileOptions(opt_level=opt_level, fuse=fuse, cache=False))
        for threads in (1, 2):
            results = model.execute(*[array.copy() for array in arrays], threads=threads)
            problem = disagreement(results, expected, wide, lambda: many.spread_of(graph, arrays, expected))
            if problem:
                sources = "\n".join(kernel.source or "" for kernel in model.kernels)
                pytest.fail(f"-O{opt_level} fuse={fuse} threads={threads} {problem}\n{sources}")


def disagreement(results, expected, wide, spread) -> str:
    """The first output that is further from the reference than its type allows, and than `spread` says that two right
    answers may lie apart, in words. What a wide type holds may be made of narrow values."""
    for number, (result, truth, wider) in enumerate(zip(results, expected, wide, strict=True)):
        problem = agreement.disagreement(result, truth, wider if truth.dtype.kind not in "iub" else None)
        if problem and (most := spread()[number]) is not None:
            off = np.abs(result.astype(np.float64) - truth.astype(np.float64))
            problem = problem if (~(off <= most) & np.isfinite(most)).any() else ""
        if problem:
            return f"output {number}: {problem}"
    return ""


def test_a_wide_result_of_narrow_values_is_as_good_as_they_are() -> None:
    """A softmax in f32 that is put beside values in f64: what it is off by is much in f64."""
    steps = (("cast", (0,), ("f64",)), ("softmax", (0,), (0,)), ("concat", (1, 2), (0,)))
    recipe = graphs.Recipe((("f32", (64, 13)),), tuple(graphs.Step(*step) for step in steps), (3,), seed=0)
    check(recipe)
    graph, arrays = recipe.build(), recipe.arrays()
    truth = reference(graph, *arrays)
    wide = reference(recipe.build(widen=True), *recipe.arrays(widen=True))
    assert disagreement([1.00001 * truth[0]], truth, wide, lambda: many.spread_of(graph, arrays, truth))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(graphs.recipes())
def test_random_graph_matches_reference(recipe) -> None:
    check(recipe)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
@given(graphs.recipes(max_steps=16))
def test_many_random_graphs_match_reference(recipe) -> None:
    check(recipe)


WRONG_ONCE = [5006217, 5007077, 5016330, 23000167, 42000945, 43001120, 52008441]


@pytest.mark.parametrize("number", [*range(12), *WRONG_ONCE])
def test_a_large_random_graph_matches_the_reference(number) -> None:
    assert many.check(number) in ("", many.REFUSED)


def test_a_sum_of_nothing_read_backwards_compiles_for_a_card() -> None:
    graph = many.draw(51000551).build({})
    assert compile_graph(graph, CompileOptions("sm_90a", cache=False)).kernels


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_a_thousand_large_random_graphs_match_the_reference(part) -> None:
    problems = {n: many.check(n) for n in range(1000 + 50 * part, 1050 + 50 * part)}
    assert not {number: problem for number, problem in problems.items() if problem not in ("", many.REFUSED)}
