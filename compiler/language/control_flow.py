"""Loops and branches: decided while elaborating when they can be, `scf` operations with carried values otherwise."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from math import gcd
from typing import TYPE_CHECKING, Any

from xdsl.dialects import scf
from xdsl.ir import Block, Region

from compiler.errors import KernelError
from compiler.graph.dims import Dim
from compiler.language import arithmetic as math
from compiler.language import liveness
from compiler.language.builder import Builder
from compiler.language.dtypes import BOOL, INDEX, element_type
from compiler.language.loadables import FusedOutput, Tensor
from compiler.language.values import UNDEFINED, Frame, Position, Returned, RuntimeRange, Simd, Unroll

if TYPE_CHECKING:
    from compiler.language.interpreter import Interpreter

_MAX_UNROLL = 65536


class Break(KernelError):
    """`break`, on its way to the unrolled loop around it."""

    def __init__(self, location: Any) -> None:
        super().__init__("break and continue work in unroll(...) loops on compile-time conditions only", location)


class Continue(Break):
    """`continue`, on its way to the unrolled loop around it."""


class _Opaque(Exception):
    """A value that a loop cannot carry: a tensor, a function, a text."""


def leaves(b: Builder, value: Any) -> list[Simd]:
    """The run-time values inside a value; plain numbers become run-time ones."""
    if isinstance(value, Simd):
        return [value]
    if isinstance(value, bool):
        return [b.constant(BOOL, 1, value)]
    if isinstance(value, (int, Dim)):
        return [math.as_index(b, value)]
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in leaves(b, item)]
    if isinstance(value, Position):
        return leaves(b, value.index)
    raise _Opaque


def rebuild(value: Any, parts: Iterator[Simd]) -> Any:
    """The value with its run-time values replaced, in the order `leaves` gave them."""
    if isinstance(value, (tuple, list)):
        return type(value)(rebuild(item, parts) for item in value)
    if isinstance(value, Position):
        return Position(rebuild(value.index, parts), value.width, value.axis)
    return next(parts)


def static_items(run: Interpreter, iterable: Any, node: ast.AST) -> Sequence[Any]:
    """What a compile-time loop runs over."""
    if isinstance(iterable, Unroll):
        items: Sequence[Any] = iterable.values
    elif isinstance(iterable, RuntimeRange):
        bounds = (iterable.start, iterable.stop, iterable.step)
        if not all(isinstance(bound, int) for bound in bounds):
            raise run.fail("this range must be known at compile time", node)
        items = range(*bounds)
    elif isinstance(iterable, (tuple, list)):
        items = iterable
    else:
        raise run.fail(f"cannot loop over {math.describe(iterable)}", node)
    if len(items) > _MAX_UNROLL:
        raise run.fail(f"unrolling {len(items)} times is too much; use range", node)
    return items


def loop(run: Interpreter, node: ast.For, frame: Frame) -> Returned | None:
    """`for`: repeated at elaboration over compile-time values, one run-time loop over `range`."""
    if node.orelse:
        raise run.fail("the kernel language has no for/else", node)
    iterable = run.evaluate(node.iter, frame)
    run.node = node
    if not isinstance(iterable, RuntimeRange):
        return _unrolled(run, node, static_items(run, iterable, node), frame)
    start, stop, step = iterable.start, iterable.stop, iterable.step
    if all(isinstance(bound, int) for bound in (start, stop, step)):
        trips = len(range(start, stop, step))
        if trips <= 1:  # no loop at all: the body once, or never
            return _unrolled(run, node, range(start, stop, step), frame)
    if isinstance(step, int) and step <= 0:
        raise run.fail("the step of a run-time range must be positive", node)
    _runtime_loop(run, node, (start, stop, step), frame)
    return None


def _unrolled(run: Interpreter, node: ast.For, items: Sequence[Any], frame: Frame) -> Returned | None:
    for item in items:
        run.assign(node.target, item, frame)
        depth = len(run.b.scopes)
        try:
            outcome = run.block(node.body, frame)
        except Continue:
            _same_scope(run, depth)
            continue
        except Break:
            _same_scope(run, depth)
            break
        if outcome is not None:
            return outcome
    return None


def _same_scope(run: Interpreter, depth: int) -> None:
    if len(run.b.scopes) != depth:
        raise Break(run.where())  # it came out of a run-time branch: not allowed


class _Carried:
    """The variables a run-time loop changes: their values before it, and their places in its argument list."""

    def __init__(self, run: Interpreter, frame: Frame, body: Sequence[ast.stmt], test_reads: set[str]) -> None:
        self.run = run
        self.frame = frame
        self.names: list[str] = []
        self.before: list[Any] = []
        self.initial: list[Simd] = []
        self.temporary: list[tuple[str, Any]] = []
        needed = liveness.exposed(body) | test_reads
        for name in sorted(liveness.assigned(body)):
            if name not in frame.env or frame.env[name] is UNDEFINED:
                continue
            value = frame.env[name]
            try:
                parts = leaves(run.b, value)
            except _Opaque:
                if isinstance(value, (Tensor, FusedOutput)) and name not in liveness.rebound(body):
                    continue  # elements were stored to it; the name still means the same tensor
                if name in needed:
                    kind = "a literal" if isinstance(value, float) else math.describe(value)
                    hint = f"; start it as a typed value, e.g. f32({value!r})" if isinstance(value, float) else ""
                    raise run.fail(f"{name} is {kind} and changes in a run-time loop{hint}") from None
                self.temporary.append((name, value))
                continue
            if name not in needed and math.is_static(value):
                self.temporary.append((name, value))
                continue
            self.names.append(name)
            self.before.append(value)
            self.initial += parts

    def enter(self, block: Block, first: int) -> None:
        """Inside: each variable is the block's argument."""
        parts = iter(
            Simd(argument, leaf.dtype, leaf.width)
            for argument, leaf in zip(block.args[first:], self.initial, strict=True)
        )
        for name, value in zip(self.names, self.before, strict=True):
            self.frame.env[name] = rebuild(value, parts)

    def current(self) -> list[Simd]:
        """The variables' values at the end of the body, in the types they entered with."""
        values: list[Simd] = []
        expected = iter(self.initial)
        for name, before in zip(self.names, self.before, strict=True):
            value = self.frame.env[name]
            try:
                if isinstance(value, float):
                    like = next(expected)
                    values.append(math.literal(self.run.b, value, like.dtype, like.width))
                    continue
                parts = leaves(self.run.b, value)
                count = len(leaves(self.run.b, before))
            except _Opaque:
                raise self.run.fail(f"{name} becomes {math.describe(value)} in a run-time loop") from None
            if len(parts) != count:
                raise self.run.fail(f"{name} changes its length in a run-time loop")
            for part in parts:
                values.append(self._fit(name, part, next(expected)))
        return values

    def _fit(self, name: str, part: Simd, like: Simd) -> Simd:
        if part.dtype is not like.dtype:
            if part.ssa in self.run.b.literals:
                return math.literal(self.run.b, self.run.b.literals[part.ssa], like.dtype, like.width)
            raise self.run.fail(f"{name} is {like.type_name} before the loop but {part.type_name} after its body")
        if part.width != like.width:
            if part.width != 1:
                raise self.run.fail(f"{name} is {like.type_name} before the loop but {part.type_name} after its body")
            return math.splat(self.run.b, part, like.width)
        return part

    def leave(self, results: Sequence[Any]) -> None:
        """After the loop: each variable is one of its results; what only lived inside has no value."""
        parts = iter(
            Simd(result, leaf.dtype, leaf.width) for result, leaf in zip(results, self.initial, strict=True)
        )
        for name, value in zip(self.names, self.before, strict=True):
            self.frame.env[name] = rebuild(value, parts)
        for name, value in self.temporary:
            after = self.frame.env.get(name)
            same = after is value or (math.is_static(after) and type(after) is type(value) and after == value)
            self.frame.env[name] = value if same else UNDEFINED


