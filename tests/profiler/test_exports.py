"""Exports keep to docs/trace-schema.md: JSON to its schema, CSV to its columns, and scripts make the run again."""

import ast
import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import profiled_graphs as graphs
import pytest
import records_for_tests as made
from json_schema import problems
from recorded_runs import run_and_record

from compiler.options import CompileOptions
from profiler.analysis.compare import compare_compilations, compare_runs
from profiler.records import FAILED, Ceiling, CompiledKernel, Launch, MeasuredRun, MeasureRequest
from profiler.report.exports.csv_table import COMPARISON_COLUMNS, RUN_COLUMNS
from profiler.report.write import export_comparison, export_run
from profiler.store import open_store, queries, writer

pytestmark = pytest.mark.usefixtures("measured_in_forks")
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "trace-schema.md").read_text()


def schema(name):
    return json.loads((ROOT / "docs" / "schemas" / f"{name}.json").read_text())


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A store with two real runs of two options, ceilings of this machine, and one that failed before it compiled."""
    from profiler.measure.machine import this_machine

    with open_store(tmp_path_factory.mktemp("real") / "t.db") as store:
        arrays = [graphs.array(64, 64), graphs.array(64, 64, seed=1)]
        for level in (3, 1):
            request = MeasureRequest("two", repeat=24, options=CompileOptions(opt_level=level))
            run_and_record(store, request, graphs.two_kernels(), arrays, texts=True)
        threads = queries.run_row(store, 1)["conditions"]["threads"]
        writer.put_ceiling(store, this_machine(), Ceiling("copy memory", threads, 20.0, "GB/s", 19.0, 21.0))
        writer.put_ceiling(store, this_machine(), Ceiling("multiply-add f32", threads, 80.0, "GFLOP/s", 79.0, 81.0))
        failed = writer.begin_run(store, made.request(), made.MACHINE)
        writer.finish_run(store, failed, MeasuredRun(FAILED, error="SIGSEGV", signal="SIGSEGV", kernel="k"))
        writer.begin_run(store, made.request(), made.MACHINE)
        yield store


@pytest.mark.parametrize("run", [1, 2, 3, 4])
def test_the_json_of_a_run_keeps_to_its_schema(real, run):
    document = json.loads(export_run(real, run, "json"))
    assert problems(document, schema("kernelglass-run-1")) == []
    assert document["ceilings"] or run > 2


def test_the_json_of_a_comparison_keeps_to_its_schema(real):
    for comparison in (compare_runs(real, [1, 2]), compare_compilations(real, [1, 2])):
        document = json.loads(export_comparison(comparison, "json"))
        assert problems(document, schema("kernelglass-comparison-1")) == []


def test_a_document_that_breaks_the_schema_is_found_out(real):
    """The check can fail: each of these changes is one that a reader would trip over."""
    whole, rules = export_run(real, 1, "json"), schema("kernelglass-run-1")
    for change in (
        lambda d: d.pop("times"), lambda d: d["run"].update(status="done"), lambda d: d.update(schema="other"),
        lambda d: d["launches"][0].update(median="fast"), lambda d: d["times"].update(new=1),
        lambda d: d["timeline_ns"][0][0].append(1), lambda d: d["times"].update(count=True),
    ):  # fmt: skip
        document = json.loads(whole)
        change(document)
        assert problems(document, rules)


@pytest.mark.oracle
def test_the_schemas_are_json_schema_and_a_validator_agrees(real):
    jsonschema = pytest.importorskip("jsonschema")
    for name, text in (
        ("kernelglass-run-1", export_run(real, 1, "json")), ("kernelglass-run-1", export_run(real, 3, "json")),
        ("kernelglass-comparison-1", export_comparison(compare_runs(real, [1, 2]), "json")),
    ):  # fmt: skip
        jsonschema.Draft202012Validator.check_schema(schema(name))
        jsonschema.validate(json.loads(text), schema(name), jsonschema.Draft202012Validator)


def test_the_page_names_every_field_of_the_schemas():
    def names(part):
        for name, inner in part.get("properties", {}).items():
            yield name
            yield from names(inner)
        if isinstance(part.get("items"), dict):
            yield from names(part["items"])

    request = set(schema("kernelglass-run-1")["properties"]["request"]["properties"])
    for name in ("kernelglass-run-1", "kernelglass-comparison-1"):
        missing = {field for field in names(schema(name)) if f"`{field}`" not in PAGE and f"`{field}[]`" not in PAGE}
        assert missing - request - {"measured"} == set()
    for column in (*RUN_COLUMNS, *COMPARISON_COLUMNS):
        assert re.search(rf"\b{column}\b", PAGE)


def test_csv_has_a_row_for_the_model_and_one_for_each_launch(real):
    rows = list(csv.DictReader(io.StringIO(export_run(real, 1, "csv"))))
    assert tuple(rows[0]) == RUN_COLUMNS and rows[0]["kernel"] == "*"
    assert len(rows) == 1 + len(queries.launches(real, 1)) and float(rows[1]["median_s"]) > 0
    compared = list(csv.DictReader(io.StringIO(export_comparison(compare_runs(real, [1, 2]), "csv"))))
    assert tuple(compared[0]) == COMPARISON_COLUMNS and compared[0]["kernel"] == "*"
    assert len(compared) == 2 + 2 * len(queries.kernels(real, 1))


@pytest.mark.parametrize("name", ["=cmd()", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\uff1d1"])
def test_a_formula_in_a_name_stays_a_text_in_a_spreadsheet(store, name):
    kernel = CompiledKernel(name, "key", (name,), (), "x")
    number = writer.add_compilation(store, made.compilation(kernels=(kernel,)), made.MACHINE)
    for _ in range(2):
        run = writer.begin_run(store, made.request("=1+1"), made.MACHINE)
        launch = Launch(0, name, "key", (name,), (100,) * 6, (1e-6,))
        writer.finish_run(store, run, made.result(launches=(launch,)), number)
    for text in (export_run(store, 1, "csv"), export_comparison(compare_runs(store, [1, 2]), "csv")):
        cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
        assert "'" + name in cells and name not in cells
        for cell in cells:  # what is left that begins so is a number
            assert cell[:1] not in ("=", "+", "@", "\t", "\r") and (cell[:1] != "-" or float(cell) < 0)


def test_names_with_commas_quotes_and_line_ends_come_back_whole(store):
    name = 'a, "b"\nc'
    run = writer.begin_run(store, made.request(), made.MACHINE)
    writer.finish_run(store, run, made.result(launches=(Launch(0, name, "key", (), (100,) * 6, (1e-6,)),)))
    rows = list(csv.DictReader(io.StringIO(export_run(store, run, "csv"), newline="")))
    assert rows[1]["kernel"] == name and len(rows) == 2


def in_a_new_process(path):
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        [sys.executable, str(path)], cwd=path.parent, env=environment, capture_output=True, text=True, timeout=120
    )


def test_the_reproducer_makes_the_run_again(real, tmp_path):
    path = tmp_path / "again.py"
    path.write_text(export_run(real, 2, "script"))
    done = in_a_new_process(path)
    assert done.returncode == 0, done.stderr
    first, *others = done.stdout.splitlines()
    figures = re.fullmatch(r"median ([\d.]+) us \(([\d.]+) to ([\d.]+)\), recorded ([\d.]+) us", first)
    assert figures and float(figures[2]) <= float(figures[1]) <= float(figures[3])
    assert float(figures[4]) == pytest.approx(queries.run_row(real, 2)["median"] * 1e6, abs=1e-3)
    assert [line.split(":")[0].strip() for line in others] == [x["kernel"] for x in queries.launches(real, 2)]


def test_the_reproducer_of_a_crash_crashes_again_and_says_so(store, tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "crash.py").write_text(graphs.KERNELS)
    request = MeasureRequest("custom", repeat=2, libraries=(str(tmp_path / "kernels"),))
    run, outcome = run_and_record(store, request, graphs.custom("crash"), [graphs.array(64, 64)])
    assert outcome.result.signal
    path = tmp_path / "again.py"
    path.write_text(export_run(store, run, "script"))
    done = in_a_new_process(path)
    assert done.returncode == 1 and "SIG" in done.stderr and "Traceback" not in done.stderr


def test_nothing_in_a_record_becomes_code_of_the_script(store):
    evil = '"""\nraise SystemExit("ran")\n"""\\'
    record = made.compilation(source=evil, text=evil, versions={evil: evil})
    number = writer.add_compilation(store, record, made.MACHINE)
    run = writer.begin_run(store, made.request(evil), made.MACHINE)
    writer.finish_run(store, run, made.result(), number)
    store.connection.execute("UPDATE runs SET started = ?", (evil,))
    store.connection.execute("UPDATE machines SET name = ?", (evil,))
    tree = ast.parse(export_run(store, run, "script"))
    kinds = [type(item).__name__ for item in tree.body]
    assert kinds.count("Raise") == 0 and kinds[:2] == ["Expr", "Import"] and kinds[-1] == "If"
    held = {item.targets[0].id: item.value for item in tree.body if isinstance(item, ast.Assign)}
    assert ast.literal_eval(held["GRAPH"]) == evil and ast.literal_eval(held["REQUEST"])["source"] == evil
