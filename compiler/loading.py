"""`load`: a model from a file that `model.save` wrote, ready to run, without compiling anything."""

from __future__ import annotations

import os

from compiler.artifact.model_file import ModelFile, read_model
from compiler.cache import default_cache
from compiler.collector_pauses import rare_collection
from compiler.compilation import Compilation, Compiled
from compiler.errors import ParseError
from compiler.language.library import Library, default_library
from compiler.model import Model
from compiler.model_cache import restored
from compiler.pipeline import linked
from compiler.targets import get_target
from compiler.trace import Trace


def load(path: str | os.PathLike[str], library: Library | None = None) -> Model:
    """The model in a `.kgx` file. Its kernels are machine code: load only what you would also run.

    `library` has the kernels that it was made with, for whoever looks at how it was fused. A damaged file, and one for
    another target than this machine's, is refused before any of it is loaded.
    """
    with rare_collection():
        held = read_model(path, get_target)
        kernels = library or default_library()
        run = Compilation(held.options, kernels, get_target(held.options.target), Trace(), default_cache())
        made = restored_file(held, run, os.fspath(path))
        return Model(held.graph, made, run, linked(made, run))


def restored_file(held: ModelFile, run: Compilation, name: str) -> Compiled:
    """The stored model of a file, read and not yet loaded; a ParseError where it does not read."""
    try:
        made = restored(held.graph, run, held.payload)
        if not {call.kernel.name for call in made.host.calls} <= made.host.records.keys():
            raise ValueError
        made.host.slots  # noqa: B018  every buffer that a call needs is one that there is
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):
        raise ParseError(f"{name} is damaged: its host program does not read") from None
    return made
