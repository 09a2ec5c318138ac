"""Whether a run by a worker of this machine is told from one without it: verdicts over pairs, taken in turns.

    python benchmarks/remote.py [--source sample:mlp] [--pairs 20] [--worst 1]

A cluster of one worker is started here. Each pair is a run by that worker and one by this program, whichever goes
first in turns, and what `kernelglass compare` says of the two. Where it cannot tell, both are made again in turns, as
it advises; how often that was so is said. More verdicts of anything else than `--worst` end with status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SAME, UNTOLD = "no measurable difference", "cannot tell"


def main() -> int:
    """Measure and print; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default="sample:mlp")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--worst", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "KERNELGLASS_DB": f"{folder}/traces.db"}

        def kernelglass(*words: str) -> Any:
            command = [sys.executable, "-m", "app", *words, "--json"]
            return json.loads(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)

        cluster = subprocess.Popen(
            [sys.executable, "-m", "app", "cluster", "local", "--workers", "1", "--port", "0"],
            env={**environment, "PYTHONUNBUFFERED": "1"}, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            assert cluster.stdout is not None
            address = next(word for line in cluster.stdout for word in line.split() if word.startswith("tcp://"))
            said: Counter[str] = Counter()
            again = 0
            for pair in range(asked.pairs):
                devices = (f"{address}/cpu", "cpu") if pair % 2 else ("cpu", f"{address}/cpu")
                first, second = (kernelglass("run", asked.source, "--device", device)["run"] for device in devices)
                found = kernelglass("compare", str(first), str(second))["verdicts"][1]
                print(f"pair {pair + 1}: {_words(found)}", end="", flush=True)
                if found["verdict"] == UNTOLD:
                    again += 1
                    found = kernelglass("compare", str(first), str(second), "--again")["verdicts"][1]
                    print(f"; again, in turns: {_words(found)}", end="")
                print(flush=True)
                said[found["verdict"]] += 1
        finally:
            cluster.terminate()
            cluster.wait()
    print(f"{said[SAME]} of {asked.pairs}: {SAME}; {again} of them were made again in turns")
    return int(asked.pairs - said[SAME] > asked.worst)


def _words(found: dict[str, Any]) -> str:
    return f"{found['verdict']} ({found['low']:.3f} to {found['high']:.3f})"


if __name__ == "__main__":
    sys.exit(main())
