"""Launches put together by kernel, layer and op, and threads that share the work badly."""

import pytest
import records_for_tests as made

from profiler.analysis.aggregation import grouped, imbalance, repeated_stretch, uneven_launches
from profiler.records import Launch, MeasuredRun
from profiler.report.write import export_run
from profiler.store import writer


def launches(keys, **more):
    return [
        {"position": at, "kernel": f"{key}_{at}", "key": key, "nodes": (f"{key}_{at}",), "median": 1e-3, "flops": 10,
         "bytes": 4, "thread_seconds": (1e-3, 1e-3)} | more
        for at, key in enumerate(keys)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "keys, found",
    [
        ("abcabcabc", (0, 3, 3)), ("xabababy", (1, 2, 3)), ("abc", (0, 0, 0)), ("aaaa", (0, 1, 4)), ("", (0, 0, 0)),
        ("eqkvoeqkvof", (0, 5, 2)),
    ],
)  # fmt: skip
def test_the_layers_of_a_model_are_what_is_repeated_in_it(keys, found):
    assert repeated_stretch(keys) == found


def test_launches_that_compute_the_same_are_one_kernel():
    groups = grouped(launches("xabababy"), "kernel")
    assert [(group.name, len(group.launches)) for group in groups] == [("a_1", 3), ("b_2", 3), ("x_0", 1), ("y_7", 1)]
    assert sum(group.share for group in groups) == pytest.approx(1) and groups[0].flops == 30


def test_layers_come_in_order_with_what_stands_around_them():
    groups = grouped(launches("xabababy"), "layer")
    names = ["before the layers", "layer 1", "layer 2", "layer 3", "after the layers"]
    assert [group.name for group in groups] == names and groups[1].launches == (1, 2)
    assert [group.name for group in grouped(launches("ab"), "layer")] == ["no layers"]


def test_ops_are_named_without_their_numbers():
    assert {group.name: len(group.launches) for group in grouped(launches(["matmul", "add", "matmul"]), "op")} == {
        "matmul": 2,
        "add": 1,
    }


def test_a_launch_that_one_thread_does_alone_is_flagged_if_it_matters():
    found = launches("abc")
    found[1]["thread_seconds"] = (5.35e-3, 0.29e-3)
    assert uneven_launches(found) == [(1, pytest.approx(1.897, abs=0.01))]
    assert [group.uneven for group in grouped(found, "launch")] == [False, True, False]
    found[1]["median"] = 1e-9
    assert uneven_launches(found) == []
    assert imbalance(()) == 1.0 == imbalance((0.0, 0.0))


def test_reports_put_many_launches_together_and_name_uneven_ones(store):
    kernels = [Launch(at, f"k{at}", f"key{at % 3}", (f"add_{at}",), (1000,) * 6, (9e-7, 1e-7)) for at in range(60)]
    run = writer.begin_run(store, made.request(), made.MACHINE)
    result = MeasuredRun("finished", (60_000,) * 6, (6,), tuple(kernels), conditions={"threads": 2})
    writer.finish_run(store, run, result, writer.add_compilation(store, made.compilation(), made.MACHINE))
    text, page = export_run(store, run, "md"), export_run(store, run, "html")
    assert "| k0 | 20 |" in text and "k0 is uneven" in text.replace("\\", "") and text.count("\n| k") == 3 + 1
    assert "By layer" in page and "layer 20" in page and "57 launches more are uneven" in page
