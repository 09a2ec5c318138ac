"""Samples of lines in the store, and as the command line, reports, exports and comparisons show them."""

import json
import re
import sys
from dataclasses import replace

import pytest
import records_for_tests as records

from app.cli.main import main
from profiler.analysis.compare import compare_runs
from profiler.analysis.heat import changed_lines
from profiler.measure.machine import this_machine
from profiler.report.document import run_document
from profiler.report.write import export_comparison, export_run
from profiler.sampled import PLACES, HotLine, SampledKernel, Sampling, StageHeat
from profiler.store import StoreError, writer
from profiler.store.sampled import sampling

pytestmark = pytest.mark.usefixtures("measured_in_forks")


def sampled(first=250, second=750):
    """Samples of one kernel `k` of two lines."""
    lines = [("a = one(x)", first), ("b = two(x)", second)]
    places = tuple(
        HotLine(at + 3, count, text, ("add_0",), "/lib/kernels/k.py", at + 3) for at, (text, count) in enumerate(lines)
    )
    asm = (HotLine(10, first, "ldr q0, [x0]", ("add_0",)), HotLine(17, second, "fmul v0", ("add_0",)))
    kernel = SampledKernel(
        "k", first + second, first + second, (("add_0", float(first + second)),),
        (StageHeat(PLACES, "", places), StageHeat("asm", "abc", asm)),
    )  # fmt: skip
    return Sampling((kernel,), 1100, first + second, 60, 0, 40, 251e-6, 2.0, 0.01)


def keep(store, found):
    request = records.request(sample=found is not None)
    run = writer.begin_run(store, request, this_machine())
    compilation = writer.add_compilation(store, records.compilation(), this_machine())
    writer.finish_run(store, run, replace(records.result(), sampling=found), compilation)
    return run


def test_what_was_sampled_comes_back_as_it_was(store):
    run = keep(store, sampled())
    assert sampling(store, run) == sampled()
    writer.delete_runs(store, [run])
    assert store.rows("SELECT count(*) AS n FROM sampled")[0]["n"] == 0


def test_a_run_without_samples_takes_no_more_room(store):
    run = keep(store, None)
    assert sampling(store, run) is None
    assert store.rows("SELECT count(*) AS n FROM sampled")[0]["n"] == 0
    assert "sample" not in store.rows("SELECT request FROM runs")[0]["request"]
    assert "sampling" not in run_document(store, run)


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_damaged_samples_are_told_in_a_line(store, damage):
    run = keep(store, sampled())
    store.connection.execute("UPDATE sampled SET data = ? WHERE kernel = 'k'", (damage,))
    with pytest.raises(StoreError, match="damaged"):
        sampling(store, run)


def test_samples_that_lost_their_head_are_damage(store):
    run = keep(store, sampled())
    store.connection.execute("DELETE FROM sampled WHERE kernel = ''")
    with pytest.raises(StoreError, match="do not belong together"):
        sampling(store, run)


def test_comparing_names_the_lines_whose_share_changed(store):
    runs = [keep(store, sampled()), keep(store, sampled(500, 500))]
    comparison = compare_runs(store, runs)
    assert [(x.file, x.line, x.shares) for x in comparison.lines] == [
        ("k.py", 3, (0.25, 0.5)),
        ("k.py", 4, (0.75, 0.5)),
    ]
    for kind in ("text", "md", "html", "json"):
        assert "b = two(x)" in export_comparison(comparison, kind)


def test_shares_that_sampling_alone_explains_are_not_called_changed():
    assert changed_lines([sampled(250, 750), sampled(260, 740)]) == ()
    assert changed_lines([sampled(), None]) == ()


def test_a_report_shows_where_the_time_goes(store):
    run = keep(store, sampled())
    text = export_run(store, run, "md")
    assert "Where the time goes" in text and "k.py:4" in text and "75.00%     17  fmul v0" in text
    page = export_run(store, run, "html")
    assert 'id="heat"' in page and "75.00%     17  fmul v0" in page and "1,000 of 1,100 samples" in page
    plain = keep(store, None)
    assert "Where the time goes" not in export_run(store, plain, "md") + export_run(store, plain, "html")


def test_the_json_export_has_every_line(store):
    found = json.loads(export_run(store, keep(store, sampled()), "json"))["sampling"]
    assert found["kernels"][0]["stages"][0]["lines"][1]["count"] == 750
    assert found["mapped"] == 1000


def test_perfetto_has_a_counter_for_each_hot_line(store):
    run = keep(store, sampled())
    events = json.loads(export_run(store, run, "perfetto"))["traceEvents"]
    counters = [event for event in events if event["ph"] == "C" and "samples at" in event["name"]]
    launches = [event for event in events if event.get("cat") == "kernel" and event["name"] == "k"]
    assert {event["name"] for event in counters} == (
        {"samples at k.py:3 in k", "samples at k.py:4 in k"} if launches else set()
    )
    if launches:
        assert {event["args"]["percent"] for event in counters} == {25.0, 75.0, 0.0}


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "t.db"
    run = ["run", "sample:softmax", "--dim", "M=64", "--budget", "0.2", "--processes", "1"]
    assert main([*run, "--sample", "--db", str(path)]) == 0
    assert main([*run, "--db", str(path)]) == 0
    return path


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="sampling needs Linux")
def test_hot_shows_lines_of_any_stage(database, capsys):
    for stage, word in ((PLACES, "softmax.py:"), ("nodes", "softmax_0"), ("asm", "softmax"), ("kgen", "vector<")):
        assert main(["hot", "1", "--stage", stage, "--db", str(database)]) == 0
        out = capsys.readouterr().out
        assert "samples were taken in kernels" in out and word in out, stage
    assert main(["hot", "1", "--listing", "--stage", "asm", "--db", str(database)]) == 0
    assert re.search(r"^ +\d+\.\d\d% +\d+  ", capsys.readouterr().out, re.MULTILINE)
    assert main(["hot", "1", "--json", "--db", str(database)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sampling"]["inside"] > 0 and found["lines"][0]["share"] > 0


def test_hot_says_what_to_do_about_a_run_without_samples(database, capsys):
    assert main(["hot", "2", "--db", str(database)]) == 2
    assert "run 2 was not sampled; `kernelglass run sample:softmax --sample`" in capsys.readouterr().err


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="sampling needs Linux")
def test_hot_names_the_kernels_there_are(database, capsys):
    assert main(["hot", "1", "--kernel", "nobody", "--db", str(database)]) == 2
    assert "no samples in a kernel 'nobody'" in capsys.readouterr().err
