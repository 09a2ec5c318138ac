"""An open store: its transactions, its answers as rows that were checked, and its errors in one line."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from compiler.errors import CompilerError
from profiler.store.columns import problem

BUSY_SECONDS = 10.0
_ROOM = 1 << 16  # what SQLite needs beside a file to open it, generously


class StoreError(CompilerError):
    """A database that cannot be used as asked: not ours, damaged, locked, full, read-only, or lacking a record."""


class StoreBlocked(StoreError):
    """A database that is fine but cannot be written now: locked by another program, read-only, or on a full disk."""

    kind = ""
    """Which of the three: locked, read-only or full."""


def connect(path: Path, readonly: bool, alone: bool = False) -> sqlite3.Connection:
    """A connection that commits when told to; one that is `alone` with the file keeps no lock file beside it."""
    uri = f"{path.absolute().as_uri()}?mode={'ro' if readonly else 'rwc'}{'&immutable=1' * alone}"
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


class Store:
    """An open database. Use it from one thread; open another for another thread. Closing twice is harmless."""

    def __init__(self, path: Path, connection: sqlite3.Connection, readonly: bool, refusal: str = "") -> None:
        self.path = path
        self.readonly = readonly
        self.refusal = refusal
        """Why nothing can be written here, where opening it found out."""
        self.connection = connection

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self.connection.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of the block's writes or none; the write lock is taken at once, waiting for other writers."""
        if self.refusal:
            raise _blocked("full", self.refusal)
        with translated(self.path):
            if self.connection.in_transaction:
                yield self.connection
                return
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def waiting(self, seconds: float) -> Iterator[None]:
        """Wait for other writers no longer than this within the block."""
        self.connection.execute(f"PRAGMA busy_timeout = {int(min(seconds, BUSY_SECONDS) * 1000)}")
        try:
            yield
        finally:
            self.connection.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")

    def rows(self, sql: str, parameters: Any = ()) -> list[dict[str, Any]]:
        """The answer to a question, as dicts."""
        with translated(self.path):
            cursor = self.connection.execute(sql, parameters)
            names = [column[0] for column in cursor.description]
            found = cursor.fetchall()
        if wrong := problem(names, found):
            raise StoreError(f"{self.path} is damaged: {wrong}; nothing was changed")
        return [dict(zip(names, row)) for row in found]


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's errors in the block as one line that says what happened and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        words = " ".join(error_words(path, error).split())
        kind = blocked_kind(path, error)
        raise (_blocked(kind, words) if kind else StoreError(words)) from error
    except UnicodeDecodeError as error:  # text that no writer of ours leaves behind
        raise StoreError(f"{path} is damaged ({error}); nothing was changed") from error
    except UnicodeEncodeError as error:
        raise StoreError(f"{path} keeps UTF-8 text, and {error.object!r} is none; nothing was written") from error
    except OverflowError as error:
        raise StoreError(f"{path} cannot keep so large a number ({error}); nothing was written") from error


def _blocked(kind: str, words: str) -> StoreBlocked:
    error = StoreBlocked(words)
    error.kind = kind
    return error


def blocked_kind(path: Path, error: sqlite3.Error) -> str:
    """Locked, read-only or full, where an error is that; nothing where it is another."""
    kind = (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
    if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return "locked"
    if kind == sqlite3.SQLITE_READONLY:
        return "read-only"
    return "full" if is_full(path, error) else ""


def error_words(path: Path, error: sqlite3.Error) -> str:
    """An error of SQLite's as what happened and what to do."""
    code = getattr(error, "sqlite_errorcode", 0) or 0
    kind = code & 0xFF
    if kind in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY) and not path.exists():
        return f"there is no database {path} any more: it was moved or deleted while it was in use"
    if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return f"{path} is locked by another program that has been writing for a while; try again later"
    if kind == sqlite3.SQLITE_READONLY:
        return f"{path} is read-only; nothing was written"
    if is_full(path, error):
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


def is_full(path: Path, error: sqlite3.Error) -> bool:
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
