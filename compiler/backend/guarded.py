"""Instructions that a user wrote, compiled where that may fail: at a wrong one LLVM ends the process it runs in.

The library's own assembly is known to assemble, and its intrinsics to have instructions. Any others go through LLVM in
a process of their own, and what LLVM said before it ended comes back as an error at the line that wrote them; so does
an intrinsic that LLVM does not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache

from compiler.backend import workers
from compiler.backend.llvm import NO_INTRINSIC
from compiler.backend.tasks import Done, Task
from compiler.errors import CompilerError, KernelError, Location, LoweringError
from compiler.language.library import Library, default_library

_CODE = r'asm (?:sideeffect )?(?:alignstack )?(?:inteldialect )?"((?:[^"\\]|\\.)*)"'
_SITE = re.compile(rf"  .*?call .*?{_CODE}, \".*?(?:, !srcloc !(\d+))?(?:, !dbg !\d+)?$")
_PLACE = re.compile(r'\n!(\d+) = !\{i64 (\d+), i64 (\d+), !"(.*)"\}(?=\n|$)')
_INTRINSIC = re.compile(r"  .*?call .*?@(llvm\.[\w.]+)\(.*\), !srcloc !(\d+)(?:, !dbg !\d+)?$")
_UNSELECTED = re.compile(r"Cannot select: (?:[^\n]*?intrinsic %(llvm\.[\w.]+))?")
_AT = re.compile(r"^error: (.*) at line (\d+)$", re.MULTILINE)
_CONSTRAINT = re.compile(r"couldn't allocate (input|output) reg(?:ister)? for constraint '(.*)'")
_SAID = re.compile(r"^(?:error: )?<inline asm>:\d+:\d+:(?: error:)? (.*)\n\s*(.*)$", re.MULTILINE)


def is_uncertain(task: Task) -> bool:
    """Whether LLVM may find assembly or intrinsics in it that are not the library's."""
    return any(
        place is None or place.file not in _shipped()
        for text in task.texts
        for _, place in (*_sites(text), *_intrinsics(text))
    )


@lru_cache(maxsize=1)
def _shipped() -> frozenset[str]:
    return frozenset(file.file for file in default_library().files)


def compile_guarded(task: Task) -> Done:
    """Do a task in a process of its own; if that dies, an error says which assembly it was."""
    outcome = _attempt(task)
    if isinstance(outcome, Done):
        return outcome
    refused = _AT.search(outcome)
    places = {cookie: place for text in task.texts for cookie, place in _places(text).items()}
    if refused is not None and (place := places.get(refused[2])) is not None:
        letter = _CONSTRAINT.search(refused[1])
        if letter is not None:
            side = "a result" if letter[1] == "output" else "an operand"
            told = f"{task.target} has no register for {letter[2]!r}, the constraint of {side} of this dtype and width"
            raise KernelError(f"asm: {told}", place)
        raise KernelError(f"LLVM refuses this assembly: {refused[1]}", place)
    unselected = _UNSELECTED.search(outcome)
    if unselected is not None:
        raise _unselected(task, unselected[1])
    said = _SAID.search(outcome)
    if said is None:
        raise LoweringError(f"LLVM's process ended while compiling {task.name}: {outcome.rpartition(chr(10))[2]}")
    raise KernelError(f"LLVM cannot assemble this: {said[1]} in `{' '.join(said[2].split())}`", _guilty(task))


def _unselected(task: Task, name: str | None) -> KernelError:
    """That an intrinsic has no instruction: the one that LLVM named, or else one of the user's."""
    found = [(called, place) for text in task.texts for called, place in _intrinsics(text)]
    own = [(called, place) for called, place in found if place is None or place.file not in _shipped()]
    guilty = [(called, place) for called, place in found if called == name] or own
    names = list(dict.fromkeys(called for called, _ in guilty))
    words = names[0] if len(names) == 1 else f"one of {', '.join(names)}"
    return KernelError(f"{words} is no instruction of {task.target}", guilty[0][1] if guilty else None)


