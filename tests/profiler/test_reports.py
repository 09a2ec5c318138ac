"""Reports and exports: offline, escaped, small, and readable by the programs they are for."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import profiled_graphs as graphs
import pytest
import records_for_tests as made
from recorded_runs import run_and_record

from compiler.options import CompileOptions
from profiler.records import CompiledKernel, Launch, MeasureRequest, StageRecord
from profiler.report.document import run_document
from profiler.report.html import embedded
from profiler.report.write import RUN_FORMATS, export_run
from profiler.store import open_store, queries, writer

pytestmark = pytest.mark.usefixtures("measured_in_forks")
ROOT = Path(__file__).parents[2]
EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A store with one real run, IR and all."""
    with open_store(tmp_path_factory.mktemp("real") / "t.db") as store:
        arrays = [graphs.array(64, 64), graphs.array(64, 64, seed=1)]
        request = MeasureRequest("two", repeat=24, options=CompileOptions(debug="line-tables"))
        run_and_record(store, request, graphs.two_kernels(), arrays, texts=True)
        yield store


class Page(HTMLParser):
    """Tags, the content of scripts, and text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.words, self._script = [], [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._script = tag == "script"

    def handle_endtag(self, tag):
        self._script = False

    def handle_data(self, data):
        (self.scripts if self._script else self.words).append(data)


def test_the_html_report_needs_no_network_and_links_every_stage(real):
    text = export_run(real, 1, "html")
    page = Page(text)
    for tag, attrs in page.tags:
        assert tag not in ("link", "img", "iframe", "object", "base", "form")
        assert "src" not in attrs and attrs.get("href", "#").startswith("#")
    assert not re.search(r"(?:https?:)?//[a-z]+\.[a-z]", text.replace("http://www.w3.org", ""))
    data = json.loads(page.scripts[0])
    ids = {attrs.get("id") for _, attrs in page.tags}
    assert {f"text{number}" for number in range(len(data["texts"]))} <= ids
    assert {attrs["href"][1:] for tag, attrs in page.tags if tag == "a"} <= ids
    stages = {item["stage"] for item in data["texts"]}
    assert {"mo", "source", "kernel", "llvm", "llvm-opt", "asm"} <= stages
    for item in data["texts"]:
        assert max(item["lines"], default=0) < len(data["sets"])
    linked = [item for item in data["texts"] if any(data["sets"][n] for n in item["lines"])]
    assert {item["stage"] for item in linked} >= {"mo", "source", "kernel", "llvm", "asm"}
    assert sum(tag == "svg" for tag, _ in page.tags) >= 5 and any("data-nodes" in attrs for _, attrs in page.tags)


def test_hostile_names_are_shown_as_text(store):
    kernel = CompiledKernel(EVIL, "key", (EVIL,), ("mo.add",), f"# {EVIL}\n")
    number = writer.add_compilation(store, made.compilation(source=EVIL, kernels=(kernel,)), made.MACHINE)
    writer.add_stages(store, number, [StageRecord("asm", EVIL, f"; {EVIL} <!-- </SCRIPT > -->\n", ((EVIL,),))])
    run = writer.begin_run(store, made.request(EVIL), made.MACHINE)
    launch = Launch(0, EVIL, "key", (EVIL, '"onload="x'), (100,) * 6, (1e-6,))
    writer.finish_run(store, run, made.result(launches=(launch,)), number)
    writer.note_run(store, run, f'{EVIL}"><img src=x onerror=alert(1)>')
    writer.tag_runs(store, [run], "a<b")
    page = Page(export_run(store, run, "html"))
    assert len(page.scripts) == 2 and "alert(1)" not in page.scripts[1]
    assert json.loads(page.scripts[0])["texts"][-1]["kernel"] == EVIL
    assert EVIL in "".join(page.words) and not any(tag == "img" for tag, _ in page.tags)
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)
    assert "<script>" not in export_run(store, run, "md")
    script = export_run(store, run, "script")
    compile(script, "reproducer.py", "exec")


def test_json_cannot_end_the_element_it_stands_in():
    text = str(embedded({"x": "</script><!--&\u2028"}))
    assert not re.search("[<>&\u2028]", text) and json.loads(text) == {"x": "</script><!--&\u2028"}


def events_of(text):
    document = json.loads(text)
    for event in document["traceEvents"]:
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int) and event["name"]
        assert event["ph"] in "XMC"
        if event["ph"] == "X":
            assert event["ts"] >= 0 and event["dur"] >= 0
    return document["traceEvents"]


def test_a_trace_holds_passes_launches_by_thread_and_memory(real):
    events = events_of(export_run(real, 1, "perfetto"))
    document = run_document(real, 1)
    slices = [e for e in events if e["ph"] == "X"]
    assert len([e for e in slices if e["cat"] == "pass"]) == len(document["compilation"]["passes"])
    kernels = [e for e in slices if e["cat"] == "kernel"]
    assert len(kernels) == document["conditions"]["threads"] * len(document["launches"])
    by_thread = {}
    for event in sorted(kernels, key=lambda e: e["ts"]):  # slices of one thread must not overlap
        assert event["ts"] >= by_thread.get(event["tid"], 0) - 1e-6
        by_thread[event["tid"]] = event["ts"] + event["dur"]
    assert any(e["ph"] == "C" for e in events)
    names = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    assert {(e["pid"], e["tid"]) for e in slices} <= names


def test_every_format_is_written_for_a_failed_run_too(store):
    from compiler.errors import ExecutionError
    from profiler.records import FAILED, MeasuredRun

    run = writer.begin_run(store, made.request(), made.MACHINE)
    result = MeasuredRun(FAILED, error="crashed with SIGSEGV in kernel k", signal="SIGSEGV", kernel="k")
    writer.finish_run(store, run, result)
    for kind in RUN_FORMATS:
        if kind == "script":
            with pytest.raises(ExecutionError, match="no compilation"):
                export_run(store, run, kind)
        elif kind in ("html", "md", "json"):
            assert "SIGSEGV" in export_run(store, run, kind)
        else:
            assert export_run(store, run, kind)


def test_ir_that_was_not_kept_is_made_again_for_the_report(store):
    request = MeasureRequest("scale", dims={"M": 8}, repeat=2)
    run_and_record(store, request, graphs.scale(), [graphs.array(8, 64)])
    assert queries.stages(store, 1) == []
    text = export_run(store, 1, "html")
    assert "made again for this report" in text and queries.stage(store, 1, "", "mo") is not None


@pytest.mark.slow
def test_the_report_of_a_transformer_block_is_under_2_mb(store):
    from app.inputs import random_inputs
    from app.sources import load_source

    source = load_source("sample:transformer-block")
    request = MeasureRequest("sample:transformer-block", dims=source.dims, options=CompileOptions(debug="line-tables"))
    arrays = random_inputs(source.graph, source.dims, 0)
    run_and_record(store, request, source.graph, arrays, texts=True)
    size = len(export_run(store, 1, "html").encode())
    print(f"{size / 1e6:.2f} MB")
    assert size < 2e6


def test_a_report_too_large_leaves_stages_out_and_says_which(store):
    number = writer.add_compilation(store, made.compilation(), made.MACHINE)
    big = "x" * 70 + "\n"
    for stage in ("kgen", "llvm", "asm"):
        writer.add_stages(store, number, [StageRecord(stage, "k", stage + big * 12_000, ((),) * 12_000)])
    run = writer.begin_run(store, made.request(), made.MACHINE)
    writer.finish_run(store, run, made.result(), number)
    text = export_run(store, run, "html")
    assert len(text.encode()) < 2e6 and "left out for size: kgen" in text
