"""What each kind of statement does to the names of its function; `if`, `for` and `while` are in files of their own."""

from __future__ import annotations

import ast
from typing import Any

from compiler.errors import KernelError, Location
from compiler.graph.dims import Dim
from compiler.graph.dtypes import DTYPES
from compiler.language import limits
from compiler.language.syntax import loops
from compiler.language.syntax.assignment import assign
from compiler.language.syntax.expressions import EXPRESSIONS, nested
from compiler.language.syntax.functions import Frame, Returned
from compiler.language.syntax.run import Run
from compiler.language.syntax.spelling import OPERATORS
from compiler.language.values import arithmetic as math
from compiler.language.values import static
from compiler.language.values.loadables import Loadable
from compiler.language.values.records import Simd, describe


def _assignment(run: Run, node: ast.Assign, frame: Frame) -> None:
    value = node.value
    value = EXPRESSIONS[type(value)](run, value, frame)
    for target in node.targets:
        if type(target) is ast.Name:
            frame.env[target.id] = value
        else:
            assign(run, target, value, frame)


def _annotated(run: Run, node: ast.AnnAssign, frame: Frame) -> None:
    if node.value is not None:
        value = run.evaluate(node.value, frame)
        if isinstance(node.annotation, ast.Name) and node.annotation.id in DTYPES:
            _check_dtype(run, node, value, node.annotation.id)
        assign(run, node.target, value, frame)


def _check_dtype(run: Run, node: ast.AnnAssign, value: Any, dtype: str) -> None:
    """Raise where a name shall hold another dtype than its value has: at the return of the kernel that gave it."""
    if isinstance(value, (Simd, Loadable)):
        if value.dtype.name == dtype:
            return
    elif isinstance(value, (bool, int, float, Dim)):  # known beforehand, and of any
        return
    found = f"a {type(value).__name__} of {value.dtype.name}" if isinstance(value, Loadable) else describe(value)
    wrong = f"where {dtype} is asked for; cast it"
    if run.given is None or run.given[0] is not value:
        raise run.fail(f"{found} stands {wrong}", node)
    kernel = run.given[1]
    returns = [each for line in kernel.body for each in ast.walk(line) if isinstance(each, ast.Return)]
    place = max(returns, key=lambda each: each.lineno)
    raise KernelError(f"{kernel.name} gives {found} {wrong}", Location(kernel.file, place.lineno, place.col_offset + 1))


def _augmented(run: Run, node: ast.AugAssign, frame: Frame) -> None:
    target = node.target
    load: ast.expr = target
    if isinstance(target, ast.Name):
        load = ast.copy_location(ast.Name(target.id, ast.Load()), target)
    elif isinstance(target, ast.Subscript):
        load = ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
    current = run.evaluate(load, frame)
    value = run.evaluate(node.value, frame)
    run.node = node
    assign(run, target, math.binary(run.b, OPERATORS[type(node.op)], current, value), frame)


def _expression(run: Run, node: ast.Expr, frame: Frame) -> None:
    value = node.value
    if type(value) is not ast.Constant:
        EXPRESSIONS[type(value)](run, value, frame)


def _return(run: Run, node: ast.Return, frame: Frame) -> Returned:
    value = node.value
    return Returned(None if value is None else EXPRESSIONS[type(value)](run, value, frame))


def _definition(run: Run, node: ast.FunctionDef, frame: Frame) -> None:
    frame.env[node.name] = nested(run, node, frame)


def _check(run: Run, node: ast.Assert, frame: Frame) -> None:
    condition = run.evaluate(node.test, frame)
    if isinstance(condition, Simd):
        raise run.fail("assert needs a compile-time condition", node)
    if not static.truth(condition):
        message = static.text_of(run.evaluate(node.msg, frame)) if node.msg is not None else ast.unparse(node.test)
        raise run.fail(f"assertion failed: {limits.one_line(message)}", node)


def _break(run: Run, node: ast.Break, frame: Frame) -> None:
    raise loops.Break(run.where())


def _continue(run: Run, node: ast.Continue, frame: Frame) -> None:
    raise loops.Continue(run.where())


def _pass(run: Run, node: ast.Pass, frame: Frame) -> None:
    """Nothing."""


STATEMENTS: dict[type[ast.AST], Any] = {
    ast.Assign: _assignment, ast.AnnAssign: _annotated, ast.AugAssign: _augmented, ast.Expr: _expression,
    ast.Return: _return, ast.While: loops.while_loop, ast.FunctionDef: _definition,
    ast.Assert: _check, ast.Break: _break, ast.Continue: _continue, ast.Pass: _pass,
}  # fmt: skip
