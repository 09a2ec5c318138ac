"""scf: structured control flow becomes basic blocks and phis. Loops come out rotated, as LLVM would have them."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue

from compiler.lowering.emitter import Emitter
from compiler.lowering.loop_lengths import is_short, most_turns


def _body(op: Operation, region: int) -> Block:
    block = op.regions[region]._first_block
    if block is None:
        raise AssertionError(f"{op.name} without a body")
    return block


def _trips(low: str, high: str, by: str) -> int | None:
    """How often a loop runs, where its bounds and step are literals."""
    if low[0] == "%" or high[0] == "%" or by[0] == "%":
        return None
    return len(range(int(low), int(high), int(by)))


def _for(e: Emitter, op: scf.ForOp) -> None:
    """Guard, then a body that tests at its end. Constant bounds drop the guard, and a single trip drops the loop."""
    lower, upper, step, *starts = op._operands
    names = e.names
    low, high, by = names[id(lower)], names[id(upper)], names[id(step)]
    initial = [names[id(value)] for value in starts]
    block = _body(op, 0)
    variable, *carried = block._args
    if by[0] == "-" or by == "0":
        raise e.fail(op, f"scf.for needs a positive step, not {by}")
    trips = _trips(low, high, by)
    constant = trips is not None
    if trips == 0:
        return _bind_all(e, op.results, initial)
    if trips == 1:
        names[id(variable)] = low
        _bind_all(e, carried, initial)
        e.block(block)
        return _bind_all(e, op.results, e.yielded)

    kind = e.type(variable._type)
    body, end = e.fresh("for.body"), e.fresh("for.end")
    before = e.label
    if constant:
        e.lines.append(f"  br label %{body}")
    else:
        enter = "%" + e.fresh("for.enter")
        e.lines.append(f"  {enter} = icmp slt {kind} {low}, {high}")
        e.lines.append(f"  br i1 {enter}, label %{body}, label %{end}")
    e.start_block(body)
    at = len(e.lines)
    index = e.define(variable, "i")
    phis = [e.define(value, "carried") for value in carried]
    e.lines += [""] * (1 + len(phis))  # phis: written once the back edge is known
    inner = e.loops
    e.block(block)
    turns = trips if constant else most_turns(lower, upper, step, names)
    e.has_short_loop |= is_short(turns, len(e.lines) - at, e.loops > inner)
    e.loops += 1
    latch, yielded = e.label, e.yielded
    # A kernel's indices never come near 2^63; a loop over a narrow integer may well end at its maximum.
    wrap = "nsw " if isinstance(variable._type, IndexType) else ""
    e.lines += (
        f"  {index}.next = add {wrap}{kind} {index}, {by}",
        f"  {index}.more = icmp slt {kind} {index}.next, {high}",
        f"  br i1 {index}.more, label %{body}, label %{end}",
    )
    e.lines[at] = f"  {index} = phi {kind} [ {low}, %{before} ], [ {index}.next, %{latch} ]"
    for offset, (phi, start, back, value) in enumerate(zip(phis, initial, yielded, carried), at + 1):
        e.lines[offset] = f"  {phi} = phi {e.type(value._type)} [ {start}, %{before} ], [ {back}, %{latch} ]"
    e.start_block(end)
    if constant:
        return _bind_all(e, op.results, yielded)
    for result, start, back in zip(op.results, initial, yielded):
        name = e.define(result, "result")
        e.lines.append(f"  {name} = phi {e.type(result._type)} [ {start}, %{before} ], [ {back}, %{latch} ]")


def _bind_all(e: Emitter, values: Sequence[SSAValue], names: Sequence[str]) -> None:
    for value, name in zip(values, names):
        e.names[id(value)] = name


def _if(e: Emitter, op: scf.IfOp) -> None:
    (condition,) = op._operands
    test = e.names[id(condition)]
    other = op.regions[1]._first_block
    if other is not None and other._first_op is None:
        other = None
    then, end = e.fresh("if.then"), e.fresh("if.end")
    before = e.label
    otherwise = e.fresh("if.else") if other is not None else end
    e.lines.append(f"  br i1 {test}, label %{then}, label %{otherwise}")
    e.start_block(then)
    e.block(_body(op, 0))
    chosen, from_then = e.yielded, e.label
    e.lines.append(f"  br label %{end}")
    rejected, from_else = (), before
    if other is not None:
        e.start_block(otherwise)
        e.block(other)
        rejected, from_else = e.yielded, e.label
        e.lines.append(f"  br label %{end}")
    e.start_block(end)
    for result, yes, no in zip(op.results, chosen, rejected):
        name = e.define(result, "result")
        e.lines.append(f"  {name} = phi {e.type(result._type)} [ {yes}, %{from_then} ], [ {no}, %{from_else} ]")


def _while(e: Emitter, op: scf.WhileOp) -> None:
    initial = [e.names[id(value)] for value in op._operands]
    before, after = _body(op, 0), _body(op, 1)
    test, body, end = e.fresh("while.test"), e.fresh("while.body"), e.fresh("while.end")
    entered = e.label
    e.lines.append(f"  br label %{test}")
    e.start_block(test)
    at = len(e.lines)
    phis = [e.define(value, "carried") for value in before._args]
    e.lines += [""] * len(phis)
    e.loops += 1
    e.block(before)
    condition, *passed = e.yielded
    e.lines.append(f"  br i1 {condition}, label %{body}, label %{end}")
    e.start_block(body)
    _bind_all(e, after._args, passed)
    e.block(after)
    back, latch = e.yielded, e.label
    e.lines.append(f"  br label %{test}")
    for offset, (phi, start, again, value) in enumerate(zip(phis, initial, back, before._args), at):
        e.lines[offset] = f"  {phi} = phi {e.type(value._type)} [ {start}, %{entered} ], [ {again}, %{latch} ]"
    e.start_block(end)
    _bind_all(e, op.results, passed)


def _hand_over(e: Emitter, op: Operation) -> None:
    names = e.names
    e.yielded = tuple([names[id(value)] for value in op._operands])


EMITTERS = {
    scf.ForOp: _for,
    scf.IfOp: _if,
    scf.WhileOp: _while,
    scf.YieldOp: _hand_over,
    scf.ConditionOp: _hand_over,
}
