"""What a CUDA child answers becomes the same records as a run on the CPU; no device is needed to say so."""

import numpy as np
import profiled_graphs as graphs
import pytest

from compiler.pipeline import CompileOptions
from compiler.session import compile_graph
from profiler.capture import graph_text
from profiler.launch.cuda_measuring import measure_cuda, result_of
from profiler.launch.cuda_wire import CudaResponse
from profiler.records import FAILED, FINISHED, RunRequest
from profiler.stats import summarise


@pytest.fixture(scope="module")
def model():
    return compile_graph(graphs.two_kernels(), CompileOptions(target="sm_90"))


def test_events_become_samples_launch_by_launch(model):
    launches = len(model.fusion.calls)
    traces = tuple(tuple(0.001 * (position + 1) for position in range(launches)) for _ in range(25))
    functions = {model.kernels[0].name: {"registers": 32, "shared_bytes": 0, "local_bytes": None}}
    response = CudaResponse(FINISHED, (np.zeros(1),), {}, traces, 0.004, True, {"peak": 64}, (), functions)
    result = result_of(response, model, RunRequest("two", device="cuda:0"))
    assert result.status == FINISHED and sum(result.blocks) == 25 and len(result.launches) == launches
    assert result.launches[1].samples[0] == 2000 and result.launches[0].flops
    assert summarise(result.samples, result.blocks).median == pytest.approx(1e-6 * sum(range(1, launches + 1)))
    named = {counter.name: counter.value for counter in result.counters}
    assert named["graph replay"] == pytest.approx(4e-6) and named[f"{model.kernels[0].name}: registers"] == 32
    (stream,) = result.timeline
    assert [end for _, end in stream[:-1]] == [begin for begin, _ in stream[1:]]


def test_a_fault_names_its_kernel(model):
    response = CudaResponse(FAILED, failure="fault", error="illegal address", error_name="CUDA_ERROR", kernel="k")
    result = result_of(response, model, RunRequest("two", device="cuda:0"))
    assert (result.status, result.signal, result.kernel) == (FAILED, "CUDA_ERROR", "k") and "illegal" in result.error


def test_a_graph_that_does_not_compile_is_the_users_error():
    outcome = measure_cuda(RunRequest("x", device="cuda:0", target="sm_90"), graph_text(graphs.custom("nonesuch")), [])
    assert outcome.compiling and "nonesuch" in str(outcome.error)
