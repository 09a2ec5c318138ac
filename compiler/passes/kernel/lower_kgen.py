"""lower-kgen: binds kernels to their target. Threads become arguments (CPU) or GPU indices, calls become func.call."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from compiler.dialects import kgen
from compiler.dialects.operations import count_operations, make, operations_in, put_before, take_place
from compiler.errors import LoweringError
from compiler.passes.kernel.census import replace

_UNIT = UnitAttr()
_BARRIER = "kg_barrier"
TAKE = "kg_take"
"""The run time's function that hands out parts of a kernel's work: (rt, thread, threads, items, bytes, before)."""
_RUNTIME = MemRefType(IntegerType(8), [DYNAMIC_INDEX])


@dataclass(frozen=True)
class KernelFacts:
    """What is known of a kernel's buffers: which nobody writes, which no other argument can reach."""

    readonly: tuple[bool, ...] = ()
    noalias: tuple[bool, ...] = ()
    threads: int = 0
    per_processor: int = 0
    cluster: int = 1


def lower_kgen(module: ModuleOp, *, gpu_target: bool, facts: Mapping[str, KernelFacts]) -> tuple[ModuleOp, int]:
    """A kgen module as func/scf/arith/... for one target, and its number of operations; the kgen module is used up."""
    operations: list[Operation] = []
    block = module.body.block
    waits = takes = False
    count = 0
    for operation in list(block.ops):
        operation.detach()
        if isinstance(operation, kgen.FuncOp):
            function, found, inside = _function(operation, gpu_target, facts)
            operations.append(function)
            waits = waits or kgen.BarrierOp in found
            takes = takes or kgen.TakePartOp in found
            count += inside
        else:
            operations.append(operation)
            count += count_operations(operation)
    if waits and not gpu_target:  # a function of the run time: named, so that the text stands on its own
        operations.append(func.FuncOp.external(_BARRIER, [_RUNTIME, IndexType()], []))
    if takes:
        operations.append(func.FuncOp.external(TAKE, [_RUNTIME, *[IndexType()] * 5], [IndexType()] * 2))
    return ModuleOp(operations), count + len(operations)


def _function(
    old: kgen.FuncOp, gpu_target: bool, facts: Mapping[str, KernelFacts]
) -> tuple[func.FuncOp, set[type[Operation]], int]:
    """The function bound to the target, which kinds of operations were, and how many operations it has."""
    kernel = old.kernel is not None
    name = old.sym_name.data
    block = old.body.block
    threads: dict[str, SSAValue] = {}
    if kernel and not gpu_target:
        for position, (what, kind) in enumerate((("tid", IndexType()), ("nthreads", IndexType()), ("rt", _RUNTIME))):
            threads[what] = block.insert_arg(kind, position)
            threads[what].name_hint = what
    inside = operations_in(old)
    found, count = [operation for operation in inside if type(operation) in _LOWERED], len(inside)
    body = old.detach_region(0)
    for operation in found:
        if isinstance(operation, kgen.CallOp):
            take_place(operation, func.CallOp, {"callee": operation.callee})
        elif isinstance(operation, kgen.ReturnOp):
            take_place(operation, func.ReturnOp)
        elif isinstance(operation, kgen.ThreadOp):
            count -= not gpu_target  # an argument takes its place
            _thread(operation, threads, gpu_target)
        elif isinstance(operation, kgen.BarrierOp):
            _barrier(operation, threads, gpu_target)
        elif isinstance(operation, kgen.TakePartOp):
            _take_part(operation, threads)
    role = "kg.kernel" if kernel else "kg.outlined" if old.outlined is not None else "kg.inline"
    attributes: dict[str, Attribute] = {role: _UNIT}
    properties: dict[str, Attribute] = {"sym_name": old.sym_name, "function_type": FunctionType.from_lists(
        [argument.type for argument in block.args], list(old.function_type.outputs))}  # fmt: skip
    if kernel:
        known = facts.get(name, KernelFacts())
        properties["arg_attrs"] = _argument_facts(block, known)
        if known.threads:
            attributes["kg.threads"] = IntegerAttr(known.threads, i64)
        if known.per_processor:
            attributes["kg.per_processor"] = IntegerAttr(known.per_processor, i64)
        if known.cluster > 1:
            attributes["kg.cluster"] = IntegerAttr(known.cluster, i64)
    function = func.FuncOp.create(properties=properties, attributes=attributes, regions=[body], location=old.location)
    return function, {type(operation) for operation in found}, count


