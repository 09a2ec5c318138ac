"""Texts by content: compressed, stored once, and found by the words in them."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from profiler.store.connection import Store, StoreError
from profiler.store.shapes import read_json

_LEVEL = 1  # the smallest gain in size beyond this costs more time than storing may take


def put_text(store: Store, text: str, *, search: bool = False) -> int:
    """The id of a text, which is stored if it is new. Call it inside a transaction."""
    data = text.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(data).hexdigest()
    connection = store.connection
    found = connection.execute("SELECT id FROM texts WHERE hash = ?", (digest,)).fetchone()
    if found is None:
        values = (digest, len(data), zlib.compress(data, _LEVEL))
        number = connection.execute("INSERT INTO texts (hash, size, data) VALUES (?, ?, ?)", values).lastrowid
    else:
        number = found[0]
    if search and connection.execute("INSERT OR IGNORE INTO searchable VALUES (?)", (number,)).rowcount:
        connection.execute("INSERT INTO texts_search (rowid, body) VALUES (?, ?)", (number, text))
    assert number is not None
    return number


def get_text(store: Store, number: int) -> str:
    """The text with this id."""
    rows = store.rows("SELECT size, data FROM texts WHERE id = ?", (number,))
    if not rows:
        raise StoreError(f"{store.path} has lost text {number}")
    return unpack(store, rows[0]["data"], rows[0]["size"])


def unpack(store: Store, data: bytes, size: int) -> str:
    """A stored text; one that does not unpack to its size is damage, not a crash."""
    try:
        if size >= 1 << 31:
            raise ValueError("its size is wrong")
        plain = zlib.decompressobj().decompress(data, size + 1)
        if len(plain) != size:
            raise ValueError("its size is wrong")
        return plain.decode("utf-8", "surrogatepass")
    except (zlib.error, ValueError) as error:
        raise StoreError(f"{store.path} is damaged: a text does not unpack ({error})") from None


def pack_nodes(line_nodes: Sequence[Sequence[str]]) -> str:
    """The nodes of each line as JSON: each set of nodes once, then the number of its set for every line."""
    sets: dict[tuple[str, ...], int] = {}
    lines = [sets.setdefault(tuple(nodes), len(sets)) for nodes in line_nodes]
    return json.dumps({"sets": [list(nodes) for nodes in sets], "lines": lines}, separators=(",", ":"))


def unpack_nodes(text: str) -> tuple[tuple[str, ...], ...]:
    """What `pack_nodes` packed."""
    try:
        found = read_json(text)
        sets = [tuple(map(str, nodes)) for nodes in found["sets"]]
        return tuple(sets[number] for number in found["lines"])
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise StoreError(f"the database is damaged: the nodes of a text do not read ({error})") from None


MANY, NEWEST = 2000, 120
"""Of the texts that hold the words, so many of the newest are followed; so many of the newest places are looked at."""
_ORDER = "ORDER BY compilation DESC, kernel, stage"


@dataclass(frozen=True)
class Found:
    """Places that hold some words, newest first, and how many there are in all.

    Of words that stand in more texts than are followed not all places are known: `places` is then None.
    """

    hits: tuple[dict[str, Any], ...]
    texts: int
    places: int | None

    @property
    def left_out(self) -> int | None:
        """Places that are not among the hits; None where nobody counted them."""
        return None if self.places is None else self.places - len(self.hits)


def search_texts(store: Store, words: str, limit: int = 50) -> Found:
    """Where IR contains all of `words`: compilation, kernel and stage, newest first.

    Of words that stand nearly everywhere not all places are followed, but the newest: those in the newest compilations,
    and those of the newest texts. So no question takes longer for a larger store, unless more places are asked for.
    """
    quoted = " ".join('"' + word.replace('"', '""') + '"' for word in words.split())
    if not quoted:
        return Found((), 0, 0)
    most = max(MANY, limit)
    numbers = [
        row["text"]
        for row in store.rows(
            "SELECT rowid AS text FROM texts_search WHERE texts_search MATCH ? ORDER BY rowid DESC LIMIT ?",
            (quoted, most + 1),
        )
    ]
    texts, places = len(numbers), None
    chosen: list[tuple[Any, ...]] = []
    if texts > most:
        texts = store.rows("SELECT count(*) AS n FROM texts_search WHERE texts_search MATCH ?", (quoted,))[0]["n"]
        chosen = _among_newest(store, quoted, set(numbers))[:limit]
    known = json.dumps(numbers)
    if len(chosen) < limit:
        sql = f"""SELECT compilation, kernel, stage FROM stages WHERE text IN (SELECT value FROM json_each(?))
                  {_ORDER} LIMIT ?"""
        chosen += [tuple(row.values()) for row in store.rows(sql, (known, limit))]
    if texts == len(numbers):
        sql = "SELECT count(*) AS n FROM stages WHERE text IN (SELECT value FROM json_each(?))"
        places = store.rows(sql, (known,))[0]["n"]
    newest = sorted(dict.fromkeys(chosen), key=lambda place: (-place[0], place[1], place[2]))[:limit]
    return Found(tuple(_hit(store, *place) for place in newest), texts, places)


def _among_newest(store: Store, quoted: str, known: set[int]) -> list[tuple[Any, ...]]:
    """Those of the newest places whose text holds the words: it is one of the `known`, or asked for by itself."""
    rows = store.rows(f"SELECT compilation, kernel, stage, text FROM stages {_ORDER} LIMIT ?", (NEWEST,))
    sql = "SELECT 1 FROM texts_search WHERE rowid = ? AND texts_search MATCH ?"
    return [
        (row["compilation"], row["kernel"], row["stage"])
        for row in rows
        if row["text"] in known or store.rows(sql, (row["text"], quoted))
    ]


def _hit(store: Store, compilation: int, kernel: str, stage: str) -> dict[str, Any]:
    (row,) = store.rows(
        """SELECT stages.compilation, stages.kernel, stages.stage, texts.size, compilations.source
           FROM stages JOIN texts ON texts.id = stages.text JOIN compilations ON compilations.id = stages.compilation
           WHERE stages.compilation = ? AND stages.kernel = ? AND stages.stage = ?""",
        (compilation, kernel, stage),
    ) or (None,)
    if row is None:
        raise StoreError(f"{store.path} is damaged: a text of compilation {compilation} is lost; nothing was changed")
    return row


_REFERRED = (("graphs", "text"), ("kernels", "source"), ("stages", "text"), ("stages", "line_nodes"))


def texts_of(store: Store, compilation: int) -> set[int]:
    """The texts that a compilation refers to, but for its graph's."""
    numbers: set[int] = set()
    for table, column in _REFERRED[1:]:
        rows = store.rows(f"SELECT {column} AS number FROM {table} WHERE compilation = ?", (compilation,))
        numbers |= {row["number"] for row in rows}
    return numbers


def drop_unreferred(store: Store, numbers: Iterable[int]) -> None:
    """Forget those of some texts that nothing refers to any more. Call it inside a transaction."""
    for number in sorted(numbers):
        if not any(
            store.connection.execute(f"SELECT 1 FROM {table} WHERE {column} = ? LIMIT 1", (number,)).fetchone()
            for table, column in _REFERRED
        ):
            _drop(store, number)


def drop_unused(store: Store) -> int:
    """Forget all texts that nothing refers to, and give their number. Call it inside a transaction."""
    used = " AND ".join(f"id NOT IN (SELECT {column} FROM {table})" for table, column in _REFERRED)
    unused = store.rows(f"SELECT id FROM texts WHERE {used}")
    for row in unused:
        _drop(store, row["id"])
    return len(unused)


def _drop(store: Store, number: int) -> None:
    if store.connection.execute("DELETE FROM searchable WHERE text = ?", (number,)).rowcount:
        # A table that keeps no content has to be told the words that go.
        sql = "INSERT INTO texts_search (texts_search, rowid, body) VALUES ('delete', ?, ?)"
        store.connection.execute(sql, (number, get_text(store, number)))
    store.connection.execute("DELETE FROM texts WHERE id = ?", (number,))
