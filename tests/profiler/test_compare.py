"""Runs and compilations side by side: what differs, kernels by what they compute, verdicts, where IR first differs."""

import numpy as np
import profiled_graphs as graphs
import pytest
import records_for_tests as made

from compiler.errors import ExecutionError
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph
from profiler.analysis.compare import compare_compilations, compare_runs
from profiler.analysis.gate import Gate, gate
from profiler.model_records import compilation_record, stage_records
from profiler.records import FAILED, Launch, Machine, MeasuredRun
from profiler.report.document import comparison_document
from profiler.report.write import COMPARISON_FORMATS, export_comparison, export_run
from profiler.store import queries, writer


def times(level, seed=0):
    rng = np.random.default_rng(seed)
    return tuple(int(level * (1 + 0.01 * abs(x))) for x in rng.standard_normal(120))


def a_run(
    store, level=1000, kernels=None, compilation=None, machine=made.MACHINE, processes=(2,) * 6, conditions=None,
    **changes,
):  # fmt: skip
    """A stored run whose launches take the given shares of the whole."""
    names = kernels or {"k": "key-k"}
    launches = tuple(
        Launch(at, name, key, (f"node_{at}",), times(level / len(names), at), (1e-6,))
        for at, (name, key) in enumerate(names.items())
    )
    run = writer.begin_run(store, made.request(**changes), machine)
    number = compilation or writer.add_compilation(store, made.compilation(), machine)
    noted = {"threads": 1} | (conditions or {})
    result = MeasuredRun("finished", times(level), (10,) * 12, launches, conditions=noted, processes=processes)
    writer.finish_run(store, run, result, number)
    return run


def compiled(store, graph, **options):
    model = compile_graph(graph, CompileOptions(**options))
    number = writer.add_compilation(store, compilation_record(model, "g", 0.1), made.MACHINE)
    writer.add_stages(store, number, stage_records(model))
    return number, model


def test_equal_runs_differ_in_nothing(store):
    found = compare_runs(store, [a_run(store), a_run(store)])
    assert found.differences == () and found.verdicts[1].verdict == "no measurable difference"
    assert found.kernels[0].matched == "what it computes" and not gate(found, 0.02).slower


def test_a_run_on_a_machine_that_was_slower_meanwhile_is_not_called_slower(store):
    def run(level, yardstick, **more):
        each = [{"yardstick": yardstick + at} for at in range(6)]
        return a_run(store, level, conditions={"each_process": each}, **more)

    first, second = run(100_000, 60_000), run(130_000, 78_000)
    found = compare_runs(store, [first, second])
    assert "the machine itself was 30% slower during one of them" in found.verdicts[1].words
    assert found.kernels[0].verdicts[1].verdict == "cannot tell"
    assert any("compare --again" in warning for warning in found.warnings)
    assert compare_runs(store, [first, run(130_000, 60_000)]).verdicts[1].verdict == "slower"
    # Another machine is expected to have another speed: that is what such a comparison tells.
    other = run(130_000, 78_000, machine=Machine("other", "another machine", {}))
    assert compare_runs(store, [first, other]).verdicts[1].verdict == "slower"


@pytest.mark.parametrize("yardstick", [10**400, -1, 0, True, "60000", None, [1], 1e300])
def test_what_cannot_be_a_yardstick_is_none(store, yardstick):
    first = a_run(store, 100_000, conditions={"each_process": [{"yardstick": 60_000}] * 6})
    second = a_run(store, 130_000, conditions={"each_process": [{"yardstick": yardstick}] * 6})
    assert compare_runs(store, [first, second]).verdicts[1].verdict == "slower"


def test_a_slower_run_is_called_slower_and_stops_a_ci_job(store):
    found = compare_runs(store, [a_run(store, 100_000), a_run(store, 110_000)])
    assert found.verdicts[1].verdict == "slower" and found.verdicts[1].ratio == pytest.approx(1.1, rel=0.01)
    assert gate(found, 0.05).slower[0].startswith("run 2 is 10") and gate(found, 0.2) == Gate((), ())


def test_a_gate_whose_limit_lies_within_the_interval_cannot_tell(store):
    found = compare_runs(store, [a_run(store, 100_000), a_run(store, 100_000)])
    high = found.verdicts[1].high
    assert gate(found, high - 1 + 0.001) == Gate((), ())
    (words,) = gate(found, (high - 1) / 2).untold
    assert words.startswith("cannot tell whether run 2 is more than") and "the interval reaches past the limit" in words


