"""ONNX's own backend suite through our compiler: what passed once must pass, and README says how many do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("onnx")

from compiler import compile, reference
from tests.compiler.importers.onnx_suite import (
    check,
    check_against_runtime,
    check_light,
    light_models,
    node_cases,
    passing,
)

README = Path(__file__).parents[3] / "README.md"


def _compiled(graph, *arrays):
    return compile(graph, opt_level=1, jobs=1, cache=False).execute(*arrays)


def test_a_sample_of_the_suite_passes():
    """Every twentieth case on NumPy, every two hundredth compiled: the whole is `slow`."""
    cases = node_cases()
    known = [name for name in passing() if name in cases]
    assert len(known) > 900, "the suite of this onnx version has lost most of its cases"
    for name in known[::20]:
        check(cases[name], reference)
    for name in known[::200]:
        check(cases[name], _compiled)


@pytest.mark.slow
def test_the_suite_passes_as_listed():
    """The list may only grow, and the figure in README is the one this prints."""
    cases, listed = node_cases(), set(passing())
    done, failed = set(), {}
    for name, case in cases.items():
        try:
            check(case, _compiled)
            done.add(name)
        except Exception as error:
            failed[name] = " ".join(str(error).split())[:160]
    figure = f"{len(done):,} of {len(cases):,}"
    print(f"\nONNX backend suite: {figure} node cases pass")
    assert not [f"{name}: {failed[name]}" for name in sorted(listed & failed.keys())]
    assert not done - listed, f"pass now, so add them to onnx_passing.txt: {sorted(done - listed)}"
    assert len(done) >= 0.85 * len(cases)
    said = re.search(r"([\d,]+ of [\d,]+) node cases", README.read_text())
    assert said and said[1] == figure


@pytest.mark.slow
def test_cases_agree_with_onnx_runtime_on_random_inputs():
    runtime = pytest.importorskip("onnxruntime")
    cases, compared, wrong = node_cases(), 0, {}
    for number, name in enumerate(passing()):
        try:
            compared += check_against_runtime(cases[name], runtime, reference, number)
        except Exception as error:
            wrong[name] = " ".join(str(error).split())[:200]
    print(f"\n{compared} cases agree with ONNX Runtime on random inputs")
    assert not wrong
    assert compared > 500


@pytest.mark.slow
@pytest.mark.parametrize("path", light_models(), ids=lambda path: path.stem.removeprefix("light_"))
def test_light_models_give_the_stored_output(path):
    check_light(path, _compiled)
