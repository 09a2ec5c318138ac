"""A group as kernel-language source: one line an op, lambdas for what is fused in, and the nodes behind each line."""

from __future__ import annotations

from compiler.graph.types import TensorType
from compiler.passes.fusion.analysis import Node, Value, literal_of
from compiler.passes.fusion.assemble import Emitted, assemble
from compiler.passes.fusion.collapse import below_reshapes
from compiler.passes.fusion.expressions import Expressions, Lambda, Line, views_between
from compiler.passes.fusion.groups import Context, Group, Groups, Store
from compiler.passes.fusion.paths import IDENTITY, Path, Shape, inverse_calls
from compiler.passes.fusion.text import literal


class Emitter(Expressions):
    """Writes one group: around its kernel op, or around the library's elementwise driver."""

    def __init__(self, group: Group, groups: Groups, functions: frozenset[str], driver: str) -> None:
        super().__init__(group, groups, functions)
        self.driver = driver

    def emit(self) -> Emitted:
        """The whole source."""
        self.write_deep_views()
        core, stores = self.group.core, self.group.stores
        if core is None or core.result in self.group.positions:
            stores = sorted(stores, key=_store_order)
        if core is None:
            self._elementwise(stores)
        else:
            self._kernel(core, stores)
        return assemble(self, stores, [kind for _, kind in self._sinks(stores)])

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

    def _store_lines(self, body: Lambda, stores: list[Store]) -> None:
        for (sink, _), store in zip(self._sinks(stores), stores):
            text, nodes, scalar = self.at(store.register, store.context, body)
            text = f"splat({text}, at.width)" if scalar else text
            body.lines.append(Line(f"        {sink}[at] = {text}", nodes + self._stored_nodes(store)))

    def _stored_nodes(self, store: Store) -> list[Node]:
        """The ops a store stands for: its value's, the views it goes through, and the buffer_store itself."""
        nodes = views_between(store.value, store.register)
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
        plain = len(stores) == 1 and not self.main() and stores[0].register is core.result
        if plain or len(core.results) > 1 or core.result not in self.group.positions:
            nodes += [n for store in stores for n in self._stored_nodes(store) if n is not core]
        else:
            body = Lambda(self.frame)
            body.variables[(IDENTITY, core.result)] = body.fresh()
            self.write(body, self.main())
            self._store_lines(body, stores)
            self.top += [Line("    def epilogue(at, v0):"), *body.lines]
            sinks = [f"FusedOutput(epilogue, {core.result.type.dtype}, {self.names.shape(core.result.shape)})"]
        call = ", ".join([*sinks, *operands, *self.parameters(core)])
        self.top.append(Line(f"    {core.signature.name}({call})", nodes))

    def _elementwise(self, stores: list[Store]) -> None:
        space = self.frame[0].before if self.frame else self.group.space
        main = self.main()
        if len(stores) == 1:
            source, nodes = self._source(stores[0].register, stores[0].context, space)
            nodes += self._stored_nodes(stores[0])
            ((sink, _),) = self._sinks(stores)
            self.top.append(Line(f"    {self.driver}({sink}, {source})", nodes))
            return
        body = Lambda(self.frame)
        seed = self._seed(main, stores)
        if seed is None:
            source, nodes, dtype = self._nothing(stores, space), [], stores[0].register.type.dtype
        else:
            source, nodes = self.loaded(seed[1], seed[0], self.frame)
            body.variables[seed] = body.fresh()
            dtype = seed[1].type.dtype
        body.next = max(body.next, 1)
        self.write(body, main)
        self._store_lines(body, stores)
        self.top += [Line("    def epilogue(at, v0):"), *body.lines]
        sink = f"FusedOutput(epilogue, {dtype}, {self.names.shape(space)})"
        self.top.append(Line(f"    {self.driver}({sink}, {source})", nodes))

    def _source(self, value: Value, context: Path, space: Shape) -> tuple[str, list[Node]]:
        """What the elementwise driver reads: a loadable as it is, or a lambda that computes the value."""
        below, under = below_reshapes(value, context, self.group)
        if literal_of(value) is None and (below.node is None or below.node not in self.contexts.get(under, ())):
            return self.loaded(value, context, self.frame)
        body = Lambda(self.frame)
        self.write(body, self.main())
        text, nodes, _ = self.at(value, context, body)
        name = f"input{self.inputs_made}"
        self.inputs_made += 1
        self.top += [Line(f"    def {name}(at):"), *body.lines, Line(f"        return {text}", nodes)]
        if value.node is not None and value.node in self.group.members:
            self.top[-1].nodes.append(value.node)
        return f"FusedInput({name}, {value.type.dtype}, {self.names.shape(space)})", []

    def _seed(self, main: list[Context], stores: list[Store]) -> tuple[Context, Value] | None:
        """What the driver of a kernel with several results hands to the epilogue: the first thing it loads."""
        computed = {(context, node.result) for context in main for node in self.contexts[context]}
        ops = [(context, node) for context in main for node in self.contexts[context] if node.kind == "elementwise"]
        read: list[tuple[Context, Value]] = [(context, u) for context, node in ops for u in node.operands]
        for context, value in (*read, *((store.context, store.register) for store in stores)):
            below, under = below_reshapes(value, context, self.group)
            if (under, below) not in computed and literal_of(value) is None:
                return context, value
        return None

    def _nothing(self, stores: list[Store], space: Shape) -> str:
        """A source for kernels that load nothing."""
        dtype = stores[0].register.type.dtype
        zero = literal(0, dtype)
        return f"FusedInput(lambda at: {zero}, {dtype}, {self.names.shape(space)})"


def _store_order(store: Store) -> tuple[int, int]:
    """Results in the order of the graph, then of the outputs."""
    return (store.value.node.index if store.value.node else -1, store.buffer.index)
