"""What each of LLVM's passes did to a module, run by run: the text after those that changed something, and the time.

LLVM says so on its standard error when its options ask for it, and its options hold for a whole process. So this
happens in a process of its own that ends afterwards: nothing of it reaches ordinary compilations. The pipeline is the
one that `backend.llvm.optimise` runs.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from compiler.errors import LoweringError
from compiler.targets.target import Target

if TYPE_CHECKING:
    from compiler.processes.frames import Channel

START = "start"
_SECONDS = 120.0  # a module; most take a fraction of one
_FAREWELL = 5.0  # for a process that is ending by itself


@dataclass(frozen=True)
class LlvmStep:
    """One run of one pass; `text` is the module after it, "" where it changed nothing.

    The first step of a module is called `start` and holds it as it was read. LLVM counts time in steps of 0.1 ms.
    """

    name: str
    scope: str
    seconds: float
    changed: bool
    text: str


def llvm_steps(texts: Sequence[str], target: Target, opt_level: int) -> list[tuple[LlvmStep, ...]]:
    """What LLVM's passes do to each module at a level."""
    if not texts:
        return []
    from compiler.processes.frames import TimeIsUp, Wait
    from compiler.processes.supervisor import Child, status_name

    limit = _SECONDS * len(texts)
    child = Child(__name__, {"Reports": Reports}, keep_errors=True)
    try:
        child.channel.send(Modules(target.name, opt_level, tuple(texts)))
        reports: Reports = child.channel.receive(Wait(monotonic() + limit)).value
    except TimeIsUp:
        raise LoweringError(f"LLVM's passes did not end within {limit:.0f} s") from None
    except (EOFError, OSError):
        status = status_name(child.end(_FAREWELL))
        raise LoweringError(f"LLVM's passes could not be watched: {child.last_words or status}") from None
    finally:
        child.end()
    return [read_steps(dump, read_times(times)) for times, dump in zip(reports.times, reports.dumps, strict=True)]


# In the other process


@dataclass(frozen=True)
class Modules:
    """What is asked: these modules, at this level."""

    target: str
    opt_level: int
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Reports:
    """What LLVM wrote about each module: its report of times, and that of changes."""

    times: tuple[str, ...]
    dumps: tuple[str, ...]


KNOWN = {"Modules": Modules}


def serve(channel: Channel) -> None:
    """Answer one request: for each module LLVM's reports as they are."""
    import llvmlite.binding as llvm

    from compiler.targets import get_target

    request: Modules = channel.receive().value
    target, level, texts = get_target(request.target), request.opt_level, request.texts
    target.machine(level)
    # Printing would count as part of the passes, so they run once for the times and once for the texts; and before
    # either once more, as their first run in a process pays for its memory.
    _passes_over(texts[0], target, level, timed=False)
    llvm.set_option("", "-time-passes-per-run")
    times = tuple(_passes_over(text, target, level, timed=True) for text in texts)
    llvm.set_option("", "-print-changed")
    llvm.set_option("", "-print-module-scope")
    channel.send(Reports(times, tuple(_printed(text, target, level) for text in texts)))


def _passes_over(text: str, target: Target, level: int, *, timed: bool) -> str:
    from compiler.backend.llvm import has_short_loops, parse, run_passes

    return run_passes(parse(text), target, level, timed=timed, unroll=has_short_loops([text], target))


def _printed(text: str, target: Target, level: int) -> str:
    """What LLVM writes on standard error while it optimises."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            _passes_over(text, target, level, timed=False)
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        return file.read().decode()


# Reading what LLVM writes

_EVENT = re.compile(
    r"^\*\*\* IR (?:(?P<start>Dump At Start)|(?P<what>Dump After|Deleted After|Pass) (?P<name>.+?) on (?P<scope>.+?))"
    r"(?: (?P<why>omitted because no change|filtered out|ignored))? \*\*\*(?: \(function: \S+\))?\n",
    re.MULTILINE,
)


def read_steps(dump: str, times: dict[tuple[str, int], float]) -> tuple[LlvmStep, ...]:
    """The runs of passes in LLVM's report of changes, in order."""
    steps: list[LlvmStep] = []
    runs: dict[str, int] = {}
    known: dict[str, str] = {}
    events = list(_EVENT.finditer(dump))
    for event, following in zip(events, [*events[1:], None], strict=True):
        if event["what"] == "Pass":  # a manager of passes, whose passes have runs of their own
            continue
        text = dump[event.end() : following.start() if following else len(dump)]
        text = known.setdefault(text, text)
        if event["start"]:
            steps.append(LlvmStep(START, "module", 0.0, False, text))
            continue
        name, scope = event["name"], "module" if event["scope"] == "[module]" else event["scope"]
        run = runs[name] = runs.get(name, 0) + 1
        deleted = event["what"] == "Deleted After"
        changed = deleted or event["why"] is None
        steps.append(LlvmStep(name, scope, times.get((name, run), 0.0), changed, text if changed else ""))
    return tuple(steps)


_TIME = re.compile(
    r"^\s*(?:[\d.]+ \(\s*[\d.]+%\)\s+)*([\d.]+) \(\s*[\d.]+%\)\s+([A-Za-z]\S*(?: \S+)*?) #(\d+)\s*$", re.MULTILINE
)


def read_times(report: str) -> dict[tuple[str, int], float]:
    """Seconds of each run of each pass in LLVM's report of times: (name, 1 for its first run) -> seconds."""
    passes = report.split("Analysis execution timing report", 1)[0]
    return {(name, int(run)): float(seconds) for seconds, name, run in _TIME.findall(passes)}


_INSTRUCTION = re.compile(r"^  [^\s\]#;]", re.MULTILINE)
_BODY = re.compile(r"^define [^\n]*\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)


def count_instructions(text: str) -> int:
    """How many instructions the functions of a module in LLVM IR have, as LLVM prints it."""
    return sum(len(_INSTRUCTION.findall(body)) for body in _BODY.findall(text))