def _attempt(task: Task) -> Done | str:
    """What came of a task in another process, or what that wrote before it died."""
    from compiler.processes.messages import Refusal, remade
    from compiler.processes.supervisor import Child

    child = Child(workers.__name__, {"Done": Done, "Refusal": Refusal}, keep_errors=True)
    try:
        child.channel.send(task)
        answer: Done | Refusal = child.channel.receive().value
    except (EOFError, OSError):
        child.end()
        return child.errors or "it said nothing"
    finally:
        child.end()
    if isinstance(answer, Refusal):
        raise remade(answer)
    return replace(answer, worker=1)


def _guilty(task: Task) -> Location | None:
    """The place of the assembly that fails: the only one, or the one that fails while all others are empty."""
    placed = list(dict.fromkeys(place for text in task.texts for _, place in _sites(text) if place is not None))
    for place in placed[:-1]:
        alone = tuple(_emptied(text, place) for text in task.texts)
        try:
            if isinstance(_attempt(replace(task, texts=alone)), str):
                return place
        except CompilerError:
            continue
    return placed[-1] if placed else None


def _emptied(text: str, kept: Location) -> str:
    """A module whose assembly is empty except at one place."""
    spans: list[tuple[int, int]] = [match.span(1) for match, place in _sites(text) if place != kept]
    for start, end in reversed(spans):
        text = text[:start] + text[end:]
    return text


def _sites(text: str) -> Sequence[tuple[re.Match[str], Location | None]]:
    """Where a module has assembly, and where that was written."""
    found = list(_lines_with(" asm ", _SITE, text))
    named = _named(text) if found else {}
    return [(match, named.get(match[2] or "")) for match in found]


def _intrinsics(text: str) -> Sequence[tuple[str, Location | None]]:
    """The intrinsics that were called by name, and where."""
    found = list(_lines_with("!srcloc", _INTRINSIC, text))
    named = _named(text) if found else {}
    return [(match[1], named.get(match[2])) for match in found]


def _lines_with(word: str, pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The lines that match, of those that have a word: a module has thousands of lines, and few have it."""
    at = text.find(word)
    while at >= 0:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if (match := pattern.match(text, text.rfind("\n", 0, at) + 1, end)) is not None:
            yield match
        at = text.find(word, end)


def _named(text: str) -> dict[str, Location]:
    """Places by the number of the node that has them."""
    return {number: Location(_unquoted(file), int(line)) for number, _, line, file in _PLACE.findall(text)}


def _places(text: str) -> dict[str, Location]:
    """The places of a module's assembly by the number that LLVM names them with."""
    return {cookie: Location(_unquoted(file), int(line)) for _, cookie, line, file in _PLACE.findall(text)}


def _unquoted(text: str) -> str:
    """A string of LLVM's with its escapes undone."""
    plain = re.sub(rb"\\([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), text.encode())
    return plain.decode(errors="replace")


@contextmanager
def raw_errors_at_their_lines(library: Library, sources: Iterable[tuple[str, str]] = ()) -> Iterator[None]:
    """Around LLVM's work: an intrinsic that it does not have is an error of the line that names it."""
    try:
        yield
    except LoweringError as problem:
        name = problem.message.partition(NO_INTRINSIC)[2].split(" ")[0]
        place = _named_at(name, library, sources) if name else None
        if place is None:
            raise
        raise KernelError(f"{NO_INTRINSIC}{name}", place) from None


def _named_at(name: str, library: Library, sources: Iterable[tuple[str, str]]) -> Location | None:
    """Where an intrinsic is named, with its types or, where those are added by the kernel, without."""
    texts = [(file.file, file.text) for file in library.files] + list(sources)
    while "." in name.removeprefix("llvm."):
        for file, text in texts:
            for number, line in enumerate(text.splitlines(), 1):
                if name in line:
                    return Location(file, number, line.index(name) + 1)
        name = name.rpartition(".")[0]
    return None
