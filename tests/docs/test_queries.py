"""Every query of docs/queries.md runs, and every view is shown there."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

from app.cli.main import main
from profiler.store import open_store
from profiler.store.migrations import MIGRATIONS
from profiler.store.views import VIEWS

PAGE = (Path(__file__).parents[2] / "docs" / "queries.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
QUICK = ("--repeat", "3", "--processes", "1", "--threads", "1", "--check")


@pytest.fixture(scope="module")
def database(tmp_path_factory, measured_in_forks):
    path = tmp_path_factory.mktemp("queries") / "traces.db"
    for _ in range(2):
        assert main(["run", "sample:mlp", *QUICK, "--db", str(path), "--tag", "shown"]) == 0
    connection = sqlite3.connect(path)
    connection.execute("UPDATE runs SET status = 'failed', error = 'crashed' WHERE id = 1")
    connection.commit()
    assert main(["run", "sample:softmax", *QUICK, "--db", str(path)]) == 0
    yield connection
    connection.close()


@pytest.mark.parametrize("query", QUERIES, ids=[query.split("FROM ")[1].split()[0] for query in QUERIES])
def test_a_query_of_the_page_runs(database, query):
    rows = database.execute(query).fetchall()
    assert rows or "'not fused'" in query  # a graph may fuse whole


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_shown_and_used(database, view):
    assert f"| `{view}` |" in PAGE and any(f"FROM {view}" in query for query in QUERIES)
    assert database.execute(f"SELECT * FROM {view}").description


def test_views_tell_what_the_program_tells(database):
    run, median, tags, check = database.execute(
        "SELECT run, median_s, tags, check_ok FROM run_overview WHERE run = 2"
    ).fetchone()
    assert database.execute("SELECT median FROM runs WHERE id = ?", (run,)).fetchone() == (median,)
    assert tags == "shown" and check == 1
    shares = database.execute("SELECT sum(share_of_launches) FROM kernel_times WHERE run = 2").fetchone()[0]
    assert shares == pytest.approx(1)
    for share, launch in database.execute("SELECT share, median_s FROM kernel_times WHERE run = 2"):
        assert share == pytest.approx(launch / median)  # as the window's: of the call that stands above them
    kinds = {row[0] for row in database.execute("SELECT what FROM sample_sets WHERE position = -1")}
    assert kinds == {"whole model"}


def test_a_history_compares_like_with_like(database):
    """A run with other threads, sizes or debug information, or whose results were wrong, is not what came before."""
    insert = """INSERT INTO runs (started, status, process, source, compilation, machine, device, threads, dims, seed,
        median, request, conditions, memory) SELECT '2100-01-0' || ?, 'finished', process, 'h', compilation, machine,
        device, ?, ?, seed, ?, request, ?, memory FROM runs WHERE id = 2"""
    conditions = ["{}", "{}", "{}", '{"check": {"ok": false, "lines": []}}', "damaged", "{}"]
    sizes = ['{"M": 1}', '{"M": 1}', '{"M": 2}', '{"M": 1}', '{"M": 1}', '{"M": 1}']
    for number, (threads, dims, told) in enumerate(zip((1, 2, 1, 1, 1, 1), sizes, conditions), 1):
        database.execute(insert, (number, threads, dims, float(number), told))
    rows = database.execute("SELECT median_s, ratio FROM run_history WHERE source = 'h' ORDER BY started").fetchall()
    database.rollback()
    assert rows == [(1.0, None), (2.0, None), (3.0, None), (5.0, 5.0), (6.0, 1.2)]


def test_a_file_with_older_views_gets_the_present_ones(tmp_path):
    path = tmp_path / "old.db"
    at = [migration.name for migration in MIGRATIONS].index("views_again")
    with open_store(path, migrations=MIGRATIONS[:at]) as store:
        store.connection.execute("DROP VIEW kernel_times")
        store.connection.execute("CREATE VIEW kernel_times AS SELECT 1 AS share")
    with open_store(path) as store:
        found = store.rows("SELECT sql FROM sqlite_master WHERE name = 'kernel_times'")
    assert VIEWS["kernel_times"] in found[0]["sql"]
