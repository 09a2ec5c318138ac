"""One run, one set of figures: the window, the command line, JSON, CSV and the reports show the same ones."""

import csv
import json
from dataclasses import asdict, replace

import pytest
from command_line import TWO, document

from app.cli.run_text import run_text
from app.sources import load_source
from app.text_tables import seconds as told
from app.viewmodels.frame.formats import seconds
from app.viewmodels.frame.inspection import inspect
from app.viewmodels.requests import CompileRequest, ListRunsRequest, RunRequest
from app.viewmodels.runs.funnel import funnel
from app.viewmodels.runs.run_figures import call_figures, distribution, launch_times, run_words, whole_figures
from app.worker import store_jobs
from app.worker.compile_session import CompileSession
from app.worker.measuring import plain_result
from app.worker.stored_session import StoredSession
from compiler import compile
from compiler.options import CompileOptions
from profiler.model_records import compilation_record
from profiler.records import FINISHED, Launch, MeasuredRun
from profiler.report import figures, words


def test_the_median_of_one_run_is_the_same_everywhere(kernelglass, tmp_path):
    (tmp_path / "two.py").write_text(TWO)
    printed = document(kernelglass("run", tmp_path / "two.py", "--repeat", "72", "--processes", "3", "--json"))
    median = printed["seconds"]["median"]
    assert printed["processes"] == 3
    assert f"median {told(median)}" in run_text(printed, None)

    exported = json.loads(kernelglass("export", "1", "--format", "json")[1])
    assert exported["times"]["median"] == median
    first, *rows = csv.DictReader(kernelglass("export", "1", "--format", "csv")[1].splitlines())
    assert float(first["median_s"]) == pytest.approx(median, rel=1e-6)
    assert f"**{told(median)}**" in kernelglass("export", "1", "--format", "md")[1]
    assert f"<b>{words.seconds(median)}</b>" in kernelglass("export", "1", "--format", "html")[1]
    (listed,) = document(kernelglass("runs", "--json"))["runs"]
    assert listed["median"] == median

    compilation, run = StoredSession(1).records()
    (row,) = store_jobs.answer(ListRunsRequest(), lambda progress: None)
    whole = whole_figures(run)
    assert row.median == whole.median == distribution(whole.times, whole.summary).median == median
    assert f"{seconds(median)} median" in run_words(run)
    _, (model, _) = inspect(compilation, frozenset(), run)
    assert dict((entry.name, entry.value) for entry in model.entries)["run, median"] == seconds(median)

    launches = [launch["median"] for launch in printed["launches"]]
    assert [launch["median"] for launch in exported["launches"]] == launches
    assert [float(row["median_s"]) for row in rows] == pytest.approx(launches, rel=1e-6)
    assert [call.median for call in call_figures(compilation, run)] == [*launch_times(run).values()] == launches
    for call, taken in zip(compilation.calls, launches):
        _, sections = inspect(compilation, frozenset(call.nodes[:1]), run)
        assert f"{seconds(taken)} (measured)" in [entry.value for part in sections for entry in part.entries]


def test_the_funnel_is_the_compilers_everywhere(kernelglass, tmp_path):
    (tmp_path / "two.py").write_text(TWO)
    source = load_source(str(tmp_path / "two.py"))
    model = compile(source.graph, cache=False)
    steps = {step["stage"]: step for step in model.stats["funnel"]}
    kept = compilation_record(model, "two", 1.0)
    stored = {row["stage"]: row for row in figures.funnel({"passes": [asdict(p) for p in kept.passes]}, ())}
    session = CompileSession(
        CompileRequest(str(tmp_path / "two.py"), CompileOptions(debug="line-tables")), lambda progress: None
    )
    shown = {row.stage: row for row in funnel(replace(session.records(), passes=kept.passes))}
    assert {*steps} == {*stored} == {*shown} >= {"mo", "mogg", "kgen", "kernel", "llvm", "machine"}
    for stage, step in steps.items():
        assert (stored[stage]["ops"], stored[stage]["seconds"]) == (step["ops"], step["seconds"])
        assert stored[stage]["share"] == pytest.approx(step["share"])
        row = shown[stage]
        assert (row.ops, row.bytes) == tuple(-1 if step[size] is None else step[size] for size in ("ops", "bytes"))
        assert row.seconds == step["seconds"]


def test_each_process_counts_once_however_many_calls_it_made():
    times = (10_000,) * 30 + (20_000,) * 10 + (21_000,) * 10
    launch = Launch(0, "k", "key", ("n",), times, ())
    run = plain_result(MeasuredRun(FINISHED, times, (30, 10, 10), (launch,), processes=(1, 1, 1)), {}, 0, (), None)
    assert whole_figures(run).median == pytest.approx(20e-6) and launch_times(run) == {0: pytest.approx(20e-6)}


def test_a_reopened_run_has_the_work_and_the_check_of_the_fresh_one(kernelglass, tmp_path):
    (tmp_path / "two.py").write_text(TWO)
    session = CompileSession(
        CompileRequest(str(tmp_path / "two.py"), CompileOptions(debug="line-tables")), lambda progress: None
    )
    fresh = session.records()
    run = session.run(RunRequest(repeats=12), lambda progress: None)
    compilation, stored = StoredSession(run.number).records()
    assert [(c.flops, c.bytes) for c in compilation.calls] == [(c.flops, c.bytes) for c in fresh.calls]
    assert [(c.flops, c.bytes) for c in fresh.calls] == list(run.work) == list(stored.work)
    assert [(n.name, n.flops, n.bytes) for n in compilation.nodes] == [(n.name, n.flops, n.bytes) for n in fresh.nodes]
    assert sum(n.flops for n in fresh.nodes) == sum(c.flops for c in fresh.calls) > 0
    assert stored.ok is run.ok is True and stored.checks == run.checks
    assert (stored.summary, stored.summaries) == (run.summary, run.summaries)
    assert document(kernelglass("run", tmp_path / "two.py", "--repeat", "12", "--check", "--json"))["check"][0]["ok"]
    assert StoredSession(run.number + 1).records()[1].ok is True
