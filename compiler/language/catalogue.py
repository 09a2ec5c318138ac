"""What a kernel library has to offer, as records for people and tools: one for each definition that an op can use."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from compiler.language.kernel import KernelEntry
from compiler.language.library import Library, load_library, read_folder, signature_of
from compiler.language.syntax.definitions import BESIDE, annotation_name
from compiler.language.syntax.functions import Generator


def catalogue(*folders: str | Path) -> list[KernelEntry]:
    """Every definition that is registered for an op: those of the folders first, then by op."""
    own = {file.file for folder in folders for file in read_folder(Path(folder))}
    return entries_of(load_library(*folders), own)


def entries_of(library: Library, own: Collection[str] = ()) -> list[KernelEntry]:
    """Every definition of a library that is registered for an op, or is an opaque type: those of `own` files first."""
    found = [replace(entry, own=entry.file in own) for op in library.operations() for entry in _entries(library, op)]
    return sorted(found, key=lambda entry: (not entry.own, entry.op, entry.line))


def _entries(library: Library, op: str) -> list[KernelEntry]:
    definitions = [made for made in map(library.find, library.registered(op)) if made is not None]
    kernels = [made for made in definitions if made.kind not in BESIDE]
    opaque = [made for made in definitions if made.kind == "opaque"]
    return [_entry(made, len(kind)) for kind in (kernels, opaque) for made in kind]


def _entry(made: Generator, overloads: int) -> KernelEntry:
    outputs = result_count(made)
    signature = signature_of(made, outputs)
    names = [name for name, annotation in made.arguments if annotation_name(annotation) != "Workspace"]
    names = names[outputs if made.kind == "kernel" else 1 if made.kind == "pointwise" else 0 :]
    return KernelEntry(
        op=made.registers, kind=made.kind, name=made.name, inputs=tuple(names), variadic=made.variadic is not None,
        outputs=outputs,
        parameters=tuple(f"{p.name}{'=' if p.default is not None else ''}" for p in made.parameters),
        fused_inputs=tuple(name for name, role in zip(names, signature.inputs) if role == "fused"),
        fused_output=signature.output == "fused", only=made.only, overloads=overloads, file=made.file, line=made.line,
        description=_first_line(made),
    )  # fmt: skip


def result_count(made: Generator) -> int:
    """How many results a definition has: a kernel as many as sinks at its beginning, at least one."""
    if made.kind != "kernel":
        return 1
    kinds = [annotation_name(annotation) for _, annotation in made.arguments]
    return max(next((k for k, kind in enumerate(kinds) if kind != "FusedOutput"), len(kinds)), 1)


def _first_line(made: Generator) -> str:
    import ast

    first = made.body[0] if made.body else None
    text = first.value.value if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) else ""
    return text.strip().split("\n")[0] if isinstance(text, str) else ""
