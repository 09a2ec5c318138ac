"""Which commit a source is from, read from the files of the Git repository that it lies in.

No program is started for it: what a repository's own settings can make Git run is nobody's business here. It is the
commit that is checked out; whether the file was changed since is not looked at.
"""

from __future__ import annotations

import re
from pathlib import Path

_MOST = 1 << 22  # bytes of a file that is read: a list of references may be long
_NAME = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REFERENCE = re.compile(r"ref: (refs/[^\s\\]+)")


def source_commit(source: str) -> str:
    """The commit checked out where a source file lies; empty where it is no file or in no repository."""
    try:
        place = Path(source)
        if not place.is_absolute() or not place.is_file():
            return ""
        for folder in place.parents:
            if (found := folder / ".git").exists():
                return _checked_out(_folder(found))
    except (OSError, ValueError):  # also a name that no file can have
        pass
    return ""


def _folder(found: Path) -> Path:
    """The repository's own folder; a work tree beside another one has a file that names it."""
    if found.is_dir():
        return found
    return found.parent / _read(found).removeprefix("gitdir:").strip()


def _checked_out(folder: Path) -> str:
    head = _read(folder / "HEAD").strip()
    if _NAME.fullmatch(head):
        return head
    reference = _REFERENCE.fullmatch(head)
    if reference is None or ".." in reference[1].split("/"):
        return ""
    shared = folder / "commondir"
    homes = [folder, folder / _read(shared).strip()] if shared.is_file() else [folder]
    for home in homes:
        if (loose := home / reference[1]).is_file():
            return _named(_read(loose).strip())
    for home in homes:
        if (packed := home / "packed-refs").is_file():
            for line in _read(packed).splitlines():
                if line.endswith(f" {reference[1]}"):
                    return _named(line.split()[0])
    return ""


def _named(text: str) -> str:
    return text if _NAME.fullmatch(text) else ""


def _read(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_MOST).decode("utf-8", "replace")
