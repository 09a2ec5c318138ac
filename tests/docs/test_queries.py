"""Every query of docs/queries.md runs, and every view is shown there."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

from app.cli.main import main
from profiler.store.views import VIEWS

PAGE = (Path(__file__).parents[2] / "docs" / "queries.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
QUICK = ("--repeat", "3", "--processes", "1", "--threads", "1", "--check")


@pytest.fixture(scope="module")
def database(tmp_path_factory):
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
    shares = database.execute("SELECT sum(share) FROM kernel_times WHERE run = 2").fetchone()[0]
    assert shares == pytest.approx(1)
    kinds = {row[0] for row in database.execute("SELECT what FROM sample_sets WHERE position = -1")}
    assert kinds == {"whole model"}
