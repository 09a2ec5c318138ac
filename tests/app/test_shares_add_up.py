"""Shares add up: of a call, of a compilation's time by the clock; what nothing accounts for is shown as such."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from app.flows.cells import BASE, Cell, Sample, Told
from app.viewmodels.compilation import CallRecord, Compilation
from app.viewmodels.requests import CompileRequest, FlowsRequest
from app.viewmodels.runs.flows import FlowsModel
from app.viewmodels.runs.funnel import funnel, unaccounted
from app.viewmodels.runs.run_figures import between_figures, call_figures, whole_figures
from app.viewmodels.timeline.timeline import compile_timeline
from app.worker.compile_session import CompileSession
from app.worker.measuring import run_times
from compiler.options import CompileOptions
from compiler.statistics import elapsed_parts, gaps_of
from compiler.trace import PassRecord

PASSES = (
    PassRecord("fuse", "mogg", "", 1.0, 1.0),
    PassRecord("llvm", "machine", "a", 3.0, 2.0),
    PassRecord("llvm", "machine", "b", 3.0, 2.0, worker=1),
    PassRecord("InstCombine", "llvm-pass", "a", 3.0, 1.0),
    PassRecord("elaborate", "kgen", "c", 4.0, 2.0, worker=2),
)


def compilation(passes=PASSES, calls=(), **rest) -> Compilation:
    return Compilation("s", "", "s", CompileOptions(), (), (), calls, (), passes, (), **rest)


def test_stages_and_what_no_pass_accounts_for_are_all_of_the_time_that_went_by():
    parts = {part.stage: part.seconds for part in elapsed_parts(PASSES, 10.0, [(0.0, 0.5), (2.5, 0.25)])}
    assert parts == pytest.approx({"mogg": 1.0, "machine": 1.5, "kgen": 1.5, "imports": 0.75, "outside": 10.0 - 4.75})
    assert sum(part.share for part in elapsed_parts(PASSES, 10.0)) == pytest.approx(1.0)


def test_a_gap_is_told_with_what_is_known_of_it():
    gaps = [(gap.what, gap.start, gap.start + gap.seconds) for gap in gaps_of(PASSES, 7.0, [(0.0, 1.5), (2.5, 0.25)])]
    assert gaps == [
        ("imports", 0.0, 1.0), ("outside", 2.0, 2.5), ("imports", 2.5, 2.75), ("outside", 2.75, 3.0),
        ("outside", 6.0, 7.0),
    ]  # fmt: skip
    assert elapsed_parts((), 0.0) == [] == gaps_of((), 0.0)


def test_the_funnel_of_a_first_compilation_is_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path))
    session = CompileSession(CompileRequest("sample:softmax", CompileOptions(cache=False)), lambda progress: None)
    made = session.records()
    rows = [*funnel(made), *unaccounted(made)]
    assert sum(row.elapsed for row in rows) == pytest.approx(made.elapsed, rel=0.02)
    assert sum(row.share for row in rows) == pytest.approx(1.0)
    assert made.elapsed >= made.seconds


def test_no_part_of_the_timeline_is_blank_on_every_lane():
    timeline = compile_timeline(compilation(elapsed=8.0, imports=((0.0, 0.75),)))
    seen = [(float(a), float(b)) for a, b in zip(timeline.start, timeline.end)]
    for moment in np.arange(0.05, 8.0, 0.1):
        assert any(begin <= moment <= end for begin, end in seen), f"nothing at {moment} s"
    names = {timeline.label(event) for event in range(len(timeline))}
    assert {"loading modules", "outside any pass"} <= names
    assert {timeline.kind_names[kind] for kind in timeline.quiet} == {"loading modules", "outside any pass"}
    assert timeline.lanes == ["compiler", "worker 1", "worker 2"]


@pytest.mark.parametrize(("whole", "name"), [(10_000, "between launches"), (6_000, "longer when launches are timed")])
def test_shares_of_launches_are_of_the_call_that_stands_above_them(whole, name):
    calls = tuple(CallRecord(i, f"k{i}", ()) for i in range(2))
    launches = [("k0", (3_000,) * 8, None, None), ("k1", (4_000,) * 8, None, None)]
    run = run_times((whole,) * 8, launches, ((8,), (0,)), None, threads=1, dims=())
    rows = call_figures(compilation(calls=calls), run)
    rest = between_figures(run)
    assert rest is not None and rest.kernel == name
    assert rows[0].share == pytest.approx(3_000 / whole)
    assert sum(row.share for row in rows) + rest.share == pytest.approx(1.0) == whole_figures(run).share
    assert sum(row.median for row in rows) + rest.median == pytest.approx(whole_figures(run).median)


def test_exports_of_flows_mark_what_was_disturbed():
    model, cells = FlowsModel(), tuple(Cell(flow, 0, "none", "cold") for flow in ("per-kernel", "all-kernel"))
    model.begin(FlowsRequest("sample:mlp", CompileOptions(), cells))
    told = Told(1, 0.5, 0.6, 0.1)
    sample = Sample(1.0, 0.1, 1.2, 1 << 20, told)
    model.take(BASE, sample)
    for cell in cells:
        model.take(cell, None)
        if cell.flow == "all-kernel":
            model.disturb()
        model.take(cell, sample)
    model.end()
    assert [cell["disturbed"] for cell in json.loads(model.text("json"))["cells"]] == [False, True]
    assert [row["disturbed"] for row in csv.DictReader(io.StringIO(model.text("csv")))] == ["False", "True"]
    for kind in ("text", "md"):
        assert "all-kernel (disturbed)" in model.text(kind) and "per-kernel (disturbed)" not in model.text(kind)
        assert "measure them again" in model.text(kind)
