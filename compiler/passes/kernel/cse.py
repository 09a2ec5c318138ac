"""cse: equal pure operations once, in the functions that other passes changed."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any

from xdsl.ir import Attribute, Block, SSAValue

from compiler.passes.kernel.census import Census, is_pure, replace


def cse(census: Census) -> int:
    """Merge equal operations whose first one is in sight of the others; the number taken out."""
    changed = [function for function in census.changed.values() if function.body.blocks]
    merger = _Merger()
    removed = sum(merger.block(function.body.blocks[0], {}) for function in changed)
    census.edits += removed
    return removed


class _Merger:
    """Merges operations, and knows types and properties by number: xDSL hashes them in Python, each as a whole."""

    def __init__(self) -> None:
        self.numbers: dict[Attribute, int] = {}
        self.seen: dict[int, tuple[int, Attribute]] = {}  # by id: its number, and itself, so that no id comes back

    def number(self, attribute: Attribute) -> int:
        """The same number for equal attributes."""
        known = self.seen.get(id(attribute))
        if known is None:
            number = self.numbers.setdefault(attribute, len(self.numbers))
            known = self.seen[id(attribute)] = (number, attribute)
        return known[0]

    def block(self, block: Block, known: dict[Any, SSAValue]) -> int:
        """Merge what is in a block with each other and with what is `known` around it, which stays as it was."""
        removed = 0
        added: list[Any] = []
        number = self.number
        operation = block._first_op
        while operation is not None:
            following = operation._next_op
            if operation.regions:
                for region in operation.regions:
                    for inner in region.blocks:
                        removed += self.block(inner, known)
            elif len(operation.results) == 1 and is_pure(operation):
                (result,) = operation.results
                key = (
                    type(operation), number(result.type), *map(id, operation._operands),
                    *[(name, number(held)) for name, held in operation.properties.items()], "attributes",
                    *[(name, number(held)) for name, held in operation.attributes.items()],
                )  # fmt: skip
                first = known.get(key)
                if first is None:
                    known[key] = result
                    added.append(key)
                else:
                    replace(operation, [first])
                    removed += 1
            operation = following
        for key in added:
            del known[key]
        return removed
