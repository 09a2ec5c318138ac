"""A row kernel as kernel-language source: a function for each phase, and what follows for the row after it.

What a phase computes and a later one needs is handed over as `kept[k]`, what is known of the row as `row[k]`
(kernels/row_phases.py says how they are kept).
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.graph.types import TensorType
from compiler.passes.fusion.analysis import Node, Value, literal_of, views_between
from compiler.passes.fusion.expressions import Expressions, Lambda, Operand
from compiler.passes.fusion.groups import Store
from compiler.passes.fusion.paths import IDENTITY, Path, Step
from compiler.passes.fusion.pieces import Definition, Line, Text, assigned, call
from compiler.passes.fusion.rows.join import member_below
from compiler.passes.fusion.rows.plan import Phase, RowPlan
from compiler.passes.fusion.text import literal

ROW_PHASES = "row_phases"  # the library's function that walks rows
_SPREAD = "spread_over"  # the one that gives a value as many lanes as a position has


class RowText:
    """The text of one row kernel, while it is written."""

    def __init__(self, written: Expressions, plan: RowPlan, stored_nodes: dict[Store, list[Node]]) -> None:
        self.written = written
        self.plan = plan
        self.group = plan.group
        self.rows = plan.rows
        self.stores = plan.stores
        self.stored_nodes = stored_nodes
        self.uses_spare = False
        self.row_at: dict[Value, int] = {}

    def write(self) -> Line:
        """All definitions, and the call that the kernel comes to."""
        made: list[Text] = []
        for number, phase in enumerate(self.plan.phases):
            elements = self._elements(number, phase)
            after, known = self._after(number, phase)
            shape = self.written.names.shape
            kept = [(f'({key[1].type.dtype}, "{self.plan.wanted(key)}")',) for key in phase.returned]
            reductions: list[Text] = []
            for node in phase.reductions:
                key = self.plan.key(node.operands[0], ())
                assert key is not None
                reductions.append(
                    (f"({phase.returned.index(key)}, {node.signature.reduction}, {node.result.type.dtype})",)
                )
            parts: list[Text] = [
                (elements,),
                *[(shape(sizes),) for sizes in self.plan.walks[number]],
                _tuple(kept),
                _tuple(reductions),
                after,
                _tuple([(value.type.dtype,) for value in known]),
            ]
            text = ("    ", f"phase{number} = ", *_tuple(parts))
            made.append((self.written.define(f"phase{number}", [Line(text, phase.reductions)]),))
        works: list[Text] = [("works=True",)] if self.plan.last_ops else []
        return Line(call(f"    {ROW_PHASES}", [_tuple(made), self._finish(), *self._spare(), *self._streams(), *works]))

    def _spare(self) -> list[Text]:
        found = self.plan.spare()
        if found is None:
            return []
        self.uses_spare = True
        key, number = found
        phase = self.plan.phase_of[key]
        return [(f"spare=({phase}, {self.plan.phases[phase].returned.index(key)}, out{number})",)]

    def _streams(self) -> list[Text]:
        """How many tensors phases read at full positions, where columns are walked and one reads several."""
        counts = [self.plan.loads(number) for number, _ in enumerate(self.plan.phases)]
        if len(self.rows.shape) - 1 in self.rows.axes or max(counts) < 2:
            return []
        return [(f"streams={tuple(counts)}",)]

    def _elements(self, number: int, phase: Phase) -> Definition:
        body = _Body(self, number)
        for path, node in phase.work:
            body.op(node, path)
        if number + 1 == len(self.plan.phases):
            values = [
                (store, *body.value(store.register, self.plan.path(store.register)))
                for store in self.stores if self.plan.is_full(store)
            ]  # fmt: skip
            for store, text, nodes, scalar in values:
                value = (f"{_SPREAD}(", *text, ", at.width)") if scalar else text
                where = self.stores.index(store)
                body.lines.append(Line((f"        out{where}[at] = ", *value), [*nodes, *self.stored_nodes[store]]))
        returned: list[Text] = []
        nodes: list[Node] = []
        for key in phase.returned:
            context, value = key
            assert not isinstance(context, Value)
            text, extra, scalar = body.value(value, context)
            returned.append((f"{_SPREAD}(", *text, ", at.width)") if scalar else text)
            nodes += extra
        body.lines.append(Line(("        return ", *_tuple(returned)), nodes))
        return self.written.define(f"pass{number}", [Line((f"    def pass{number}(at, kept, row):",)), *body.lines])

    def _after(self, number: int, phase: Phase) -> tuple[Text, list[Value]]:
        """What follows for the row from the phase's reductions, whose results come first in `row`: the function, and
        what it returns."""
        for node in phase.reductions:
            self.row_at[node.result] = len(self.row_at)
        if not phase.row_ops:
            return ("no_more",), []
        lines, variables = self._row_lines(phase.row_ops)
        inside = {node.result for node in phase.row_ops}
        needed = [node.result for node in phase.row_ops if self._leaves(node.result, inside)]
        for value in needed:
            self.row_at[value] = len(self.row_at)
        lines.append(Line(("        return ", *_tuple([(variables[value],) for value in needed]))))
        made = self.written.define(f"after{number}", [Line((f"    def after{number}(at, row):",)), *lines])
        return (made,), needed

    def _row_lines(self, ops: Sequence[Node]) -> tuple[list[Line], dict[Value, str]]:
        """A line for each op on row values, and the variables that have their results."""
        lines: list[Line] = []
        variables: dict[Value, str] = {}
        for node in ops:
            arguments: list[Text] = []
            nodes = [node]
            for operand in node.operands:
                text, extra = self._row_value(operand, variables)
                arguments.append(text)
                nodes += extra
            variable = variables[node.result] = f"v{len(variables)}"
            made = call(f"        {assigned(variable, node)}", [*arguments, *self.written.parameters(node)])
            lines.append(Line(made, nodes))
        return lines, variables

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
        lines, variables = self._row_lines(self.plan.last_ops)
        for number, store in enumerate(self.stores):
            if not self.plan.is_full(store):
                variable = variables.get(store.register)
                value = f"{_SPREAD}({variable}, at.width)" if variable else f"row[{self.row_at[store.register]}]"
                lines.append(Line((f"        out{number}[at] = {value}",), self.stored_nodes[store]))
        if not lines:
            return ("nothing_left",)
        return (self.written.define("finish", [Line(("    def finish(at, row):",)), *lines], late=True),)

    def outputs(self) -> list[TensorType]:
        """The types that the stores' parameters are declared with."""
        shapes = [self.plan.walks[-1][0] if self.plan.is_full(store) else self.rows.kept for store in self.stores]
        return [TensorType.of(store.buffer.type.dtype, shape) for store, shape in zip(self.stores, shapes)]


