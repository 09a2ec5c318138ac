"""The kernel library as a list: what each definition is for, and which kernels of the open model are made of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.viewmodels.compilation import Compilation
from compiler.language.kernel import KernelEntry

_CALLED = re.compile(r"\b([A-Za-z_]\w*)\(")


@dataclass(frozen=True)
class KernelListRequest:
    """The kernels of the library that the compilation in a worker was made with."""


@dataclass(frozen=True)
class ListedKernel:
    """A row: the definition, and the kernels of the open model whose source calls it."""

    entry: KernelEntry
    used_by: tuple[str, ...]


def listed(entries: Sequence[KernelEntry], compilation: Compilation | None) -> list[ListedKernel]:
    """The rows for what is open: those of the user first, then what the model uses, then the rest by op."""
    kernels = compilation.kernels if compilation is not None else ()
    called = {kernel.name: frozenset(_CALLED.findall(kernel.source)) for kernel in kernels}
    rows = [
        ListedKernel(entry, tuple(kernel for kernel, names in called.items() if entry.name in names))
        for entry in entries
    ]
    return sorted(rows, key=lambda row: (not row.entry.own, not row.used_by, row.entry.op, row.entry.line))


def rows_of(rows: Sequence[ListedKernel], kernels: Sequence[str]) -> list[ListedKernel]:
    """The rows that some kernels of the model are made of: their whole kernels before what is fused into them."""
    wanted = set(kernels)
    found = [row for row in rows if wanted.intersection(row.used_by)]
    return sorted(found, key=lambda row: row.entry.kind != "kernel")
