"""`kernelglass flows` and `kernelglass cache`, as a user runs them."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli.main import main
from app.flows.cells import Cell, Measured, Request, Sample, Told, cells
from app.flows.tables import comma_separated, document, markdown, text

ROOT = Path(__file__).resolve().parents[2]


def sample(cpu, peak, first=None):
    return Sample(cpu * 0.75, cpu * 0.25, cpu * 2, peak, Told(4, cpu, first or 0.0))


@pytest.fixture
def found():
    listed = cells([3], ["none", "line-tables"], start_up=True)
    costs = {"per-kernel": 4.0, "all-kernel": 2.0}
    samples = {
        cell: [
            sample(
                costs[cell.flow] * scale * (1.1 if cell.debug != "none" else 1),
                100 if cell.flow == "all-kernel" else 150,
                3.0 * scale if cell.execute else None,
            )
            for scale in (1.0, 1.2)
        ]
        for cell in listed
    }
    return document(Measured(Request("sample:mlp"), 2, sample(0.5, 80), samples), "a machine", 2)


def test_every_flow_level_debug_and_cache_is_a_cell():
    listed = cells([2, 3], ["none"], start_up=False)
    assert {(c.flow, c.opt_level, c.cache) for c in listed} == {
        (flow, level, cache) for flow in ("per-kernel", "all-kernel") for level in (2, 3) for cache in ("cold", "warm")
    }
    assert next(c for c in cells([2, 3], ["none"], start_up=True) if c.execute).opt_level == 3


def test_ratios_compare_the_flows_and_line_tables_compare_with_none(found):
    row = next(c for c in found["cells"] if c["flow"] == "all-kernel")
    assert row["time_ratio"] == pytest.approx(2) and row["memory_ratio"] == pytest.approx(1.5)
    assert row["spread"] == pytest.approx(0.2 / 1.1)
    assert row["cpu_percent"] == pytest.approx(50)
    assert found["line_tables"][0]["time"] == pytest.approx(1.1)
    assert next(c for c in found["cells"] if c["flow"] == "per-kernel")["time_ratio"] is None


def test_the_tables_say_where_and_how_it_was_measured(found):
    for words in (text(found), markdown(found)):
        for part in (
            "sample:mlp",
            "4 kernels",
            "a machine",
            "2 jobs",
            "2 repeats",
            "per-kernel",
            "line-tables",
            "first result",
        ):
            assert part in words
    assert markdown(found).splitlines()[3].startswith("| ---")
    rows = list(csv.DictReader(io.StringIO(comma_separated(found))))
    assert len(rows) == len(found["cells"]) + len(found["start_up"])
    assert float(next(r for r in rows if r["flow"] == "all-kernel")["time_ratio"]) == pytest.approx(2)


@pytest.mark.parametrize(
    "arguments",
    [["sample:nonesuch"], ["sample:mlp", "-O", "7"], ["sample:mlp", "--debug", "x"], ["sample:mlp", "--target", "vax"]],
)
def test_mistakes_are_one_line(capsys, arguments):
    assert main(["flows", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and len(printed.err.splitlines()) == 1


@pytest.mark.slow
def test_flows_measures_fresh_processes(capfd):
    assert main(["flows", "sample:softmax", "--repeat", "1", "--debug", "none", "--json"]) == 0
    out, err = capfd.readouterr()
    found = json.loads(out)
    assert len(found["cells"]) == 4 and len(found["start_up"]) == 4 and found["kernels"] == 1
    assert all(cell["user_s"] > 0 and cell["peak_bytes"] > 1 << 20 for cell in found["cells"])
    cold, warm = (next(c for c in found["cells"] if c["cache"] == state) for state in ("cold", "warm"))
    assert warm["compile_s"] < cold["compile_s"]
    assert "[1/8]" in err


@pytest.mark.slow
def test_an_interrupt_keeps_what_is_finished():
    command = [sys.executable, "-m", "app", "flows", "sample:softmax", "--repeat", "50", "--debug", "none", "--json"]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    for line in process.stderr:
        if line.startswith("[3/"):
            process.send_signal(signal.SIGINT)
            break
    out, _ = process.communicate(timeout=60)
    found = json.loads(out)
    assert process.returncode == 130 and found["interrupted"] and len(found["cells"]) == 2


def test_cache_info_and_clear(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path))
    assert main(["compile", "sample:softmax"]) == 0
    capsys.readouterr()
    assert main(["cache", "info", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["path"] == str(tmp_path) and all(found["kinds"][kind]["entries"] for kind in ("model", "ir", "object"))
    assert main(["cache", "info"]) == 0
    assert str(tmp_path) in capsys.readouterr().out
    assert main(["cache", "clear"]) == 0
    assert f"dropped {found['entries']} entries" in capsys.readouterr().out
    assert main(["cache", "info", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["entries"] == 0


def test_a_cell_names_itself():
    assert str(Cell("all-kernel", 3, "none", "cold", True)) == "all-kernel -O3 none cold to first result"
