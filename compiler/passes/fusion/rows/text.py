"""A row kernel as kernel-language source: a function for each phase, and what follows for the row after it.

What a phase computes and a later one needs is handed over as `kept[k]`, what is known of the row as `row[k]`
(kernels/row_phases.py says how they are kept).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from compiler.graph.types import TensorType
from compiler.passes.fusion.analysis import Node, Value, literal_of, views_between
from compiler.passes.fusion.contexts import below_reshapes, main_contexts
from compiler.passes.fusion.expressions import Expressions
from compiler.passes.fusion.groups import Context, Store
from compiler.passes.fusion.paths import Path, Shape, Step
from compiler.passes.fusion.pieces import Definition, Line, Text, call
from compiler.passes.fusion.row_space import Rows
from compiler.passes.fusion.rows.join import member_below
from compiler.passes.fusion.rows.walks import walk_of
from compiler.passes.fusion.siblings.work import Work
from compiler.passes.fusion.text import literal

ROW_PHASES = "row_phases"  # the library's function that walks rows
_SPREAD = "spread_over"  # the one that gives a value as many lanes as a position has

_CHEAP = 2  # operations that cost less than keeping their result

Key = tuple[Context, Value]
"""A value with an element at every position of the rows' shape, and the path on which it is seen there."""


@dataclass
class _Phase:
    """One walk over the row, being planned: what it computes, and what it hands on."""

    work: list[tuple[Path, Node]] = field(default_factory=list)
    returned: list[Key] = field(default_factory=list)
    reductions: list[Node] = field(default_factory=list)
    row_ops: list[Node] = field(default_factory=list)


