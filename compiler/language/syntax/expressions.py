"""What each kind of expression is worth: computed when its parts are known, emitted where they are not."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from compiler.language import limits
from compiler.language.syntax.assignment import assign
from compiler.language.syntax.definitions import nested_generator
from compiler.language.syntax.functions import Closure, Frame, Undefined
from compiler.language.syntax.run import Run
from compiler.language.syntax.spelling import OPERATORS, syntax_name
from compiler.language.syntax.subscripts import subscript
from compiler.language.values import arithmetic as math
from compiler.language.values import methods, static
from compiler.language.values.dtypes import BOOL
from compiler.language.values.records import RuntimeRange, Simd, describe

_MISSING = object()


def items(run: Run, nodes: Sequence[ast.expr], frame: Frame) -> list[Any]:
    """Values of a display or argument list, `*xs` spread out."""
    values: list[Any] = []
    nested = False
    for item in nodes:
        kind = type(item)
        if kind is ast.Starred:
            spread = run.evaluate(item.value, frame)  # pyright: ignore[reportAttributeAccessIssue]
            if not isinstance(spread, (tuple, list)):
                raise run.fail("only a tuple or list can be spread with *", item)
            values.extend(spread)
            nested = True
        else:
            value = EXPRESSIONS[kind](run, item, frame)
            if type(value) is tuple or type(value) is list:
                nested = True
            values.append(value)
    return limits.sequence(values) if nested else values


def nested(run: Run, node: ast.FunctionDef | ast.Lambda, frame: Frame) -> Closure:
    """A nested function, seeing the names of the frame it stands in."""
    generator = getattr(node, "generator", None)
    if generator is None:
        generator = node.generator = nested_generator(node, frame.generator)  # pyright: ignore[reportAttributeAccessIssue]
    run.closed_over.append(frame)
    return Closure(generator, frame)


def _constant(run: Run, node: ast.Constant, frame: Frame) -> Any:
    value = node.value
    if isinstance(value, (bytes, complex)) or value is Ellipsis:
        raise run.fail("the kernel language has no bytes, complex or ... literals", node)
    return value


def _name(run: Run, node: ast.Name, frame: Frame) -> Any:
    value = frame.env.get(node.id, _MISSING)
    if value is _MISSING:
        value = _outer_name(run, node, frame)
    if type(value) is Undefined:
        raise run.fail(f"{node.id} {value.why}", node)
    return value


def _outer_name(run: Run, node: ast.Name, frame: Frame) -> Any:
    """A name that is not the function's own: of an enclosing one, else a file constant, dtype, builtin or library
    function."""
    name = node.id
    scope = frame
    while scope.parent is not None:
        if name in scope.generator.own and scope.generator is not scope.parent.generator:
            if scope.find(name) is not None:
                message = f"{name} belongs to the enclosing function; a nested function cannot change it"
                raise run.fail(message, node)
            break
        scope = scope.parent
        if name in scope.env:
            return scope.env[name]
    constants = frame.generator.constants
    if name in constants:
        return constants[name]
    known = run.language.names
    if name in known:
        return known[name]
    run.node = node
    found = run.host.lookup(name)
    if found is None:
        raise run.fail(f"unknown name {name}{run.host.hint(name, frame.generator.file)}", node)
    return found


def _binary(run: Run, node: ast.BinOp, frame: Frame) -> Any:
    left, right = node.left, node.right
    left = EXPRESSIONS[type(left)](run, left, frame)
    right = EXPRESSIONS[type(right)](run, right, frame)
    run.node = node
    return math.binary(run.b, OPERATORS[type(node.op)], left, right)


def _unary(run: Run, node: ast.UnaryOp, frame: Frame) -> Any:
    value = run.evaluate(node.operand, frame)
    run.node = node
    return math.unary(run.b, OPERATORS[type(node.op)], value)


def _boolean(run: Run, node: ast.BoolOp, frame: Frame) -> Any:
    conjunction = type(node.op) is ast.And
    result: Any = None  # the run-time values so far, combined
    value: Any = None
    for operand in node.values:
        value = EXPRESSIONS[type(operand)](run, operand, frame)
        run.node = operand
        if type(value) is not Simd:
            if static.truth(value) != conjunction:
                return value  # decides the whole, whatever the run-time parts are
        elif value.dtype is not BOOL:
            raise run.fail(f"`and` and `or` need bools, not {value.type_name}; compare with 0", operand)
        else:
            result = value if result is None else math.binary(run.b, "&" if conjunction else "|", result, value)
    return value if result is None else result


def _compare(run: Run, node: ast.Compare, frame: Frame) -> Any:
    left = node.left
    left = EXPRESSIONS[type(left)](run, left, frame)
    result: Any = True
    for operation, operand in zip(node.ops, node.comparators):
        right = EXPRESSIONS[type(operand)](run, operand, frame)
        run.node = node
        sign = OPERATORS.get(type(operation))
        if sign is not None:
            value: Any = math.binary(run.b, sign, left, right)
        elif isinstance(operation, (ast.Is, ast.IsNot)):
            value = (left is right) == isinstance(operation, ast.Is)
        else:
            value = static.contains(right, left) == isinstance(operation, ast.In)
        if value is False:
            return False
        if value is not True:
            result = value if result is True else math.binary(run.b, "&", result, value)
        left = right
    return result


def _conditional(run: Run, node: ast.IfExp, frame: Frame) -> Any:
    condition = run.evaluate(node.test, frame)
    if not isinstance(condition, Simd):
        run.node = node
        return run.evaluate(node.body if static.truth(condition) else node.orelse, frame)
    left = run.evaluate(node.body, frame)
    right = run.evaluate(node.orelse, frame)
    run.node = node
    return math.select(run.b, condition, left, right)


def _tuple(run: Run, node: ast.Tuple, frame: Frame) -> Any:
    return tuple(items(run, node.elts, frame))


def _list(run: Run, node: ast.List, frame: Frame) -> Any:
    return items(run, node.elts, frame)


def _comprehension(run: Run, node: ast.ListComp | ast.GeneratorExp, frame: Frame) -> Any:
    results: list[Any] = []
    _clauses(run, node, 0, Frame(frame.generator, frame), results)
    run.node = node
    return limits.sequence(results)


def _clauses(run: Run, node: ast.ListComp | ast.GeneratorExp, level: int, inner: Frame, results: list[Any]) -> None:
    """Go through the clauses of a comprehension from `level` on, with what the outer ones bound in `inner`."""
    last = level + 1 == len(node.generators)
    clause = node.generators[level]
    if clause.is_async:
        raise run.fail("the kernel language has no `async`", node)
    iterable = run.evaluate(clause.iter, inner)
    if type(iterable) is RuntimeRange:
        run.node = clause.iter
    values = static.items(iterable)
    if values is None:
        raise run.fail(f"cannot loop over {describe(iterable)}", clause.iter)
    element = node.elt
    evaluate = EXPRESSIONS[type(element)]
    for value in values:
        run.tick()
        assign(run, clause.target, value, inner)
        if clause.ifs and not all(static.truth(run.evaluate(test, inner)) for test in clause.ifs):
            continue
        if last:
            results.append(evaluate(run, element, inner))
        else:
            _clauses(run, node, level + 1, inner, results)


def _attribute(run: Run, node: ast.Attribute, frame: Frame) -> Any:
    value = node.value
    value = EXPRESSIONS[type(value)](run, value, frame)
    run.node = node
    return methods.attribute(run, value, node.attr)


def _unknown(run: Run, node: ast.expr, frame: Frame) -> Any:
    raise run.fail(f"the kernel language has no {syntax_name(node)} expression", node)


def _joined(run: Run, node: ast.JoinedStr, frame: Frame) -> str:
    parts: list[str] = []
    for part in node.values:
        value = run.evaluate(part.value if isinstance(part, ast.FormattedValue) else part, frame)
        parts.append(static.text_of(value))
    run.node = node
    return limits.text("".join(parts))


def _call(run: Run, node: ast.Call, frame: Frame) -> Any:
    function = node.func
    function = EXPRESSIONS[type(function)](run, function, frame)
    args = items(run, node.args, frame) if node.args else []
    kwargs: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise run.fail("** is not part of the kernel language", node)
        value = keyword.value
        kwargs[keyword.arg] = EXPRESSIONS[type(value)](run, value, frame)
    run.node = node
    run.file = frame.generator.file
    return run.language.calls[type(function)](run, function, args, kwargs)


EXPRESSIONS: dict[type[ast.AST], Any] = defaultdict(lambda: _unknown, {
    ast.Constant: _constant, ast.Name: _name, ast.BinOp: _binary, ast.UnaryOp: _unary, ast.BoolOp: _boolean,
    ast.Compare: _compare, ast.IfExp: _conditional, ast.Tuple: _tuple, ast.List: _list, ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension, ast.Lambda: nested, ast.Attribute: _attribute, ast.Subscript: subscript,
    ast.Call: _call, ast.JoinedStr: _joined,
})  # fmt: skip
