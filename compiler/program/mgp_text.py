"""A host program in the `mgp` dialect: allocations, calls in order, releases."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from compiler.dialects.mgp import AllocOp, ConstantOp, ReleaseOp, make_call, make_program
from compiler.dialects.mo import encode, nodes_loc, print_with_nodes, set_name
from compiler.passes.fusion.records import Buffer
from compiler.program.host_program import HostProgram
from compiler.program.memory_plan import plan


def mgp_text(program: HostProgram) -> tuple[str, list[tuple[str, ...]]]:
    """The text of the program and, for each of its lines, the graph nodes it stands for."""
    return print_with_nodes(build_module(program))


def build_module(program: HostProgram) -> ModuleOp:
    """The program as IR; offsets are given when no size is symbolic."""
    fusion = program.fusion
    given = [b for b in fusion.inputs if b is not None]
    block = Block(arg_types=[b.type for b in (*given, *fusion.outputs)])  # type: ignore[arg-type]
    held: dict[Buffer, SSAValue] = dict(zip((*given, *fusion.outputs), block.args))
    for buffer, argument in held.items():
        set_name(argument, buffer.name)
    for buffer in fusion.constants:
        _define(block, held, buffer, ConstantOp, {"node": buffer.name})
    fixed = all(isinstance(size, int) for call in fusion.calls for b in call.results for size in b.type.shape)
    offsets = {b.buffer: b.offset for b in plan(program, {}).blocks} if fixed else {}
    lives = {life.buffer: life for life in program.lifetimes}
    for number, call in enumerate(fusion.calls):
        arguments = (*call.operands, *call.results)
        for buffer in arguments:
            if buffer in lives and buffer not in held:
                life = lives[buffer]
                entries: dict[str, Any] = {"bytes": buffer.type.bytes, "first": life.first, "last": life.last}
                if fixed:
                    entries["offset"] = offsets[buffer]
                if life.reuses is not None:
                    entries["reuses"] = life.reuses.name
                _define(block, held, buffer, AllocOp, entries)
        made = make_call(call.kernel.name, [held[b] for b in arguments], len(call.operands))
        made.location = nodes_loc(call.all_nodes)
        block.add_op(made)
        for buffer in dict.fromkeys(arguments):
            if buffer in lives and lives[buffer].last == number:
                release = ReleaseOp.create(operands=[held[buffer]])
                release.location = nodes_loc(buffer.nodes)
                block.add_op(release)
    return ModuleOp([make_program(fusion.name, Region(block), len(fusion.outputs))])


def _define(
    block: Block, held: dict[Buffer, SSAValue], buffer: Buffer, kind: type[Operation], entries: dict[str, Any]
) -> None:
    made = kind.create(
        result_types=[buffer.type],  # type: ignore[list-item]
        properties={name: encode(value) for name, value in entries.items()},
        location=nodes_loc(buffer.nodes),
    )
    set_name(made.results[0], buffer.name)
    block.add_op(made)
    held[buffer] = made.results[0]
