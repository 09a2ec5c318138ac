"""Work and traffic of graph ops and kernel calls: the one place that counts them, for runs, reports and the window.

FLOPs come from the graph and follow the usual convention: an elementwise op counts 1 an element of its result whatever
it costs (an exponential as an addition), a multiply-add 2, a reduction 1 an element that it reads, the norms and
softmaxes as many an element as `_WORK` says, views, copies and casts 0. A custom kernel alone knows its work: None.
Compulsory bytes are each operand read once and each result written once; of an operand that is only sliced or gathered
from, only the part that is read. Issued traffic, in loads and stores, is counted in the kernel IR (`traffic`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from compiler.errors import CompilerError
from compiler.graph.dims import evaluate
from compiler.graph.dtypes import dtype_info

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from compiler.model import Kernel
    from compiler.passes.fusion.records import KernelCall

_FREE = frozenset({
    "mo.reshape", "mo.transpose", "mo.broadcast_to", "mo.slice", "mo.concat", "mo.pad", "mo.gather", "mo.tile",
    "mo.iota",
    "mo.constant", "mo.cast", "mo.chain", "mo.buffer_load", "mo.buffer_store", "mo.custom",
})  # fmt: skip
_PICKS = frozenset({"mo.slice", "mo.gather"})


class _Shapes:
    """Shapes of an op with the sizes filled in."""

    def __init__(self, op: Operation, sizes: Mapping[str, int]) -> None:
        from compiler.dialects.mo import attrs_of

        self.operands = [_shape(kind, sizes) for kind in op.operand_types]
        self.results = [_shape(kind, sizes) for kind in op.result_types]
        self.attrs = attrs_of(op)

    @property
    def elements(self) -> int:
        return math.prod(self.results[0]) if self.results else 0

    @property
    def inputs(self) -> int:
        return math.prod(self.operands[0]) if self.operands else 0


def _shape(kind: Any, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(evaluate(size, sizes) for size in getattr(kind, "shape", ()))


def _matmul(s: _Shapes) -> int:
    return 2 * s.elements * s.operands[0][-1]


def _conv2d(s: _Shapes) -> int:
    return 2 * s.elements * math.prod(s.operands[1][1:])


def _pool(s: _Shapes) -> int:
    return s.elements * math.prod(s.attrs["kernel"])


def _attention(s: _Shapes) -> int:
    *lead, queries, depth = s.operands[0]
    keys, values = s.operands[1][-2], s.operands[2][-1]
    pairs = queries * keys
    if s.attrs.get("is_causal"):  # query i sees keys 0 to i
        first = min(queries, keys)
        pairs = first * (first + 1) // 2 + (queries - first) * keys
    return math.prod(lead) * pairs * (2 * depth + 2 * values + 5)


# What an op counts besides one for each element of its result.
_WORK: dict[str, Callable[[_Shapes], int]] = {
    "mo.matmul": _matmul,
    "mo.conv2d": _conv2d,
    "mo.max_pool2d": _pool,
    "mo.avg_pool2d": _pool,
    "mo.scaled_dot_product_attention": _attention,
    "mo.softmax": lambda s: 5 * s.elements,
    "mo.log_softmax": lambda s: 6 * s.elements,
    "mo.layer_norm": lambda s: 8 * s.elements,
    "mo.rms_norm": lambda s: 4 * s.elements,
    "mo.rope": lambda s: 3 * s.elements,
    "mo.cumsum": lambda s: s.elements,
}
for _name in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "argmax", "argmin"):
    _WORK[f"mo.{_name}"] = lambda s: s.inputs


def op_flops(op: Operation, sizes: Mapping[str, int]) -> int | None:
    """The FLOPs of one graph op; None for a custom kernel, which alone knows."""
    if op.name == "mo.custom":
        return None
    if op.name in _FREE:
        return 0
    shapes = _Shapes(op, sizes)
    return _WORK[op.name](shapes) if op.name in _WORK else shapes.elements


def op_bytes(op: Operation, sizes: Mapping[str, int]) -> int:
    """What one graph op would move by itself: its operands and its results, each once."""
    return sum(tensor_bytes(kind, sizes) for kind in (*op.operand_types, *op.result_types))


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
    users: dict[Any, list[Operation]] = {}
    for op in call.ops:
        for position, value in enumerate(op.operands):
            if value not in inside:
                users.setdefault(value, []).append(op if position == 0 else call.ops[0])
    found: dict[str, int] = {}
    for value, ops in users.items():
        name = getattr(value, "name_hint", None)
        if name and all(op.name in _PICKS and op.operands[0] is value for op in ops):
            width = dtype_info(value.type.dtype).bytes
            found[name] = sum(_Shapes(op, sizes).elements * width for op in ops)
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
