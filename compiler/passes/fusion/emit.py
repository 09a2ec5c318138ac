"""A group as kernel-language source: one line an op, lambdas for what is fused in, and the nodes behind each line."""

from __future__ import annotations

from dataclasses import replace

from compiler.graph.types import TensorType
from compiler.passes.fusion.analysis import Node, Value, literal_of, views_between
from compiler.passes.fusion.assemble import Emitted, assemble
from compiler.passes.fusion.contexts import below_reshapes, loads, main_contexts
from compiler.passes.fusion.expressions import Expressions, Lambda
from compiler.passes.fusion.groups import Group, Groups, Store
from compiler.passes.fusion.paths import IDENTITY, Path, Shape, inverse_calls
from compiler.passes.fusion.pieces import Line, Text, call
from compiler.passes.fusion.rows.plan import RowPlan
from compiler.passes.fusion.rows.text import RowText


def emit(group: Group, groups: Groups, functions: frozenset[str], driver: str) -> Emitted:
    """Write one group: around its kernel op, or around `driver`, the library's elementwise kernel."""
    written = Expressions(group, groups, functions)
    written.write_deep_views()
    core, stores = group.core, group.stores
    if group.rows is not None:
        stores = sorted(stores, key=_store_order)
        plan = RowPlan(group, written.contexts, stores)
        rows = RowText(written, plan, {store: _stored_nodes(group, store) for store in stores})
        last = rows.write()
        made = assemble(written, last, stores, rows.outputs())
        return replace(made, inplace=()) if rows.uses_spare else made  # inputs are read after outputs were written
    if core is None or core.result in group.positions:
        stores = sorted(stores, key=_store_order)
    last = _kernel(written, core, stores) if core is not None else _elementwise(written, driver, stores)
    return assemble(written, last, stores, [kind for _, kind in _sinks(written, stores)])


def _store_order(store: Store) -> tuple[int, int]:
    """Results in the order of the graph, then of the outputs."""
    return (store.value.node.index if store.value.node else -1, store.buffer.index)


def _sinks(written: Expressions, stores: list[Store]) -> list[tuple[str, TensorType]]:
    """For each store its sink in the walked space and the type its parameter is declared with."""
    made = []
    for number, store in enumerate(stores):
        path, shape = written.frame + store.path, store.buffer.type.shape
        while path and path[-1].perm is None:
            shape, path = path[-1].before, path[:-1]
        text = f"out{number}{inverse_calls(path, written.names.shape)}"
        made.append((text, TensorType.of(store.buffer.type.dtype, shape)))
    return made


def _stored_nodes(group: Group, store: Store) -> list[Node]:
    """The ops a store stands for: its value's, the views it goes through, and the buffer_store itself."""
    nodes = views_between(store.value, store.register)
    if store.register.node is not None and store.register.node in group.members:
        nodes.append(store.register.node)
    if store.buffer.kind == "mutable":
        nodes += [n for n in group.members if n.kind == "store" and n.operands[0].buffer is store.buffer]
    return [n for n in nodes if n.kind != "constant"]


def _kernel(written: Expressions, core: Node, stores: list[Store]) -> Line:
    """The call of a group's kernel op, which hands its result to an epilogue unless it stores it as it is."""
    operands: list[Text] = []
    nodes = [core]
    for operand in core.operands:
        text, extra = written.loadable(operand)
        operands.append(written.as_value(operand, text))
        nodes += extra
    plain = len(stores) == 1 and not main_contexts(written.contexts) and stores[0].register is core.result
    sinks: list[Text]
    if plain or len(core.results) > 1 or core.result not in written.group.positions:
        sinks = [written.as_value(store.value, (sink,)) for (sink, _), store in zip(_sinks(written, stores), stores)]
        nodes += [n for store in stores for n in _stored_nodes(written.group, store) if n is not core]
    else:
        body = Lambda(written.frame)
        body.variables[(IDENTITY, core.result)] = body.fresh()
        sinks = [_epilogue(written, body, stores, core.result.type.dtype, core.result.shape)]
    return Line(call(f"    {core.signature.name}", [*sinks, *operands, *written.parameters(core)]), nodes)


def _elementwise(written: Expressions, driver: str, stores: list[Store]) -> Line:
    """The call of the elementwise driver: from a loadable or a lambda to one sink, or to an epilogue with several."""
    space = written.frame[0].before if written.frame else written.group.space
    if len(stores) == 1:
        source, nodes = _source(written, stores[0].register, stores[0].context, space)
        ((sink, _),) = _sinks(written, stores)
        nodes = [*nodes, *_stored_nodes(written.group, stores[0])]
        return Line(call(f"    {driver}", [(sink,), source]), nodes)
    # The epilogue is handed the first thing that it would load.
    seed = next(loads(written.group, written.contexts, stores), None)
    body = Lambda(written.frame)
    first = body.fresh()
    if seed is None:
        dtype = stores[0].register.type.dtype
        source, nodes = (written.constant(0, dtype, space),), []
    else:
        dtype = seed[1].type.dtype
        source, nodes = written.loaded(seed[1], seed[0], written.frame)
        body.variables[seed] = first
    return Line(call(f"    {driver}", [_epilogue(written, body, stores, dtype, space), source]), nodes)


def _source(written: Expressions, value: Value, context: Path, space: Shape) -> tuple[Text, list[Node]]:
    """What the elementwise driver reads: a loadable as it is, or a lambda that computes the value."""
    below, under = below_reshapes(value, context, written.group)
    if literal_of(value) is None and (below.node is None or below.node not in written.contexts.get(under, ())):
        return written.loaded(value, context, written.frame)
    body = Lambda(written.frame)
    written.write(body, main_contexts(written.contexts))
    text, nodes, _ = written.at(value, context, body)
    if value.node is not None and value.node in written.group.members:
        nodes = [*nodes, value.node]
    return written.define_input(body, text, nodes, value.type.dtype, space), []


def _epilogue(written: Expressions, body: Lambda, stores: list[Store], dtype: str, shape: Shape) -> Text:
    """The main lambda as a kernel's output: it is handed `v0`, computes what is left and stores the results."""
    written.write(body, main_contexts(written.contexts))
    values = [written.at(store.register, store.context, body) for store in stores]
    # Every load comes before the first store: an output may have an input's memory.
    values = [values[0], *(body.held(*value) for value in values[1:])]
    for (sink, _), store, (text, nodes, scalar) in zip(_sinks(written, stores), stores, values):
        value = ("splat(", *text, ", at.width)") if scalar else text
        body.lines.append(Line((f"        {sink}[at] = ", *value), [*nodes, *_stored_nodes(written.group, store)]))
    made = written.define("epilogue", [Line(("    def epilogue(at, v0):",)), *body.lines], late=True)
    return ("FusedOutput(", made, f", {dtype}, {written.names.shape(shape)})")
