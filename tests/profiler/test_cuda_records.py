"""What a CUDA child answers becomes the same records as a run on the CPU; no device is needed to say so."""

import numpy as np
import profiled_graphs as graphs
import pytest

from compiler import Graph, TensorType, ops
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph
from profiler.analysis.statistics import summarise
from profiler.measure.cuda.measuring import _with_kernel, measure_cuda_once, result_of
from profiler.measure.cuda.messages import DIED, FAULT, TIMEOUT, CudaRequest, CudaResponse
from profiler.measure.cuda.program import program_of, steps_of, varying_steps
from profiler.records import FAILED, FINISHED, MeasureRequest


@pytest.fixture(scope="module")
def model():
    return compile_graph(graphs.two_kernels(), CompileOptions(target="sm_90"))


@pytest.fixture(scope="module")
def program(model):
    return program_of(model, {})


def test_events_become_samples_launch_by_launch(model, program):
    launches = len(model.fusion.calls)
    traces = tuple(tuple(0.001 * (position + 1) for position in range(launches)) for _ in range(25))
    functions = {model.kernels[0].name: {"registers": 32, "shared_bytes": 0, "local_bytes": None}}
    response = CudaResponse(FINISHED, (np.zeros(1),), {}, traces, 0.004, True, {"peak": 64}, (), functions)
    result = result_of(response, model, MeasureRequest("two", device="cuda:0"), program)
    assert result.status == FINISHED and sum(result.blocks) == 25 and len(result.launches) == launches
    assert result.launches[1].samples[0] == 2000 and result.launches[0].flops
    assert all(launch.loads and launch.stores for launch in result.launches)
    assert "threads" not in result.conditions and result.conditions["load"]
    assert summarise(result.samples, result.blocks).median == pytest.approx(1e-6 * sum(range(1, launches + 1)))
    named = {counter.name: counter.value for counter in result.counters}
    assert named["graph replay"] == pytest.approx(4e-6) and named[f"{model.kernels[0].name}: registers"] == 32
    assert named["device memory, peak"] == 64
    (stream,) = result.timeline
    assert [end for _, end in stream[:-1]] == [begin for begin, _ in stream[1:]]


def test_a_fault_names_its_kernel(model, program):
    response = CudaResponse(FAILED, failure="fault", error="illegal address", error_name="CUDA_ERROR", kernel="k")
    result = result_of(response, model, MeasureRequest("two", device="cuda:0"), program)
    assert (result.status, result.signal, result.kernel) == (FAILED, "CUDA_ERROR", "k") and "illegal" in result.error


def test_a_graph_that_does_not_compile_is_the_users_error():
    outcome = measure_cuda_once(
        MeasureRequest("x", device="cuda:0", options=CompileOptions("sm_90")), graphs.custom("nonesuch"), []
    )
    assert outcome.compiling and "nonesuch" in str(outcome.error)


def test_a_kernel_without_blocks_takes_no_time_and_moves_no_other():
    model = compile_graph(graphs.scale(), CompileOptions(target="sm_90"))
    empty, some = program_of(model, {"M": 0}), program_of(model, {"M": 4})
    request = MeasureRequest("scale", device="cuda:0", dims={"M": 0})
    result = result_of(CudaResponse(FINISHED, traces=((), ())), model, request, empty)
    assert result.launches[0].samples == (0, 0)
    request = MeasureRequest("scale", device="cuda:0", dims={"M": 4})
    result = result_of(CudaResponse(FINISHED, traces=((0.5,), (0.25,))), model, request, some)
    assert result.launches[0].samples == (500_000, 250_000) and result.launches[0].stores == 4 * 64 * 4


@pytest.mark.parametrize(
    "conditions, words",
    [({"sm_clock_mhz": 1000, "before": {"sm_clock_mhz": 1980}}, "from 1980 to 1000 MHz"),
     ({"throttle_reasons": 0x8}, "held its clock back"), ({"note": "NVML needs nvidia-ml-py"}, "clock is not known")],
)  # fmt: skip
def test_what_makes_times_doubtful_is_noted(model, program, conditions, words):
    traces = ((0.1, 0.2),) * 3
    response = CudaResponse(FINISHED, traces=traces, conditions=conditions, blocks=(1, 2), reached=False, sets=7)
    result = result_of(response, model, MeasureRequest("two", device="cuda:0"), program)
    assert any(words in note for note in result.conditions["notes"])
    assert (result.blocks, result.conditions["buffer_sets"]) == ((1, 2), 7)
    assert not result.conditions["interval_reached"]


class Worker:
    """Answers a careful run as a device would."""

    def __init__(self, kernel):
        self.kernel, self.asked = kernel, []

    def run(self, request, time_limit, cancelled):
        self.asked.append(request)
        return CudaResponse(FAILED, failure=FAULT, kernel=self.kernel, calls=request.careful)


@pytest.mark.parametrize("failure", [FAULT, TIMEOUT, DIED])
def test_a_failure_in_a_timed_call_is_made_again_kernel_by_kernel(program, failure):
    asked = CudaRequest(program, (), budget=1.0)
    worker = Worker("matmul")
    found = _with_kernel(CudaResponse(FAILED, failure=failure, error="e", calls=37), worker, asked)
    assert (found.kernel, found.failure, [r.careful for r in worker.asked]) == ("matmul", failure, [37])
    for known in (CudaResponse(FAILED, failure=failure, kernel="k", calls=9), CudaResponse(FINISHED)):
        worker = Worker("matmul")
        assert _with_kernel(known, worker, asked) is known and not worker.asked


def test_a_growing_model_changes_the_launches_that_depend_on_its_sizes_and_no_others():
    graph = Graph("grows", {"x": TensorType("f32", ("P", 64)), "y": TensorType("f32", (1, 64))})
    with graph:
        x, y = graph.inputs
        graph.output(ops.softmax(y @ ops.transpose(x, (1, 0))) @ x, ops.softmax(y))
    model = compile_graph(graph, CompileOptions(target="sm_90"))
    largest, wanted = program_of(model, {"P": 500}), program_of(model, {"P": 7})
    varying = varying_steps(model.host)
    assert 0 < len(varying) < len(largest.steps)
    changed = steps_of(model.host, {"P": 7}, varying)
    assert tuple(changed.get(k, step) for k, step in enumerate(largest.steps)) == wanted.steps
    assert all(small.bytes <= large.bytes for small, large in zip(wanted.slots, largest.slots, strict=True))
