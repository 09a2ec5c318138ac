"""What a kernel library has to offer, as records for people and tools: one for each definition that an op can use."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from compiler.language.library import Library, load_library, read_folder, signature_of
from compiler.language.syntax.definitions import BESIDE, annotation_name
from compiler.language.syntax.functions import Generator


@dataclass(frozen=True)
class KernelEntry:
    """One definition that is registered for an op."""

    op: str
    kind: str
    name: str
    inputs: tuple[str, ...]
    """The names of its operands."""
    variadic: bool
    outputs: int
    parameters: tuple[str, ...]
    """The compile-time parameters; those with a default end in `=`."""
    fused_inputs: tuple[str, ...]
    """The operands that others may be fused into."""
    fused_output: bool
    only: tuple[tuple[str, str | int], ...]
    """The dtype, rank and target it is for alone."""
    overloads: int
    """How many definitions there are for the op."""
    file: str
    line: int
    description: str

    @property
    def fuses(self) -> str:
        """What may be fused into it and out of it, in words."""
        if self.kind in ("elementwise", "view", "pointwise"):
            return "into anything"
        parts = []
        if self.fused_inputs:
            parts.append("before " + ", ".join(self.fused_inputs))
        if self.fused_output:
            parts.append("after it")
        return " and ".join(parts) or "nothing"

    def document(self) -> dict[str, Any]:
        """The record as plain values."""
        return asdict(self) | {"only": dict(self.only), "fuses": self.fuses}


def catalogue(*folders: str | Path) -> list[KernelEntry]:
    """Every definition that is registered for an op: those of the folders first, then by op."""
    library = load_library(*folders)
    own = {file.file for folder in folders for file in read_folder(Path(folder))}
    found = [entry for op in library.operations() for entry in _entries(library, op)]
    return sorted(found, key=lambda entry: (entry.file not in own, entry.op, entry.line))


def _entries(library: Library, op: str) -> list[KernelEntry]:
    definitions = [made for made in map(library.find, library.registered(op)) if made is not None]
    definitions = [made for made in definitions if made.kind not in BESIDE]
    return [_entry(made, len(definitions)) for made in definitions]


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
