"""A model's `config.json`: an object of JSON whose numbers are checked as they are asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from compiler.errors import ParseError

_MOST_JSON = 64 << 20
_MOST = 1 << 24


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file that is an object."""
    try:
        if path.stat().st_size > _MOST_JSON:
            raise ParseError(f"{path} is too large to read")
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except OSError as error:
        raise ParseError(f"cannot read {path}: {error.strerror or error}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ParseError(f"{path} does not read: {error}") from None


class Numbers:
    """Numbers of a configuration by name; what is missing or absurd is told."""

    def __init__(self, found: Mapping[str, Any], name: str) -> None:
        self._found, self._name = found, name

    def number(self, key: str, default: float | None = None) -> float:
        """A number above zero."""
        value = self._found.get(key)
        value = default if value is None else value
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
            raise ParseError(f"{self._name}: {key} must be a number above zero, not {value!r}"[:300])
        return float(value)

    def size(self, key: str, default: int | None = None) -> int:
        """A whole number above zero, of what a model can have."""
        value = self.number(key, default)
        if value != int(value) or value > _MOST:
            raise ParseError(f"{self._name}: {key} must be a whole number up to {_MOST}, not {value!r}"[:300])
        return int(value)
