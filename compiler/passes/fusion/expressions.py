"""Expressions of a kernel's text: loadables and values at a position, and the lambdas that compute them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from compiler.passes.fusion.analysis import Node, Value, literal_of, views_between
from compiler.passes.fusion.collapse import collapse, regroup_source
from compiler.passes.fusion.contexts import below_reshapes, contexts_of
from compiler.passes.fusion.groups import Context, Group, Groups
from compiler.passes.fusion.paths import IDENTITY, Path, Shape, Step, inverse_calls, stripped
from compiler.passes.fusion.pieces import Definition, Leaf, Line, Read, Text, assigned, call
from compiler.passes.fusion.records import Buffer
from compiler.passes.fusion.text import SymbolNames, literal

_DEEP = 100  # views in one kernel from which on they are written in order, not where they are first asked for


Operand = tuple[Text, list[Node], bool]
"""The text of an operand at a position, the ops in it, and whether it has one lane only."""


class Lambda:
    """A lambda being written: its lines, its variables, and loads that it makes more than once."""

    def __init__(self, frame: Path) -> None:
        self.frame = frame  # from the space of its positions to that of its contexts
        self.lines: list[Line] = []
        self.variables: dict[tuple[Context, Value], str] = {}
        self.scalars: set[str] = set()  # variables of one lane whatever the position: made of literals only
        self.counts: Counter[tuple[Context, Value]] = Counter()
        self.next = 0

    def fresh(self) -> str:
        """A new variable's name."""
        self.next += 1
        return f"v{self.next - 1}"

    def held(self, text: Text, nodes: list[Node], scalar: bool) -> tuple[Text, list[Node], bool]:
        """A value's text, as a variable where it is a load, which is then made here."""
        if text[-1] != "[at]":
            return text, nodes, scalar
        variable = self.fresh()
        self.lines.append(Line((f"        {variable} = ", *text), nodes))
        return (variable,), [], scalar


