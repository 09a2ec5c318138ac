"""A compiled model as plain data: what the model cache keeps, so that a known graph starts without being compiled.

Graph ops are not stored. Whoever asks a restored call for its ops, or a restored model for its graph stages, has the
graph passes and fusion run again; executing a model asks for neither.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.artifact.kernel_records import read_record, read_size, record_document
from compiler.cache import key_of, pack, producer, target_identity, unpack
from compiler.graph.attrs import frozen_array
from compiler.graph.digest import graph_digest
from compiler.graph.dtypes import numpy_dtype
from compiler.graph.types import BufferType, TensorType
from compiler.passes.fusion.records import Buffer, FusedKernel, FusionDecision, FusionResult, KernelCall

if TYPE_CHECKING:
    from compiler.graph.graph import Graph
    from compiler.language.kernel import ElaboratedKernel
    from compiler.language.library import Library
    from compiler.options import CompileOptions
    from compiler.targets.target import Target

_MOST_CONSTANT_BYTES = 16 << 20  # models with more in constants are compiled, from cached kernels


def model_key(graph: Graph, options: CompileOptions, target: Target, library: Library) -> str:
    """Everything that can change what a compilation gives; the number of jobs cannot."""
    return key_of(
        "model", graph_digest(graph), target_identity(target), options.flow, options.opt_level, options.debug,
        options.fuse, sorted(options.force_cut), sorted(options.force_fuse), options.sources, library.fingerprint,
        [file.file for file in library.files] if options.debug != "none" else (), producer(),
    )  # fmt: skip


# Writing


def store_model(
    fusion: FusionResult, records: Mapping[str, ElaboratedKernel], objects: Sequence[bytes]
) -> bytes | None:
    """The payload of a model, or None for one that is not worth keeping whole."""
    constants = [_array(buffer) for buffer in fusion.constants]
    if sum(array.nbytes for array in constants) > _MOST_CONSTANT_BYTES:
        return None
    types, buffers = _Table(_type_document), _Table(lambda buffer: buffer)
    kernels = {kernel.name: number for number, kernel in enumerate(fusion.kernels)}
    calls = [
        [kernels[call.kernel.name], [buffers.number(b) for b in call.operands],
         [buffers.number(b) for b in call.results], call.nodes, call.symbols, call.roles]
        for call in fusion.calls
    ]  # fmt: skip
    document = {
        "name": fusion.name,
        "calls": calls,
        "inputs": [None if buffer is None else buffers.number(buffer) for buffer in fusion.inputs],
        "outputs": [buffers.number(buffer) for buffer in fusion.outputs],
        "constants": [buffers.number(buffer) for buffer in fusion.constants],
        "kernels": [_kernel_document(kernel, types) for kernel in fusion.kernels],
        "buffers": [[b.name, types.number(b.type), b.kind, b.index, b.nodes] for b in buffers.items],
        "types": types.documents,
        "arrays": [
            [str(b.type.dtype), list(array.shape)] for b, array in zip(fusion.constants, constants, strict=True)
        ],
        "records": [record_document(record) for record in records.values()],
        "objects": len(objects),
    }
    ledger = [[d.producer, d.consumer, d.accepted, d.rule, d.reason, _plain(d.bytes_saved)] for d in fusion.ledger]
    return pack(document, [json.dumps(ledger).encode(), *objects, *(array.tobytes() for array in constants)])


class _Table:
    """Things numbered in order of first use."""

    def __init__(self, document: Callable[[Any], Any]) -> None:
        self.items: list[Any] = []
        self._document = document
        self._numbers: dict[Any, int] = {}

    def number(self, item: Any) -> int:
        if item not in self._numbers:
            self._numbers[item] = len(self.items)
            self.items.append(item)
        return self._numbers[item]

    @property
    def documents(self) -> list[Any]:
        return [self._document(item) for item in self.items]


def _plain(size: Any) -> int | str:
    return size if isinstance(size, int) else str(size)


def _type_document(kind: Any) -> list[Any]:
    return ["buffer" if isinstance(kind, BufferType) else "tensor", kind.dtype, [_plain(size) for size in kind.shape]]


def _kernel_document(kernel: FusedKernel, types: _Table) -> list[Any]:
    return [
        kernel.name, kernel.source, kernel.line_slots, kernel.slots, [types.number(t) for t in kernel.inputs],
        [types.number(t) for t in kernel.outputs], kernel.symbols, kernel.inplace,
    ]  # fmt: skip


def _array(buffer: Buffer) -> np.ndarray:
    return np.ascontiguousarray(buffer.array)


# Reading


class RestoredConstant(Buffer):
    """A constant read from the cache: its elements are at hand, its graph op is made when somebody asks."""

    @property
    def array(self) -> np.ndarray:
        """The elements."""
        return self.__dict__["elements"]

    @cached_property
    def constant(self) -> Any:  # type: ignore[override]
        """The mo.constant op."""
        from compiler.dialects.mo import make

        return make("mo.constant", [], [self.type], {"value": self.array}, self.nodes)


class RestoredCall(KernelCall):
    """A call read from the cache; its graph ops are found again when somebody asks."""

    @property
    def ops(self) -> Any:  # type: ignore[override]
        """The graph op of each slot."""
        return self.__dict__["origin"]().calls[self.__dict__["position"]].ops

    @property
    def values(self) -> Any:  # type: ignore[override]
        """The graph value of each result."""
        return self.__dict__["origin"]().calls[self.__dict__["position"]].values


class RestoredFusion(FusionResult):
    """A fused graph read from the cache."""

    @cached_property
    def ledger(self) -> Any:  # type: ignore[override]
        """Every fusion decision, read when first asked for."""
        listed = json.loads(self.__dict__["decisions"])
        return tuple(FusionDecision(a, b, accepted, rule, why, read_size(n)) for a, b, accepted, rule, why, n in listed)

    @property
    def _graph(self) -> Any:  # type: ignore[override]
        return self.__dict__["origin"]()._graph

    @cached_property
    def module(self) -> Any:  # type: ignore[override]
        """The same as IR, in the `mogg` dialect."""
        return self.__dict__["origin"]().module


def restore_model(
    payload: bytes, origin: Callable[[], FusionResult]
) -> tuple[FusionResult, StoredRecords, list[bytes]]:
    """The fused graph, the kernels' records and the objects; `origin` fuses the graph again."""
    document, blobs = unpack(payload)
    ledger, objects, arrays = blobs[0], blobs[1 : 1 + document["objects"]], blobs[1 + document["objects"] :]
    types = [_read_type(kind) for kind in document["types"]]
    held = dict(zip(document["constants"], zip(document["arrays"], arrays, strict=True), strict=True))
    buffers = [_read_buffer(entry, types, held.get(number)) for number, entry in enumerate(document["buffers"])]
    kernels = tuple(_read_kernel(entry, types) for entry in document["kernels"])
    calls = tuple(
        _read_call(position, entry, kernels, buffers, origin) for position, entry in enumerate(document["calls"])
    )
    fusion = RestoredFusion.__new__(RestoredFusion)
    fusion.__dict__.update(
        name=document["name"], kernels=kernels, calls=calls, origin=origin, decisions=ledger,
        inputs=tuple(None if number is None else buffers[number] for number in document["inputs"]),
        outputs=tuple(buffers[number] for number in document["outputs"]),
        constants=tuple(buffers[number] for number in document["constants"]),
    )  # fmt: skip
    return fusion, StoredRecords({entry["name"]: entry for entry in document["records"]}), objects