def test_kernels_are_matched_by_what_they_compute_not_by_name(store):
    graph = graphs.two_kernels()
    one, model = compiled(store, graph)
    other = compilation_record(model, "g", 0.1)
    from dataclasses import replace

    renamed = replace(other, kernels=tuple(replace(k, name=f"other_{i}") for i, k in enumerate(other.kernels)))
    two = writer.add_compilation(store, renamed, made.MACHINE)
    keys = {k.name: k.key for k in other.kernels}
    runs = [
        a_run(store, compilation=one, kernels=keys),
        a_run(store, compilation=two, kernels={f"other_{i}": key for i, key in enumerate(keys.values())}),
    ]
    found = compare_runs(store, runs)
    assert len(found.kernels) == len(keys)
    for kernel in found.kernels:
        assert kernel.matched == "what it computes" and kernel.names[0] != kernel.names[1]
        assert kernel.verdicts[1].verdict == "no measurable difference"


def test_a_fused_kernel_stands_against_the_unfused_ones_it_replaced(store):
    fused, _ = compiled(store, graphs.two_kernels())
    unfused, _ = compiled(store, graphs.two_kernels(), fuse=False)
    found = compare_compilations(store, [fused, unfused])
    shared = [k for k in found.kernels if k.matched == "shared nodes"]
    assert shared and len(shared[0].names[1]) > len(shared[0].names[0])
    assert ("fuse", ("True", "False")) in [(d.what, d.values) for d in found.differences]
    assert found.model_differs_at in ("mogg", "mgp")


@pytest.mark.parametrize("options, stage", [({"opt_level": 0}, "kernel"), ({}, ""), ({"debug": "line-tables"}, "llvm")])
def test_the_first_stage_at_which_ir_differs_is_named(store, options, stage):
    numbers = [compiled(store, graphs.scale())[0], compiled(store, graphs.scale(), **options)[0]]
    found = compare_compilations(store, numbers)
    assert [kernel.differs_at for kernel in found.kernels] == [stage]
    assert found.model_differs_at == ""


def test_an_edited_kernel_is_still_the_same_kernel(store):
    one, model = compiled(store, graphs.scale())
    kernel = model.kernels[0]
    edited = kernel.source + "    # an edit\n"
    two, _ = compiled(store, graphs.scale(), sources=((kernel.name, edited),))
    (found,) = compare_compilations(store, [one, two]).kernels
    assert found.matched == "what it computes" and found.differs_at == "source"


def test_unlike_machines_are_flagged(store):
    found = compare_runs(store, [a_run(store), a_run(store, machine=Machine("beef", "another", {}))])
    assert any("unlike machines" in words for words in found.warnings)
    assert "machine" in [d.what for d in found.differences]


def test_other_sizes_are_other_work(store):
    found = compare_runs(store, [a_run(store, dims={"M": 1}), a_run(store, dims={"M": 2})])
    assert any("different work" in words for words in found.warnings)
    assert ("dim M", ("1", "2")) in [(d.what, d.values) for d in found.differences]


@pytest.mark.parametrize(
    "compile_seconds, levels, words",
    [((1.0, 3.0), (200_000, 100_000), "even after 19,"), ((3.0, 1.0), (100_000, 50_000), "from the first call"),
     ((3.0, 1.0), (100_000, 200_000), "even after 19,"), ((1.0, 2.0), (50_000, 50_000), "compile time decides")],
)  # fmt: skip
def test_break_even(store, compile_seconds, levels, words):
    runs = []
    for seconds, level in zip(compile_seconds, levels):
        number = writer.add_compilation(store, made.compilation(seconds=seconds), made.MACHINE)
        runs.append(a_run(store, level, compilation=number))
    (line,) = compare_runs(store, runs).break_even
    assert words in line


def test_a_model_that_came_compiled_from_a_file_is_not_weighed(store):
    """Its seconds are those of reading it."""
    runs = []
    for seconds, artifact in ((1.0, ""), (0.01, "model.kgx")):
        number = writer.add_compilation(store, made.compilation(seconds=seconds), made.MACHINE)
        runs.append(a_run(store, 100_000 if artifact else 200_000, compilation=number, artifact=artifact))
    (line,) = compare_runs(store, runs).break_even
    assert line.startswith(f"run {runs[1]} came compiled from a file, so compile times are not compared")


def test_more_than_two_are_measured_against_the_first(store):
    found = compare_runs(store, [a_run(store, 100_000), a_run(store, 50_000), a_run(store, 200_000)])
    assert [v.verdict if v else None for v in found.verdicts] == [None, "faster", "slower"]


