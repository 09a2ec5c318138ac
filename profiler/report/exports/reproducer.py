"""A script that makes a stored run again: the graph, the options and the seed are in it, the record is not needed."""

from __future__ import annotations

from typing import Any

from compiler.errors import ExecutionError
from compiler.printable import printable

_TEMPLATE = '''"""Makes run {run} of {named} again, as kernelglass recorded it{when}.

Needs kernelglass of the same version for the same code: {versions}.
"""

import json
import sys

from app.inputs import random_inputs
from compiler.importers.mlir_text import parse_graph
from profiler.measure.measuring import measure
from profiler.records import request_from_json
from profiler.analysis.statistics import summarise

GRAPH = {graph}

REQUEST = {request}

MEDIAN = {median}  # seconds, as recorded on {machine}


def main() -> int:
    graph = parse_graph(GRAPH, {source})
    request = request_from_json(json.dumps(REQUEST))
    inputs = random_inputs(graph, request.dims, request.seed, request.libraries)
    outcome = measure(request, graph, inputs)
    if outcome.error or outcome.result.error:
        print(outcome.error or outcome.result.error, file=sys.stderr)
        return 1
    now = summarise(outcome.result.samples, outcome.result.blocks, outcome.result.processes)
    print(f"median {{now.median * 1e6:.3f}} us ({{now.low * 1e6:.3f}} to {{now.high * 1e6:.3f}})", end="")
    print(f", recorded {{MEDIAN * 1e6:.3f}} us" if MEDIAN else "")
    for launch in outcome.result.launches:
        print(f"  {{launch.kernel}}: {{summarise(launch.samples, outcome.result.blocks).median * 1e6:.3f}} us")
    return 0


if __name__ == "__main__":
    sys.exit(main())
'''


def reproducer_script(document: dict[str, Any]) -> str:
    """Python source; texts go in as literals, so nothing in a name can become code."""
    compiled = document["compilation"]
    if compiled is None:
        raise ExecutionError(f"run {document['run']['id']} has no compilation: it ended before it compiled")
    run, times = document["run"], document["times"]
    return _TEMPLATE.format(
        run=_prose(run["id"]),
        named=_prose(run["source"]),
        source=repr(str(run["source"])),
        when=f" {_prose(run['started'])}",
        versions=_prose(", ".join(f"{name} {version}" for name, version in compiled["versions"].items())),
        graph=_literal(compiled["graph_text"]),
        request=repr(document["request"]),
        median=repr(times["median"] if times else None),
        machine=_prose(document["machine"]["name"]),
    )


def _prose(words: Any) -> str:
    """Words for a comment or a docstring: on one line, and with nothing that could end either."""
    return printable(" ".join(str(words).split())).replace("\\", "/").replace('"', "'")


def _literal(text: str) -> str:
    """A text as adjacent string literals, a line each, so that the script stays readable."""
    return "(\n" + "\n".join(f"    {line!r}" for line in text.splitlines(keepends=True)) + "\n)"
