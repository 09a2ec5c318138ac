"""Work and traffic of graph ops and kernel calls: the one place that counts them, for runs, reports and the window.

FLOPs come from the graph, as each op's `OpSpec.flops` says, and follow the usual convention: an elementwise op counts 1
an element of its result whatever it costs (an exponential as an addition), a multiply-add 2, a reduction 1 an element
that it reads, views, copies and casts 0. A custom kernel alone knows its work: None. Compulsory bytes are each operand
read once and each result written once; of an operand that is only sliced or gathered from, only the part that is read.
Issued traffic, in loads and stores, is counted in the kernel IR (`traffic`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from compiler.errors import CompilerError
from compiler.graph.dims import evaluate
from compiler.graph.dtypes import dtype_info
from compiler.graph.ops.specs import SPECS
from compiler.graph.opspec import Shapes

if TYPE_CHECKING:
    from compiler.model import Kernel
    from compiler.passes.fusion.records import KernelCall

AnyOp = Any  # an op of a graph, or of its IR: both have a name, operands, results and `all_attrs`


def _shape(kind: Any, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(evaluate(size, sizes) for size in getattr(kind, "shape", ()))


def _shapes(op: AnyOp, sizes: Mapping[str, int]) -> Shapes:
    """An op with the sizes filled in."""
    operands = [_shape(operand.type, sizes) for operand in op.operands]
    return Shapes(operands, [_shape(result.type, sizes) for result in op.results], op.all_attrs)


def op_flops(op: AnyOp, sizes: Mapping[str, int]) -> int | None:
    """The FLOPs of one graph op; None for a custom kernel, which alone knows."""
    return SPECS[op.name].flops(_shapes(op, sizes))


def op_bytes(op: AnyOp, sizes: Mapping[str, int]) -> int:
    """What one graph op would move by itself: its operands and its results, each once."""
    return sum(tensor_bytes(value.type, sizes) for value in (*op.operands, *op.results))


def call_flops(call: KernelCall, sizes: Mapping[str, int]) -> int | None:
    """FLOPs of all graph ops of a call; None if one of them is a custom kernel."""
    counts = [op_flops(op, sizes) for op in call.ops]
    return None if any(count is None for count in counts) else sum(count or 0 for count in counts)


def call_bytes(call: KernelCall, sizes: Mapping[str, int]) -> int:
    """Compulsory traffic of a call."""
    picked = _picked(call, sizes)
    operands = {id(buffer): buffer for buffer in call.operands}
    total = 0
    for buffer in operands.values():
        total += min(tensor_bytes(buffer.type, sizes), picked.get(buffer.name, 1 << 62))
    return total + sum(tensor_bytes(buffer.type, sizes) for buffer in call.results)


def tensor_bytes(kind: Any, sizes: Mapping[str, int]) -> int:
    """The bytes of a tensor or buffer of some type; what has no shape has none."""
    if not hasattr(kind, "shape"):
        return 0
    return math.prod(_shape(kind, sizes)) * dtype_info(kind.dtype).bytes


def _picked(call: KernelCall, sizes: Mapping[str, int]) -> dict[str, int]:
    """Bytes read of the buffers that the call only slices or gathers from, by the buffer's name."""
    inside = {result for op in call.ops for result in op.results}
    users: dict[Any, list[AnyOp]] = {}
    for op in call.ops:
        for position, value in enumerate(op.operands):
            if value not in inside:
                users.setdefault(value, []).append(op if position == 0 else call.ops[0])
    found: dict[str, int] = {}
    for value, ops in users.items():
        name = getattr(value, "name_hint", None)
        if name and all(SPECS[op.name].picks and op.operands[0] is value for op in ops):
            width = dtype_info(value.type.dtype).bytes
            found[name] = sum(_shapes(op, sizes).elements * width for op in ops)
    return found


Grid = tuple[tuple[int, int, int], int]
"""Blocks and threads a block of a launch on a GPU."""


def count_call(
    call: KernelCall, kernel: Kernel, sizes: Mapping[str, int], *, traffic: bool = True, grid: Grid | None = None
) -> dict[str, Any]:
    """FLOPs, compulsory bytes, issued loads and stores of a call, as the fields of a Launch; `grid` is a GPU's."""
    found: dict[str, Any] = {"flops": call_flops(call, sizes), "bytes": call_bytes(call, sizes)}
    loads = stores = None
    note = "not counted"
    if traffic:
        loads, stores, note = _traffic(call, kernel, sizes, grid)
    return found | {"loads": loads, "stores": stores, "counting": note}


def _traffic(
    call: KernelCall, kernel: Kernel, sizes: Mapping[str, int], grid: Grid | None
) -> tuple[int | None, int | None, str]:
    from profiler.analysis.traffic import count_traffic
    from profiler.analysis.traffic_grid import count_grid_traffic

    try:
        module = kernel.kernel_ir().module
    except CompilerError as error:
        return None, None, f"the kernel IR could not be made: {error}"
    functions: dict[str, Any] = {op.sym_name.data: op for op in module.ops if op.name == "func.func"}  # type: ignore[attr-defined]
    renamed = dict(zip(call.kernel.symbols, call.symbols, strict=True))
    numbers = [sizes[renamed[name]] for name in kernel.record.symbols]
    if grid is None:
        counted = count_traffic(functions[kernel.name], numbers, functions)
    else:
        counted = count_grid_traffic(functions[kernel.name], numbers, functions, *grid)
    return counted.loads, counted.stores, counted.note
