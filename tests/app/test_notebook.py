"""The notebook of runs: what is written on them, and compilations and tables of flows opened again."""

from __future__ import annotations

import json

import pytest
from command_line import TWO

from app.viewmodels.requests import (
    ListCompilationsRequest,
    ListRunsRequest,
)
from app.viewmodels.runs.flows import FlowsModel
from app.viewmodels.runs.notebook import EditRunsRequest, KeepFlowsRequest, ListFlowsRequest, OpenFlowsRequest
from app.worker import store_jobs
from app.worker.stored_session import StoredSession
from compiler.errors import CompilerError
from profiler.store import open_store

CELL = {
    "flow": "all-kernel", "opt_level": 3, "debug": "none", "cache": "cold", "execute": False, "user_s": 1.0,
    "system_s": 0.1, "elapsed_s": 1.2, "cpu_percent": 91.0, "peak_bytes": 1 << 20, "repeats": 2, "spread": None,
    "import_s": 0.2, "compile_s": 0.5, "first_result_s": None, "time_ratio": 1.5, "memory_ratio": 1.1,
    "disturbed": True,
}  # fmt: skip
TABLE = {
    "source": "sample:mlp", "target": "cpu", "kernels": 2, "machine": "m", "cores": 2, "jobs": 2, "repeat": 2,
    "interrupted": False, "notes": [], "base": {"cpu_s": 0.3, "elapsed_s": 0.3, "peak_bytes": 1 << 20},
    "cells": [CELL], "line_tables": [], "start_up": [],
}  # fmt: skip


def asked(request):
    return store_jobs.answer(request, lambda progress: None)


def runs():
    return {row.number: row for row in asked(ListRunsRequest())}


@pytest.fixture
def kept(runs_at, tmp_path, monkeypatch):
    """A database with two runs of one source."""
    monkeypatch.setenv("KERNELGLASS_DB", str(runs_at(tmp_path / "traces.db", 2, TWO, "--repeat", "6")))


def test_runs_are_noted_tagged_pinned_and_deleted(kept):
    asked(EditRunsRequest((1,), "note", "before the change"))
    asked(EditRunsRequest((1, 2), "tag", "quiet"))
    asked(EditRunsRequest((2,), "untag", "quiet"))
    asked(EditRunsRequest((1,), "pin"))
    found = runs()
    assert (found[1].note, found[1].tags, found[1].pinned) == ("before the change", ("quiet",), True)
    assert (found[2].tags, found[2].pinned, found[2].target) == ((), False, "cpu")
    with pytest.raises(CompilerError, match="pinned"):
        asked(EditRunsRequest((1, 2), "delete"))
    assert sorted(runs()) == [1, 2], "all or nothing"
    asked(EditRunsRequest((1,), "unpin"))
    asked(EditRunsRequest((1,), "delete"))
    assert sorted(runs()) == [2]


def test_a_compilation_is_opened_without_a_run(kept):
    (row,) = asked(ListCompilationsRequest())[:1]
    compilation, run = StoredSession(0, row.number).records()
    assert run is None and compilation.kernels and compilation.nodes and compilation.passes
    assert compilation.source == row.source and compilation.name.startswith(f"compilation {row.number}: ")
    assert all(node.call >= 0 for node in compilation.nodes if node.name in compilation.calls[0].nodes)


def test_edits_and_cuts_are_listed(kept):
    with open_store(None) as store, store.transaction() as connection:
        options = json.dumps({"force_cut": [["a", "b"]], "force_fuse": [], "sources": [["k", "text"]]})
        connection.execute("UPDATE compilations SET options = ?", (options,))
    assert {row.changes for row in runs().values()} == {"1 cut, 1 edited"}
    assert {row.changes for row in asked(ListCompilationsRequest())} == {"1 cut, 1 edited"}


def test_a_table_of_flows_is_kept_listed_and_opened_again(kept):
    number = asked(KeepFlowsRequest(TABLE))
    (row,) = asked(ListFlowsRequest())
    assert (row.number, row.source, row.cells, row.repeats) == (number, "sample:mlp", 1, 2)
    model = FlowsModel()
    model.load(asked(OpenFlowsRequest(number)))
    (shown,) = model.rows()
    assert (shown.state, shown.figures["user_s"], shown.time_ratio) == ("disturbed", 1.0, 1.5)
    assert json.loads(model.text("json")) == TABLE and "all-kernel (disturbed)" in model.text("text")
    asked(EditRunsRequest((number,), "delete-flows"))
    assert asked(ListFlowsRequest()) == ()


@pytest.mark.parametrize("damage", ["cells", "base", "source", "notes"])
def test_a_table_of_flows_that_does_not_read_is_told_in_a_line(kept, damage):
    number = asked(KeepFlowsRequest(TABLE))
    with open_store(None) as store, store.transaction() as connection:
        odd = json.dumps(TABLE | {damage: [{"flow": 1}]})
        connection.execute("UPDATE flow_tables SET document = ?", (odd,))
    with pytest.raises(CompilerError, match="does not read"):
        asked(OpenFlowsRequest(number))
