"""Expressions of a kernel's text: leaves, loadables and values at a position, and the lambdas that compute them.

Leaves are written as tokens first and named when the text is complete: a buffer whose uses all want one shape is
declared with it, so that reshapes of buffers vanish from the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from compiler.passes.fusion.analysis import Node, Value, literal_of
from compiler.passes.fusion.collapse import below_reshapes, collapse, regroup_source
from compiler.passes.fusion.groups import Context, Group, Groups
from compiler.passes.fusion.paths import IDENTITY, Path, Shape, Step, inverse_calls, stripped
from compiler.passes.fusion.records import Buffer
from compiler.passes.fusion.text import SymbolNames, literal

_DEEP = 100  # views in one kernel from which on they are written in order, not where they are first asked for


@dataclass
class Line:
    """A line of text and the graph ops it stands for."""

    text: str
    nodes: list[Node] = field(default_factory=list)


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


class Expressions:
    """What is needed to write one group, and what has been written so far."""

    def __init__(self, group: Group, groups: Groups, functions: frozenset[str]) -> None:
        self.group = group
        self.groups = groups
        self.names = SymbolNames(functions)
        self.leaves: dict[Buffer, int] = {}
        self.wanted: list[list[Shape]] = []  # per leaf, the shapes it is read in
        self.reads: list[set[Path | None]] = []  # per leaf: the paths it is read through at the main position, or None
        self.top: list[Line] = []
        self.loadables: dict[tuple[Value, Shape], tuple[str, list[Node]]] = {}
        self.inputs_made = self.views_made = 0
        self.contexts: dict[Context, list[Node]] = {}
        for node in sorted(group.members, key=lambda n: n.index):
            for context in self._contexts_of(node):
                self.contexts.setdefault(context, []).append(node)
        self.frame: Path = IDENTITY  # from the space that is walked to the group's
        if group.core is None:
            self.frame = collapse(group, self.contexts)

    def _contexts_of(self, node: Node) -> Iterable[Context]:
        if node.kind not in ("elementwise", "pointwise"):
            return ()
        access = self.group.access.get(node.result)
        if access is None:  # joined as an epilogue
            return (self.group.positions[node.result],)
        return (*access.contexts, node.result) if access.loads else tuple(access.contexts)

    # Loadables: what can be asked for elements.

    def write_deep_views(self) -> None:
        """Define long chains of loadables from the bottom up, so that writing one never nests deeply."""
        for value in sorted(self.group.access, key=lambda v: v.node.index if v.node else -1):
            node = value.node
            if node is None or not self.group.access[value].loads:
                continue
            if node in self.group.members or (node.view and len(self.group.access) > _DEEP):
                self.loadable(value)

    def main(self) -> list[Context]:
        """The contexts of the main lambda that compute something."""
        return [c for c in self.contexts if not isinstance(c, Value)]

    def _is_leaf(self, value: Value) -> bool:
        if value.buffer is None or (value.node is not None and value.node in self.group.members):
            return False
        return literal_of(value) is None or value in self.group.access  # a literal is read only where a tensor must be

    def _leaf(self, buffer: Buffer, shape: Shape, path: Path | None) -> str:
        """A token for a buffer read in a shape; `path` says where when that is the main lambda's own position."""
        number = self.leaves.setdefault(buffer, len(self.leaves))
        if number == len(self.wanted):
            self.wanted.append([])
            self.reads.append(set())
        self.reads[number].add(path)
        shapes = self.wanted[number]
        if shape not in shapes:
            shapes.append(shape)
        return f"\ue001{number},{shapes.index(shape)}\ue002"

    def loadable(self, value: Value, shape: Shape | None = None, path: Path | None = None) -> tuple[str, list[Node]]:
        """An expression for a value as a loadable of `shape` (its own, or another in row-major order), and the ops
        that the expression stands for beyond those that have their own lines."""
        shape = value.shape if shape is None else shape
        node = value.node
        if self._is_leaf(value) and value.buffer is not None:
            return self._leaf(value.buffer, shape, path), []
        element = literal_of(value)
        if element is not None:
            text = f"FusedInput(lambda at: {literal(element, value.type.dtype)}, {value.type.dtype}, "
            return f"{text}{self.names.shape(shape)})", _literal_nodes(value)
        assert node is not None
        if node.kind == "load":
            return self._leaf(node.operands[0].buffer, shape, path), [node]  # type: ignore[arg-type]
        if node.kind == "view" and node.view == "reshape":
            text, nodes = self.loadable(node.operands[0], shape, path)
            return text, [*nodes, node]
        found = self.loadables.get((value, shape))
        if found is None:
            make = self._view if node.kind == "view" else self._lambda
            found = self.loadables[(value, shape)] = make(node, shape)
        return found

    def _lambda(self, node: Node, shape: Shape) -> tuple[str, list[Node]]:
        value = node.result
        if shape != value.shape and any(n.kind != "elementwise" for n in self.contexts[value]):
            text, nodes = self.loadable(value)
            return f"{text}.reshape({self.names.shape(shape)})", nodes
        body = Lambda(IDENTITY if shape == value.shape else (Step(shape, value.shape),))
        self.write(body, [value])
        name = f"input{self.inputs_made}"
        self.inputs_made += 1
        self.top += [Line(f"    def {name}(at):"), *body.lines]
        self.top.append(Line(f"        return {body.variables[(value, value)]}", [node]))
        return f"FusedInput({name}, {value.type.dtype}, {self.names.shape(shape)})", []

    def _view(self, node: Node, shape: Shape) -> tuple[str, list[Node]]:
        value, operand = node.result, node.operands[0]
        source: Shape | None = operand.shape
        if shape != value.shape:
            broadcasts = node.view == "broadcast"
            source = regroup_source(operand.shape, value.shape, shape) if broadcasts else None
            if source is None:
                text, nodes = self.loadable(value)
                return f"{text}.reshape({self.names.shape(shape)})", nodes
        text, nodes = self.loadable(operand, source)
        arguments = [text, *self.parameters(node, shape)]
        name = f"view{self.views_made}"
        self.views_made += 1
        self.top.append(Line(f"    {name} = {node.signature.name}({', '.join(arguments)})", [node, *nodes]))
        return name, []

    # Calls and values at a position.

    def parameters(self, node: Node, shape: Shape | None = None) -> list[str]:
        """The keyword arguments of a call: the op's attributes, and its result's dtype and shape where asked for."""
        result = node.result.type
        made = []
        for name in node.signature.params:
            if name == "shape" and shape is not None:
                made.append(f"shape={self.names.shape(shape)}")
            elif name in node.attrs:
                made.append(f"{name}={self.names.parameter(node.attrs[name], result.dtype)}")
            elif name == "result":
                made.append(f"result={result.dtype}")
            elif name == "shape":
                made.append(f"shape={self.names.shape(result.shape)}")
        return made

    def at(self, value: Value, context: Context, body: Lambda) -> tuple[str, list[Node], bool]:
        """A value at the lambda's position: its text, the ops that stand in it, whether it has one lane only."""
        element = literal_of(value)
        if element is not None:
            return literal(element, value.type.dtype), _literal_nodes(value), True
        variable = body.variables.get((context, value))
        if variable is not None:
            return variable, [], variable in body.scalars
        if self.group.positions and (hand := self.groups.at_hand(value)) is not None and hand[1] is self.group:
            variable = body.variables[(self.group.positions[hand[0]], hand[0])]
            return variable, views_between(value, hand[0]), variable in body.scalars
        below, under = below_reshapes(value, context, self.group)
        variable = body.variables.get((under, below))
        if variable is not None:
            return variable, views_between(value, below), variable in body.scalars
        text, nodes = self.loaded(value, context, body.frame)
        if body.counts[(context, value)] > 1:
            variable = body.variables[(context, value)] = body.fresh()
            body.lines.append(Line(f"        {variable} = {text}[at]", nodes))
            return variable, [], False
        return f"{text}[at]", nodes, False

    def loaded(self, value: Value, context: Context, frame: Path) -> tuple[str, list[Node]]:
        """A loadable of the shape that the lambda's positions have."""
        main = not isinstance(context, Value)
        path = frame + context if main else frame
        shape, full = value.shape, path
        while path and path[-1].perm is None:
            shape, path = path[-1].before, path[:-1]
        text, nodes = self.loadable(value, shape, stripped(full) if main else None)
        return text + inverse_calls(path, self.names.shape), nodes

    def write(self, body: Lambda, roots: list[Context]) -> None:
        """Write the ops of some contexts, in graph order, as lines of a lambda."""
        work = sorted(
            ((node, context) for context in roots for node in self.contexts.get(context, ())), key=lambda w: w[0].index
        )
        for node, context in work:
            if node.kind == "elementwise":
                body.counts.update((context, operand) for operand in node.operands)
        for node, context in work:
            nodes, scalar = [node], node.kind == "elementwise"
            arguments = [] if scalar else ["at"]
            for operand in node.operands:
                if node.kind == "elementwise":
                    text, extra, one = self.at(operand, context, body)
                    scalar = scalar and one
                else:
                    text, extra = self.loadable(operand)
                arguments.append(text)
                nodes += extra
            variable = body.variables[(context, node.result)] = body.fresh()
            if scalar:
                body.scalars.add(variable)
            call = f"{node.signature.name}({', '.join([*arguments, *self.parameters(node)])})"
            body.lines.append(Line(f"        {variable} = {call}", nodes))


def views_between(value: Value, base: Value) -> list[Node]:
    """The views from a value down to just above another."""
    found = []
    while value is not base and value.node is not None and value.node.kind == "view":
        found.append(value.node)
        value = value.node.operands[0]
    return found


def _literal_nodes(value: Value) -> list[Node]:
    found = []
    while value.node is not None:
        found.append(value.node)
        if not value.node.operands:
            break
        value = value.node.operands[0]
    return found