def _hide_new_names(frame: Frame, before: dict[str, Any]) -> None:
    for name in list(frame.env):
        if name not in before:
            frame.env[name] = UNDEFINED


def _runtime_loop(run: Interpreter, node: ast.For, bounds: tuple[Any, Any, Any], frame: Frame) -> None:
    b = run.b
    low, high, step = (math.as_index(b, bound) for bound in bounds)
    before = dict(frame.env)
    carried = _Carried(run, frame, node.body, set())
    block = Block(arg_types=[element_type(INDEX), *(leaf.ssa.type for leaf in carried.initial)])
    b.open(block)
    counter = Simd(block.args[0], INDEX, 1)
    if isinstance(node.target, ast.Name):
        block.args[0].name_hint = node.target.id
    if low.ssa in b.nonnegative:
        b.nonnegative.add(counter.ssa)
    b.multiples[counter.ssa] = gcd(math.multiple_of(b, low.ssa), math.multiple_of(b, step.ssa))
    carried.enter(block, 1)
    run.assign(node.target, counter, frame)
    provenance = b.provenance
    if run.block(node.body, frame) is not None:
        raise run.fail("return inside a run-time loop", node)
    b.provenance = provenance
    values = carried.current()
    b.emit(scf.YieldOp, tuple(value.ssa for value in values), ())
    b.close()
    operands = (low.ssa, high.ssa, step.ssa, *(leaf.ssa for leaf in carried.initial))
    operation = b.emit(scf.ForOp, operands, tuple(leaf.ssa.type for leaf in carried.initial), regions=[Region(block)])
    _hide_new_names(frame, before)
    carried.leave(operation.results)
    for name in liveness.target_names(node.target):
        frame.env[name] = UNDEFINED  # the counter lives inside the loop only


