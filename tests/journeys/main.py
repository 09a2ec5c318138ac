"""Drive journeys: `main.py FOLDER [--size 1280x720] [--theme dark] [--watch] [NAME...]`; screenshots go to FOLDER.

Prints a line a journey: its longest stall by the clock, and the most its thread worked without answering. The bound is
50 ms on an idle machine; on a busy one the second figure says what is the window's own doing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from screen import develop, missing, screen

DRIVE = Path(__file__).resolve().with_name("drive.py")
NAMES = ("first-start", "linked-panes", "run", "what-if", "flows", "edit", "compare-and-export", "own-graph",
         "keyboard-only", "large")  # fmt: skip
BOUND_MS = 50.0


def drive(name: str, folder: Path, size: str, theme: str = "dark", watch: bool = False) -> dict[str, Any]:
    """One journey on a screen of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    width, height = map(int, size.split("x"))
    with screen(width, height) as (display, picture):
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", str(DRIVE), name, str(folder), str(picture), theme,
             *["--watch"] * watch],
            env={**os.environ, "DISPLAY": display}, capture_output=True, text=True, timeout=900, check=False,
        )  # fmt: skip
    develop(folder)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return {"journey": name, "error": f"no answer: {done.stderr[-2000:]}"}
    return json.loads(lines[-1]) | {"size": size}


def main() -> int:
    """Drive those that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", default="1280x720")
    parser.add_argument("--theme", default="dark")
    parser.add_argument("--watch", action="store_true", help="note where the window was while it did not answer")
    parser.add_argument("names", nargs="*")
    asked = parser.parse_intermixed_args()
    if lacking := missing():
        print(f"journeys need programs that are not here: {', '.join(lacking)}")
        return 4
    bad = 0
    for name in asked.names or NAMES:
        told = drive(name, asked.folder / f"{asked.size}-{asked.theme}", asked.size, asked.theme, asked.watch)
        bad += bool(told["error"])
        print(json.dumps(told), flush=True)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
