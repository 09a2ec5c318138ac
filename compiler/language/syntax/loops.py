"""`for` and `while`: repeated at elaboration over compile-time values, `scf` loops that carry variables otherwise."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial
from math import gcd
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Block, Region

from compiler.errors import KernelError
from compiler.language.syntax import liveness
from compiler.language.syntax.assignment import assign
from compiler.language.syntax.functions import Closure, Frame, Returned, Undefined
from compiler.language.syntax.merging import Unmergeable, fitted, parts_of, rebuilt, same
from compiler.language.syntax.run import NextTurns, Rest, Run
from compiler.language.values import arithmetic as math
from compiler.language.values import memory, static
from compiler.language.values.dtypes import BOOL, INDEX, element_type
from compiler.language.values.loadables import FusedOutput, Tensor
from compiler.language.values.records import RuntimeRange, Simd, describe

_NO_RETURN = "return inside a run-time loop"


class Break(KernelError):
    """`break`, on its way to the unrolled loop around it."""

    def __init__(self, location: Any) -> None:
        super().__init__("break and continue work in unroll(...) loops on compile-time conditions only", location)


class Continue(Break):
    """`continue`, on its way to the unrolled loop around it."""


def loop(run: Run, node: ast.For, after: Rest, frame: Frame) -> Returned | None:
    """`for`: repeated at elaboration over compile-time values, one run-time loop over `range`. `after` follows it."""
    if node.orelse:
        raise run.fail("the kernel language has no for/else", node)
    iterable = run.evaluate(node.iter, frame)
    run.node = node
    if not isinstance(iterable, RuntimeRange):
        items = static.items(iterable)
        if items is None:
            raise run.fail(f"cannot loop over {describe(iterable)}", node)
        return _unrolled(run, node, items, after, frame)
    start, stop, step = iterable.start, iterable.stop, iterable.step
    known = isinstance(start, int) and isinstance(stop, int) and isinstance(step, int)
    if known and (start + step >= stop if step > 0 else start + step <= stop):
        return _unrolled(run, node, range(start, stop, step), after, frame)  # no loop at all: the body once, or never
    if not isinstance(step, Simd) and not (isinstance(step, int) and step > 0):
        raise run.fail(f"the step of a run-time range must be positive, not {describe(step)}", node)
    _runtime_loop(run, node, (start, stop, step), frame)
    return None


def _unrolled(
    run: Run, node: ast.For, items: Sequence[Any], after: Rest, frame: Frame, first: int = 0
) -> Returned | None:
    """The turns from the first on, one after the other."""
    depth = len(run.b.scopes)
    for number in range(first, len(items)):
        assign(run, node.target, items[number], frame)
        others = NextTurns(partial(_unrolled, run, node, items, after, frame, number + 1), after)
        try:
            outcome = run.block(node.body, frame, others)
        except Break as leaving:
            if len(run.b.scopes) != depth:
                raise  # it came out of a run-time branch: not allowed
            if isinstance(leaving, Continue):
                continue
            break
        if outcome is not None:
            return outcome
    return None


class _Carried:
    """The variables a run-time loop changes: their values before it, and their places in its argument list."""

    def __init__(self, run: Run, frame: Frame, body: Sequence[ast.stmt], test_reads: frozenset[str]) -> None:
        self.run = run
        self.frame = frame
        self.names: list[str] = []
        self.entered: list[Any] = []  # the values before the loop, every part of them a run-time value
        self.initial: list[Simd] = []
        self.temporary: list[tuple[str, Any]] = []
        self.unread: set[str] = set()  # carried for what follows the loop, should the body leave them with a value
        self.inside: dict[str, Any] = {}
        self.lost: dict[str, Undefined] = {}
        env = frame.env
        needed = liveness.exposed(body) | test_reads
        settled = liveness.settled(body)
        for name in sorted(liveness.assigned(body)):
            value = env.get(name)
            if name not in env or isinstance(value, Undefined):
                continue
            if isinstance(value, (Tensor, FusedOutput)) and name not in liveness.rebound(body):
                continue  # elements were stored to it; the name still means the same tensor
            read = name in needed or _read_by_closure(frame, name, needed)
            if not read and name in settled and static.is_static(value):
                self.temporary.append((name, value))  # each turn gives it a value of its own
                continue
            try:
                parts = parts_of(run.b, value)
            except Unmergeable as problem:
                if not read:
                    self.temporary.append((name, value))
                    continue
                hint = f"; start it as a typed value, e.g. f32({value!r})" if isinstance(value, float) else ""
                raise run.fail(f"{name} {problem} and changes in a run-time loop{hint}") from None
            self.names.append(name)
            if not read:
                self.unread.add(name)
            self.entered.append(rebuilt(value, iter(parts)))
            self.initial += parts

    def enter(self, arguments: Sequence[Any]) -> None:
        """Inside, or after the loop: each variable is one of these values."""
        parts = iter([Simd(given, p.dtype, p.width) for given, p in zip(arguments, self.initial, strict=True)])
        for name, value in zip(self.names, self.entered, strict=True):
            self.frame.env[name] = self.inside[name] = rebuilt(value, parts)

    def current(self) -> tuple[Any, ...]:
        """The variables' values at the end of the body, in the types they entered with."""
        values: list[Any] = []
        for name, entered in zip(self.names, self.entered, strict=True):
            value = self.frame.env[name]
            try:
                parts = fitted(self.run.b, value, entered)
            except Unmergeable as problem:
                reason = f"{problem} in a run-time loop; it must keep its type"
                if name not in self.unread:
                    raise self.run.fail(f"{name} {reason}") from None
                parts = parts_of(self.run.b, self.inside[name])
                self.lost[name] = value if isinstance(value, Undefined) else Undefined(reason)
            values += [part.ssa for part in parts]
        return tuple(values)

    def leave(self, results: Sequence[Any], known: dict[str, Any], counter: frozenset[str]) -> None:
        """After the loop: what it carried are its results, and what only lived inside has no value."""
        env = self.frame.env
        for name in env:
            if name not in known or name in counter:
                env[name] = Undefined("lives inside the loop above only")
        self.enter(results)
        for name, value in self.temporary:
            if name not in counter and not same(env.get(name), value):
                env[name] = Undefined("changes in the loop above; give it a run-time type before, e.g. index(0)")
        env.update(self.lost)


