"""A process that starts programs for a journey: `robot_hands.py` reads one as a JSON list a line, and answers with one.

Not the window's process: whoever starts a program holds the interpreter until that program has begun, which takes
milliseconds, and the window's thread waits for the interpreter. No user has his hands in there.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


class Hands:
    """From the journey's side; used by one thread."""

    def __init__(self) -> None:
        words = [sys.executable, str(Path(__file__).resolve())]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, *words: str) -> None:
        """Run a program until it ends; one that fails is an error."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        if wrong := json.loads(self._process.stdout.readline() or '"its process is gone"'):
            raise RuntimeError(f"{' '.join(words)}: {wrong}")


def main() -> None:
    """Run what is asked for, one after the other, until nobody asks any more."""
    for line in sys.stdin:
        done = subprocess.run(json.loads(line), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        print(json.dumps(done.stderr[-2000:] or f"status {done.returncode}" if done.returncode else ""), flush=True)


if __name__ == "__main__":
    main()
