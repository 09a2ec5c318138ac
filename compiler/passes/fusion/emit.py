"""A group as kernel-language source: one line an op, lambdas for what is fused in, and which node each line stands for.

Leaves are written as tokens first and named at the end: a buffer whose uses all want one shape is declared with it, so
that reshapes of buffers vanish from the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from compiler.graph.dtypes import dtype_info
from compiler.graph.types import TensorType
from compiler.passes.fusion.analysis import Node, Value, count, literal_of
from compiler.passes.fusion.collapse import below_reshapes, collapse, regroup_source
from compiler.passes.fusion.epilogue import at_hand
from compiler.passes.fusion.groups import Context, Group, Groups, Store
from compiler.passes.fusion.paths import IDENTITY, Path, Shape, Step, inverse_calls, is_linear
from compiler.passes.fusion.records import Buffer
from compiler.passes.fusion.text import SymbolNames, literal

NAME = "\ue000"  # stands for the kernel's name until it has one
_TOKEN = re.compile("\ue001(\\d+),(\\d+)\ue002")
_DEFINITION = re.compile(r"    (?:(view\d+) = |def (\w+))")
_REFERENCE = re.compile("\ue001(\\d+),(\\d+)\ue002|\\b(view\\d+|input\\d+|epilogue)\\b")
_WIDE = 110


@dataclass
class Line:
    """A line of text and the graph ops it stands for."""

    text: str
    nodes: list[Node] = field(default_factory=list)


@dataclass(frozen=True)
class Emitted:
    """A group's source, before it is known whether another group has the same."""

    source: str
    line_slots: tuple[tuple[int, ...], ...]
    slots: tuple[Node, ...]
    inputs: tuple[TensorType, ...]
    outputs: tuple[TensorType, ...]
    operands: tuple[Buffer, ...]
    results: tuple[Buffer, ...]
    values: tuple[SSAValue, ...]  # the graph value of each result
    symbols: tuple[tuple[str, str], ...]  # (name in the source, name in the graph), sorted
    inplace: tuple[tuple[int, int], ...]


class _Lambda:
    """A lambda being written: its lines, its variables, and loads that it makes more than once."""

    def __init__(self, frame: Path) -> None:
        self.frame = frame  # from the space of its positions to that of its contexts
        self.lines: list[Line] = []
        self.variables: dict[tuple[Context, Value], str] = {}
        self.scalars: set[str] = set()  # variables of one lane whatever the position: made of literals only
        self.counts: Counter[tuple[Context, Value]] = Counter()
        self.next = 0

    def fresh(self) -> str:
        self.next += 1
        return f"v{self.next - 1}"