def _read_by_closure(frame: Frame, name: str, mentioned: frozenset[str]) -> bool:
    """Whether a nested function that the loop mentions reads the name: as good as the loop reading it itself."""
    seen: set[str] = set()
    work = [other for other in mentioned if other in frame.env]
    while work:
        other = work.pop()
        value = frame.env.get(other)
        if other in seen or not isinstance(value, Closure) or value.frame is not frame:
            continue
        seen.add(other)
        generator = value.generator
        reads = liveness.exposed(generator.body) - {argument for argument, _ in generator.arguments}
        if name in reads:
            return True
        work += [inner for inner in reads if inner in frame.env]
    return False


def _runtime_loop(run: Run, node: ast.For, bounds: tuple[Any, Any, Any], frame: Frame) -> None:
    b = run.b
    low, high, step = (math.as_index(b, bound) for bound in bounds)
    known = dict(frame.env)
    carried = _Carried(run, frame, node.body, frozenset())
    types = tuple([part.ssa.type for part in carried.initial])
    block = Block(arg_types=[element_type(INDEX), *types])
    b.open(block)
    counter = Simd(block.args[0], INDEX, 1)
    if isinstance(node.target, ast.Name):
        block.args[0].name_hint = node.target.id
    if id(low.ssa) in b.nonnegative:
        b.nonnegative[id(counter.ssa)] = counter.ssa
    if b.state_alignment:
        b.multiples[counter.ssa] = gcd(memory.multiple_of(b, low.ssa), memory.multiple_of(b, step.ssa))
    carried.enter(block.args[1:])
    assign(run, node.target, counter, frame)
    _body(run, node, frame)
    b.emit(scf.YieldOp, carried.current(), ())
    b.close()
    operands = (low.ssa, high.ssa, step.ssa, *(part.ssa for part in carried.initial))
    operation = b.emit(scf.ForOp, operands, types, regions=(Region(block),))
    carried.leave(operation.results, known, frozenset(liveness.target_names(node.target)))


def _body(run: Run, node: ast.For | ast.While, frame: Frame) -> None:
    b = run.b
    place = (b.line, b.provenance)
    if run.block(node.body, frame, _NO_RETURN) is not None:
        raise run.fail(_NO_RETURN, node)
    b.line, b.provenance = place
    run.node = node


def while_loop(run: Run, node: ast.While, frame: Frame) -> None:
    """`while`: a run-time loop."""
    if node.orelse:
        raise run.fail("the kernel language has no while/else", node)
    b = run.b
    known = dict(frame.env)
    carried = _Carried(run, frame, node.body, frozenset(liveness.names_read(node.test)))
    types = tuple([part.ssa.type for part in carried.initial])
    test, body = Block(arg_types=types), Block(arg_types=types)
    b.open(test)
    carried.enter(test.args)
    condition = run.evaluate(node.test, frame)
    if not isinstance(condition, Simd):
        if static.truth(condition):
            raise run.fail("the condition of this while never changes", node)
        b.close()
        test.erase(safe_erase=False)
        frame.env.update(known)
        return
    if condition.dtype is not BOOL or condition.width != 1:
        message = f"the condition of while must be one bool, not {condition.type_name}; use .any() or .all()"
        raise run.fail(message, node)
    b.emit(scf.ConditionOp, (condition.ssa, *test.args), ())
    b.close()
    b.open(body)
    carried.enter(body.args)
    _body(run, node, frame)
    b.emit(scf.YieldOp, carried.current(), ())
    b.close()
    operands = tuple([part.ssa for part in carried.initial])
    operation = b.emit(scf.WhileOp, operands, types, regions=(Region(test), Region(body)))
    carried.leave(operation.results, known, frozenset())
