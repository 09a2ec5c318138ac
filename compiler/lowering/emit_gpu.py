"""gpu: thread and block numbers and the barrier, as the target has them."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import gpu
from xdsl.ir import Operation

from compiler.lowering.emitter import Emitter
from compiler.targets.emission import Code, Grid


def _write(e: Emitter, code: Code, name: str = "") -> None:
    for symbol, result, parameters in code.calls:
        e.declare(symbol, result, parameters)
    text = code.text.replace("%it", name)
    e.lines += (text.replace("!empty", f"!{e.metadata.empty()}") if "!empty" in text else text).split("\n")


def _grid(e: Emitter, op: Operation, instead: str = "it is for GPU targets") -> Grid:
    grid = e.target.emission.grid
    if grid is None:
        raise e.fail(op, f"{op.name} has no meaning on {e.target.name}: {instead}")
    return grid


def _place(stem: str, by_axis: Callable[[Grid], Sequence[Code]]):
    def emit(e: Emitter, op: Operation) -> None:
        axis = "xyz".index(op.properties["dimension"].data.value)  # pyright: ignore[reportAttributeAccessIssue]
        _write(e, by_axis(_grid(e, op))[axis], e.define(op.results[0], stem))

    return emit


def _barrier(e: Emitter, op: Operation) -> None:
    e.has_barrier = True
    _write(e, _grid(e, op, "call kg_barrier").barrier)


EMITTERS = {
    gpu.ThreadIdOp: _place("thread", lambda grid: grid.thread_id),
    gpu.BlockIdOp: _place("block", lambda grid: grid.block_id),
    gpu.BlockDimOp: _place("blockdim", lambda grid: grid.block_dim),
    gpu.GridDimOp: _place("griddim", lambda grid: grid.grid_dim),
    gpu.BarrierOp: _barrier,
}
