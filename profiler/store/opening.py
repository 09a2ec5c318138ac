"""Opening the store: where it is, whether it may be used, its upgrades, and runs that nobody will finish."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from profiler.records import DATABASE_VARIABLE, READONLY_VARIABLE
from profiler.store.connection import Store, StoreBlocked, StoreError, connect, error_words, is_full, translated
from profiler.store.interrupted import mark_interrupted
from profiler.store.migrations import APPLICATION_ID, MIGRATIONS, Migration, apply_migration

Answer = TypeVar("Answer")
_MOMENT = 1.0  # seconds: reading what is there need not wait for somebody who writes
_HEADER = b"SQLite format 3\0"


def default_path() -> Path:
    """`KERNELGLASS_DB`, or a file in the user's data folder."""
    named = os.environ.get(DATABASE_VARIABLE)
    if named:
        return Path(named)
    from platformdirs import user_data_path

    return user_data_path("kernelglass", appauthor=False) / "traces.db"


def ask(question: Callable[[Store], Answer], nothing: Answer) -> Answer:
    """What the user's own database answers; `nothing` where nothing was kept yet."""
    if not default_path().exists():
        return nothing
    with open_store(create=False) as store:
        return question(store)


def is_visited(path: Path) -> bool:
    """Whether this is a database that is only looked into."""
    named = os.environ.get(DATABASE_VARIABLE)
    return os.environ.get(READONLY_VARIABLE) == "1" and bool(named) and path == Path(named or "")


def open_store(
    path: Path | str | None = None,
    *,
    create: bool = True,
    readonly: bool = False,
    migrations: tuple[Migration, ...] = MIGRATIONS,
) -> Store:
    """Open the database at `path` (the user's own by default), making or upgrading it where that is needed.

    An upgrade first copies the file to FILE.vN.backup. Runs whose process has died are marked as interrupted.
    """
    path = default_path() if path is None else Path(path)
    visited = is_visited(path)
    readonly = readonly or visited
    _check_file(path, create and not readonly)
    with translated(path):
        try:
            store = _opened(path, migrations, readonly)
            if visited:
                store.refusal = f"{path} is open read-only (File, Write to this database, lets it be written)"
            return store
        except sqlite3.Error as error:
            # SQLite needs room beside the file even to read it. A full disk should not hide what is there.
            if not is_full(path, error) or not _at_rest(path):
                raise
            return _opened(path, migrations, True, refusal=error_words(path, error))


def open_in_memory() -> Store:
    """An empty store that is gone when it is closed: for runs that no file takes, to be compared all the same."""
    store = Store(Path("memory"), sqlite3.connect(":memory:", isolation_level=None), False)
    for number, migration in enumerate(MIGRATIONS, 1):
        with store.transaction() as connection:
            apply_migration(connection, migration, number)
    return store


def open_copy(path: Path, copy: Path) -> Store:
    """A copy of somebody else's database, upgraded where it is older; that file itself is only read.

    Errors name the file and not the copy. A copy is checked whole: what is taken from it goes into another database.
    """
    _check_file(path, create=False)
    if path.stat().st_size == 0:
        raise StoreError(f"{path} is empty, not a database")
    with translated(path):
        # A file without a journal beside it is read alone, as SQLite would otherwise make one there.
        source = connect(path, readonly=True, alone=not path.with_name(path.name + "-wal").exists())
        store = Store(path, connect(copy, readonly=False), False)
        try:
            source.backup(store.connection)
            _upgrade(store, MIGRATIONS, backup=False)
            _check_tables(store, MIGRATIONS)
            found = store.rows("PRAGMA integrity_check(1)")[0]["integrity_check"]
            if found != "ok":
                raise StoreError(f"{path} is damaged ({' '.join(found.split())}); nothing was imported")
        except BaseException:
            store.close()
            raise
        finally:
            source.close()
    return store


def _opened(path: Path, migrations: tuple[Migration, ...], readonly: bool, refusal: str = "") -> Store:
    # Without room for SQLite's lock file the file is read alone: without a journal nobody is writing.
    untouched = is_visited(path) or not os.access(path.parent, os.W_OK)
    alone = bool(refusal) or (path.exists() and untouched and _at_rest(path))
    store = Store(path, connect(path, readonly, alone=alone), readonly, refusal)
    try:
        _upgrade(store, migrations)
        _check_tables(store, migrations)
        if not readonly:
            with contextlib.suppress(StoreBlocked), store.waiting(_MOMENT):  # whoever opens it next does it
                mark_interrupted(store)
    except BaseException:
        store.close()
        raise
    return store


