"""Elaboration: walks the syntax of kernel functions, computes what is known and emits what is not."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from compiler.errors import KernelError, Location
from compiler.graph.dims import Dim
from compiler.language import arithmetic as math
from compiler.language import calls, indexing, limits, loops, methods, static
from compiler.language.branches import After, branch
from compiler.language.builder import Builder
from compiler.language.builtins import BUILTINS
from compiler.language.dtypes import BOOL, LANGUAGE_DTYPES
from compiler.language.values import Closure, Frame, Returned, Simd, Undefined

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not",
}  # fmt: skip
_MISSING = object()


class Interpreter:
    """One elaboration: the current builder, the library and what is instantiated on the way."""

    def __init__(self, host: Any) -> None:
        self.host = host  # instantiates functions, allocates workspaces; see elaborate.Elaborator
        self.b: Builder = Builder()
        self.node: ast.AST | None = None
        self.file = ""
        self.depth = 0
        self.steps = 0

    call = calls.call
    inline = calls.inline

    # Places and errors

    def where(self) -> Location:
        """The place in the source being elaborated."""
        return Location(self.file, getattr(self.node, "lineno", 1), getattr(self.node, "col_offset", 0) + 1)

    def fail(self, message: str, node: ast.AST | None = None) -> KernelError:
        """An error at a node, or at the current place."""
        if node is not None:
            self.node = node
        return KernelError(message, self.where())

    def tick(self) -> None:
        """Count a step: elaboration must end, whatever the source says."""
        self.steps += 1
        if self.steps > limits.MAX_STEPS:
            raise self.fail("elaboration does not end: too many steps")

    # Statements

    def block(self, statements: Sequence[ast.stmt], frame: Frame, after: After | str | None) -> Returned | None:
        """Elaborate statements in order; the outcome is a value when they return. `after` is what follows the block."""
        for position, statement in enumerate(statements):
            if type(statement) is ast.If:
                outcome = branch(self, statement, After(statements, position + 1, after), frame)
            else:
                self.enter_line(statement, frame)
                handler = _STATEMENTS.get(type(statement))
                if handler is None:
                    raise self.fail(f"the kernel language has no `{_syntax_name(statement)}`", statement)
                outcome = handler(self, statement, frame)
            if outcome is not None:
                return outcome
        return None

    def enter_line(self, node: ast.AST, frame: Frame) -> None:
        """Make a statement the current place: its line, and in generated source its provenance."""
        self.node = node
        self.steps += 1
        if self.steps > limits.MAX_STEPS:
            self.steps -= 1
            self.tick()
        generator = frame.generator
        b = self.b
        self.file = b.file = generator.file
        b.line = node.lineno  # pyright: ignore[reportAttributeAccessIssue]
        if generator.line_slots:
            provenance = self.host.provenance(generator, b.line)
            if provenance:
                b.provenance = provenance

    def _assignment(self, node: ast.Assign, frame: Frame) -> None:
        value = _EXPRESSIONS[type(node.value)](self, node.value, frame)
        for target in node.targets:
            if type(target) is ast.Name:
                frame.env[target.id] = value
            else:
                self.assign(target, value, frame)

    def _annotated(self, node: ast.AnnAssign, frame: Frame) -> None:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value, frame), frame)

    def _expression(self, node: ast.Expr, frame: Frame) -> None:
        if not isinstance(node.value, ast.Constant):
            self.evaluate(node.value, frame)

    def _return(self, node: ast.Return, frame: Frame) -> Returned:
        return Returned(None if node.value is None else self.evaluate(node.value, frame))

    def _definition(self, node: ast.FunctionDef, frame: Frame) -> None:
        frame.env[node.name] = self._nested(node, frame)

    def _check(self, node: ast.Assert, frame: Frame) -> None:
        condition = self.evaluate(node.test, frame)
        if isinstance(condition, Simd):
            raise self.fail("assert needs a compile-time condition", node)
        if not static.truth(condition):
            message = static.text_of(self.evaluate(node.msg, frame)) if node.msg is not None else ast.unparse(node.test)
            raise self.fail(f"assertion failed: {limits.one_line(message)}", node)

    def _break(self, node: ast.Break, frame: Frame) -> None:
        raise loops.Break(self.where())

    def _continue(self, node: ast.Continue, frame: Frame) -> None:
        raise loops.Continue(self.where())

    def _pass(self, node: ast.Pass, frame: Frame) -> None:
        """Nothing."""

    def _augmented(self, node: ast.AugAssign, frame: Frame) -> None:
        target = node.target
        load: ast.expr = target
        if isinstance(target, ast.Name):
            load = ast.copy_location(ast.Name(target.id, ast.Load()), target)
        elif isinstance(target, ast.Subscript):
            load = ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
        current = self.evaluate(load, frame)
        value = self.evaluate(node.value, frame)
        self.node = node
        self.assign(target, math.binary(self.b, _OPERATORS[type(node.op)], current, value), frame)

    def assign(self, target: ast.expr, value: Any, frame: Frame) -> None:
        """Bind a target to a value."""
        if type(target) is ast.Name:
            frame.env[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            items = list(value) if isinstance(value, (tuple, list)) else None
            if items is None or len(items) != len(target.elts):
                raise self.fail(f"cannot unpack {math.describe(value)} into {len(target.elts)} names", target)
            for item, part in zip(target.elts, items, strict=True):
                self.assign(item, part, frame)
        elif isinstance(target, ast.Subscript):
            indexing.store(self, target, value, frame)
        else:
            raise self.fail("this cannot be assigned to", target)

    def _nested(self, node: ast.FunctionDef | ast.Lambda, frame: Frame) -> Closure:
        generator = getattr(node, "generator", None)
        if generator is None:
            from compiler.language.source import nested_generator

            generator = node.generator = nested_generator(node, frame.generator)  # pyright: ignore[reportAttributeAccessIssue]
        return Closure(generator, frame)

    # Expressions

    def evaluate(self, node: ast.expr, frame: Frame) -> Any:
        """The value of an expression."""
        return _EXPRESSIONS[type(node)](self, node, frame)

    def _constant(self, node: ast.Constant, frame: Frame) -> Any:
        value = node.value
        if isinstance(value, (bytes, complex)) or value is Ellipsis:
            raise self.fail("the kernel language has no bytes, complex or ... literals", node)
        return value

    def _name(self, node: ast.Name, frame: Frame) -> Any:
        value = frame.env.get(node.id, _MISSING)
        if value is _MISSING:
            value = self._outer_name(node, frame)
        if type(value) is Undefined:
            raise self.fail(f"{node.id} {value.why}", node)
        return value

    def _outer_name(self, node: ast.Name, frame: Frame) -> Any:
        name = node.id
        scope = frame
        while scope.parent is not None:
            if name in scope.generator.own and scope.generator is not scope.parent.generator:
                if scope.find(name) is not None:
                    message = f"{name} belongs to the enclosing function; a nested function cannot change it"
                    raise self.fail(message, node)
                break
            scope = scope.parent
            if name in scope.env:
                return scope.env[name]
        return self.global_name(name, frame, node)

    def global_name(self, name: str, frame: Frame, node: ast.AST) -> Any:
        """A name that no enclosing function defines: a file constant, dtype, builtin or library function."""
        if name in frame.generator.constants:
            return frame.generator.constants[name]
        if name in BUILTINS:
            return BUILTINS[name]
        if name in LANGUAGE_DTYPES:
            return LANGUAGE_DTYPES[name]
        self.node = node
        found = self.host.lookup(name)
        if found is None:
            raise self.fail(f"unknown name {name}", node)
        return found

    def _binary(self, node: ast.BinOp, frame: Frame) -> Any:
        left, right = node.left, node.right
        left = _EXPRESSIONS[type(left)](self, left, frame)
        right = _EXPRESSIONS[type(right)](self, right, frame)
        self.node = node
        return math.binary(self.b, _OPERATORS[type(node.op)], left, right)

    def _unary(self, node: ast.UnaryOp, frame: Frame) -> Any:
        value = self.evaluate(node.operand, frame)
        self.node = node
        return math.unary(self.b, _OPERATORS[type(node.op)], value)

    def _boolean(self, node: ast.BoolOp, frame: Frame) -> Any:
        conjunction = isinstance(node.op, ast.And)
        result: Any = None  # the run-time values so far, combined
        value: Any = None
        for operand in node.values:
            value = self.evaluate(operand, frame)
            self.node = operand
            if not isinstance(value, Simd):
                if static.truth(value) != conjunction:
                    return value  # decides the whole, whatever the run-time parts are
            elif value.dtype is not BOOL:
                raise self.fail(f"`and` and `or` need bools, not {value.type_name}; compare with 0", operand)
            else:
                result = value if result is None else math.binary(self.b, "&" if conjunction else "|", result, value)
        return value if result is None else result

    def _compare(self, node: ast.Compare, frame: Frame) -> Any:
        left = self.evaluate(node.left, frame)
        result: Any = True
        for operation, operand in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(operand, frame)
            self.node = node
            sign = _OPERATORS.get(type(operation))
            if sign is not None:
                value: Any = math.binary(self.b, sign, left, right)
            elif isinstance(operation, (ast.Is, ast.IsNot)):
                value = (left is right) == isinstance(operation, ast.Is)
            else:
                value = static.contains(right, left) == isinstance(operation, ast.In)
            if value is False:
                return False
            if value is not True:
                result = value if result is True else math.binary(self.b, "&", result, value)
            left = right
        return result

    def _conditional(self, node: ast.IfExp, frame: Frame) -> Any:
        condition = self.evaluate(node.test, frame)
        if not isinstance(condition, Simd):
            self.node = node
            return self.evaluate(node.body if static.truth(condition) else node.orelse, frame)
        left = self.evaluate(node.body, frame)
        right = self.evaluate(node.orelse, frame)
        self.node = node
        return math.select(self.b, condition, left, right)

    def _tuple(self, node: ast.Tuple, frame: Frame) -> Any:
        return tuple(self.items(node.elts, frame))

    def _list(self, node: ast.List, frame: Frame) -> Any:
        return self.items(node.elts, frame)

    def items(self, nodes: Sequence[ast.expr], frame: Frame) -> list[Any]:
        """Values of a display or argument list, `*xs` spread out."""
        values: list[Any] = []
        nested = False
        for item in nodes:
            if type(item) is ast.Starred:
                spread = self.evaluate(item.value, frame)
                if not isinstance(spread, (tuple, list)):
                    raise self.fail("only a tuple or list can be spread with *", item)
                values.extend(spread)
                nested = True
            else:
                value = _EXPRESSIONS[type(item)](self, item, frame)
                if type(value) is tuple or type(value) is list:
                    nested = True
                values.append(value)
        return limits.sequence(values) if nested else values

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, frame: Frame) -> Any:
        inner = Frame(frame.generator, frame)
        results: list[Any] = []

        def run(level: int) -> None:
            if level == len(node.generators):
                results.append(self.evaluate(node.elt, inner))
                return
            clause = node.generators[level]
            if clause.is_async:
                raise self.fail("the kernel language has no `async`", node)
            for value in loops.static_items(self, self.evaluate(clause.iter, inner), clause.iter):
                self.tick()
                self.assign(clause.target, value, inner)
                if all(static.truth(self.evaluate(test, inner)) for test in clause.ifs):
                    run(level + 1)

        run(0)
        self.node = node
        return limits.sequence(results)

    def _lambda(self, node: ast.Lambda, frame: Frame) -> Any:
        return self._nested(node, frame)

    def _attribute(self, node: ast.Attribute, frame: Frame) -> Any:
        value = self.evaluate(node.value, frame)
        self.node = node
        return methods.attribute(self, value, node.attr)

    def _unknown(self, node: ast.expr, frame: Frame) -> Any:
        raise self.fail(f"the kernel language has no {_syntax_name(node)} expression", node)

    def _joined(self, node: ast.JoinedStr, frame: Frame) -> str:
        parts: list[str] = []
        for part in node.values:
            formatted = isinstance(part, ast.FormattedValue)
            value = self.evaluate(part.value if formatted else part, frame)
            parts.append(static.text_of(value))
        self.node = node
        return limits.text("".join(parts))

    def _call(self, node: ast.Call, frame: Frame) -> Any:
        function = _EXPRESSIONS[type(node.func)](self, node.func, frame)
        args = self.items(node.args, frame) if node.args else []
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.fail("** is not part of the kernel language", node)
            kwargs[keyword.arg] = _EXPRESSIONS[type(keyword.value)](self, keyword.value, frame)
        self.node = node
        self.file = frame.generator.file
        return calls.call(self, function, args, kwargs)

    def sum_terms(self, terms: Sequence[Any]) -> Any:
        """A sum with its parts ordered: sizes, then values from the outer loops inwards, then the number."""
        number, size = 0, 0
        moving: list[Simd] = []
        for term in terms:
            if isinstance(term, Simd):
                moving.append(term)
            elif isinstance(term, Dim):
                size = size + term
            else:
                number += term
        if isinstance(size, Dim):
            moving.append(math.dim_value(self.b, size))
        else:
            number += size
        if not moving:
            return number
        if len(moving) > 1:
            depths = self.b.depths
            moving.sort(key=lambda value: depths[id(value.ssa)])
        total: Any = moving[0]
        for term in moving[1:]:
            total = math.binary(self.b, "+", total, term)
        return math.binary(self.b, "+", total, number)


_SYNTAX = {
    "FunctionDef": "def", "ClassDef": "class", "Delete": "del", "ImportFrom": "import", "AsyncFunctionDef": "async def",
    "NamedExpr": ":=", "DictComp": "dict comprehension", "SetComp": "set comprehension", "AsyncFor": "async for",
    "AsyncWith": "async with", "TryStar": "try", "YieldFrom": "yield from", "Starred": "*",
}  # fmt: skip


def _syntax_name(node: ast.AST) -> str:
    name = type(node).__name__
    return _SYNTAX.get(name, name.lower())


_STATEMENTS: dict[type[ast.AST], Any] = {
    ast.Assign: Interpreter._assignment, ast.AnnAssign: Interpreter._annotated, ast.AugAssign: Interpreter._augmented,
    ast.Expr: Interpreter._expression, ast.Return: Interpreter._return, ast.For: loops.loop,
    ast.While: loops.while_loop, ast.FunctionDef: Interpreter._definition, ast.Assert: Interpreter._check,
    ast.Break: Interpreter._break, ast.Continue: Interpreter._continue, ast.Pass: Interpreter._pass,
}  # fmt: skip
_EXPRESSIONS: dict[type[ast.AST], Any] = defaultdict(lambda: Interpreter._unknown, {
    ast.Constant: Interpreter._constant, ast.Name: Interpreter._name, ast.BinOp: Interpreter._binary,
    ast.UnaryOp: Interpreter._unary, ast.BoolOp: Interpreter._boolean, ast.Compare: Interpreter._compare,
    ast.IfExp: Interpreter._conditional, ast.Tuple: Interpreter._tuple, ast.List: Interpreter._list,
    ast.ListComp: Interpreter._comprehension, ast.GeneratorExp: Interpreter._comprehension,
    ast.Lambda: Interpreter._lambda, ast.Attribute: Interpreter._attribute, ast.Subscript: indexing.load,
    ast.Call: Interpreter._call, ast.JoinedStr: Interpreter._joined,
})  # fmt: skip
