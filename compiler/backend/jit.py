"""Objects -> code in this process, through LLVM's ORC JIT.

JITLink puts each object in one piece of memory and reaches everything else through its own stubs, so objects may call
each other, the runtime and libc wherever those lie.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from compiler.backend.elf import symbols
from compiler.errors import CompilerError
from compiler.targets import get_target

if TYPE_CHECKING:
    from llvmlite.binding import LLJIT, ResourceTracker

_numbers = itertools.count()


class LoadedCode:
    """Loaded objects. Addresses are valid until `close()`, or until the last reference goes."""

    def __init__(self, tracker: ResourceTracker, symbols: Iterable[str], keep: tuple[object, ...]):
        self._tracker: ResourceTracker | None = tracker
        self._addresses = {name: tracker[name] for name in symbols}
        self._keep = keep

    def address(self, name: str) -> int:
        """The address of an exported symbol."""
        if self._tracker is None:
            raise CompilerError(f"{name}: the code has been unloaded")
        try:
            return self._addresses[name]
        except KeyError:
            raise CompilerError(f"{name!r} is not among the loaded symbols {sorted(self._addresses)}") from None

    def close(self) -> None:
        """Unload; addresses become invalid."""
        tracker, self._tracker = self._tracker, None
        if tracker is not None:
            tracker.close()
        self._keep = ()


@lru_cache(maxsize=1)
def _jit() -> LLJIT:
    import llvmlite.binding as llvm

    # LLVM would print link errors on stderr; we raise them.
    return llvm.create_lljit_compiler(get_target("cpu").machine(2), use_jit_link=True, suppress_errors=True)


def load_objects(
    objects: Iterable[bytes],
    symbols: Iterable[str],
    *,
    imports: Mapping[str, int] | None = None,
    keep: Iterable[object] = (),
) -> LoadedCode:
    """Link `objects` with each other, with `imports` (name -> address) and with this process; export `symbols`.

    `keep` is held as long as the code is: give it the LoadedCode that the imports come from.
    """
    import llvmlite.binding as llvm

    images = list(objects)
    builder = llvm.JITLibraryBuilder()
    for image in images:
        builder.add_object_img(image)
    builder.add_current_process()
    for name, address in (imports or {}).items():
        builder.import_symbol(name, address)
    names = tuple(dict.fromkeys(symbols))
    for name in names:
        builder.export_symbol(name)
    jit = _jit()
    try:
        tracker = builder.link(jit, f"kg{next(_numbers)}")
    except RuntimeError as error:
        tables = [symbol_table(image) for image in images]
        given = {*(imports or {})}.union(*(defined for defined, _ in tables))
        needed = sorted(set[str]().union(*(undefined for _, undefined in tables)) - given)
        hint = f"; they need {' '.join(needed)} from outside" if needed else ""
        raise CompilerError(f"the compiled objects do not link: {str(error).strip()}{hint}") from error
    return LoadedCode(tracker, names, (jit, *keep))


def symbol_table(image: bytes) -> tuple[set[str], set[str]]:
    """(defined, undefined) names of an ELF object (nothing for other formats): what to say when linking fails."""
    found = list(symbols(image))
    return {symbol.name for symbol in found if symbol.defined}, {symbol.name for symbol in found if not symbol.defined}