def while_loop(run: Interpreter, node: ast.While, frame: Frame) -> None:
    """`while`: a run-time loop."""
    if node.orelse:
        raise run.fail("the kernel language has no while/else", node)
    b = run.b
    before = dict(frame.env)
    carried = _Carried(run, frame, node.body, liveness.names_read(node.test))
    types = [leaf.ssa.type for leaf in carried.initial]
    test, body = Block(arg_types=types), Block(arg_types=types)
    b.open(test)
    carried.enter(test, 0)
    condition = run.evaluate(node.test, frame)
    if not isinstance(condition, Simd):
        if not math.truth(condition):
            b.close()
            frame.env.update(before)
            return
        raise run.fail("the condition of this while never changes", node)
    if condition.dtype is not BOOL or condition.width != 1:
        raise run.fail(f"the condition of while must be one bool, not {condition.type_name}; use .any() or .all()", node)
    b.emit(scf.ConditionOp, (condition.ssa, *test.args), ())
    b.close()
    b.open(body)
    carried.enter(body, 0)
    provenance = b.provenance
    if run.block(node.body, frame) is not None:
        raise run.fail("return inside a run-time loop", node)
    b.provenance = provenance
    b.emit(scf.YieldOp, tuple(value.ssa for value in carried.current()), ())
    b.close()
    operation = b.emit(
        scf.WhileOp, tuple(leaf.ssa for leaf in carried.initial), tuple(types), regions=[Region(test), Region(body)]
    )
    _hide_new_names(frame, before)
    carried.leave(operation.results)


def branch(run: Interpreter, node: ast.If, rest: Sequence[ast.stmt], frame: Frame) -> Returned | None:
    """`if`: one arm when the condition is known, `scf.if` with merged variables when it is not."""
    run.enter_line(node, frame)
    condition = run.evaluate(node.test, frame)
    if not isinstance(condition, Simd):
        run.node = node
        return run.block(node.body if math.truth(condition) else node.orelse, frame)
    if condition.dtype is not BOOL or condition.width != 1:
        raise run.fail(f"the condition of if must be one bool, not {condition.type_name}; use .any() or .all()", node)
    returning = _may_return(node.body) or _may_return(node.orelse)
    arms = [list(node.body), list(node.orelse)]
    if returning:  # what follows belongs to the arms that fall through, so that every way ends in a return
        arms = [arm if _always_returns(arm) else [*arm, *rest] for arm in arms]
    before = dict(frame.env)
    blocks: list[Block] = []
    envs: list[dict[str, Any]] = []
    outcomes: list[Returned | None] = []
    for arm in arms:
        block = Block()
        run.b.open(block, barrier=True)
        frame.env = dict(before)
        provenance = run.b.provenance
        outcomes.append(run.block(arm, frame))
        run.b.provenance = provenance
        run.b.close()
        blocks.append(block)
        envs.append(frame.env)
    frame.env = before
    run.node = node
    if returning:
        values = [outcome.value if outcome is not None else None for outcome in outcomes]
        merged = _merge(run, condition, blocks, [values[0]], [values[1]])
        if merged is None:
            raise run.fail("the two ways through this if return unlike values", node)
        return Returned(merged[0])
    names = sorted(liveness.assigned(node.body) | liveness.assigned(node.orelse))
    one = [envs[0].get(name, UNDEFINED) for name in names]
    two = [envs[1].get(name, UNDEFINED) for name in names]
    merged = _merge(run, condition, blocks, one, two, undefined_on_mismatch=True)
    assert merged is not None
    frame.env.update(zip(names, merged, strict=True))
    return None


