"""Elaboration: walks the syntax of kernel functions, computes what is known and emits what is not."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from compiler.errors import KernelError, Location
from compiler.graph.dims import Dim
from compiler.language import arithmetic as math
from compiler.language import control_flow, indexing, methods
from compiler.language.builder import Builder
from compiler.language.builtins import BUILTINS, Builtin
from compiler.language.dtypes import LANGUAGE_DTYPES, DType
from compiler.language.loadables import FusedOutput, Tensor, tensor_sink
from compiler.language.values import UNDEFINED, Closure, Frame, Generator, Returned, RuntimeRange, Simd

_MAX_DEPTH = 150
_MAX_STEPS = 4_000_000
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.Eq: "==", ast.NotEq: "!=",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not",
}  # fmt: skip


class Interpreter:
    """One elaboration: the current builder, the library and what is instantiated on the way."""

    def __init__(self, host: Any) -> None:
        self.host = host  # instantiates functions, allocates workspaces; see elaborate.Elaborator
        self.b: Builder = Builder()
        self.node: ast.AST | None = None
        self.file = ""
        self.depth = 0
        self.steps = 0

    # Places and errors

    def where(self) -> Location:
        """The place in the source being elaborated."""
        return Location(self.file, getattr(self.node, "lineno", 0), getattr(self.node, "col_offset", -1) + 1)

    def fail(self, message: str, node: ast.AST | None = None) -> KernelError:
        """An error at a node, or at the current place."""
        if node is not None:
            self.node = node
        return KernelError(message, self.where())

    # Statements

    def block(self, statements: Sequence[ast.stmt], frame: Frame) -> Returned | None:
        """Elaborate statements in order; the outcome is a value when they return."""
        for position, statement in enumerate(statements):
            if isinstance(statement, ast.If):
                outcome = control_flow.branch(self, statement, statements[position + 1 :], frame)
            else:
                outcome = self.statement(statement, frame)
            if outcome is not None:
                return outcome
        return None

    def enter_line(self, node: ast.AST, frame: Frame) -> None:
        """Make a statement the current place: its line, and in generated source its provenance."""
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise self.fail("elaboration does not end: too many steps", node)
        self.node = node
        generator = frame.generator
        self.file = generator.file
        b = self.b
        b.file, b.line = generator.file, node.lineno  # pyright: ignore[reportAttributeAccessIssue]
        if generator.line_slots:
            provenance = self.host.provenance(generator, b.line)
            if provenance:
                b.provenance = provenance

    def statement(self, node: ast.stmt, frame: Frame) -> Returned | None:
        """Elaborate one statement."""
        self.enter_line(node, frame)
        kind = type(node)
        if kind is ast.Assign:
            value = self.evaluate(node.value, frame)  # pyright: ignore[reportAttributeAccessIssue]
            for target in node.targets:  # pyright: ignore[reportAttributeAccessIssue]
                self.assign(target, value, frame)
        elif kind is ast.Expr:
            if not isinstance(node.value, ast.Constant):  # pyright: ignore[reportAttributeAccessIssue]
                self.evaluate(node.value, frame)  # pyright: ignore[reportAttributeAccessIssue]
        elif kind is ast.AugAssign:
            self._augmented(node, frame)  # pyright: ignore[reportArgumentType]
        elif kind is ast.Return:
            value = node.value  # pyright: ignore[reportAttributeAccessIssue]
            return Returned(None if value is None else self.evaluate(value, frame))
        elif kind is ast.For:
            return control_flow.loop(self, node, frame)  # pyright: ignore[reportArgumentType]
        elif kind is ast.While:
            control_flow.while_loop(self, node, frame)  # pyright: ignore[reportArgumentType]
        elif kind is ast.FunctionDef:
            frame.env[node.name] = self._nested(node, frame)  # pyright: ignore[reportAttributeAccessIssue, reportArgumentType]
        elif kind is ast.AnnAssign and node.value is not None:  # pyright: ignore[reportAttributeAccessIssue]
            self.assign(node.target, self.evaluate(node.value, frame), frame)  # pyright: ignore[reportAttributeAccessIssue]
        elif kind is ast.Assert:
            self._check(node, frame)  # pyright: ignore[reportArgumentType]
        elif kind is ast.Break:
            raise control_flow.Break(self.where())
        elif kind is ast.Continue:
            raise control_flow.Continue(self.where())
        elif kind is not ast.Pass:
            raise self.fail(f"the kernel language has no `{_statement_name(node)}`", node)
        return None

    def _check(self, node: ast.Assert, frame: Frame) -> None:
        condition = self.evaluate(node.test, frame)
        if isinstance(condition, Simd):
            raise self.fail("assert needs a compile-time condition", node)
        if not math.truth(condition):
            message = self.evaluate(node.msg, frame) if node.msg is not None else ast.unparse(node.test)
            raise self.fail(f"assertion failed: {message}", node)

    def _augmented(self, node: ast.AugAssign, frame: Frame) -> None:
        target = node.target
        load = ast.copy_location(
            ast.Name(target.id, ast.Load()) if isinstance(target, ast.Name)
            else ast.Subscript(target.value, target.slice, ast.Load()) if isinstance(target, ast.Subscript)
            else target, target,
        )  # fmt: skip
        current = self.evaluate(load, frame)
        value = self.evaluate(node.value, frame)
        self.assign(target, math.binary(self.b, _OPERATORS[type(node.op)], current, value), frame)

    def assign(self, target: ast.expr, value: Any, frame: Frame) -> None:
        """Bind a target to a value."""
        if isinstance(target, ast.Name):
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
        outer = frame.generator
        arguments = node.args
        if arguments.kwarg or arguments.posonlyargs or (isinstance(node, ast.FunctionDef) and node.decorator_list):
            raise self.fail("a nested function takes plain arguments and no decorators", node)
        from compiler.language.source import defaults_of

        body = tuple(node.body) if isinstance(node, ast.FunctionDef) else (_returning(node),)
        generator = Generator(
            name=node.name if isinstance(node, ast.FunctionDef) else "lambda", kind="closure", registers="",
            arguments=tuple((a.arg, None) for a in arguments.args),
            variadic=arguments.vararg.arg if arguments.vararg else None,
            parameters=defaults_of(arguments), body=body, file=outer.file, line=node.lineno,
            line_slots=outer.line_slots, constants=outer.constants,
        )  # fmt: skip
        return Closure(generator, frame)

    # Expressions

    def evaluate(self, node: ast.expr, frame: Frame) -> Any:
        """The value of an expression."""
        handler = _EXPRESSIONS.get(type(node))
        if handler is None:
            raise self.fail(f"the kernel language has no {_statement_name(node)} expression", node)
        return handler(self, node, frame)

    def _constant(self, node: ast.Constant, frame: Frame) -> Any:
        value = node.value
        if isinstance(value, (bytes, complex)) or value is Ellipsis:
            raise self.fail(f"the kernel language has no literal {value!r}", node)
        return value

    def _name(self, node: ast.Name, frame: Frame) -> Any:
        name = node.id
        scope = frame.find(name)
        if scope is not None:
            value = scope.env[name]
            if value is UNDEFINED:
                raise self.fail(f"{name} has no value on every way to this line", node)
            return value
        return self.global_name(name, frame, node)

    def global_name(self, name: str, frame: Frame, node: ast.AST) -> Any:
        """A name that no enclosing function defines: a file constant, dtype, builtin or library function."""
        constants = frame.generator.constants
        if name in constants:
            return constants[name]
        if name in LANGUAGE_DTYPES:
            return LANGUAGE_DTYPES[name]
        if name in BUILTINS:
            return BUILTINS[name]
        found = self.host.lookup(name)
        if found is None:
            raise self.fail(f"unknown name {name}", node)
        return found

    def _binary(self, node: ast.BinOp, frame: Frame) -> Any:
        left = self.evaluate(node.left, frame)
        right = self.evaluate(node.right, frame)
        self.node = node
        sign = _OPERATORS.get(type(node.op))
        if sign is None:
            raise self.fail("the kernel language has no such operator", node)
        return math.binary(self.b, sign, left, right)

    def _unary(self, node: ast.UnaryOp, frame: Frame) -> Any:
        value = self.evaluate(node.operand, frame)
        self.node = node
        return math.unary(self.b, _OPERATORS[type(node.op)], value)

    def _boolean(self, node: ast.BoolOp, frame: Frame) -> Any:
        conjunction = isinstance(node.op, ast.And)
        result: Any = None
        for operand in node.values:
            value = self.evaluate(operand, frame)
            if not isinstance(value, Simd):
                if math.truth(value) != conjunction:
                    return value  # decides the whole, whatever the run-time parts are
                result = value if result is None else result
            else:
                both = isinstance(result, Simd)
                result = math.binary(self.b, "&" if conjunction else "|", result, value) if both else value
        return result

    def _compare(self, node: ast.Compare, frame: Frame) -> Any:
        left = self.evaluate(node.left, frame)
        result: Any = True
        for operation, operand in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(operand, frame)
            self.node = node
            if isinstance(operation, (ast.Is, ast.IsNot)):
                value: Any = (left is right) == isinstance(operation, ast.Is)
            elif isinstance(operation, (ast.In, ast.NotIn)):
                if not math.is_static(left) or not isinstance(right, (tuple, list, str, range)):
                    raise self.fail("`in` needs compile-time values", node)
                value = (left in right) == isinstance(operation, ast.In)
            else:
                value = math.binary(self.b, _OPERATORS[type(operation)], left, right)
            if result is True:
                result = value
            elif isinstance(result, Simd) or isinstance(value, Simd):
                result = math.binary(self.b, "&", result, value) if value is not True else result
            else:
                result = result and value
            if result is False:
                return False
            left = right
        return result

    def _conditional(self, node: ast.IfExp, frame: Frame) -> Any:
        condition = self.evaluate(node.test, frame)
        if not isinstance(condition, Simd):
            return self.evaluate(node.body if math.truth(condition) else node.orelse, frame)
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
        for item in nodes:
            if isinstance(item, ast.Starred):
                spread = self.evaluate(item.value, frame)
                if isinstance(spread, RuntimeRange) or not isinstance(spread, (tuple, list)):
                    raise self.fail("only a tuple or list can be spread with *", item)
                values.extend(spread)
            else:
                values.append(self.evaluate(item, frame))
        return values

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, frame: Frame) -> Any:
        inner = Frame(frame.generator, frame)
        results: list[Any] = []

        def run(level: int) -> None:
            if level == len(node.generators):
                results.append(self.evaluate(node.elt, inner))
                return
            clause = node.generators[level]
            for value in control_flow.static_items(self, self.evaluate(clause.iter, inner), clause.iter):
                self.assign(clause.target, value, inner)
                if all(math.truth(self.evaluate(test, inner)) for test in clause.ifs):
                    run(level + 1)

        run(0)
        return results

    def _lambda(self, node: ast.Lambda, frame: Frame) -> Any:
        return self._nested(node, frame)

    def _attribute(self, node: ast.Attribute, frame: Frame) -> Any:
        value = self.evaluate(node.value, frame)
        self.node = node
        return methods.attribute(self, value, node.attr)

    def _subscript(self, node: ast.Subscript, frame: Frame) -> Any:
        return indexing.load(self, node, frame)

    def _joined(self, node: ast.JoinedStr, frame: Frame) -> str:
        parts: list[str] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                value = self.evaluate(part.value, frame)
                parts.append(str(value) if math.is_static(value) else math.describe(value))
            else:
                parts.append(str(part.value))  # pyright: ignore[reportAttributeAccessIssue]
        return "".join(parts)

    # Calls

    def _call(self, node: ast.Call, frame: Frame) -> Any:
        function = self.evaluate(node.func, frame)
        args = self.items(node.args, frame)
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.fail("** is not part of the kernel language", node)
            kwargs[keyword.arg] = self.evaluate(keyword.value, frame)
        self.node = node
        self.file = frame.generator.file
        return self.call(function, args, kwargs)

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any] | None = None) -> Any:
        """Call anything callable: a library function, a closure, a builtin, a dtype."""
        kwargs = kwargs or {}
        if isinstance(function, Closure):
            return self.inline(function.generator, args, kwargs, function.frame)
        if isinstance(function, Generator):
            if function.kind in ("function", "outlined"):
                return self.host.instantiate(self, function, args, kwargs)
            if function.kind == "elementwise":
                return self._elementwise(function, args, kwargs)
            return self.inline(function, args, kwargs, None)
        if isinstance(function, Builtin):
            return function.run(self, args, kwargs)
        if isinstance(function, methods.Bound):
            return methods.invoke(self, function, args, kwargs)
        if isinstance(function, DType):
            if len(args) != 1 or kwargs:
                raise KernelError(f"{function.name}(x) takes one value")
            return math.cast(self.b, args[0], function)
        raise KernelError(f"{math.describe(function)} cannot be called")

    def inline(self, generator: Generator, args: list[Any], kwargs: dict[str, Any], parent: Frame | None) -> Any:
        """Elaborate a function's body right here."""
        frame = Frame(generator, parent)
        self.bind(generator, frame, args, kwargs)
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise KernelError(f"{generator.name} calls itself without end")
        b = self.b
        saved = (b.file, b.line, b.provenance, self.node, self.file)
        outcome = self.block(generator.body, frame)
        b.file, b.line, b.provenance, self.node, self.file = saved
        self.depth -= 1
        return outcome.value if outcome is not None else None

    def bind(self, generator: Generator, frame: Frame, args: list[Any], kwargs: dict[str, Any]) -> None:
        """Give the arguments and parameters of a call their names."""
        env = frame.env
        names = generator.arguments
        given = dict(kwargs)
        for position, (name, annotation) in enumerate(names):
            kind = annotation_name(annotation)
            if position < len(args):
                value = args[position]
            elif name in given:
                value = given.pop(name)
            elif kind == "Workspace":
                value = self.host.workspace(self, annotation, frame)
            else:
                raise KernelError(f"{generator.name} lacks its argument {name}")
            env[name] = _fitted(value, kind, generator, name)
        if generator.variadic is not None:
            env[generator.variadic] = tuple(args[len(names) :])
        elif len(args) > len(names):
            raise KernelError(f"{generator.name} takes {len(names)} arguments, not {len(args)}")
        for parameter in generator.parameters:
            if parameter.name in given:
                env[parameter.name] = given.pop(parameter.name)
            elif parameter.default is not None:
                env[parameter.name] = self.evaluate(parameter.default, frame)
            else:
                raise KernelError(f"{generator.name} lacks its parameter {parameter.name}")
        if given:
            raise KernelError(f"{generator.name} has no parameter {', '.join(sorted(given))}")

    def _elementwise(self, function: Generator, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """16-bit floats are computed in f32 and rounded once, so that fusing never changes a value."""
        narrow: DType | None = None
        if not function.raw:
            wide: list[Any] = []
            for value in args:
                if isinstance(value, Simd) and value.dtype.is_float and value.dtype.bits == 16:
                    narrow = value.dtype
                    value = math.cast(self.b, value, LANGUAGE_DTYPES["f32"])
                wide.append(value)
            args = wide
        result = self.inline(function, args, kwargs, None)
        if narrow is not None and isinstance(result, Simd) and result.dtype is LANGUAGE_DTYPES["f32"]:
            return math.cast(self.b, result, narrow)
        return result

    # Helpers for the other rooms

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
        depths = self.b.depths
        moving.sort(key=lambda value: depths[value.ssa])
        total: Any = moving[0]
        for term in moving[1:]:
            total = math.binary(self.b, "+", total, term)
        return math.binary(self.b, "+", total, number)


def annotation_name(annotation: ast.expr | None) -> str:
    """The kind an argument's annotation names: Tensor, FusedInput, FusedOutput, Workspace or nothing."""
    if isinstance(annotation, ast.Subscript):
        annotation = annotation.value
    return annotation.id if isinstance(annotation, ast.Name) else ""


def _fitted(value: Any, kind: str, generator: Generator, name: str) -> Any:
    if kind == "FusedOutput" and isinstance(value, Tensor):
        return tensor_sink(value)
    if kind == "Tensor" and not isinstance(value, Tensor):
        raise KernelError(f"{generator.name} asks for a Tensor as {name}, not {type(value).__name__}")
    if kind == "FusedOutput" and not isinstance(value, FusedOutput):
        raise KernelError(f"{generator.name} asks for a FusedOutput as {name}, not {math.describe(value)}")
    return value


def _returning(node: ast.Lambda) -> ast.stmt:
    return ast.copy_location(ast.Return(node.body), node.body)


def _statement_name(node: ast.AST) -> str:
    return {"FunctionDef": "def", "ClassDef": "class", "With": "with", "Try": "try", "Delete": "del", "Raise": "raise",
            "Global": "global", "Nonlocal": "nonlocal", "Import": "import", "ImportFrom": "import",
            "AsyncFunctionDef": "async def", "Yield": "yield", "Await": "await", "Set": "set", "Dict": "dict",
            "NamedExpr": ":=", "Match": "match", "DictComp": "dict comprehension", "SetComp": "set comprehension",
            }.get(type(node).__name__, type(node).__name__)  # fmt: skip


_EXPRESSIONS: dict[type[ast.AST], Any] = {
    ast.Constant: Interpreter._constant, ast.Name: Interpreter._name, ast.BinOp: Interpreter._binary,
    ast.UnaryOp: Interpreter._unary, ast.BoolOp: Interpreter._boolean, ast.Compare: Interpreter._compare,
    ast.IfExp: Interpreter._conditional, ast.Tuple: Interpreter._tuple, ast.List: Interpreter._list,
    ast.ListComp: Interpreter._comprehension, ast.GeneratorExp: Interpreter._comprehension,
    ast.Lambda: Interpreter._lambda, ast.Attribute: Interpreter._attribute, ast.Subscript: Interpreter._subscript,
    ast.Call: Interpreter._call, ast.JoinedStr: Interpreter._joined,
}  # fmt: skip