class RowText:
    """The text of one row kernel, while it is written."""

    def __init__(
        self, written: Expressions, stores: list[Store], stored_nodes: dict[Store, list[Node]], work: Work
    ) -> None:
        assert written.group.rows is not None
        self.written = written
        self.group = written.group
        self.rows: Rows = written.group.rows
        self.stores = stores
        self.stored_nodes = stored_nodes
        self.work = work
        self.phase_of: dict[Key, int] = {}
        self.kept_at: dict[Key, int] = {}
        self.needed_later: set[Key] = set()
        self.row_at: dict[Value, int] = {}
        self.phases = self._planned()
        self.walks = [self._walk(number, phase) for number, phase in enumerate(self.phases)]

    # Planning.

    def _planned(self) -> list[_Phase]:
        rows = self.rows
        full_stores = any(self._is_full(store) for store in self.stores)
        phases = [_Phase() for _ in range(max(rows.reductions.values()) + 1 + full_stores)]
        pulled: list[tuple[Path, Node]] = []
        for context in main_contexts(self.written.contexts):
            assert not isinstance(context, Value)
            pulled += [(context, node) for node in self.written.contexts[context]]
        own = [(self._path(value), value.node, phase) for value, phase in rows.full.items() if value.node is not None]
        self.phase_of = {(path, node.result): len(phases) - 1 for path, node in pulled}
        self.phase_of |= {(path, node.result): phase for path, node, phase in own}
        self._as_late_as_possible(pulled, own)
        work = [*((path, node) for path, node, _ in own), *pulled]
        for path, node in sorted(work, key=lambda one: one[1].index):
            phase = self.phase_of[(path, node.result)]
            if phase < len(phases):
                phases[phase].work.append((path, node))
        for node, phase in rows.reductions.items():
            phases[phase].reductions.append(node)
        for value, phase in rows.row.items():
            if value.node is not None and value.node not in rows.reductions:
                phases[phase].row_ops.append(value.node)
        for phase in phases:
            phase.reductions.sort(key=lambda node: node.index)
            phase.row_ops.sort(key=lambda node: node.index)
        self._hand_over(phases)
        return phases

    def _as_late_as_possible(self, pulled: list[tuple[Path, Node]], own: list[tuple[Path, Node, int]]) -> None:
        """Let ops that depend on no reduction belong to the first phase that needs them."""

        def ask(value: Value, path: Path, phase: int) -> None:
            key = self._key(value, path)
            if key is not None and key in self.phase_of:
                self.phase_of[key] = min(self.phase_of[key], phase)

        for node, phase in self.rows.reductions.items():
            ask(node.operands[0], (), phase)
        for path, node, phase in own:
            for operand in node.operands:
                ask(operand, path, phase)
        for path, node in sorted(pulled, key=lambda one: -one[1].index):
            for operand in node.operands if node.kind == "elementwise" else ():
                ask(operand, path, self.phase_of[(path, node.result)])

    def _is_full(self, store: Store) -> bool:
        return store.register not in self.rows.row

    def _hand_over(self, phases: list[_Phase]) -> None:
        """Find what each phase returns: what it reduces, and what later ones need."""
        used: dict[Key, set[int]] = {}
        for number, phase in enumerate(phases):
            for path, node in phase.work:
                if node.kind == "elementwise":
                    for operand in node.operands:
                        if (key := self._key(operand, path)) is not None:
                            used.setdefault(key, set()).add(number)
            for node in phase.reductions:
                key = self._key(node.operands[0], ())
                assert key is not None
                used.setdefault(key, set()).add(number)
        for store in self.stores:
            if self._is_full(store) and (key := self._key(store.register, self._path(store.register))) is not None:
                used.setdefault(key, set()).add(len(phases) - 1)
        for key, uses in used.items():
            first = self.phase_of.setdefault(key, min(uses))
            if max(uses) > first:
                phases[first].returned.append(key)
                self.needed_later.add(key)
        kept = 0
        for phase in phases:
            for node in phase.reductions:
                key = self._key(node.operands[0], ())
                assert key is not None
                if self.phase_of[key] == phases.index(phase) and key not in phase.returned:
                    phase.returned.append(key)
            for key in phase.returned:
                self.kept_at[key] = kept
                kept += 1

    def _walk(self, number: int, phase: _Phase) -> tuple[Shape, tuple[int, ...]]:
        """The shape that a phase walks: that of what it reduces, or one in which all that it loads lies in order."""
        rows = self.rows
        if phase.reductions or any(node.kind == "pointwise" for _, node in phase.work):
            return rows.shape, rows.axes
        computed = {node.result for _, node in phase.work}
        keys = [key for key, at in self.phase_of.items() if at == number]
        return walk_of(rows, [value for _, value in keys if value not in computed], self.group)

    def _path(self, value: Value) -> Path:
        path = self.rows.path(value)
        assert path is not None
        return path

    def _key(self, value: Value, context: Path) -> Key | None:
        """The full value behind an operand; None for a literal or what belongs to the row as a whole."""
        if literal_of(value) is not None:
            return None
        base = member_below(value, self.group)
        if base is not None:
            return (self._path(base), base) if base in self.rows.full else None
        below, under = below_reshapes(value, context, self.group)
        if (under, below) in self.phase_of and below.node in self.group.members:
            return under, below
        return context, value

    # Writing.

    def write(self) -> Line:
        """All definitions, and the call that the kernel comes to."""
        made: list[Text] = []
        for number, phase in enumerate(self.phases):
            elements = self._elements(number, phase)
            after = self._after(number, phase)
            shape = self.written.names.shape
            kept = [(f'({key[1].type.dtype}, "{self._wanted(key)}")',) for key in phase.returned]
            reductions: list[Text] = []
            for node in phase.reductions:
                key = self._key(node.operands[0], ())
                assert key is not None
                reductions.append(
                    (f"({phase.returned.index(key)}, {node.signature.reduction}, {node.result.type.dtype})",)
                )
            parts: list[Text] = [
                (elements,),
                *[(shape(sizes),) for sizes in self.walks[number]],
                _tuple(kept),
                _tuple(reductions),
                after,
            ]
            text = ("    ", f"phase{number} = ", *_tuple(parts))
            made.append((self.written.define(f"phase{number}", [Line(text, phase.reductions)]),))
        return Line(call(f"    {ROW_PHASES}", [_tuple(made), self._finish()]))

    def _wanted(self, key: Key) -> str:
        """What later phases want of a value: what takes long to compute is kept, anything else computed again."""
        if key not in self.needed_later:
            return "drop"
        return "keep" if self._dear(key) > _CHEAP else "again"

    def _dear(self, key: Key) -> int:
        """The operations that it takes to have a value at a position once more."""
        context, value = key
        assert not isinstance(context, Value)
        node = value.node
        if node is not None and (context, value) in self.phase_of and node in self.group.members:
            if node.kind != "elementwise":
                return _CHEAP + 1
            total = self.work.of(node.signature.name)
            for operand in dict.fromkeys(node.operands):
                inner = self._key(operand, context)
                if inner is not None and total <= _CHEAP and self._wanted(inner) != "keep":
                    total += self._dear(inner)
            return total
        below, _ = below_reshapes(value, context, self.group)
        plain = self.group.is_leaf(below) or (below.node is not None and below.node.kind == "load")
        return 0 if plain else _CHEAP + 1

    def _elements(self, number: int, phase: _Phase) -> Definition:
        body = _Body(self, number)
        for path, node in phase.work:
            body.op(node, path)
        if number + 1 == len(self.phases):
            values = [
                (store, *body.value(store.register, self._path(store.register)))
                for store in self.stores if self._is_full(store)
            ]  # fmt: skip
            for store, text, nodes, scalar in values:
                value = (f"{_SPREAD}(", *text, ", at.width)") if scalar else text
                where = self.stores.index(store)
                body.lines.append(Line((f"        out{where}[at] = ", *value), [*nodes, *self.stored_nodes[store]]))
        returned: list[Text] = []
        nodes: list[Node] = []
        for key in phase.returned:
            text, extra, scalar = body.value(key[1], key[0])
            returned.append((f"{_SPREAD}(", *text, ", at.width)") if scalar else text)
            nodes += extra
        body.lines.append(Line(("        return ", *_tuple(returned)), nodes))
        return self.written.define(f"pass{number}", [Line((f"    def pass{number}(at, kept, row):",)), *body.lines])

    def _after(self, number: int, phase: _Phase) -> Text:
        """What follows for the row from the phase's reductions; their results come first in `row`."""
        for node in phase.reductions:
            self.row_at[node.result] = len(self.row_at)
        if not phase.row_ops:
            return ("no_more",)
        lines: list[Line] = []
        variables: dict[Value, str] = {}
        for node in phase.row_ops:
            arguments: list[Text] = []
            nodes = [node]
            for operand in node.operands:
                text, extra = self._row_value(operand, variables)
                arguments.append(text)
                nodes += extra
            variable = variables[node.result] = f"v{len(variables)}"
            made = call(f"        {variable} = {node.signature.name}", [*arguments, *self.written.parameters(node)])
            lines.append(Line(made, nodes))
        inside = {node.result for node in phase.row_ops}
        needed = [node.result for node in phase.row_ops if self._leaves(node.result, inside)]
        for value in needed:
            self.row_at[value] = len(self.row_at)
        lines.append(Line(("        return ", *_tuple([(variables[value],) for value in needed]))))
        return (self.written.define(f"after{number}", [Line((f"    def after{number}(at, row):",)), *lines]),)

    def _leaves(self, value: Value, inside: set[Value]) -> bool:
        """Whether a row value is needed elsewhere than in the function that computes it."""
        if any(store.register is value for store in self.stores):
            return True
        waiting = list(value.users)
        for user in waiting:
            if user.kind == "view":
                waiting += user.result.users
            elif user in self.group.members and user.result not in inside:
                return True
        return False

    def _row_value(self, value: Value, variables: dict[Value, str]) -> tuple[Text, list[Node]]:
        element = literal_of(value)
        if element is not None:
            return (literal(element, value.type.dtype),), []
        base = member_below(value, self.group)
        if base is None:
            text, nodes = self.written.loadable(value, self.rows.kept)
            return (*text, "[at]"), nodes
        if base in variables:
            return (variables[base],), views_between(value, base)
        return (f"row[{self.row_at[base]}]",), views_between(value, base)

    def _finish(self) -> Text:
        lines: list[Line] = []
        for number, store in enumerate(self.stores):
            if not self._is_full(store):
                text = f"        out{number}[at] = row[{self.row_at[store.register]}]"
                lines.append(Line((text,), self.stored_nodes[store]))
        if not lines:
            return ("nothing_left",)
        return (self.written.define("finish", [Line(("    def finish(at, row):",)), *lines], late=True),)

    def outputs(self) -> list[TensorType]:
        """The types that the stores' parameters are declared with."""
        shapes = [self.walks[-1][0] if self._is_full(store) else self.rows.kept for store in self.stores]
        return [TensorType.of(store.buffer.type.dtype, shape) for store, shape in zip(self.stores, shapes)]