def _merge(
    run: Interpreter, condition: Simd, blocks: list[Block], one: list[Any], two: list[Any], *,
    undefined_on_mismatch: bool = False,
) -> list[Any] | None:  # fmt: skip
    """Emit the `scf.if`; each pair of values becomes one, a result of it where the two differ."""
    b = run.b
    merged: list[Any] = []
    pending: list[tuple[int, list[Simd], list[Simd]]] = []
    for position, (left, right) in enumerate(zip(one, two, strict=True)):
        if left is right or _same_static(left, right):
            merged.append(left)
            continue
        parts = None
        if left is not UNDEFINED and right is not UNDEFINED:
            parts = _paired(b, left, right, blocks)
        if parts is None:
            if not undefined_on_mismatch:
                return None
            merged.append(UNDEFINED)
            continue
        merged.append(left)
        pending.append((position, *parts))
    lefts = [leaf for _, parts, _ in pending for leaf in parts]
    rights = [leaf for _, _, parts in pending for leaf in parts]
    for block, values in zip(blocks, (lefts, rights), strict=True):
        b.open(block, barrier=True)
        b.emit(scf.YieldOp, tuple(value.ssa for value in values), ())
        b.close()
    regions = [Region(blocks[0]), Region(blocks[1])]
    if not lefts and len(blocks[1].ops) == 1:
        regions[1] = Region()  # no else arm to speak of
    operation = b.emit(scf.IfOp, (condition.ssa,), tuple(leaf.ssa.type for leaf in lefts), regions=regions)
    results = iter(
        Simd(result, leaf.dtype, leaf.width) for result, leaf in zip(operation.results, lefts, strict=True)
    )
    for position, _, _ in pending:
        merged[position] = rebuild(one[position], results)
    return merged


def _same_static(left: Any, right: Any) -> bool:
    if left is UNDEFINED or right is UNDEFINED or not math.is_static(left) or not math.is_static(right):
        return False
    return type(left) is type(right) and isinstance(left, (int, float, str, tuple, Dim)) and left == right


def _paired(b: Builder, left: Any, right: Any, blocks: list[Block]) -> tuple[list[Simd], list[Simd]] | None:
    """Both values as equally typed run-time parts, or None when they cannot be."""
    if isinstance(left, float) and isinstance(right, Simd):
        left = math.literal(b, left, right.dtype, right.width)
    elif isinstance(right, float) and isinstance(left, Simd):
        right = math.literal(b, right, left.dtype, left.width)
    try:
        ones, twos = leaves(b, left), leaves(b, right)
    except _Opaque:
        return None
    if len(ones) != len(twos):
        return None
    for k, (one, two) in enumerate(zip(ones, twos, strict=True)):
        if one.dtype is not two.dtype:
            if two.ssa in b.literals:
                twos[k] = math.literal(b, b.literals[two.ssa], one.dtype, one.width)
            elif one.ssa in b.literals:
                ones[k] = math.literal(b, b.literals[one.ssa], two.dtype, two.width)
            else:
                return None
        one, two = ones[k], twos[k]
        if one.width != two.width:
            if 1 not in (one.width, two.width):
                return None
            narrow = 0 if one.width == 1 else 1
            b.open(blocks[narrow], barrier=True)
            if narrow == 0:
                ones[k] = math.splat(b, one, two.width)
            else:
                twos[k] = math.splat(b, two, one.width)
            b.close()
    return ones, twos


def _may_return(statements: Sequence[ast.stmt]) -> bool:
    for statement in statements:
        if isinstance(statement, ast.Return):
            return True
        if isinstance(statement, (ast.If, ast.For, ast.While)) and (
            _may_return(statement.body) or _may_return(statement.orelse)
        ):
            return True
    return False


def _always_returns(statements: Sequence[ast.stmt]) -> bool:
    for statement in statements:
        if isinstance(statement, ast.Return):
            return True
        if isinstance(statement, ast.If) and _always_returns(statement.body) and _always_returns(statement.orelse):
            return True
    return False
