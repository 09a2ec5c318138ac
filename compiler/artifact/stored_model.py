"""A compiled model as plain data: what the model cache keeps, so that a known graph starts without being compiled.

Kept are the records that a host program is built of, and the objects. The graph's own ops are not: whoever follows a
restored fusion to its origin has the graph passes and fusion run again; executing a model does not ask for that.
Nor are large constants: whoever looks a graph up has them, and the entry says which of the graph's they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from compiler.artifact.kernel_records import read_record, record_document
from compiler.artifact.plain_types import plain_size, plain_type, read_size, read_type
from compiler.cache import key_of, pack, producer, target_identity, unpack
from compiler.constants.file_arrays import identity, is_large
from compiler.graph.constraints import Constraint
from compiler.graph.digest import graph_digest
from compiler.graph.dtypes import numpy_dtype
from compiler.graph.opaque import Field, Layout
from compiler.graph.types import OpaqueType
from compiler.passes.fusion.records import Buffer, FusedKernel, FusionDecision, FusionResult, KernelCall, Origin
from compiler.program.host_program import HostProgram, Interface, host_program
from compiler.program.opaque_arguments import Opaques

if TYPE_CHECKING:
    from compiler.graph.graph import Graph
    from compiler.language.library import Library
    from compiler.options import CompileOptions
    from compiler.targets.target import Target

_MOST_CONSTANT_BYTES = 16 << 20  # models with more in constants are compiled, from cached kernels


def model_key(graph: Graph, options: CompileOptions, target: Target, library: Library) -> str:
    """Everything that can change what a compilation gives; the number of jobs cannot."""
    return key_of(
        "model", graph_digest(graph), target_identity(target), options.flow, options.opt_level, options.debug,
        options.fuse, options.recognise, sorted(options.force_cut), sorted(options.force_fuse), options.sources,
        library.fingerprint,
        [file.file for file in library.files] if options.debug != "none" else (), producer(),
    )  # fmt: skip


# Writing


def store_model(host: HostProgram, objects: Sequence[bytes], graph: Graph) -> bytes | None:
    """The payload of a model, or None for one that is not worth keeping whole."""
    fusion, interface = host.fusion, host.interface
    places = {identity(array): number for number, array in enumerate(large_constants(graph))}
    held = [buffer.array for buffer in fusion.constants if buffer.array is not None]
    taken = [places.get(identity(array)) if is_large(array) else None for array in held]
    arrays = [array for array, place in zip(held, taken, strict=True) if place is None]
    if sum(array.nbytes for array in arrays) > _MOST_CONSTANT_BYTES:
        return None
    types, buffers = _Table(), _Table()
    kernels = {kernel.name: number for number, kernel in enumerate(fusion.kernels)}
    document = {
        "name": fusion.name,
        "symbols": interface.symbols,
        "arguments": [[name, types.number(kind)] for name, kind in zip(interface.names, interface.types, strict=True)],
        "opaques": None if interface.opaques is None else [
            [None if layout is None else _layout_document(layout) for layout in layouts]
            for layouts in (interface.opaques.inputs, interface.opaques.outputs)
        ],
        "constraints": [[plain_size(c.value), c.message, plain_size(c.unless_empty)] for c in interface.constraints],
        "calls": [
            [kernels[call.kernel.name], list(map(buffers.number, call.operands)),
             list(map(buffers.number, call.results)), call.nodes, call.symbols, call.roles]
            for call in fusion.calls
        ],
        "inputs": [None if buffer is None else buffers.number(buffer) for buffer in fusion.inputs],
        "outputs": list(map(buffers.number, fusion.outputs)),
        "constants": list(map(buffers.number, fusion.constants)),
        "large": taken,
        "kernels": [_kernel_document(kernel, types) for kernel in fusion.kernels],
        "buffers": [[b.name, types.number(b.type), b.kind, b.index, b.nodes] for b in buffers.items],
        "types": list(map(plain_type, types.items)),
        "records": [record_document(record) for record in host.records.values()],
        "objects": len(objects),
    }  # fmt: skip
    ledger = [[d.producer, d.consumer, d.accepted, d.rule, d.reason, plain_size(d.bytes_saved)] for d in fusion.ledger]
    return pack(document, [json.dumps(ledger).encode(), *objects, *(array.tobytes() for array in arrays)])


def large_constants(graph: Graph) -> list[np.ndarray]:
    """The graph's large constants in order."""
    arrays = [op.attrs["value"] for op in graph.ops if op.name == "mo.constant"]
    return [array for array in arrays if is_large(array)]


