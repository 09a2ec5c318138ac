"""The caches on disk: content-addressed entries that are whole or absent, shared by every program of the user.

An entry is one file: a line that names the format and a signature, then the payload. It is written beside its place
and renamed, so readers and writers need no lock; whatever the signature does not fit is a miss. Keys say everything
that can change the payload, so an entry is never updated, only found, made or dropped (least recently used first).
Which folders are used at all, and the secret behind the signatures, is in `compiler/cache_guard.py`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache as remembered
from functools import cached_property
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

from compiler.cache_guard import (
    KINDS,
    WEIGHTS,
    is_entry,
    is_weights_file,
    make_folder,
    make_private,
    refusal,
    secret,
)
from compiler.errors import CompilerError

LIMIT_BYTES = 512 << 20
_MAGIC = b"kernelglass-cache-2 "
_HEAD_BYTES = len(_MAGIC) + 65
_KEEP_SHARE = 0.8  # what eviction leaves, so that it is not needed again at once
_CHECKS_PER_LIMIT = 64  # a process looks at the whole size after writing this part of the limit
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_numbers = count()


@dataclass(frozen=True)
class KindInfo:
    """What one kind of entry takes."""

    kind: str
    entries: int
    bytes: int


@dataclass(frozen=True)
class CacheInfo:
    """Where the cache is and what it holds."""

    path: Path
    limit: int
    kinds: tuple[KindInfo, ...]

    @property
    def entries(self) -> int:
        """Entries of every kind."""
        return sum(kind.entries for kind in self.kinds)

    @property
    def bytes(self) -> int:
        """Bytes of every kind."""
        return sum(kind.bytes for kind in self.kinds)


class Cache:
    """One folder of entries. What the file system refuses is a miss or an entry not kept, never an error."""

    def __init__(self, path: Path, limit: int = LIMIT_BYTES) -> None:
        self.path = path
        self.limit = limit
        self._unchecked = 0
        self._made = False

    @cached_property
    def refusal(self) -> str:
        """Why this folder is not used, and what to do; empty where it is. A cache that is refused has only misses."""
        if words := refusal(self.path):
            return words
        return "" if self._secret else "there is no folder to keep the cache's key in, so nothing is cached"

    @cached_property
    def _secret(self) -> bytes | None:
        return secret()

    def get(self, kind: str, key: str) -> bytes | None:
        """The payload of an entry, or None where there is none, it is damaged, or not of this user's making."""
        if self.refusal:
            return None
        place = self._place(kind, key)
        try:
            with open(os.open(place, os.O_RDONLY | _NOFOLLOW), "rb") as file:
                content = file.read()
        except OSError:
            return None
        payload = content[_HEAD_BYTES:]
        if not hmac.compare_digest(content[:_HEAD_BYTES], self._head(kind, key, payload)):
            with suppress(OSError):
                os.unlink(place)
            return None
        with suppress(OSError):
            os.utime(place)  # the time of the last use is what eviction goes by
        return payload

    def put(self, kind: str, key: str, payload: bytes) -> bool:
        """Keep an entry; False where that was not possible."""
        if self.refusal:
            return False
        place = self._place(kind, key)
        waiting = f"{place}.{os.getpid()}.{next(_numbers)}.tmp"
        try:
            if not self._made:
                make_folder(self.path)
                self._made = True
            make_private(os.path.dirname(place))
            with open(os.open(waiting, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW, 0o600), "wb") as file:
                file.write(self._head(kind, key, payload))
                file.write(payload)
            os.replace(waiting, place)
        except OSError:
            with suppress(OSError):
                os.unlink(waiting)
            return False
        self._unchecked += len(payload)
        if self._unchecked * _CHECKS_PER_LIMIT >= self.limit or key.startswith("00"):
            self.evict()
        return True

    def evict(self) -> int:
        """Drop what was not used for longest until the rest fits the limit; the number of entries dropped."""
        self._unchecked = 0
        found = sorted(self._files())
        total = sum(size for _, size, _ in found)
        if total <= self.limit:
            return 0
        dropped = 0
        for _, size, path in found:
            if total <= self.limit * _KEEP_SHARE:
                break
            with suppress(OSError):
                os.unlink(path)
                dropped += 1
            total -= size
        return dropped

    def clear(self) -> int:
        """Drop every entry and nothing else; the number of files dropped. CompilerError where the folder is refused."""
        if words := refusal(self.path):
            raise CompilerError(f"{words}; nothing was deleted")
        dropped = 0
        for _, _, path in self._files((*KINDS, WEIGHTS)):
            with suppress(OSError):
                os.unlink(path)
                dropped += 1
        return dropped

    def info(self) -> CacheInfo:
        """What there is."""
        kinds = []
        for kind in (*KINDS, WEIGHTS):
            sizes = [size for _, size, path in self._files((kind,)) if not path.endswith(".tmp")]
            kinds.append(KindInfo(kind, len(sizes), sum(sizes)))
        return CacheInfo(self.path, self.limit, tuple(kinds))

    def _head(self, kind: str, key: str, payload: bytes) -> bytes:
        """The first line of an entry. The signature is of its place as well: no entry can stand in for another."""
        signed = hashlib.blake2b(f"{kind}/{key}\n".encode(), key=self._secret or b"", digest_size=32)
        signed.update(payload)
        return _MAGIC + signed.hexdigest().encode() + b"\n"

    def _place(self, kind: str, key: str) -> str:
        return os.path.join(self.path, kind, key[:2], key[2:])

    def _files(self, kinds: Iterable[str] = KINDS) -> Iterator[tuple[int, int, str]]:
        """(time of last use, bytes, path) of each file, also of what a killed process left half-written.

        Only what has the name of an entry is one, and no link is followed: the folder may hold other files.
        """
        if refusal(self.path):
            return
        for kind in kinds:
            for entry in _own_weights(self.path) if kind == WEIGHTS else _entries(os.path.join(self.path, kind)):
                with suppress(OSError):  # another process may have dropped it
                    status = entry.stat(follow_symlinks=False)
                    yield status.st_mtime_ns, status.st_size, entry.path


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    for group in _listed(folder):
        for entry in _listed(group.path) if group.is_dir(follow_symlinks=False) else ():
            if is_entry(group.name, entry.name) and entry.is_file(follow_symlinks=False):
                yield entry


