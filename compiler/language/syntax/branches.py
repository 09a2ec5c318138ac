"""`if`: one arm when the condition is known, `scf.if` with merged variables when it is not."""

from __future__ import annotations

import ast
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Block, Region

from compiler.errors import KernelError
from compiler.language.syntax import liveness
from compiler.language.syntax.functions import UNDEFINED, Frame, Returned, Undefined
from compiler.language.syntax.loops import Break, Continue
from compiler.language.syntax.merging import Unmergeable, completed, paired
from compiler.language.syntax.run import After, NextTurns, Rest, Run
from compiler.language.values import arithmetic as math
from compiler.language.values import static
from compiler.language.values.dtypes import BOOL, register_type
from compiler.language.values.records import Simd


class _Arm:
    """One arm of a run-time `if`, elaborated: its block, the names after it and what it returned."""

    def __init__(self, run: Run, frame: Frame, before: dict[str, Any]) -> None:
        self.run = run
        self.frame = frame
        self.block = Block()
        self.env = dict(before)
        self.outcome: Returned | None = None

    def go_on(self, rest: After | NextTurns) -> Break | None:
        """Elaborate more at the end of this arm; how it left the unrolled loop around it, if it did so there."""
        b = self.run.b
        b.open(self.block, barrier=True)
        self.frame.env = self.env
        place, depth = (b.line, b.provenance), len(b.scopes)
        leaving = None
        try:
            self.outcome = rest.go_on(self.run, self.frame)
        except Break as problem:
            if len(b.scopes) != depth:
                raise
            leaving = problem
        b.line, b.provenance = place
        self.env = self.frame.env
        b.close()
        return leaving

    def finish(self, rest: Rest, node: ast.If) -> None:
        """Elaborate all that follows the branch, up to the return that every way ends in."""
        while self.outcome is None and rest is not None:
            if isinstance(rest, str):
                raise self.run.fail(rest, node)
            leaving = self.go_on(rest)
            rest = rest.outer
            if leaving is not None:  # the turn ends here; so does its loop, unless other turns follow
                while isinstance(rest, After):
                    rest = rest.outer
                if not isinstance(rest, NextTurns):
                    raise KernelError(leaving.message, leaving.location)
                rest = rest if isinstance(leaving, Continue) else rest.outer


def branch(run: Run, node: ast.If, after: After, frame: Frame) -> Returned | None:
    """Elaborate an `if`; `after` is what follows it."""
    condition = run.evaluate(node.test, frame)
    if not isinstance(condition, Simd):
        run.node = node
        return run.block(node.body if static.truth(condition) else node.orelse, frame, after)
    if condition.dtype is not BOOL or condition.width != 1:
        raise run.fail(f"the condition of if must be one bool, not {condition.type_name}; use .any() or .all()", node)
    before = frame.env
    arms = (_Arm(run, frame, before), _Arm(run, frame, before))
    for arm, statements in zip(arms, (node.body, node.orelse), strict=True):
        if (leaving := arm.go_on(After(statements, 0, after))) is not None:  # on a run-time condition
            raise KernelError(leaving.message, leaving.location)
    if any(arm.outcome is not None for arm in arms):
        # What follows belongs to the arm that falls through, so that every way ends in a return.
        for arm in arms:
            arm.finish(after, node)
        frame.env = before
        run.node = node
        values = [arm.outcome.value if arm.outcome is not None else None for arm in arms]
        merged = _merge(run, condition, arms, values[:1], values[1:])[0]
        if isinstance(merged, Undefined):
            raise run.fail(f"the result {merged.why}", node)
        return Returned(merged)
    frame.env = before
    run.node = node
    # A nested function may store elements of a tensor around it, whose name is not among its own.
    changed = liveness.assigned(node.body) | liveness.assigned(node.orelse)
    names = sorted(name for name in changed if name in arms[0].env or name in arms[1].env)
    one = [arms[0].env.get(name, UNDEFINED) for name in names]
    two = [arms[1].env.get(name, UNDEFINED) for name in names]
    frame.env.update(zip(names, _merge(run, condition, arms, one, two), strict=True))
    return None


def _merge(run: Run, condition: Simd, arms: tuple[_Arm, _Arm], one: list[Any], two: list[Any]) -> list[Any]:
    """Emit the `scf.if`; each pair of values becomes one, a result of it where the two differ."""
    b = run.b
    merged: list[Any] = []
    pairs: list[tuple[Simd, Simd]] = []
    for left, right in zip(one, two, strict=True):
        if isinstance(left, Undefined) or isinstance(right, Undefined):
            merged.append(left if isinstance(left, Undefined) else right)
            continue
        found: list[tuple[Simd, Simd]] = []
        try:
            merged.append(paired(b, left, right, found))
            pairs += found
        except Unmergeable as problem:
            merged.append(Undefined(str(problem)))
    widths = [max(left.width, right.width) for left, right in pairs]
    for side, arm in enumerate(arms):
        b.open(arm.block, barrier=True)
        values = [math.splat(b, pair[side], width).ssa for pair, width in zip(pairs, widths, strict=True)]
        b.emit(scf.YieldOp, tuple(values), ())
        b.close()
    regions = [Region(arms[0].block), Region(arms[1].block)]
    if not pairs and arms[1].block.first_op is arms[1].block.last_op:
        regions[1] = Region()  # no else arm to speak of
    types = tuple([register_type(left.dtype, width) for (left, _), width in zip(pairs, widths, strict=True)])
    operation = b.emit(scf.IfOp, (condition.ssa,), types, regions=tuple(regions))
    results = iter(
        [Simd(r, left.dtype, width) for r, (left, _), width in zip(operation.results, pairs, widths, strict=True)]
    )
    return [completed(value, results) for value in merged]
