"""Texts by content: compressed, stored once, and found by the words in them."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Sequence
from typing import Any

from profiler.store.connection import Store, StoreError

_LEVEL = 1  # the smallest gain in size beyond this costs more time than storing may take


def put_text(store: Store, text: str, *, search: bool = False) -> int:
    """The id of a text, which is stored if it is new. Call it inside a transaction."""
    data = text.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(data).hexdigest()
    connection = store.db.conn
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
        found = json.loads(text)
        sets = [tuple(map(str, nodes)) for nodes in found["sets"]]
        return tuple(sets[number] for number in found["lines"])
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise StoreError(f"the database is damaged: the nodes of a text do not read ({error})") from None


def search_texts(store: Store, words: str, limit: int = 50) -> list[dict[str, Any]]:
    """Where IR contains all of `words`: compilation, kernel and stage, newest first."""
    quoted = " ".join('"' + word.replace('"', '""') + '"' for word in words.split())
    if not quoted:
        return []
    return store.rows(
        """SELECT stages.compilation, stages.kernel, stages.stage, texts.size, compilations.source
           FROM texts_search JOIN texts ON texts.id = texts_search.rowid
           JOIN stages ON stages.text = texts.id JOIN compilations ON compilations.id = stages.compilation
           WHERE texts_search MATCH ? ORDER BY stages.compilation DESC, stages.kernel, stages.stage LIMIT ?""",
        (quoted, limit),
    )


def drop_unused(store: Store) -> int:
    """Forget texts that nothing refers to, and give their number. Call it inside a transaction."""
    unused = store.rows(
        """SELECT id, size, data FROM texts WHERE id NOT IN (SELECT text FROM graphs) AND id NOT IN
           (SELECT source FROM kernels) AND id NOT IN (SELECT text FROM stages) AND id NOT IN
           (SELECT line_nodes FROM stages)"""
    )
    connection = store.db.conn
    for row in unused:
        if connection.execute("DELETE FROM searchable WHERE text = ?", (row["id"],)).rowcount:
            # A table that keeps no content has to be told the words that go.
            body = unpack(store, row["data"], row["size"])
            connection.execute(
                "INSERT INTO texts_search (texts_search, rowid, body) VALUES ('delete', ?, ?)", (row["id"], body)
            )
        connection.execute("DELETE FROM texts WHERE id = ?", (row["id"],))
    return len(unused)
