"""Work and traffic of kernels, against counts made by hand."""

import profiled_graphs as graphs
import pytest

from compiler import Graph, TensorType, compile, ops
from profiler.analysis import traffic
from profiler.analysis.memory import memory_record
from profiler.analysis.roofline import roofline
from profiler.analysis.work import call_bytes, call_flops, count_call
from profiler.measure.ceilings.cpu_probes import copy_sizes
from profiler.records import Ceiling


def counted(graph, **sizes):
    model = compile(graph)
    kernels = {kernel.name: kernel for kernel in model.kernels}
    return [count_call(call, kernels[call.kernel.name], sizes) for call in model.fusion.calls]


def graph_of(*shapes, build, dtype="f32"):
    graph = Graph("g", inputs=[TensorType(dtype, shape) for shape in shapes])
    with graph:
        graph.output(build(*graph.inputs))
    return graph


def test_a_matmul_with_its_epilogue():
    graph = graph_of(("M", 64), (64, 32), (32,), build=lambda x, w, b: ops.relu(x @ w + b))
    (found,) = counted(graph, M=128)
    assert found["flops"] == 2 * 128 * 64 * 32 + 2 * 128 * 32
    assert found["bytes"] == 4 * (128 * 64 + 64 * 32 + 32 + 128 * 32)
    assert found["stores"] == 4 * 128 * 32 and found["loads"] >= 4 * (128 * 64 + 64 * 32)
    assert found["counting"] == "exact"


def test_an_elementwise_kernel_issues_exactly_what_it_must():
    (found,) = counted(graphs.scale(), M=100)
    assert found["flops"] == 2 * 6400 and found["bytes"] == 2 * 4 * 6400
    assert (found["loads"], found["stores"]) == (4 * 6400, 4 * 6400)


@pytest.mark.parametrize("rows, columns", [(1, 1), (3, 7), (64, 64), (5, 1000)])
def test_a_row_reduction_reads_each_element_once(rows, columns):
    (found,) = counted(graph_of(("M", columns), build=lambda x: ops.sum(x, axis=1)), M=rows)
    assert found["flops"] == rows * columns
    assert (found["loads"], found["stores"]) == (4 * rows * columns, 4 * rows)


def test_only_the_part_that_is_read_of_a_slice_counts():
    (found,) = counted(graph_of((1000, 64), build=lambda x: ops.exp(x[10:20])))
    assert found["bytes"] == 2 * 4 * 640


def test_loops_in_loops_are_counted_in_bounded_time(monkeypatch):
    """A convolution's bounds depend on six counters: walked trip by trip, a layer of a real model takes minutes."""
    walks = []

    class Watched(traffic.Walk):
        def __init__(self, functions):
            super().__init__(functions)
            walks.append(self)

    monkeypatch.setattr(traffic, "Walk", Watched)
    build = lambda x, w: ops.conv2d(x, w, stride=2, padding=1)  # noqa: E731
    (found,) = counted(graph_of((1, 64, 112, 112), (64, 64, 3, 3), build=build))
    assert walks[0].steps < 2 * traffic._MOST_STEPS
    assert found["stores"] == pytest.approx(64 * 56 * 56 * 4, rel=0.01)
    assert found["counting"] == "estimated from some of the trips"


