"""Samples of a run on the CPU: how often each line was being executed, and that nobody else is touched by it."""

import sys

import numpy as np
import pytest
from two_loops import FIRST, SECOND, measured

from compiler import Graph, TensorType, ops
from compiler.backend.listing import functions_of, laid_out, object_functions
from compiler.backend.llvm import compile_llvm
from compiler.backend.provenance import line_places
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph
from profiler.measure.cpu import measuring as cpu
from profiler.measure.sampling.clock import SamplingClock
from profiler.records import FINISHED, MeasuredRun, MeasureRequest
from profiler.sampled import PLACES, text_digest

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="sampling needs Linux")


@pytest.fixture(scope="module")
def sampled(tmp_path_factory):
    return measured(tmp_path_factory.mktemp("library"))


@linux
def test_two_loops_have_the_shares_that_they_cost(sampled):
    (kernel,) = sampled.result.sampling.kernels
    lines = [line for line in kernel.stage(PLACES).lines if line.file.endswith("two_loops.py")]
    first, second = (sum(x.count for x in lines if own[0] <= x.line <= own[1]) for own in (FIRST, SECOND))
    assert first + second > 0.9 * kernel.samples
    assert 100 * first / (first + second) == pytest.approx(25, abs=5)


@linux
def test_samples_in_kernels_know_their_lines(sampled):
    found = sampled.result.sampling
    assert found.samples >= found.inside > 1000
    assert found.mapped >= 0.95 * found.inside
    assert found.lost == 0


@linux
def test_every_stage_adds_up_to_what_is_mapped(sampled):
    (kernel,) = sampled.result.sampling.kernels
    for stage in kernel.stages:
        total = sum(line.count for line in stage.lines)
        expected = kernel.samples if stage.stage in ("asm", "source") else kernel.mapped
        assert total == pytest.approx(expected, rel=0.01), stage.stage
    assert {stage.stage for stage in kernel.stages} == {"asm", PLACES, "source", "kgen", "kernel", "llvm", "llvm-opt"}
    assert dict(kernel.nodes) == {"custom_0": pytest.approx(kernel.samples, rel=0.01)}


@linux
def test_what_it_cost_is_told(sampled):
    found = sampled.result.sampling
    assert found.calls > 0 and found.seconds > 0 and found.slowdown is not None and found.note == ""


def test_a_run_that_is_not_sampled_has_no_samples(tmp_path):
    assert measured(tmp_path, sample=False).result.sampling is None


@pytest.mark.parametrize(
    ("code", "ended", "words"), [(-11, "", "did not end well"), (-9, "time limit", "no end within")]
)
def test_a_sampled_pass_that_fails_leaves_the_times(code, ended, words):
    request = MeasureRequest("x", sample=True)
    received = cpu._Received(result=MeasuredRun(FINISHED, (10, 11)), sampled=True)
    where = cpu._where(np.zeros(16, np.int64), ())
    outcome = cpu._outcome(where, request, received, code, ended, "")
    assert outcome.result.samples == (10, 11) and outcome.error is None
    assert words in outcome.result.sampling.note


@pytest.mark.skipif(sys.platform.startswith("linux"), reason="Linux has it")
def test_elsewhere_it_is_said_to_be_missing(sampled):
    assert "perf_event" in sampled.result.sampling.note


def test_where_there_is_no_clock_the_run_is_made_all_the_same(monkeypatch):
    from compiler.errors import UnavailableError
    from profiler.measure.sampling import clock

    monkeypatch.setattr(clock.sys, "platform", "darwin")
    with pytest.raises(UnavailableError, match="no perf_event"):
        SamplingClock()


def _model(debug="line-tables"):
    graph = Graph("g", inputs=[TensorType("f32", ("M", 64)), TensorType("f32", (64, 64))])
    with graph:
        x, w = graph.inputs
        graph.output(ops.gelu(x @ w))
    return compile_graph(graph, CompileOptions(debug=debug, cache=False))


def test_a_listing_lies_where_its_object_does():
    model = _model()
    (kernel,) = model.kernels
    loaded = {function.name: function for function in object_functions(kernel.unit.object)}
    laid = laid_out(kernel.unit.asm, model.target)
    assert set(laid) == set(loaded)
    for function in functions_of(kernel.unit.asm):
        found = laid[function.name]
        assert found.size == loaded[function.name].size
        assert len(found.offsets) == len(function.lines) == len(set(found.offsets))
        assert found.offsets[0] == 0 and list(found.offsets) == sorted(found.offsets)


def test_places_name_the_line_of_the_kernel_library():
    (kernel,) = _model().kernels
    for stage in ("kgen", "kernel", "llvm", "llvm-opt", "asm"):
        text, places = kernel.places(stage)
        assert len(places) == len(text.splitlines())
        files = {file.rsplit("/", 1)[-1] for file, line, _ in places if line}
        assert "gemm.py" in files, stage
    assert kernel.places("asm")[0] == kernel.ir("asm")
    assert text_digest(kernel.ir("asm")) == text_digest(kernel.unit.asm)


def test_a_text_without_line_tables_knows_no_places():
    (kernel,) = _model("none").kernels
    assert {place[1] for place in line_places(kernel.ir("asm"), "asm")} == {0}
    assert compile_llvm(kernel.ir("llvm"), kernel._model.target).object