class _Body:
    """The function of one phase, while it is written."""

    def __init__(self, text: RowText, number: int) -> None:
        self.text = text
        self.number = number
        self.lines: list[Line] = []
        self.variables: dict[Key, str] = {}
        self.scalars: set[str] = set()
        self.loads: Counter[Key] = Counter()
        phase = text.phases[number]
        for path, node in phase.work:
            keys = [text._key(operand, path) for operand in node.operands]  # pyright: ignore[reportPrivateUsage]
            self.loads.update(key for key in keys if key is not None)

    def _fresh(self) -> str:
        return f"v{len(self.variables)}"

    def op(self, node: Node, path: Path) -> None:
        """A line for an op."""
        written = self.text.written
        nodes, scalar = [node], node.kind == "elementwise"
        arguments: list[Text] = [] if scalar else [("at",)]
        for operand in node.operands:
            if node.kind == "elementwise":
                text, extra, one = self.value(operand, path, inline=True)
                scalar = scalar and one
            else:
                text, extra = written.loadable(operand)
            arguments.append(text)
            nodes += extra
        variable = self.variables[(path, node.result)] = self._fresh()
        if scalar:
            self.scalars.add(variable)
        self.lines.append(Line(call(f"        {variable} = {node.signature.name}",
                                    [*arguments, *written.parameters(node)]), nodes))  # fmt: skip

    def value(self, value: Value, path: Path, inline: bool = False) -> tuple[Text, list[Node], bool]:
        """An operand at the position: its text, the ops in it, and whether it has one lane only."""
        element = literal_of(value)
        if element is not None:
            return (literal(element, value.type.dtype),), [], True
        outer = self.text
        base = member_below(value, outer.group)
        if base is not None and base not in outer.rows.full:
            return (f"row[{outer.row_at[base]}]",), views_between(value, base), True
        key = outer._key(value, path)  # pyright: ignore[reportPrivateUsage]
        assert key is not None
        views = views_between(value, key[1])
        variable = self.variables.get(key)
        if variable is not None:
            return (variable,), views, variable in self.scalars
        if outer.phase_of[key] < self.number:
            return (f"kept[{outer.kept_at[key]}]",), views, False
        context, loaded = key
        assert not isinstance(context, Value)
        shape = outer.walks[self.number][0]
        frame = () if shape == outer.rows.shape else (Step(shape, outer.rows.shape),)
        text, nodes = outer.written.loaded(loaded, context, frame)
        if inline and self.loads[key] == 1 and key not in outer.kept_at:
            return (*text, "[at]"), nodes, False
        variable = self.variables[key] = self._fresh()
        self.lines.append(Line((f"        {variable} = ", *text, "[at]"), nodes))
        return (variable,), [], False


def _tuple(parts: list[Text]) -> Text:
    """A tuple's text."""
    inside: list[str | Definition] = []
    for number, part in enumerate(parts):
        inside += [", "] * (number > 0) + list(part)  # type: ignore[list-item]
    return ("(", *inside, ",)" if len(parts) == 1 else ")")
