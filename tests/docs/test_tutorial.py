"""The tutorial runs from its first line to its last, and prints what it says it prints."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tutorial.md").read_text(encoding="utf-8")
LESSONS = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", PAGE, re.DOTALL)
_LANES = re.compile(r"SIMD\[(\w+), \d+\]")  # as many as this processor has


def test_every_lesson_prints_what_stands_below_it() -> None:
    assert len(LESSONS) >= 6 and sum(bool(printed) for _, printed in LESSONS) >= 6
    names: dict[str, object] = {"__name__": "tutorial"}
    for lesson, printed in LESSONS:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(lesson, "tutorial.md", "exec"), names)
        assert _LANES.sub(r"SIMD[\1]", said.getvalue().rstrip()) == _LANES.sub(r"SIMD[\1]", printed.rstrip())
