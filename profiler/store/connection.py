"""Opening the store: where it is, whether it may be used, its upgrades, and transactions whose errors are one line."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from sqlite_utils import Database

from compiler.errors import CompilerError
from profiler.store.columns import problem
from profiler.store.migrations import APPLICATION_ID, MIGRATIONS, VERSION, Migration, apply_migration

BUSY_SECONDS = 10.0
_HEADER = b"SQLite format 3\0"
_ROOM = 1 << 16  # what SQLite needs beside a file to open it, generously


class StoreError(CompilerError):
    """A database that cannot be used as asked: not ours, damaged, locked, full, read-only, or lacking a record."""


def default_path() -> Path:
    """`KERNELGLASS_DB`, or a file in the user's data folder."""
    named = os.environ.get("KERNELGLASS_DB")
    if named:
        return Path(named)
    from platformdirs import user_data_path

    return user_data_path("kernelglass", appauthor=False) / "traces.db"


class Store:
    """An open database. Use it from one thread; open another for another thread. Closing twice is harmless."""

    def __init__(self, path: Path, connection: sqlite3.Connection, readonly: bool, refusal: str = "") -> None:
        self.path = path
        self.readonly = readonly
        self.refusal = refusal
        """Why nothing can be written here, where opening it found out."""
        self.db = Database(connection)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self.db.conn.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Database]:
        """All of the block's writes or none; the write lock is taken at once, waiting for other writers."""
        if self.refusal:
            raise StoreError(self.refusal)
        with translated(self.path):
            if self.db.conn.in_transaction:
                yield self.db
                return
            self.db.conn.execute("BEGIN IMMEDIATE")
            try:
                yield self.db
                self.db.conn.execute("COMMIT")
            except BaseException:
                if self.db.conn.in_transaction:
                    self.db.conn.execute("ROLLBACK")
                raise

    def rows(self, sql: str, parameters: Any = ()) -> list[dict[str, Any]]:
        """The answer to a question, as dicts."""
        with translated(self.path):
            cursor = self.db.conn.execute(sql, parameters)
            names = [column[0] for column in cursor.description]
            found = cursor.fetchall()
        if wrong := problem(names, found):
            raise StoreError(f"{self.path} is damaged: {wrong}; nothing was changed")
        return [dict(zip(names, row)) for row in found]


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
    _check_file(path, create and not readonly)
    with translated(path):
        try:
            return _opened(path, migrations, readonly)
        except sqlite3.Error as error:
            # SQLite needs room beside the file even to read it. A full disk should not hide what is there.
            if not _is_full(path, error) or not _at_rest(path):
                raise
            return _opened(path, migrations, True, refusal=_words(path, error))


def _opened(path: Path, migrations: tuple[Migration, ...], readonly: bool, refusal: str = "") -> Store:
    store = Store(path, _connect(path, readonly, alone=bool(refusal)), readonly, refusal)
    try:
        _upgrade(store, migrations)
        if not readonly:
            from profiler.store.interrupted import mark_interrupted

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
    try:
        with path.open("rb") as file:
            start = file.read(100)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from None
    if start and not start.startswith(_HEADER):
        raise StoreError(f"{path} is not a database")
    if start and len(start) < 100:
        raise StoreError(f"{path} is damaged: it ends inside its header. Nothing was changed")


def _connect(path: Path, readonly: bool, alone: bool = False) -> sqlite3.Connection:
    mode = "ro" if readonly else "rwc"
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    if alone or (path.exists() and not os.access(path.parent, os.W_OK) and _at_rest(path)):
        uri += "&immutable=1"  # SQLite could not put its lock file there, and without a journal nobody is writing
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        if not readonly:
            # WAL with NORMAL: a killed program loses nothing it committed, a power cut at most the last commits.
            connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _upgrade(store: Store, migrations: tuple[Migration, ...]) -> None:
    connection = store.db.conn
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
        raise StoreError(f"{store.path} has the older format {version} and cannot be upgraded{why}")
    if version == 0:
        connection.execute("PRAGMA journal_mode = WAL")
    else:
        _backup(store, version)
    for number in range(version + 1, newest + 1):
        with store.transaction():
            # Another program may have upgraded the file while this one waited for the lock.
            if connection.execute("PRAGMA user_version").fetchone()[0] < number:
                apply_migration(store.db, migrations[number - 1], number)


def _backup(store: Store, version: int) -> None:
    target = store.path.with_name(f"{store.path.name}.v{version}.backup")
    if target.exists():
        return  # from an upgrade that was interrupted: it is the older, whole one
    partial = target.with_name(target.name + ".part")
    try:
        partial.unlink(missing_ok=True)
        copy = sqlite3.connect(partial)
        try:
            store.db.conn.backup(copy)
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


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's errors in the block as one line that says what happened and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(" ".join(_words(path, error).split())) from error
    except UnicodeDecodeError as error:  # text that no writer of ours leaves behind
        raise StoreError(f"{path} is damaged ({error}); nothing was changed") from error
    except UnicodeEncodeError as error:
        raise StoreError(f"{path} keeps UTF-8 text, and {error.object!r} is none; nothing was written") from error
    except OverflowError as error:
        raise StoreError(f"{path} cannot keep so large a number ({error}); nothing was written") from error


def _words(path: Path, error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", 0) or 0
    kind = code & 0xFF
    if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return f"{path} is locked by another program that has been writing for {BUSY_SECONDS:.0f} s; try again later"
    if kind == sqlite3.SQLITE_READONLY:
        return f"{path} is read-only; nothing was written"
    if _is_full(path, error):
        return f"the disk is full: {path} was not written, what it held before is intact"
    if kind == sqlite3.SQLITE_NOTADB:
        return f"{path} is not a database"
    if kind == sqlite3.SQLITE_CORRUPT:
        return (
            f"{path} is damaged ({error}); nothing was changed. Restore a backup, or move the file away to start anew"
        )
    if kind == sqlite3.SQLITE_CANTOPEN:
        return f"cannot open {path}: no such folder, or no permission"
    if kind == sqlite3.SQLITE_IOERR:
        return f"reading or writing {path} failed ({error}); what it held before is intact"
    return f"{path}: {error}"


def _is_full(path: Path, error: sqlite3.Error) -> bool:
    """Whether there was no room: SQLite says so, or it could not read or write and the disk is as good as full."""
    kind = (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
    if kind == sqlite3.SQLITE_FULL:
        return True
    if kind not in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
        return False
    try:
        found = os.statvfs(path.parent)
    except (OSError, AttributeError):
        return False
    if not found.f_blocks:  # a place without a disk, such as /proc
        return False
    return found.f_bavail * found.f_frsize < _ROOM or (found.f_files > 0 and found.f_favail == 0)


__all__ = ["BUSY_SECONDS", "Store", "StoreError", "VERSION", "default_path", "open_store", "translated"]