class StoredRecords(Mapping[str, Any]):
    """Kernels' records by name; each becomes an ElaboratedKernel when one asks, as that loads the kernel language."""

    def __init__(self, documents: dict[str, dict[str, Any]]) -> None:
        self._documents = documents
        self._read: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._read:
            self._read[name] = read_record(self._documents[name])
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._documents)

    def __len__(self) -> int:
        return len(self._documents)

    @property
    def needs(self) -> dict[str, Needs]:
        """What running a model must know of each kernel."""
        return {
            name: Needs(
                tuple(Scratch(name, dtype, tuple(map(read_size, shape))) for name, dtype, shape in entry["workspaces"]),
                tuple(entry["symbols"]),
            )
            for name, entry in self._documents.items()
        }


@dataclass(frozen=True)
class Scratch:
    """Memory that a kernel asks for."""

    name: str
    dtype: str
    shape: tuple[Any, ...]


@dataclass(frozen=True)
class Needs:
    """The part of a kernel's record that running it takes."""

    workspaces: tuple[Scratch, ...]
    symbols: tuple[str, ...]


def _read_type(document: list[Any]) -> Any:
    kind, dtype, shape = document
    return (BufferType if kind == "buffer" else TensorType).of(dtype, tuple(map(read_size, shape)))


def _read_buffer(entry: list[Any], types: list[Any], constant: Any) -> Buffer:
    name, kind, role, index, nodes = entry
    if constant is None:
        return Buffer(name, types[kind], role, index, tuple(nodes))
    (dtype, shape), data = constant
    array = frozen_array(np.frombuffer(data, numpy_dtype(dtype)).reshape(shape))
    buffer = RestoredConstant.__new__(RestoredConstant)
    buffer.__dict__.update(name=name, type=types[kind], kind=role, index=index, nodes=tuple(nodes), elements=array)
    return buffer


def _read_kernel(entry: list[Any], types: list[Any]) -> FusedKernel:
    name, source, line_slots, slots, inputs, outputs, symbols, inplace = entry
    return FusedKernel(
        name, source, tuple(map(tuple, line_slots)), tuple(slots), tuple(types[t] for t in inputs),
        tuple(types[t] for t in outputs), tuple(symbols), tuple(map(tuple, inplace)),
    )  # fmt: skip


def _read_call(
    position: int,
    entry: list[Any],
    kernels: Sequence[FusedKernel],
    buffers: list[Buffer],
    origin: Callable[[], FusionResult],
) -> KernelCall:
    kernel, operands, results, nodes, symbols, roles = entry
    call = RestoredCall.__new__(RestoredCall)
    call.__dict__.update(
        kernel=kernels[kernel], operands=tuple(buffers[b] for b in operands),
        results=tuple(buffers[b] for b in results), nodes=tuple(map(tuple, nodes)), symbols=tuple(symbols),
        roles=tuple(roles), origin=origin, position=position,
    )  # fmt: skip
    return call
