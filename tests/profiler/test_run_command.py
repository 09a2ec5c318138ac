"""What `run` stores and shows of a measurement, and `compare --again`: from the command line, as a user has it."""

import json

import pytest

from app.cli.main import main
from profiler.measure.counters import HardwareCounters
from profiler.store import open_store, queries

pytestmark = pytest.mark.usefixtures("measured_in_forks")


@pytest.fixture
def kernelglass(capsys, tmp_path):
    def call(*arguments):
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A database with two runs of two processes each."""
    path = tmp_path_factory.mktemp("runs") / "t.db"
    for _ in range(2):
        arguments = ["run", "sample:softmax", "--dim", "M=16", "--budget", "0.3", "--processes", "2", "--db", str(path)]
        assert main(arguments) == 0
    return path


def test_everything_that_happened_is_shown(kernelglass):
    status, out, err = kernelglass(
        "run", "sample:softmax", "--dim", "M=16", "--no-db", "--budget", "0.3", "--processes", "2"
    )
    assert (status, err) == (0, "")
    lines = {line.split(" ")[0]: line for line in out.splitlines()}
    assert "2 processes" in lines["per"] and "outliers" in lines["per"] and "None" not in out
    assert "load" in lines["machine"] and "lost" in lines["machine"]
    assert "MHz" in lines["machine"] or "clock not told" in lines["machine"]
    assert "page faults" in lines["system"] and "involuntary context switches" in lines["system"]
    assert "resident at most" in lines["memory"] and "planned" in lines["memory"]
    assert "cycles" in lines["hardware"]
    if HardwareCounters().missing:
        assert "does not" in lines["hardware"], "in plain words, why there are none"
    assert "loaded" in out and "stored" in out


def test_everything_that_is_shown_is_stored(kernelglass, stored):
    with open_store(stored) as store:
        row = queries.run_row(store, 1)
        counters = {counter["name"]: counter for counter in queries.counters(store, 1)}
        samples = queries.run_samples(store, 1)
    assert {"load", "load_after", "megahertz", "governor", "lost_share", "buffer_sets"} <= set(row["conditions"])
    assert len(row["conditions"]["processes"]) == 2 == len(row["conditions"]["each_process"])
    for name in ("minor page faults", "major page faults", "voluntary context switches",
                 "involuntary context switches", "resident memory, highest"):  # fmt: skip
        assert counters[name]["value"] is not None
    assert all(counter["value"] is not None or counter["note"] for counter in counters.values())
    assert sum(row["conditions"]["blocks"]) == len(samples[-1])


def test_json_has_the_lost_time_of_every_call(kernelglass):
    status, out, _ = kernelglass(
        "run", "sample:softmax", "--dim", "M=16", "--no-db", "--repeat", "30", "--processes", "1", "--json"
    )
    document = json.loads(out)
    assert status == 0 and document["processes"] == 1 and document["threads"] >= 1
    assert len(document["seconds"]["lost"]) == len(document["seconds"]["all"]) == 30


def test_few_processes_are_said_to_be_few(kernelglass, stored):
    status, out, err = kernelglass("compare", "1", "2", "--db", stored)
    assert (status, err) == (0, "") and "2 and 2 processes: between-process variation unknown" in out
    assert "widened by 10%" in out


@pytest.mark.slow
def test_both_runs_are_made_again_in_turns(kernelglass, stored):
    status, out, err = kernelglass("compare", "1", "2", "--again", "--db", stored)
    assert status == 0 and "pair 8 of 8" in err
    assert "run 3 (sample:softmax) against run 4" in out and "exact sign-flip test" in out


@pytest.mark.parametrize(
    "arguments, words",
    [(("1", "2", "1", "--again"), "two runs"), (("1", "2", "--again", "--pairs", "3"), "8<=x<=500")],
)
def test_again_takes_two_runs_and_pairs_enough(kernelglass, stored, arguments, words):
    status, _, err = kernelglass("compare", *arguments, "--db", stored)
    assert status == 2 and words in err
