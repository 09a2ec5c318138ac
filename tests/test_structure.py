"""Files can be read in one sitting and rooms taken in at a glance; where one cannot, its docstring says why."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = [path for top in ("app", "compiler", "profiler") for path in sorted((ROOT / top).rglob("*.py"))]
ROOMS = sorted({path.parent for path in FILES})
LINES = 400
NAMES = 22  # about twenty modules and rooms
EXCUSE = "Large because "


def excused(path: Path) -> bool:
    """Whether a file's docstring says why the file, or the room that it opens, is large."""
    text = path.read_text(encoding="utf-8")
    return EXCUSE in text and EXCUSE in (ast.get_docstring(ast.parse(text)) or "")


def names(room: Path) -> list[str]:
    """What a reader sees of a room: its modules and the rooms within."""
    files = [path.stem for path in room.glob("*.py") if not path.stem.startswith("__")]
    return sorted(files + [path.name for path in room.iterdir() if any(path.glob("*.py"))])


def test_there_is_something_to_look_at() -> None:
    assert len(FILES) > 100
    assert {"pipeline", "graph"} <= set(names(ROOT / "compiler"))


def test_files_can_be_read_in_one_sitting() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {path: n for path, n in lengths.items() if n > LINES and not excused(ROOT / path)} == {}


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(ROOT)))
def test_rooms_can_be_taken_in_at_a_glance(room: Path) -> None:
    opens = room / "__init__.py"
    assert len(names(room)) <= NAMES or (opens.exists() and excused(opens)), f"{len(names(room))} names"


def test_excuses_are_needed() -> None:
    for path in (path for path in FILES if excused(path)):
        assert len(path.read_text(encoding="utf-8").splitlines()) > LINES or len(names(path.parent)) > NAMES, path