class Emitter:
    """Writes one group."""

    def __init__(self, group: Group, groups: Groups, functions: frozenset[str], driver: str) -> None:
        self.group = group
        self.driver = driver
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
        body = _Lambda(IDENTITY if shape == value.shape else (Step(shape, value.shape),))
        self._write(body, [value])
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
        arguments = [text, *self._parameters(node, shape)]
        name = f"view{self.views_made}"
        self.views_made += 1
        self.top.append(Line(f"    {name} = {node.signature.name}({', '.join(arguments)})", [node, *nodes]))
        return name, []

    # Calls and values at a position.

    def _parameters(self, node: Node, shape: Shape | None = None) -> list[str]:
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

    def _at(self, value: Value, context: Context, body: _Lambda) -> tuple[str, list[Node], bool]:
        """A value at the lambda's position: its text, the ops that stand in it, whether it has one lane only."""
        element = literal_of(value)
        if element is not None:
            return literal(element, value.type.dtype), _literal_nodes(value), True
        variable = body.variables.get((context, value))
        if variable is not None:
            return variable, [], variable in body.scalars
        if self.group.positions and (hand := at_hand(value, self.groups)) is not None and hand[1] is self.group:
            variable = body.variables[(self.group.positions[hand[0]], hand[0])]
            return variable, _views_between(value, hand[0]), variable in body.scalars
        below, under = below_reshapes(value, context, self.group)
        variable = body.variables.get((under, below))
        if variable is not None:
            return variable, _views_between(value, below), variable in body.scalars
        text, nodes = self._loaded(value, context, body.frame)
        if body.counts[(context, value)] > 1:
            variable = body.variables[(context, value)] = body.fresh()
            body.lines.append(Line(f"        {variable} = {text}[at]", nodes))
            return variable, [], False
        return f"{text}[at]", nodes, False

    def _loaded(self, value: Value, context: Context, frame: Path) -> tuple[str, list[Node]]:
        """A loadable of the shape that the lambda's positions have."""
        main = not isinstance(context, Value)
        path = frame + context if main else frame
        shape, full = value.shape, path
        while path and path[-1].perm is None:
            shape, path = path[-1].before, path[:-1]
        text, nodes = self.loadable(value, shape, _stripped(full) if main else None)
        return text + inverse_calls(path, self.names.shape), nodes

    def _write(self, body: _Lambda, roots: list[Context]) -> None:
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
                    text, extra, one = self._at(operand, context, body)
                    scalar = scalar and one
                else:
                    text, extra = self.loadable(operand)
                arguments.append(text)
                nodes += extra
            variable = body.variables[(context, node.result)] = body.fresh()
            if scalar:
                body.scalars.add(variable)
            call = f"{node.signature.name}({', '.join([*arguments, *self._parameters(node)])})"
            body.lines.append(Line(f"        {variable} = {call}", nodes))

    # The two forms of a kernel.

    def emit(self) -> Emitted:
        """The whole source."""
        for value in sorted(self.group.access, key=lambda v: v.node.index if v.node else -1):
            node = value.node
            if self.group.access[value].loads and node is not None and node in self.group.members:
                self.loadable(value)
        core, stores = self.group.core, self.group.stores
        if core is None:
            stores = sorted(stores, key=_store_order)
            self._elementwise(stores)
        else:
            stores = sorted(stores, key=_store_order) if core.result in self.group.positions else stores
            self._kernel(core, stores)
        return self._finish(stores)

    def _main(self) -> list[Context]:
        return [c for c in self.contexts if not isinstance(c, Value)]

    def _sinks(self, stores: list[Store]) -> list[tuple[str, TensorType]]:
        """For each store its sink in the walked space and the type its parameter is declared with."""
        made = []
        for number, store in enumerate(stores):
            path, shape = self.frame + store.path, store.buffer.type.shape
            while path and path[-1].perm is None:
                shape, path = path[-1].before, path[:-1]
            text = f"out{number}{inverse_calls(path, self.names.shape)}"
            made.append((text, TensorType.of(store.buffer.type.dtype, shape)))
        return made

    def _store_lines(self, body: _Lambda, stores: list[Store]) -> None:
        for (sink, _), store in zip(self._sinks(stores), stores):
            text, nodes, scalar = self._at(store.register, store.context, body)
            text = f"splat({text}, at.width)" if scalar else text
            body.lines.append(Line(f"        {sink}[at] = {text}", nodes + self._stored_nodes(store)))

    def _stored_nodes(self, store: Store) -> list[Node]:
        """The ops a store stands for: its value's, the views it goes through, and the buffer_store itself."""
        nodes = _views_between(store.value, store.register)
        if store.register.node is not None and store.register.node in self.group.members:
            nodes.append(store.register.node)
        if store.buffer.kind == "mutable":
            nodes += [n for n in self.group.members if n.kind == "store" and n.operands[0].buffer is store.buffer]
        return [n for n in nodes if n.kind != "constant"]

    def _kernel(self, core: Node, stores: list[Store]) -> None:
        operands: list[str] = []
        nodes = [core]
        for operand in core.operands:
            text, extra = self.loadable(operand)
            operands.append(text)
            nodes += extra
        sinks = [sink for sink, _ in self._sinks(stores)]
        plain = len(stores) == 1 and not self._main() and stores[0].register is core.result
        if plain or len(core.results) > 1 or core.result not in self.group.positions:
            nodes += [n for store in stores for n in self._stored_nodes(store) if n is not core]
        else:
            body = _Lambda(self.frame)
            body.variables[(IDENTITY, core.result)] = body.fresh()
            self._write(body, self._main())
            self._store_lines(body, stores)
            self.top += [Line("    def epilogue(at, v0):"), *body.lines]
            sinks = [f"FusedOutput(epilogue, {core.result.type.dtype}, {self.names.shape(core.result.shape)})"]
        call = ", ".join([*sinks, *operands, *self._parameters(core)])
        self.top.append(Line(f"    {core.signature.name}({call})", nodes))

    def _elementwise(self, stores: list[Store]) -> None:
        space = self.frame[0].before if self.frame else self.group.space
        main = self._main()
        if len(stores) == 1:
            source, nodes = self._source(stores[0].register, stores[0].context, space)
            nodes += self._stored_nodes(stores[0])
            (sink, _), = self._sinks(stores)
            self.top.append(Line(f"    {self.driver}({sink}, {source})", nodes))
            return
        body = _Lambda(self.frame)
        seed = self._seed(main, stores)
        if seed is None:
            source, nodes, dtype = self._nothing(stores, space), [], stores[0].register.type.dtype
        else:
            source, nodes = self._loaded(seed[1], seed[0], self.frame)
            body.variables[seed] = body.fresh()
            dtype = seed[1].type.dtype
        body.next = max(body.next, 1)
        self._write(body, main)
        self._store_lines(body, stores)
        self.top += [Line("    def epilogue(at, v0):"), *body.lines]
        sink = f"FusedOutput(epilogue, {dtype}, {self.names.shape(space)})"
        self.top.append(Line(f"    {self.driver}({sink}, {source})", nodes))

    def _source(self, value: Value, context: Path, space: Shape) -> tuple[str, list[Node]]:
        """What the elementwise driver reads: a loadable as it is, or a lambda that computes the value."""
        if literal_of(value) is None and (value.node is None or value.node not in self.contexts.get(context, ())):
            return self._loaded(value, context, self.frame)
        body = _Lambda(self.frame)
        self._write(body, self._main())
        text, nodes, _ = self._at(value, context, body)
        name = f"input{self.inputs_made}"
        self.inputs_made += 1
        self.top += [Line(f"    def {name}(at):"), *body.lines, Line(f"        return {text}", nodes)]
        if value.node is not None and value.node in self.group.members:
            self.top[-1].nodes.append(value.node)
        return f"FusedInput({name}, {value.type.dtype}, {self.names.shape(space)})", []

    def _seed(self, main: list[Context], stores: list[Store]) -> tuple[Context, Value] | None:
        """What the driver of a kernel with several results hands to the epilogue: the first thing it loads."""
        computed = {(context, node.result) for context in main for node in self.contexts[context]}
        for context in main:
            for node in self.contexts[context]:
                for value in node.operands if node.kind == "elementwise" else ():
                    if (context, value) not in computed and literal_of(value) is None:
                        return context, value
        for store in stores:
            if (store.context, store.register) not in computed and literal_of(store.register) is None:
                return store.context, store.register
        return None

    def _nothing(self, stores: list[Store], space: Shape) -> str:
        """A source for kernels that load nothing."""
        dtype = stores[0].register.type.dtype
        zero = literal(0, dtype)
        return f"FusedInput(lambda at: {zero}, {dtype}, {self.names.shape(space)})"

    # Putting it together.

    def _finish(self, stores: list[Store]) -> Emitted:
        order = self._leaf_order()
        declared: list[Shape] = []
        buffers = list(self.leaves)
        for number, shapes in enumerate(self.wanted):
            declared.append(shapes[0] if len(shapes) == 1 else buffers[number].type.shape)

        def name_leaf(match: re.Match[str]) -> str:
            number, shape = int(match.group(1)), self.wanted[int(match.group(1))][int(match.group(2))]
            made = f"in{order[number]}"
            return made if shape == declared[number] else f"{made}.reshape({self.names.shape(shape)})"

        for line in self.top:
            line.text = _TOKEN.sub(name_leaf, line.text)
        outputs = tuple(kind for _, kind in self._sinks(stores))
        back = sorted(range(len(order)), key=order.__getitem__)
        inputs = tuple(TensorType.of(buffers[k].type.dtype, declared[k]) for k in back)
        lines = [Line(f'@kernel("{NAME}")'), *self._header(outputs, inputs), *self.top]
        slots = sorted({node for line in lines for node in line.nodes} | set(self.group.members), key=lambda n: n.index)
        number_of = {node: k for k, node in enumerate(slots)}
        return Emitted(
            source="\n".join([line.text for line in lines]) + "\n",
            line_slots=tuple([tuple(sorted({number_of[n] for n in line.nodes})) for line in lines]),
            slots=tuple(slots),
            inputs=inputs,
            outputs=outputs,
            operands=tuple(buffers[k] for k in back),
            results=tuple(store.buffer for store in stores),
            values=tuple(store.value.ssa for store in stores),
            symbols=tuple(sorted((new, old) for old, new in self.names.used.items())),
            inplace=self._inplace(stores, outputs, order),
        )

    def _header(self, outputs: tuple[TensorType, ...], inputs: tuple[TensorType, ...]) -> list[Line]:
        pieces = [
            f"{name}{k}: Tensor[{kind.dtype}, {self.names.shape(kind.shape)}]"
            for name, kinds in (("out", outputs), ("in", inputs)) for k, kind in enumerate(kinds)
        ]  # fmt: skip
        flat = f"def {NAME}({', '.join(pieces)}):"
        if len(flat) <= _WIDE:
            return [Line(flat)]
        return [Line(f"def {NAME}("), *[Line(f"    {piece},") for piece in pieces], Line("):")]

    def _leaf_order(self) -> list[int]:
        """The number of each leaf's parameter: the order in which a reader meets them, following names from the call."""
        definitions: dict[str, list[str]] = {}
        current = ""
        for line in self.top[:-1]:
            head = _DEFINITION.match(line.text)
            current = (head.group(1) or head.group(2)) if head else current
            definitions.setdefault(current, []).append(line.text[head.end() :] if head else line.text)
        seen: dict[int, None] = {}
        work = [self.top[-1].text]
        while work:
            text = work.pop()
            for match in _REFERENCE.finditer(text):
                if match.group(1):
                    seen.setdefault(int(match.group(1)))
                elif match.group(3) in definitions:
                    inner = reversed(definitions.pop(match.group(3)))
                    # The operands of a call come before what its epilogue reads.
                    work += [*inner, text[match.end() :]] if match.group(3) == "epilogue" else [text[match.end() :], *inner]
                    break
        rank = {number: k for k, number in enumerate(seen)}
        return [rank[number] for number in range(len(self.leaves))]

    def _inplace(
        self, stores: list[Store], outputs: tuple[TensorType, ...], order: list[int]
    ) -> tuple[tuple[int, int], ...]:
        pairs = []
        for k, store in enumerate(stores):
            path = _stripped(self.frame + store.path)
            for buffer, number in self.leaves.items():
                same_bytes = dtype_info(buffer.type.dtype).bytes == dtype_info(store.buffer.type.dtype).bytes
                if self.reads[number] == {path} and same_bytes and count(buffer.type.shape) == count(outputs[k].shape):
                    pairs.append((k, order[number]))
        return tuple(sorted(pairs))


def _store_order(store: Store) -> tuple[int, int]:
    """Results in the order of the graph, then of the outputs."""
    return (store.value.node.index if store.value.node else -1, store.buffer.index)


def _stripped(path: Path) -> Path:
    """A path without its closing reshapes: what is left says which element of memory a position is."""
    while path and path[-1].perm is None:
        path = path[:-1]
    return IDENTITY if is_linear(path) else path


def _views_between(value: Value, base: Value) -> list[Node]:
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
