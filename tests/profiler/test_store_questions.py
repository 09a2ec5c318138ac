"""Every question asked of the store is answered from an index: a large store answers as fast as a small one."""

import re
import time

import pytest
import records_for_tests as made

from profiler.analysis.compare import compare_compilations, compare_runs
from profiler.records import FAILED, StageRecord
from profiler.report.document import run_document
from profiler.store import queries, writer
from profiler.store.interrupted import mark_interrupted
from profiler.store.texts import search_texts

Filter = queries.RunFilter


def fill(store, runs, compilations):
    """Runs of twenty sources, some tagged, one pinned; compilations whose IR has common, some and rare words."""
    numbers = []
    with store.transaction():
        for i in range(compilations):
            record = made.compilation(f"s{i % 20}", text=f"mo.graph @g{i}() {{}}\n")
            numbers.append(writer.add_compilation(store, record, made.MACHINE))
            texts = [
                StageRecord(
                    stage, "k" if stage != "mo" else "", f"{stage} common some{i % 50} rare{i}\n" * 4, ((),) * 4
                )
                for stage in ("mo", "llvm", "asm")
            ]
            writer.add_stages(store, numbers[-1], texts)
        for i in range(runs):
            request = made.request(f"s{i % 20}", device="cpu" if i % 50 else "cuda:0")
            run = writer.begin_run(store, request, made.MACHINE)
            times = tuple(1000 + (i * 7 + k * 13) % 50 for k in range(60))
            writer.finish_run(store, run, made.result(times, blocks=(6,) * 10), numbers[i % compilations])
            if i % 10 == 0:
                writer.tag_runs(store, [run], f"t{i % 7}")
    writer.pin_run(store, runs // 2)


def questions(store, runs):
    """Everything the tool asks, by name."""
    return {
        "list": lambda: queries.list_runs(store),
        "list by source": lambda: queries.list_runs(store, Filter(source="s3")),
        "list by tag": lambda: queries.list_runs(store, Filter(tag="t3")),
        "list by status": lambda: queries.list_runs(store, Filter(status=FAILED)),
        "list by device": lambda: queries.list_runs(store, Filter(device="cuda:0")),
        "list by a device that is not there": lambda: queries.list_runs(store, Filter(device="cuda:7")),
        "list by date": lambda: queries.list_runs(store, Filter(since="2020")),
        "list by all": lambda: queries.list_runs(store, Filter("s3", "finished", "t3", "cpu", since="2020")),
        "baselines": lambda: queries.list_runs(store, Filter(pinned=True)),
        "find the baseline": lambda: queries.find_run(store, "baseline"),
        "find a baseline": lambda: queries.find_run(store, f"baseline:s{(runs // 2 - 1) % 20}"),
        "find a tag": lambda: queries.find_run(store, "t5"),
        "find an old one": lambda: queries.find_run(store, "latest~9"),
        "one run": lambda: run_document(store, runs // 3),
        "compilations": lambda: queries.list_compilations(store),
        "compilations of a source": lambda: queries.list_compilations(store, "s3"),
        "search a common word": lambda: search_texts(store, "common"),
        "search some words": lambda: search_texts(store, "common some7 llvm"),
        "search a rare word": lambda: search_texts(store, "rare77"),
        "compare runs": lambda: compare_runs(store, [runs // 3, runs - 3]),
        "compare compilations": lambda: compare_compilations(store, [1, 2]),
        "ceilings": lambda: queries.ceilings(store, "feed"),
        "interrupted": lambda: mark_interrupted(store),
        "tag": lambda: writer.tag_runs(store, [runs // 3], "new"),
        "note": lambda: writer.note_run(store, runs // 3, "new"),
        "pin": lambda: writer.pin_run(store, runs // 2),
    }


# A list in order of age reads the newest rows and stops; what a list has picked, the newest places, and the numbers
# that stand in the question itself are few. The full-text index shows as a scan of a virtual table.
_FINE = re.compile(
    r"^(SCAN (runs|compilations)$|SCAN \(?(subquery|json_each|texts_search|stages$)|SCAN .* VIRTUAL TABLE INDEX)", re.I
)


def plans(store, ask):
    """(statement, its plan) of every statement that a question makes."""
    said = []
    store.connection.set_trace_callback(said.append)
    try:
        ask()
    finally:
        store.connection.set_trace_callback(None)
    for statement in dict.fromkeys(said):
        if statement.lstrip().upper().startswith(("SELECT", "UPDATE", "DELETE")):
            rows = store.connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
            yield statement, [row[3] for row in rows]


def test_every_question_is_answered_from_an_index(store):
    fill(store, 400, 40)
    for name, ask in questions(store, 400).items():
        for statement, plan in plans(store, ask):
            for step in plan:
                assert "AUTOMATIC" not in step, (name, statement, plan)
                if step.startswith("SCAN") and "USING" not in step:
                    assert _FINE.match(step), (name, statement, plan)
                    limited = "LIMIT" in statement or "VIRTUAL" in step
                    assert limited, (name, statement, plan)


def test_only_lists_without_a_filter_walk_the_table(store):
    fill(store, 400, 40)
    for name, ask in questions(store, 400).items():
        walked = [sql for sql, plan in plans(store, ask) if "SCAN runs" in plan]
        assert not walked or name in ("list", "list by date"), (name, walked)


def test_deleting_touches_only_what_the_run_had(store):
    fill(store, 400, 40)
    for _, plan in plans(store, lambda: writer.delete_runs(store, [7])):
        assert not any(step.startswith("SCAN") and "USING" not in step for step in plan), plan


def test_a_word_that_stands_everywhere_is_found_in_the_newest(store, monkeypatch):
    from profiler.store import texts

    monkeypatch.setattr(texts, "MANY", 30)
    monkeypatch.setattr(texts, "NEWEST", 10)
    fill(store, 40, 40)
    found = search_texts(store, "common", 20)
    hits = found.hits
    assert [hit["compilation"] for hit in hits[:9]] == [40, 40, 40, 39, 39, 39, 38, 38, 38] and len(hits) == 20
    again = writer.add_compilation(store, made.compilation(text="new\n"), made.MACHINE)
    old = queries.stage(store, 1, "k", "asm")
    writer.add_stages(store, again, [old])  # the newest place of the oldest text
    hits = search_texts(store, "common", 20).hits
    assert (hits[0]["compilation"], hits[0]["stage"]) == (again, "asm")
    assert [hit["compilation"] for hit in search_texts(store, "rare0", 20).hits] == [again, 1, 1, 1]


def test_a_search_says_what_it_leaves_out(store, monkeypatch):
    from profiler.store import texts

    monkeypatch.setattr(texts, "MANY", 30)
    monkeypatch.setattr(texts, "NEWEST", 10)
    fill(store, 40, 40)
    few = search_texts(store, "rare7", 2)
    assert (len(few.hits), few.texts, few.places, few.left_out) == (2, 3, 3, 1)
    common = search_texts(store, "common", 20)
    assert (common.texts, common.places, common.left_out) == (120, None, None)
    every = search_texts(store, "common", 200)
    assert (len(every.hits), every.texts, every.places, every.left_out) == (120, 120, 120, 0), "asked for"


@pytest.mark.slow
@pytest.mark.parametrize("compilations", [200, 10_000])
def test_ten_thousand_runs_answer_within_50_ms(store, compilations):
    start = time.perf_counter()
    fill(store, 10_000, compilations)
    imported = time.perf_counter() - start
    took = {}
    for name, ask in (questions(store, 10_000) | {"delete": None}).items():
        times = []
        for number in range(5):
            todo = ask or (lambda number=number: writer.delete_runs(store, [100 + number]))
            start = time.perf_counter()
            todo()
            times.append(time.perf_counter() - start)
        took[name] = sorted(times)[2]
    print(f"{imported:.1f} s to import;", {name: f"{seconds * 1e3:.1f} ms" for name, seconds in took.items()})
    assert max(took.values()) < 0.05, took