def test_a_failed_run_has_no_times_to_compare(store):
    failed = writer.begin_run(store, made.request(), made.MACHINE)
    writer.finish_run(store, failed, MeasuredRun(FAILED, error="crashed"))
    with pytest.raises(ExecutionError, match="crashed"):
        compare_runs(store, [a_run(store), failed])
    with pytest.raises(ExecutionError, match="two"):
        compare_runs(store, [a_run(store)])


def test_every_format_shows_the_verdict_and_names_the_test(store):
    found = compare_runs(store, [a_run(store, 100_000), a_run(store, 150_000)])
    for kind in COMPARISON_FORMATS:
        text = export_comparison(found, kind)
        assert "slower" in text
        assert kind == "csv" or "exact permutation test" in text
    assert comparison_document(found)["schema"] == "kernelglass-comparison/1"


def test_old_runs_of_one_process_are_compared_with_caution(store):
    close = compare_runs(store, [a_run(store, 100_000, processes=()), a_run(store, 106_000, processes=())])
    assert close.verdicts[1].verdict == "no measurable difference" and gate(close, 0.05).untold
    assert any("one process each: between-process variation unknown" in words for words in close.warnings)
    between = compare_runs(store, [a_run(store, 100_000, processes=()), a_run(store, 109_600, processes=())])
    assert any("cannot tell whether +9.6% is a difference" in words for words in between.warnings)
    assert "Mann-Whitney" in close.test and "widened by 10%" in close.test
    far = compare_runs(store, [a_run(store, 100_000, processes=()), a_run(store, 150_000)])
    assert far.verdicts[1].verdict == "slower" and any("1 and 6 processes" in words for words in far.warnings)


def test_runs_measured_in_turns_are_compared_pair_by_pair(store):
    def turns(session):
        return {"turns": {"session": session, "first": [0, 1] * 4}}

    made_so = dict(processes=(1,) * 4 + (2,) * 4)
    together = [a_run(store, 100_000, conditions=turns("s"), **made_so) for _ in range(2)]
    assert "sign-flip" in compare_runs(store, together).test
    apart = [a_run(store, 100_000, conditions=turns(name), **made_so) for name in ("s", "t")]
    assert "sign-flip" not in compare_runs(store, apart).test


def test_time_lost_to_other_programs_is_kept_and_credited(store):
    number = writer.add_compilation(store, made.compilation(), made.MACHINE)
    runs = []
    for factor in (1, 3):
        samples = tuple(factor * x for x in times(100_000))
        lost = tuple((factor - 1) * x for x in times(100_000))
        run = writer.begin_run(store, made.request(), made.MACHINE)
        launch = Launch(0, "k", "key-k", ("n",), samples, (1e-6,))
        writer.finish_run(store, run, MeasuredRun(
            "finished", samples, (10,) * 12, (launch,), processes=(2,) * 6, lost=lost, lost_traced=lost,
        ), number)  # fmt: skip
        runs.append(run)
    found = compare_runs(store, runs)
    assert found.verdicts[1].ratio == pytest.approx(3, rel=0.01)
    for verdict in (found.verdicts[1], found.kernels[0].verdicts[1]):
        assert verdict.verdict == "cannot tell" and "other programs" in verdict.why and verdict.low <= 1
    for kind in COMPARISON_FORMATS:
        assert "cannot tell" in export_comparison(found, kind) and "other programs" in export_comparison(found, kind)


def test_runs_of_different_graphs_are_warned_of(store):
    other = writer.add_compilation(store, made.compilation(text="mo.graph @h() {}\n"), made.MACHINE)
    found = compare_runs(store, [a_run(store), a_run(store, compilation=other)])
    assert any("different graphs" in words for words in found.warnings)
    assert not any("different graphs" in words for words in compare_runs(store, [1, 1]).warnings)


def test_a_run_whose_check_failed_is_marked_wherever_it_is_shown(store):
    runs = [a_run(store), a_run(store)]
    writer.keep_check(store, runs[1], False, ["output 0 differs"])
    writer.keep_check(store, runs[0], True, ["output 0 is right"])
    assert {row["id"]: row["check_ok"] for row in queries.list_runs(store)} == {1: True, 2: False}
    assert any("run 2: its check failed" in words for words in compare_runs(store, runs).warnings)
    for kind in ("md", "html"):
        assert "check failed" in export_run(store, 2, kind) and "check failed" not in export_run(store, 1, kind)