class Expressions:
    """What is needed to write one group, and what has been written so far."""

    def __init__(self, group: Group, groups: Groups, functions: frozenset[str]) -> None:
        self.group = group
        self.groups = groups
        self.names = SymbolNames(functions)
        self.leaves: dict[Buffer, Leaf] = {}
        self.definitions: list[Definition] = []
        self.contexts = contexts_of(group)
        self.frame = IDENTITY if group.core is not None else collapse(group, self.contexts)
        """From the space that is walked to the group's."""
        self._loadables: dict[tuple[Value, Shape], tuple[Text, list[Node]]] = {}
        self._made = Counter[str]()

    def define(self, name: str, lines: list[Line], late: bool = False) -> Definition:
        """A definition that stands in the text from here on."""
        made = Definition(name, lines, late)
        self.definitions.append(made)
        return made

    def define_input(self, body: Lambda, result: Text, nodes: list[Node], dtype: str, shape: Shape) -> Text:
        """A lambda for what a kernel reads, as a loadable; `result` is what it returns."""
        name = self._numbered("input")
        lines = [Line((f"    def {name}(at):",)), *body.lines, Line(("        return ", *result), nodes)]
        return ("FusedInput(", self.define(name, lines), f", {dtype}, {self.names.shape(shape)})")

    def _numbered(self, stem: str) -> str:
        self._made[stem] += 1
        return f"{stem}{self._made[stem] - 1}"

    # Loadables: what can be asked for elements.

    def write_deep_views(self) -> None:
        """Define long chains of loadables from the bottom up, so that writing one never nests deeply."""
        for value in sorted(self.group.access, key=lambda v: v.node.index if v.node else -1):
            node = value.node
            if node is None or not self.group.access[value].loads:
                continue
            if node in self.group.members or (node.view and len(self.group.access) > _DEEP):
                self.loadable(value)

    def _is_leaf(self, value: Value) -> bool:
        if not self.group.is_leaf(value):
            return False
        return literal_of(value) is None or value in self.group.access  # a literal is read only where a tensor must be

    def _leaf(self, buffer: Buffer, shape: Shape, path: Path | None) -> Text:
        """A buffer read in a shape; `path` says where when that is the main lambda's own position."""
        leaf = self.leaves.get(buffer)
        if leaf is None:
            leaf = self.leaves[buffer] = Leaf(buffer)
        leaf.paths.add(path)
        leaf.shapes[shape] = None
        return (Read(leaf, shape),)

    def loadable(self, value: Value, shape: Shape | None = None, path: Path | None = None) -> tuple[Text, list[Node]]:
        """An expression for a value as a loadable of `shape` (its own, or another in row-major order), and the ops
        that the expression stands for beyond those that have their own lines."""
        shape = value.shape if shape is None else shape
        node = value.node
        if self._is_leaf(value) and value.buffer is not None:
            return self._leaf(value.buffer, shape, path), []
        element = literal_of(value)
        if element is not None:
            return (self.constant(element, value.type.dtype, shape),), _literal_nodes(value)
        assert node is not None
        if node.kind == "load":
            return self._leaf(node.operands[0].buffer, shape, path), [node]  # type: ignore[arg-type]
        if node.kind == "view" and node.view == "reshape":
            text, nodes = self.loadable(node.operands[0], shape, path)
            return text, [*nodes, node]
        found = self._loadables.get((value, shape))
        if found is None:
            make = self._view if node.kind == "view" else self._lambda
            found = self._loadables[(value, shape)] = make(node, shape)
        return found

    def constant(self, element: object, dtype: str, shape: Shape) -> str:
        """A loadable that holds one element everywhere."""
        return f"FusedInput(lambda at: {literal(element, dtype)}, {dtype}, {self.names.shape(shape)})"

    def _lambda(self, node: Node, shape: Shape) -> tuple[Text, list[Node]]:
        value = node.result
        if shape != value.shape and any(n.kind != "elementwise" for n in self.contexts[value]):
            return self._reshaped(value, shape)
        body = Lambda(IDENTITY if shape == value.shape else (Step(shape, value.shape),))
        self.write(body, [value])
        return self.define_input(body, (body.variables[(value, value)],), [node], value.type.dtype, shape), []

    def _view(self, node: Node, shape: Shape) -> tuple[Text, list[Node]]:
        value, operand = node.result, node.operands[0]
        source: Shape | None = operand.shape
        if shape != value.shape:
            broadcasts = node.view == "broadcast"
            source = regroup_source(operand.shape, value.shape, shape) if broadcasts else None
            if source is None:
                return self._reshaped(value, shape)
        text, nodes = self.loadable(operand, source)
        name = self._numbered("view")
        made = call(f"    {assigned(name, node)}", [text, *self.parameters(node, shape)])
        return (self.define(name, [Line(made, [node, *nodes])]),), []

    def _reshaped(self, value: Value, shape: Shape) -> tuple[Text, list[Node]]:
        text, nodes = self.loadable(value)
        return (*text, f".reshape({self.names.shape(shape)})"), nodes

    # Calls and values at a position.

    def parameters(self, node: Node, shape: Shape | None = None) -> list[Text]:
        """The keyword arguments of a call: the op's attributes, and its result's dtype and shape where asked for."""
        result = node.result.type
        made: list[Text] = []
        for name in node.signature.params:
            if name == "shape" and shape is not None:
                made.append((f"shape={self.names.shape(shape)}",))
            elif name in node.attrs:
                made.append((f"{name}={self.names.parameter(node.attrs[name], result.dtype)}",))
            elif name == "result":
                made.append((f"result={result.dtype}",))
            elif name == "shape":
                made.append((f"shape={self.names.shape(result.shape)}",))
        return made

    def as_value(self, value: Value, text: Text) -> Text:
        """Memory as what a kernel works on: bytes that hold an opaque value are that value."""
        if value.opaque is None:
            return text
        definition, params = value.opaque
        return call(definition, [text, *((f"{name}={self.names.parameter(given, 'f64')}",) for name, given in params)])

    def at(self, value: Value, context: Context, body: Lambda) -> tuple[Text, list[Node], bool]:
        """A value at the lambda's position: its text, the ops that stand in it, whether it has one lane only."""
        element = literal_of(value)
        if element is not None:
            return (literal(element, value.type.dtype),), _literal_nodes(value), True
        variable = body.variables.get((context, value))
        if variable is not None:
            return (variable,), [], variable in body.scalars
        if self.group.positions and (hand := self.groups.at_hand(value)) is not None and hand[1] is self.group:
            variable = body.variables[(self.group.positions[hand[0]], hand[0])]
            return (variable,), views_between(value, hand[0]), variable in body.scalars
        below, under = below_reshapes(value, context, self.group)
        variable = body.variables.get((under, below))
        if variable is not None:
            return (variable,), views_between(value, below), variable in body.scalars
        text, nodes = self.loaded(value, context, body.frame)
        if body.counts[(context, value)] > 1:
            variable = body.variables[(context, value)] = body.fresh()
            body.lines.append(Line((f"        {variable} = ", *text, "[at]"), nodes))
            return (variable,), [], False
        return (*text, "[at]"), nodes, False

    def loaded(self, value: Value, context: Context, frame: Path) -> tuple[Text, list[Node]]:
        """A loadable of the shape that the lambda's positions have."""
        main = not isinstance(context, Value)
        path = frame + context if main else frame
        shape, full = value.shape, path
        while path and path[-1].perm is None:
            shape, path = path[-1].before, path[:-1]
        text, nodes = self.loadable(value, shape, stripped(full) if main else None)
        return ((*text, inverse_calls(path, self.names.shape)) if path else text), nodes

    def write(self, body: Lambda, roots: list[Context]) -> None:
        """Write the ops of some contexts, in graph order, as lines of a lambda."""
        work = sorted(
            ((node, context) for context in roots for node in self.contexts.get(context, ())), key=lambda w: w[0].index
        )
        for node, context in work:
            if node.kind == "elementwise":
                body.counts.update((context, operand) for operand in node.operands)
        for node, context in work:
            self.write_op(node, context, body, lambda operand, context=context: self.at(operand, context, body))

    def write_op(self, node: Node, context: Context, body: Lambda, at: Callable[[Value], Operand]) -> None:
        """Write an op as a line of a lambda; `at` gives an operand at the lambda's position."""
        nodes, scalar = [node], node.kind == "elementwise"
        arguments: list[Text] = [] if scalar else [("at",)]
        for operand in node.operands:
            if node.kind == "elementwise":
                text, extra, one = at(operand)
                scalar = scalar and one
            else:
                text, extra = self.loadable(operand)
            arguments.append(text)
            nodes += extra
        variable = body.variables[(context, node.result)] = body.fresh()
        if scalar:
            body.scalars.add(variable)
        made = call(f"        {assigned(variable, node)}", [*arguments, *self.parameters(node)])
        body.lines.append(Line(made, nodes))


def _literal_nodes(value: Value) -> list[Node]:
    found = []
    while value.node is not None:
        found.append(value.node)
        if not value.node.operands:
            break
        value = value.node.operands[0]
    return found