class _Body(Lambda):
    """The function of one phase, while it is written."""

    def __init__(self, text: RowText, number: int) -> None:
        super().__init__(IDENTITY)
        self.text = text
        self.number = number
        phase = text.plan.phases[number]
        for path, node in phase.work:
            keys = [text.plan.key(operand, path) for operand in node.operands]
            self.counts.update(key for key in keys if key is not None)

    def fresh(self) -> str:
        """A new variable's name."""
        return f"v{len(self.variables)}"

    def op(self, node: Node, path: Path) -> None:
        """A line for an op."""
        self.text.written.write_op(node, path, self, lambda operand: self.value(operand, path, inline=True))

    def value(self, value: Value, path: Path, inline: bool = False) -> Operand:
        """An operand at the position."""
        element = literal_of(value)
        if element is not None:
            return (literal(element, value.type.dtype),), [], True
        outer = self.text
        base = member_below(value, outer.group)
        if base is not None and base not in outer.rows.full:
            return (f"row[{outer.row_at[base]}]",), views_between(value, base), True
        key = outer.plan.key(value, path)
        assert key is not None
        views = views_between(value, key[1])
        variable = self.variables.get(key)
        if variable is not None:
            return (variable,), views, variable in self.scalars
        if outer.plan.phase_of[key] < self.number:
            return (f"kept[{outer.plan.kept_at[key]}]",), views, False
        context, loaded = key
        assert not isinstance(context, Value)
        shape = outer.plan.walks[self.number][0]
        frame = () if shape == outer.rows.shape else (Step(shape, outer.rows.shape),)
        text, nodes = outer.written.loaded(loaded, context, frame)
        if inline and self.counts[key] == 1 and key not in outer.plan.kept_at:
            return (*text, "[at]"), nodes, False
        variable = self.variables[key] = self.fresh()
        self.lines.append(Line((f"        {variable} = ", *text, "[at]"), nodes))
        return (variable,), [], False


def _tuple(parts: Sequence[Text]) -> Text:
    """A tuple's text."""
    inside: list[str | Definition] = []
    for number, part in enumerate(parts):
        inside += [", "] * (number > 0) + list(part)  # type: ignore[list-item]
    return ("(", *inside, ",)" if len(parts) == 1 else ")")
