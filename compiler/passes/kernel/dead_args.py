"""dead-args: arguments of helpers and outlined functions that the function does not use."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType

from compiler.passes.kernel.census import Census


def dead_args(census: Census) -> int:
    """Take unused arguments out of functions and of their calls; no operation goes with them."""
    for name, function in census.functions.items():
        if "kg.kernel" in function.attributes or not function.body.blocks or name not in census.calls:
            continue
        arguments = function.body.blocks[0].args
        unused = [position for position, argument in enumerate(arguments) if argument.first_use is None]
        if unused:
            census.edits += 1
            _drop(function, [call for call in census.calls[name] if not census.is_gone(call)], set(unused))
    return 0


def _drop(function: func.FuncOp, calls: list[func.CallOp], unused: set[int]) -> None:
    block = function.body.blocks[0]
    for position in sorted(unused, reverse=True):
        block.erase_arg(block.args[position])
    function.properties["function_type"] = FunctionType.from_lists(
        [argument.type for argument in block.args], list(function.function_type.outputs)
    )
    for call in calls:
        call.operands = [value for position, value in enumerate(call.operands) if position not in unused]
