"""Hardware counters in the store, and as the command line, reports and the window show them."""

import json
from dataclasses import replace

import pytest
import records_for_tests as records

from app.cli.main import main
from app.cli.run_text import counted_lines
from app.viewmodels.frame.inspection import _counted
from app.viewmodels.requests import RunTimes
from app.viewmodels.runs.run_figures import counted_rows
from profiler.analysis.advice import advice
from profiler.analysis.roofline import roofline
from profiler.counted import CountedLaunch
from profiler.measure.machine import this_machine
from profiler.records import COPY, GBYTES, GFLOPS, MULTIPLY, Ceiling
from profiler.report.document import run_document
from profiler.report.write import export_run
from profiler.sampled import Sampling
from profiler.store import StoreError, open_store, writer
from profiler.store.sampled import sampling

COUNTED = CountedLaunch(0, "k", 3 << 20, 1 << 20, 0.5, 0.75, 0.25, 0.125, 1234.0)
FOUND = Sampling(samples=5, inside=0, calls=10, counted=(COUNTED,))
NONE = Sampling(samples=5, inside=0, calls=10, uncounted="there are no counters: the driver lets only administrators")


def keep(store, found):
    run = writer.begin_run(store, records.request(sample=True), this_machine())
    compilation = writer.add_compilation(store, records.compilation(), this_machine())
    writer.finish_run(store, run, replace(records.result(), sampling=found), compilation)
    return run


def test_counters_come_back_as_they_were(store):
    assert sampling(store, keep(store, FOUND)) == FOUND
    assert sampling(store, keep(store, NONE)) == NONE


def test_counters_of_a_launch_that_was_not_made_are_damage(store):
    run = keep(store, replace(FOUND, counted=(replace(COUNTED, position=7),)))
    with pytest.raises(StoreError, match="counters of a launch that it did not make"):
        sampling(store, run)


def test_measured_bytes_stand_beside_estimated_ones(store):
    run = keep(store, FOUND)
    document = run_document(store, run)
    assert document["launches"][0]["bytes"] == 20  # what the graph says must be moved
    for words in (
        "\n".join(counted_lines(document)), export_run(store, run, "md"), export_run(store, run, "html"),
    ):  # fmt: skip
        for part in ("estimated", "20 B", "3.0 MiB", "1.0 MiB", "50%", "75%", "25%", "1,234"):
            assert part in words
    assert json.loads(export_run(store, run, "json"))["sampling"]["counted"][0]["dram_read"] == 3 << 20


def test_a_run_without_counters_says_why(store):
    run = keep(store, NONE)
    document = run_document(store, run)
    assert counted_lines(document) == [f"counters   {NONE.uncounted}"]
    assert NONE.uncounted in export_run(store, run, "md") and NONE.uncounted in export_run(store, run, "html")


def test_hot_has_the_counters(tmp_path, capsys):
    path = tmp_path / "t.db"
    with open_store(path) as store:
        keep(store, FOUND)
    assert main(["hot", "1", "--db", str(path)]) == 0
    out = capsys.readouterr().out
    assert "DRAM read" in out and "3.0 MiB" in out
    assert main(["hot", "1", "--json", "--db", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["sampling"]["counted"][0]["bank_conflicts"] == 1234


def test_points_of_the_roofline_lie_at_the_bytes_that_were_counted():
    ceilings = [
        Ceiling(f"{COPY}memory", 1, 100.0, GBYTES, 99.0, 101.0),
        Ceiling(f"{MULTIPLY}f32", 1, 1000.0, GFLOPS, 1, 1),
    ]
    launch = {"kernel": "k", "position": 0, "median": 1.0, "flops": 10**9, "bytes": 10**8, "loads": 2 * 10**8,
              "stores": 0}  # fmt: skip
    (estimated,) = roofline([launch], ceilings)
    (measured,) = roofline([launch], ceilings, None, [CountedLaunch(0, "k", 3e8, 1e8)])
    assert (estimated.intensity, estimated.gbytes, estimated.measured) == (10.0, pytest.approx(0.1), False)
    assert (measured.intensity, measured.gbytes, measured.measured) == (2.5, pytest.approx(0.4), True)
    assert measured.roof == pytest.approx(250) and measured.issued_ratio == estimated.issued_ratio == 2
    (cached,) = roofline([launch], ceilings, None, [CountedLaunch(0, "k", 0.0, 0.0)])
    assert cached == estimated  # all of it stayed in a cache: there are no bytes to be held against memory


def test_needless_bytes_are_a_finding(store):
    much = replace(COUNTED, dram_read=60.0, dram_written=20.0)
    findings = [f.words for f in advice(run_document(store, keep(store, replace(FOUND, counted=(much,)))))]
    assert "reads and writes 80 B of DRAM, 4.0 times the 20 B that must be" in findings
    enough = replace(COUNTED, dram_read=20.0, dram_written=1.0)
    findings = [f.words for f in advice(run_document(store, keep(store, replace(FOUND, counted=(enough,)))))]
    assert not any("DRAM" in words for words in findings)


def test_the_inspector_has_what_was_counted_beside_what_was_estimated():
    times = RunTimes((1.0,), (("k", (1.0,)),), (), 1, (), work=((10, 20),), sampling=FOUND)
    assert dict((row[0], row[1]) for row in counted_rows(times)) == {
        "k: DRAM read": 3 << 20, "k: DRAM written": 1 << 20, "k: L2 hits": 50.0, "k: occupancy": 75.0,
        "k: tensor pipe": 25.0, "k: FMA pipe": 12.5, "k: bank conflicts": 1234.0,
    }  # fmt: skip
    assert counted_rows(replace(times, sampling=NONE)) == [("the device's counters", None, "", NONE.uncounted)]
    found = {entry.name: entry.value for entry in _counted([0], times)}
    assert found["DRAM read"] == "3.0 MiB (measured)" and found["occupancy"] == "75% (measured)"
    assert not _counted([0], replace(times, sampling=None))