def _at_rest(path: Path) -> bool:
    """Whether the file alone is the whole database: nobody is writing, and no journal waits to be read."""
    journal = path.with_name(path.name + "-wal")
    try:
        return path.stat().st_size > 0 and (not journal.exists() or journal.stat().st_size == 0)
    except OSError:
        return False


def _check_file(path: Path, create: bool) -> None:
    """What can be told without SQLite, so that nothing is made or touched where it should not be."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder, not a database")
    if not path.exists():
        if not create:
            raise StoreError(f"there is no database {path}; `kernelglass run --db {path}` makes one")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot make {path.parent}: {error.strerror or error}") from None
        return
    if not path.is_file():  # opening a pipe would wait for whoever writes to it
        raise StoreError(f"{path} is not a database")
    try:
        with path.open("rb") as file:
            start = file.read(100)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from None
    if start and not start.startswith(_HEADER):
        raise StoreError(f"{path} is not a database")
    if start and len(start) < 100:
        raise StoreError(f"{path} is damaged: it ends inside its header. Nothing was changed")


def _upgrade(store: Store, migrations: tuple[Migration, ...], backup: bool = True) -> None:
    connection = store.connection
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    ours = connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if not ours and (tables or version):
        raise StoreError(f"{store.path} is a database of another program; nothing was changed")
    newest = len(migrations)
    if version > newest:
        raise StoreError(
            f"{store.path} was written by a newer version (its format is {version}, this program knows {newest}); "
            "update kernelglass to read it"
        )
    if version == newest:
        return
    if store.readonly:
        why = f" ({store.refusal})" if store.refusal else " read-only"
        if is_visited(store.path):
            why = " read-only; File, Write to this database, upgrades it"
        raise StoreError(f"{store.path} has the older format {version} and cannot be upgraded{why}")
    if version == 0:
        connection.execute("PRAGMA journal_mode = WAL")
    elif backup:
        _backup(store, version)
    for number in range(version + 1, newest + 1):
        with store.transaction():
            # Another program may have upgraded the file while this one waited for the lock.
            if connection.execute("PRAGMA user_version").fetchone()[0] < number:
                apply_migration(store.connection, migrations[number - 1], number)


def _check_tables(store: Store, migrations: tuple[Migration, ...]) -> None:
    """A flipped byte may lie in the text of a table: SQLite then knows a column by another name, or not at all."""
    if missing := sorted(_columns_made(migrations) - _columns(store.connection)):
        table, column = missing[0]
        raise StoreError(f"{store.path} is damaged: its table {table} has no column {column}; nothing was changed")


@lru_cache(maxsize=4)
def _columns_made(migrations: tuple[Migration, ...]) -> frozenset[tuple[str, str]]:
    made = sqlite3.connect(":memory:")
    try:
        for number, migration in enumerate(migrations, 1):
            apply_migration(made, migration, number)
        return _columns(made)
    finally:
        made.close()


def _columns(connection: sqlite3.Connection) -> frozenset[tuple[str, str]]:
    """Table and column of all there are, but for those that SQLite makes for itself behind a search."""
    sql = "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'"
    named = (pair for pair in connection.execute(sql) if isinstance(pair[0], str))  # a flipped bit makes bytes of text
    return frozenset((t, c) for t, c in named if not t.startswith("texts_search_"))


def _backup(store: Store, version: int) -> None:
    target = store.path.with_name(f"{store.path.name}.v{version}.backup")
    if target.exists():
        return  # from an upgrade that was interrupted: it is the older, whole one
    partial = target.with_name(target.name + ".part")
    try:
        partial.unlink(missing_ok=True)
        copy = sqlite3.connect(partial)
        try:
            store.connection.backup(copy)
        finally:
            copy.close()
        partial.rename(target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        if isinstance(error, OSError):
            why = error.strerror or error
            raise StoreError(f"cannot write the backup {target}: {why}; {store.path} was not upgraded") from None
        raise
