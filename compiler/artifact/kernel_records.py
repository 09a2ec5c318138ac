"""What elaboration found out about a kernel, as plain data and back: the caches keep it."""

from __future__ import annotations

from typing import Any

from compiler.artifact.plain_types import plain_size, read_size
from compiler.language.kernel import BufferArgument, ElaboratedKernel, Launch


def record_document(record: ElaboratedKernel) -> dict[str, Any]:
    """What elaboration found out about a kernel, as plain data."""
    launch = record.launch
    return {
        "name": record.name,
        "arguments": [_argument_document(argument) for argument in record.arguments],
        "workspaces": [_argument_document(argument) for argument in record.workspaces],
        "symbols": record.symbols,
        "provenance": record.provenance,
        "launch": {"blocks": list(map(plain_size, launch.blocks)), "threads": launch.threads} if launch else None,
    }


def _argument_document(argument: BufferArgument) -> list[Any]:
    return [argument.name, argument.dtype, list(map(plain_size, argument.shape))]


def read_record(document: dict[str, Any]) -> ElaboratedKernel:
    """A kernel's record from plain data."""

    def arguments(listed: list[Any]) -> tuple[BufferArgument, ...]:
        return tuple(BufferArgument(name, dtype, tuple(map(read_size, shape))) for name, dtype, shape in listed)

    launch = document["launch"]
    return ElaboratedKernel(
        document["name"],
        arguments(document["arguments"]),
        arguments(document["workspaces"]),
        tuple(document["symbols"]),
        tuple(tuple(slots) for slots in document["provenance"]),
        Launch(tuple(map(read_size, launch["blocks"])), launch["threads"]) if launch else None,
    )
