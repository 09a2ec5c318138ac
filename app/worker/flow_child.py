"""What a measured process does: load a source, compile it once, perhaps run it once, and say what it took."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Compile as asked; the parent measures this process from outside."""
    from app.compilation import Options, compile_source, execute
    from app.inputs import graph_sizes, random_inputs
    from app.sources import load_source
    from compiler.statistics import funnel_of

    source = load_source(request["source"])
    if request["flow"] == "none":
        return {"kernels": 0, "compile_seconds": 0.0}
    library = Path(request["library"]) if request["library"] else None
    options = Options(
        request["target"], request["flow"], request["opt_level"], request["debug"], request["jobs"], True, library
    )
    inputs = random_inputs(source.graph, graph_sizes(source.graph, source.dims, {}), 0) if request["execute"] else []
    start = time.perf_counter()
    compiled = compile_source(source, options)
    answer = {"kernels": len(compiled.model.kernels), "compile_seconds": time.perf_counter() - start}
    if request["execute"]:
        execute(compiled, inputs, None)
        answer["first_result_seconds"] = time.perf_counter() - start
        begun = time.perf_counter()
        execute(compiled, inputs, None)
        answer["second_result_seconds"] = time.perf_counter() - begun
    return answer | {"stages": {step.stage: step.seconds for step in funnel_of(compiled.model.trace.passes)}}


def _end_with_parent() -> None:
    """The parent keeps our stdin open as long as it lives. It may be killed, and then nobody waits for our answer."""
    sys.stdin.buffer.raw.read(1)  # type: ignore[attr-defined]  # unbuffered: a buffered read holds a lock at exit
    os.killpg(os.getpgrp(), signal.SIGKILL)  # this process leads a group: its own workers end with it


if __name__ == "__main__":
    from compiler.collector_pauses import end_without_collection
    from compiler.errors import CompilerError

    end_without_collection()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        print(json.dumps(main(json.loads(sys.argv[1]))))
    except CompilerError as error:
        print(json.dumps({"error": str(error)}))
