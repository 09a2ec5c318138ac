"""What elaboration found out about a kernel, as plain data and back: the caches keep it."""

from __future__ import annotations

from typing import Any

from compiler.artifact.plain_types import plain_size, read_size
from compiler.language.kernel import BufferArgument, Choice, ElaboratedKernel, Launch, TensorMap


def record_document(record: ElaboratedKernel) -> dict[str, Any]:
    """What elaboration found out about a kernel, as plain data."""
    launch = record.launch
    return {
        "name": record.name,
        "arguments": [_argument_document(argument) for argument in record.arguments],
        "workspaces": [_argument_document(argument) for argument in record.workspaces],
        "symbols": record.symbols,
        "provenance": record.provenance,
        "launch": _launch_document(launch) if launch else None,
        "maps": [_map_document(asked) for asked in record.maps],
        **({"choices": [list(vars(choice).values()) for choice in record.choices]} if record.choices else {}),
    }


def _launch_document(launch: Launch) -> dict[str, Any]:
    return {**vars(launch), "blocks": list(map(plain_size, launch.blocks))}


def _map_document(asked: TensorMap) -> dict[str, Any]:
    sizes = {"shape": list(map(plain_size, asked.shape)), "strides": list(map(plain_size, asked.strides))}
    return {**vars(asked), **sizes, "offset": plain_size(asked.offset)}


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
        Launch(**{**launch, "blocks": tuple(map(read_size, launch["blocks"]))}) if launch else None,
        tuple(_read_map(asked) for asked in document["maps"]),
        tuple(_read_choice(*each) for each in document.get("choices", ())),
    )


def _read_choice(name: str, default: Any, taken: Any, candidates: list[Any]) -> Choice:
    def chosen(value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    return Choice(name, chosen(default), chosen(taken), tuple(map(chosen, candidates)))


def _read_map(document: dict[str, Any]) -> TensorMap:
    sizes = {name: tuple(map(read_size, document[name])) for name in ("shape", "strides")}
    return TensorMap(**{**document, **sizes, "offset": read_size(document["offset"]), "box": tuple(document["box"])})