def _own_weights(folder: str | Path) -> Iterator[os.DirEntry[str]]:
    for entry in _listed(os.path.join(folder, WEIGHTS)):
        if is_weights_file(entry.name) and entry.is_file(follow_symlinks=False):
            yield entry


def _listed(folder: str) -> list[os.DirEntry[str]]:
    try:
        return list(os.scandir(folder))
    except OSError:
        return []


def cache_folder() -> Path:
    """Where the cache is: KERNELGLASS_CACHE, or the user's cache folder."""
    given = os.environ.get("KERNELGLASS_CACHE")
    if given:
        return Path(given)
    from platformdirs import user_cache_path

    return user_cache_path("kernelglass", appauthor=False) / "compiler"


def weights_folder() -> Path | None:
    """Where notes on weights are, and weights that had no file of their own, made if need be; None where the cache's
    folder is refused."""
    folder = cache_folder()
    if refusal(folder):
        return None
    make_folder(folder)
    make_private(folder / WEIGHTS)
    return folder / WEIGHTS


def default_cache() -> Cache:
    """The cache at `cache_folder()`."""
    return Cache(cache_folder())


# Keys and payloads


def key_of(*parts: object) -> str:
    """The key of some values: texts, numbers, tuples of them; equal keys mean equal values."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=20).hexdigest()


@remembered
def producer() -> tuple[str, ...]:
    """Which compiler makes the entries: the versions of what does the work, and the state of our own files."""
    own = files_state(os.path.dirname(os.path.abspath(__file__)))
    return (*(_version(package) for package in ("llvmlite", "xdsl", "numpy")), own)


def producer_versions() -> dict[str, str]:
    """The versions of what does the work, for whoever keeps what it made."""
    import platform

    packages = {package: _installed_version(package) for package in ("kernelglass", "llvmlite", "xdsl", "numpy")}
    return {"python": platform.python_version(), **packages}


@remembered
def _installed_version(package: str) -> str:
    """A version as importlib.metadata has it, which takes longer to load than many a kernel to compile."""
    for folder in sys.path:
        with suppress(OSError, ValueError, StopIteration):
            names = os.listdir(folder or ".")
            found = next(name for name in names if name.startswith(f"{package}-") and name.endswith(".dist-info"))
            with open(os.path.join(folder, found, "METADATA"), encoding="utf-8") as file:
                return next(line[9:].strip() for line in file if line.startswith("Version: "))
    from importlib.metadata import PackageNotFoundError, version

    try:  # installed in another way
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _version(package: str) -> str:
    """What tells one version of a package from another, at a tenth of what importlib.metadata takes."""
    found = find_spec(package)
    if found is None or not found.origin:
        return ""
    folder = os.path.dirname(os.path.dirname(found.origin))
    with suppress(OSError):
        installed = sorted(name for name in os.listdir(folder) if name.lower().startswith(f"{package}-"))
        return key_of(folder, installed, os.stat(found.origin).st_mtime_ns)
    return folder


def target_identity(target: Any) -> tuple[str, ...]:
    """What tells one target's code from another's."""
    return (target.name, target.triple, target.data_layout, target.cpu, target.features)


def files_state(root: str) -> str:
    """A digest of the names, sizes and times of a folder's Python files: an edited compiler makes other entries."""
    seen: list[tuple[str, int, int]] = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != "__pycache__"]
        within = os.path.relpath(folder, root)  # once a folder: it takes longer than to look at a file
        for name in names:
            if name.endswith(".py"):
                status = os.stat(os.path.join(folder, name))
                path = name if within == os.curdir else os.path.join(within, name)
                seen.append((path, status.st_size, status.st_mtime_ns))
    return key_of(*sorted(seen))


def pack(document: Any, blobs: Sequence[bytes] = ()) -> bytes:
    """A payload: a JSON document, then blobs of bytes."""
    head = json.dumps({"document": document, "blobs": [len(blob) for blob in blobs]}, separators=(",", ":")).encode()
    return b"".join([len(head).to_bytes(8, "little"), head, *blobs])


def unpack(payload: bytes) -> tuple[Any, list[bytes]]:
    """What `pack` was given."""
    size = int.from_bytes(payload[:8], "little")
    head = json.loads(payload[8 : 8 + size])
    blobs: list[bytes] = []
    at = 8 + size
    for length in head["blobs"]:
        blobs.append(payload[at : at + length])
        at += length
    return head["document"], blobs
