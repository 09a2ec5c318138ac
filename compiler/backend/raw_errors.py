"""What LLVM says of raw instructions, at the lines of kernel source that have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from compiler.backend.llvm import NO_INTRINSIC
from compiler.errors import KernelError, Location, LoweringError

if TYPE_CHECKING:
    from compiler.language.library import Library


@contextmanager
def raw_errors_at_their_lines(library: Library, sources: Iterable[tuple[str, str]] = ()) -> Iterator[None]:
    """Around LLVM's work: an intrinsic that it does not have is an error of the line that names it."""
    try:
        yield
    except LoweringError as problem:
        name = problem.message.partition(NO_INTRINSIC)[2].split(" ")[0]
        place = _place(name, library, sources) if name else None
        if place is None:
            raise
        raise KernelError(f"{NO_INTRINSIC}{name}", place) from None


def _place(name: str, library: Library, sources: Iterable[tuple[str, str]]) -> Location | None:
    """Where an intrinsic is named, with its types or, where those are added by the kernel, without."""
    texts = [(file.file, file.text) for file in library.files] + list(sources)
    while "." in name.removeprefix("llvm."):
        for file, text in texts:
            for number, line in enumerate(text.splitlines(), 1):
                if name in line:
                    return Location(file, number, line.index(name) + 1)
        name = name.rpartition(".")[0]
    return None