def test_causal_attention_counts_half_the_pairs():
    def attention(causal):
        shape = (1, 2, 16, 8)
        build = lambda q, k, v: ops.scaled_dot_product_attention(q, k, v, is_causal=causal)  # noqa: E731
        model = compile(graph_of(shape, shape, shape, build=build))
        return sum(call_flops(call, {}) or 0 for call in model.fusion.calls)

    assert attention(False) == 2 * 16 * 16 * (2 * 8 + 2 * 8 + 5)
    assert attention(True) == 2 * (16 * 17 // 2) * (2 * 8 + 2 * 8 + 5)


@pytest.mark.parametrize("queries, keys, pairs", [(16, 16, 136), (16, 24, 136), (16, 4, 4 * 5 // 2 + 12 * 4)])
def test_causal_attention_sees_no_key_after_its_query(queries, keys, pairs):
    build = lambda q, k, v: ops.scaled_dot_product_attention(q, k, v, is_causal=True)  # noqa: E731
    graph = graph_of((1, 2, queries, 8), (1, 2, keys, 8), (1, 2, keys, 8), build=build)
    (found,) = [call_flops(call, {}) for call in compile(graph).fusion.calls]
    assert found == 2 * pairs * (2 * 8 + 2 * 8 + 5)


@pytest.mark.parametrize("a", [7, -7, 0, (1 << 60) + 3, -(1 << 60) - 3])
@pytest.mark.parametrize("b", [3, -3, 7])
def test_signed_division_cuts_towards_zero_whatever_the_size(a, b):
    from profiler.analysis.traffic import _DIVIDES

    quotient, rest = _DIVIDES["arith.divsi"](a, b), _DIVIDES["arith.remsi"](a, b)
    assert quotient == (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) and rest == a - b * quotient


def test_views_and_casts_are_free():
    model = compile(graph_of((8, 8), build=lambda x: ops.transpose(x, (1, 0)).cast("f64") + 1))
    assert sum(call_flops(call, {}) or 0 for call in model.fusion.calls) == 64
    assert sum(call_bytes(call, {}) for call in model.fusion.calls) == 64 * 4 + 64 * 8


def test_a_custom_kernel_alone_knows_its_work(tmp_path):
    from compiler import load_library

    (tmp_path / "k.py").write_text(graphs.KERNELS)
    model = compile(graphs.custom("wrong"), library=load_library(tmp_path))
    assert None in [call_flops(call, {}) for call in model.fusion.calls]


def test_the_roof_is_the_lower_of_memory_and_compute():
    ceilings = [
        Ceiling("copy memory", 1, 10.0, "GB/s", 9, 11),
        Ceiling("multiply-add f32", 1, 100.0, "GFLOP/s", 99, 101),
    ]
    base = {"kernel": "k", "position": 0, "loads": 200, "stores": 100, "nodes": []}
    low = base | {"median": 1e-9, "flops": 5, "bytes": 10}
    high = base | {"median": 1e-9, "flops": 50, "bytes": 1}
    points = roofline([low, high], ceilings)
    assert (points[0].bound, points[0].roof, points[0].share) == ("memory", 5.0, pytest.approx(1.0))
    assert (points[1].bound, points[1].roof, points[1].share) == ("compute", 100.0, pytest.approx(0.5))
    assert points[0].issued_ratio == 30 and roofline([low], [])[0].share is None
    quick = roofline([low | {"median": 5e-10}, high | {"median": 2e-10}], ceilings)
    assert [round(point.share, 9) for point in quick] == [2.0, 2.5]
    assert [point.above_memory for point in quick] == [True, False]


def test_copies_are_sized_for_each_level_and_for_memory():
    names = [name for name, _, _ in copy_sizes(2)]
    assert names[0] == "L1" and names[-1] == "memory"
    sizes = [count for _, count, _ in copy_sizes(2)]
    assert sizes == sorted(sizes) and all(count % 1024 == 0 for count in sizes)


def test_the_memory_plan_adds_up():
    model = compile(graphs.two_kernels())
    found = memory_record(model, {}, {"before": 10, "bound": 30}, model.plan().peak)
    assert found["alive_peak"] <= found["planned_peak"] == found["arena"] <= found["without_reuse"]
    assert len(found["steps"]) == len(model.fusion.calls) and found["bound_growth"] == 20
    assert 0 <= found["fragmentation"] < 1


@pytest.mark.slow
def test_ceilings_are_measured_and_kept(store):
    from profiler.measure.ceilings.measured import measured_ceilings
    from profiler.measure.machine import this_machine
    from profiler.store import queries

    made = {item.name: item for item in measured_ceilings(store, threads=1)}
    print({name: f"{item.value:.1f} {item.unit}" for name, item in made.items()})
    assert made["copy L1"].value > made["copy memory"].value > 0.5
    assert made["multiply-add f32"].value > 1.5 * made["multiply-add f64"].value > 1
    assert len(queries.ceilings(store, this_machine().fingerprint)) == len(made)
    assert [item.value for item in measured_ceilings(store, threads=1)] == sorted_values(store)


def sorted_values(store):
    from profiler.measure.machine import this_machine
    from profiler.store import queries

    return [ceiling.value for ceiling in queries.ceilings(store, this_machine().fingerprint)]


GRID_CASES = [
    ("elementwise", lambda: graphs.scale(), {"M": 100}, 100 * 64 * 4, 100 * 64 * 4),
    ("a tail that fills no block", lambda: graphs.scale(), {"M": 3}, 3 * 64 * 4, 3 * 64 * 4),
    ("nothing at all", lambda: graphs.scale(), {"M": 0}, 0, 0),
]


@pytest.mark.parametrize("name, graph, sizes, loads, stores", GRID_CASES, ids=[case[0] for case in GRID_CASES])
def test_what_the_threads_of_a_grid_issue_is_counted(name, graph, sizes, loads, stores):
    counted = on_grid(graph(), sizes)[0]
    assert (counted["loads"], counted["stores"]) == (loads, stores) and counted["counting"]


def test_threads_of_a_block_that_share_work_are_counted_together():
    softmax, matmul = on_grid(graphs.two_kernels(), {})
    assert (softmax["loads"], softmax["stores"]) == (64 * 64 * 4, 64 * 64 * 4)
    # Of the four steps along k, the last is fetched a second time: one is always fetched ahead.
    assert (matmul["loads"], matmul["stores"]) == (2 * 64 * 64 * 4 * 5 // 4, 64 * 64 * 4)


def test_a_store_that_one_thread_makes_for_its_block_is_counted_once_a_block():
    with Graph("rows", inputs=[TensorType("f32", (300, 768))]) as graph:
        graph.output(ops.sum(graph.inputs[0], axis=1))
    (counted,) = on_grid(graph, {})
    assert (counted["loads"], counted["stores"]) == (300 * 768 * 4, 300 * 4)


def on_grid(graph, sizes):
    """The counts of every launch of a graph compiled for a GPU; nothing is launched."""
    from profiler.measure.cuda.program import program_of

    model = compile(graph, target="sm_90a")
    kernels = {kernel.name: kernel for kernel in model.kernels}
    steps = program_of(model, sizes).steps
    return [
        count_call(call, kernels[call.kernel.name], sizes, grid=(step.blocks, step.threads))
        for call, step in zip(model.fusion.calls, steps, strict=True)
    ]