class _Table:
    """Things numbered in order of first use."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def number(self, item: Any) -> int:
        if item not in self._numbers:
            self._numbers[item] = len(self.items)
            self.items.append(item)
        return self._numbers[item]


def _layout_document(layout: Layout) -> list[Any]:
    fields = [[f.name, f.dtype, list(map(plain_size, f.shape)), plain_size(f.offset)] for f in layout.fields]
    return [plain_type(layout.type), fields, plain_size(layout.bytes)]


def _read_layout(kind: Any, fields: list[Any], size: int | str) -> Layout:
    made = tuple(Field(n, dtype, tuple(map(read_size, shape)), read_size(at)) for n, dtype, shape, at in fields)
    return Layout(cast(OpaqueType, read_type(*kind)), made, read_size(size))


def _kernel_document(kernel: FusedKernel, types: _Table) -> list[Any]:
    return [
        kernel.name, kernel.source, kernel.line_slots, kernel.slots, list(map(types.number, kernel.inputs)),
        list(map(types.number, kernel.outputs)), kernel.symbols, kernel.inplace,
    ]  # fmt: skip


# Reading


def restore_model(
    payload: bytes, graph: Graph, fused_again: Callable[[], FusionResult]
) -> tuple[HostProgram, list[bytes]]:
    """The host program and the objects; `fused_again` fuses the graph anew."""
    document, blobs = unpack(payload)
    count = 1 + document["objects"]
    ledger, objects = json.loads(blobs[0]), blobs[1:count]
    types = [read_type(*kind) for kind in document["types"]]
    large, inline = large_constants(graph), iter(blobs[count:])
    held = {
        number: next(inline) if place is None else large[place]
        for number, place in zip(document["constants"], document["large"], strict=True)
    }
    buffers = [
        _read_buffer(name, types[kind], role, index, nodes, held.get(number))
        for number, (name, kind, role, index, nodes) in enumerate(document["buffers"])
    ]
    kernels = tuple(_read_kernel(types, *entry) for entry in document["kernels"])
    origin = Origin(lambda: fused_again().origin.fused)

    def listed(numbers: Sequence[int]) -> tuple[Buffer, ...]:
        return tuple([buffers[number] for number in numbers])

    fusion = FusionResult(
        name=document["name"],
        kernels=kernels,
        calls=tuple(
            KernelCall(
                kernels[kernel], listed(operands), listed(results), tuple(map(tuple, nodes)), tuple(symbols),
                tuple(roles), number, origin,
            )
            for number, (kernel, operands, results, nodes, symbols, roles) in enumerate(document["calls"])
        ),
        inputs=tuple(None if number is None else buffers[number] for number in document["inputs"]),
        outputs=listed(document["outputs"]),
        constants=listed(document["constants"]),
        ledger=tuple(FusionDecision(a, b, fused, rule, why, read_size(n)) for a, b, fused, rule, why, n in ledger),
        origin=origin,
    )  # fmt: skip
    interface = Interface(
        names=tuple(name for name, _ in document["arguments"]),
        types=tuple(types[kind] for _, kind in document["arguments"]),
        symbols=tuple(document["symbols"]),
        constraints=tuple(Constraint(read_size(n), words, read_size(m)) for n, words, m in document["constraints"]),
        opaques=document.get("opaques")
        and Opaques(*[tuple(one and _read_layout(*one) for one in layouts) for layouts in document["opaques"]]),
    )
    records = {entry["name"]: read_record(entry) for entry in document["records"]}
    return host_program(fusion, records, interface), objects


def _read_buffer(
    name: str, kind: Any, role: str, index: int, nodes: list[str], data: bytes | np.ndarray | None
) -> Buffer:
    if isinstance(data, bytes):
        data = np.frombuffer(data, numpy_dtype(kind.dtype)).reshape(kind.shape)
    return Buffer(name, kind, role, index, tuple(nodes), data)


def _read_kernel(
    types: list[Any], name: str, source: str, line_slots: list[list[int]], slots: list[str], inputs: list[int],
    outputs: list[int], symbols: list[str], inplace: list[tuple[int, int]],
) -> FusedKernel:  # fmt: skip
    return FusedKernel(
        name, source, tuple(map(tuple, line_slots)), tuple(slots), tuple(types[t] for t in inputs),
        tuple(types[t] for t in outputs), tuple(symbols), tuple((out, given) for out, given in inplace),
    )  # fmt: skip