_FACTS = {
    (readonly, noalias): DictionaryAttr(
        {name: _UNIT for name, holds in (("kg.readonly", readonly), ("kg.noalias", noalias)) if holds}
    )
    for readonly in (False, True)
    for noalias in (False, True)
}


def _argument_facts(block: Block, known: KernelFacts) -> ArrayAttr[DictionaryAttr]:
    listed: list[DictionaryAttr] = []
    buffers = 0
    for argument in block.args:
        readonly = noalias = False
        if isinstance(argument.type, MemRefType) and argument.name_hint != "rt":
            readonly = buffers < len(known.readonly) and known.readonly[buffers]
            noalias = buffers < len(known.noalias) and known.noalias[buffers]
            buffers += 1
        listed.append(_FACTS[readonly, noalias])
    return ArrayAttr(listed)


def _replace(old: Operation, new: Operation) -> None:
    put_before(new, old)
    replace(old, list(new.results))


def _thread(operation: kgen.ThreadOp, threads: Mapping[str, SSAValue], gpu_target: bool) -> None:
    what = operation.what.data
    if gpu_target:
        kind, properties = _gpu_place(what, operation.axis.value.data)
        _replace(operation, kind.create(
            result_types=[IndexType()], properties=properties, location=operation.location))  # fmt: skip
        return
    value = threads.get({"thread_index": "tid", "thread_count": "nthreads"}.get(what, ""))
    if value is None:
        raise LoweringError(f"{what}() is for GPU kernels; on the CPU there are threads only")
    replace(operation, [value])


@cache
def _gpu_place(what: str, axis: int) -> tuple[type[Operation], dict[str, Attribute]]:
    """The gpu operation for a thread or block number; its dialect is loaded for GPUs alone."""
    from xdsl.dialects import gpu

    kinds = {"thread_index": gpu.ThreadIdOp, "thread_count": gpu.BlockDimOp, "block_index": gpu.BlockIdOp,
             "block_count": gpu.GridDimOp}  # fmt: skip
    dimensions = (gpu.DimensionEnum.X, gpu.DimensionEnum.Y, gpu.DimensionEnum.Z)
    return kinds[what], {"dimension": gpu.DimensionAttr(dimensions[axis])}


def _barrier(operation: kgen.BarrierOp, threads: Mapping[str, SSAValue], gpu_target: bool) -> None:
    if gpu_target:
        from xdsl.dialects import gpu

        _replace(operation, gpu.BarrierOp.create(location=operation.location))
        return
    if not threads:
        raise LoweringError("barrier() belongs in a kernel, not in a @function")
    from xdsl.dialects.builtin import SymbolRefAttr

    _replace(operation, func.CallOp.create(
        operands=[threads["rt"], threads["nthreads"]], properties={"callee": SymbolRefAttr(_BARRIER)},
        location=operation.location))  # fmt: skip


def _take_part(operation: kgen.TakePartOp, threads: Mapping[str, SSAValue]) -> None:
    from xdsl.dialects.builtin import SymbolRefAttr

    operands = (threads["rt"], threads["tid"], threads["nthreads"], *operation.operands)
    callee = {"callee": SymbolRefAttr(TAKE)}
    _replace(operation, make(func.CallOp, operands, (IndexType(), IndexType()), callee, operation.location))


_LOWERED = frozenset({kgen.CallOp, kgen.ReturnOp, kgen.ThreadOp, kgen.BarrierOp, kgen.TakePartOp})
