"""Texts being edited: the graph's file and the kernels, each with what it was; kept on disk so that none is lost."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Buffer:
    """One text: as it was read or generated, and as it is now."""

    original: str
    text: str

    @property
    def edited(self) -> bool:
        """Whether they differ."""
        return self.text != self.original


class Edits:
    """The buffers of one source by key: empty for the graph, a kernel's name for a kernel.

    `folder` holds one draft file a source: what differs from its original, written as one goes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._source = ""
        self._buffers: dict[str, Buffer] = {}
        self._drafts: dict[str, str] = {}  # read from disk, and not yet claimed by a text

    def open(self, source: str) -> None:
        """Edit another source; what was kept of it is found again."""
        self._source, self._buffers = source, {}
        self._drafts = self._read()

    def load(self, key: str, original: str) -> Buffer:
        """The buffer of a text as it was read or generated now; an edit of it stays an edit."""
        before = self._buffers.get(key)
        text = before.text if before is not None and before.edited else self._drafts.pop(key, original)
        self._buffers[key] = buffer = Buffer(original, text)
        return buffer

    def restored(self, key: str) -> bool:
        """Whether a draft from another session waits for this text."""
        return key in self._drafts

    def get(self, key: str) -> Buffer | None:
        """The buffer of a text, if it was loaded."""
        return self._buffers.get(key)

    def change(self, key: str, text: str) -> None:
        """The user typed."""
        known = self._buffers.get(key)
        self._buffers[key] = Buffer(known.original if known else text, text)

    def revert(self, key: str) -> Buffer:
        """Back to the original."""
        known = self._buffers[key]
        self._buffers[key] = Buffer(known.original, known.original)
        return self._buffers[key]

    def saved(self, key: str) -> None:
        """What is there is on disk now, so it is the original."""
        known = self._buffers[key]
        self._buffers[key] = Buffer(known.text, known.text)

    def edited(self) -> list[str]:
        """The keys of edited texts, the graph first."""
        return sorted(key for key, buffer in self._buffers.items() if buffer.edited)

    def drop(self) -> None:
        """Forget every edit, here and on disk."""
        for key in self.edited():
            self.revert(key)
        self._drafts = {}
        self.keep()

    def keep(self) -> bool:
        """Write the edits to the draft file, or remove it where there are none; False when the disk refuses."""
        path = self._path()
        texts = {**self._drafts, **{key: self._buffers[key].text for key in self.edited()}}
        try:
            if not texts:
                path.unlink(missing_ok=True)
                return True
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_suffix(".new")
            fresh.write_text(json.dumps({"source": self._source, "texts": texts}), encoding="utf-8")
            fresh.replace(path)  # a crash leaves the old draft or the new one, never half of one
        except OSError:
            return False
        return True

    def _path(self) -> Path:
        name = hashlib.sha256(self._source.encode()).hexdigest()[:24]
        return self._folder / f"{name}.json"

    def _read(self) -> dict[str, str]:
        try:
            found = json.loads(self._path().read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        texts = found.get("texts", {}) if isinstance(found, dict) and found.get("source") == self._source else {}
        return {key: text for key, text in texts.items() if isinstance(key, str) and isinstance(text, str)}
