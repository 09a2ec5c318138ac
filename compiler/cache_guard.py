"""What a cache folder has to be before it is used, and the secret that tells this user's entries from anybody else's.

Code from the cache is run, so whoever can write an entry could have code of theirs run. Three things keep them out: the
folder is the user's own and nobody else may write to it; it carries a marker, so that a folder of other files is never
taken for a cache; and every entry is signed with a secret that lies elsewhere, in the user's data folder.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

KINDS = ("model", "ir", "object", "methods", "modules")
WEIGHTS = "weights"
"""What lies beside the entries and has rules of its own (`compiler.constants`): no limit drops it, clearing does."""
MARKER = "KERNELGLASS-CACHE"
SECRET_BYTES = 32
_WORDS = b"This folder is the compilation cache of kernelglass. `kernelglass cache clear` empties it.\n"
_GROUP = re.compile(r"[0-9a-f]{2}")
_ENTRY = re.compile(r"[0-9a-f]{38}(\.\d+\.\d+\.tmp)?")
_WEIGHTS_FILE = re.compile(r"[0-9a-f]{16,128}\.(bytes|digests|\d+\.tmp)")
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)


def is_entry(group: str, name: str) -> bool:
    """Whether a file of that name, in a folder of that name, is an entry, or one that was left half-written."""
    return bool(_GROUP.fullmatch(group) and _ENTRY.fullmatch(name))


def is_weights_file(name: str) -> bool:
    """Whether a file of that name, among the weights, was put there by this program."""
    return bool(_WEIGHTS_FILE.fullmatch(name))


def refusal(folder: Path) -> str:
    """Why a folder is not used as a cache, and what to do; empty where it may be, or is not there yet."""
    try:
        found = os.stat(folder)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"the cache folder {folder} cannot be used: {error.strerror or error}"
    if not stat.S_ISDIR(found.st_mode):
        return f"the cache folder {folder} is not a folder; KERNELGLASS_CACHE chooses another"
    if _others(found):
        return f"the cache folder {folder} belongs to another user; KERNELGLASS_CACHE chooses another"
    if os.name == "posix" and found.st_mode & 0o022:
        return f"others may write to the cache folder {folder}; `chmod 700` it if it is yours, and clear the cache"
    try:
        stranger = "" if _marked(folder) else _stranger(folder)
        links = [kind for kind in (*KINDS, WEIGHTS) if (folder / kind).is_symlink()]
        loose = _is_loose(folder / WEIGHTS)  # what lies there is not signed
    except OSError as error:
        return f"the cache folder {folder} cannot be read: {error.strerror or error}"
    if stranger:
        return f"{folder} holds {stranger}, which is not a cache's; KERNELGLASS_CACHE needs a folder of its own"
    if links:
        return f"{links[0]} in the cache folder {folder} is a link; remove it, or choose another with KERNELGLASS_CACHE"
    if loose:
        what = f"{WEIGHTS} in the cache folder {folder} is another user's, or others may write to it"
        return f"{what}; remove it, or choose another with KERNELGLASS_CACHE"
    return ""


def make_folder(folder: Path) -> None:
    """The folder with its marker; it and every folder above it that has to be made is the user's alone."""
    make_private(folder)
    with suppress(FileExistsError):
        handle = os.open(folder / MARKER, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW, 0o600)
        with open(handle, "wb") as file:
            file.write(_WORDS)


def make_private(folder: str | Path) -> None:
    """A folder and what is missing above it, for the user alone. `os.makedirs` leaves those above to the umask."""
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        return
    except FileNotFoundError:
        make_private(os.path.dirname(os.path.abspath(folder)))
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)


def _marked(folder: Path) -> bool:
    with suppress(FileNotFoundError):
        return stat.S_ISREG(os.lstat(folder / MARKER).st_mode)
    return False


def _stranger(folder: Path) -> str:
    """The first thing in an unmarked folder that no cache has; nothing where it is an older cache, or empty."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.name not in KINDS or not entry.is_dir(follow_symlinks=False):
            return entry.name
        for group in os.scandir(entry):
            if not _GROUP.fullmatch(group.name) or not group.is_dir(follow_symlinks=False):
                return f"{entry.name}/{group.name}"
    return ""


def _is_loose(folder: Path) -> bool:
    """Whether a folder is there and others than the user may write to it."""
    with suppress(FileNotFoundError):
        found = os.lstat(folder)
        return _others(found) or (os.name == "posix" and bool(found.st_mode & 0o022))
    return False


def _others(found: os.stat_result) -> bool:
    return hasattr(os, "geteuid") and found.st_uid != os.geteuid()


# The secret


def secret_place() -> Path:
    """Where the secret is: the user's own data folder, wherever the cache may be."""
    from platformdirs import user_data_path

    return user_data_path("kernelglass", appauthor=False) / "cache.key"


def secret() -> bytes | None:
    """The user's secret, made where there is none; None where none can be kept, and then nothing is cached."""
    return _kept_secret(str(secret_place()))


@lru_cache(maxsize=4)
def _kept_secret(place: str) -> bytes | None:
    try:
        found = _read_secret(place)
        if found is None:
            _write_secret(place)
            found = _read_secret(place)
        return found
    except OSError:
        return None


def _read_secret(place: str) -> bytes | None:
    """What is there, if it is whole and nobody else could read it."""
    try:
        handle = os.open(place, os.O_RDONLY | _NOFOLLOW)
    except FileNotFoundError:
        return None
    with open(handle, "rb") as file:
        found, content = os.fstat(handle), file.read(SECRET_BYTES + 1)
    loose = _others(found) or (os.name == "posix" and found.st_mode & 0o077)
    if loose or not stat.S_ISREG(found.st_mode) or len(content) != SECRET_BYTES:
        os.unlink(place)  # others may know it, or it is no secret: entries signed with it count no more
        return None
    return content


def _write_secret(place: str) -> None:
    """Make one, whole or not at all; where another process was faster, its secret stands."""
    make_private(os.path.dirname(place))
    waiting = f"{place}.{os.getpid()}.tmp"
    with suppress(FileNotFoundError):
        os.unlink(waiting)
    handle = os.open(waiting, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW, 0o600)
    try:
        with open(handle, "wb") as file:
            file.write(os.urandom(SECRET_BYTES))
        try:
            os.link(waiting, place)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            os.replace(waiting, place)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(waiting)
