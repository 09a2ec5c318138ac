"""Which views of memory strides can express: those are free; the others would compute an index for every element."""

from __future__ import annotations

from functools import lru_cache

from compiler.graph.dims import mod
from compiler.language.values.shapes import reshaped_strides, row_major
from compiler.passes.fusion.analysis import DEEPEST, Node, Value, count
from compiler.passes.fusion.paths import Path, Shape

MOST_ACROSS = 1 << 13  # elements that the nearest cache holds, so that the order in which they are read is no matter
_MOST_STORED = 1 << 11  # elements that are stored one by one in the time that a kernel takes which turns them
_MOST_ON_CARD = 1 << 16  # elements that a card reads or stores so in the time of one more kernel

# Layers repeat, and arithmetic on symbolic sizes is slow.
_dense = lru_cache(maxsize=4096)(row_major)
_reshaped = lru_cache(maxsize=4096)(reshaped_strides)


@lru_cache(maxsize=4096)
def is_storable(path: Path) -> bool:
    """Whether a kernel can store through a path: its own space must be memory seen with some strides."""
    return not path or _strides_of(path) is not None


@lru_cache(maxsize=4096)
def stores_across(path: Path, *, on_card: bool) -> int:
    """How many elements a kernel would store a cache line each, as its last axis lies elsewhere in memory; 0 for few,
    or where that is not known."""
    strides = _strides_of(path) if path else None
    return 0 if strides is None else _across(path[0].before, strides, _MOST_ON_CARD if on_card else _MOST_STORED)


def reads_across(node: Node, *, on_card: bool, itself: bool = False) -> int:
    """The same of reading through the views that end in one; `itself` also if what it shows is stored."""
    value, chain = _below(node.operands[0] if itself else node.result)
    chain = [node, *chain] if itself else chain
    if not any(view.view == "permute" for view in chain):
        return 0
    strides: Shape | None = _dense(value.shape)
    for view in reversed(chain):
        before, after = view.operands[0].shape, view.result.shape
        if strides is not None:
            strides = _reshaped(before, strides, after) if view.view == "reshape" else _strided(view, strides)
    most = _MOST_ON_CARD if on_card else MOST_ACROSS
    return 0 if strides is None else _across(node.result.shape, strides, most)


def _below(value: Value) -> tuple[Value, list[Node]]:
    """What lies under the views that end in a value and are not in memory, and those views, the last one first."""
    chain: list[Node] = []
    while value.node is not None and value.node.kind == "view" and value.buffer is None and len(chain) < DEEPEST:
        chain.append(value.node)
        value = value.node.operands[0]
    return value, chain


def _across(shape: Shape, strides: Shape, most: int) -> int:
    elements = count(shape)
    if not isinstance(elements, int) or elements <= most:
        return 0
    steps = [abs(stride) for size, stride in zip(shape, strides) if size != 1 and isinstance(stride, int)]
    return elements if steps and any(0 < step < steps[-1] for step in steps[:-1]) else 0


def _strides_of(path: Path) -> Shape | None:
    """The strides of memory in a kernel's own space; None when there are none."""
    strides: Shape = row_major(path[-1].after)
    for step in reversed(path):
        if step.perm is not None:
            inverse = sorted(range(len(step.perm)), key=step.perm.__getitem__)
            strides = tuple(strides[axis] for axis in inverse)
        else:
            reshaped = _reshaped(step.after, strides, step.before)
            if reshaped is None:
                return None
            strides = reshaped
    return strides


def scatters(node: Node) -> bool:
    """Whether reading through a reshape would fall apart into single elements: neither strides nor whole rows do."""
    value, chain = _below(node.result)
    strides: Shape | None = _dense(value.shape)
    if value.node is not None and (value.node.kind == "pointwise" or len(chain) == DEEPEST):
        strides = None
    for view in reversed(chain):
        before, after = view.operands[0].shape, view.result.shape
        if view.view == "reshape":
            strides = _reshaped(before, strides, after) if strides is not None else None
            if strides is None and before != after and not (before and after and mod(before[-1], after[-1]) == 0):
                return True
        else:
            strides = _strided(view, strides)
    return False


def _strided(view: Node, strides: Shape | None) -> Shape | None:
    before, after = view.operands[0].shape, view.result.shape
    if strides is None:
        return None
    if view.view == "permute" and (step := view.step) is not None and step.perm is not None:
        return tuple(strides[axis] for axis in step.perm)
    if view.view == "broadcast":
        extra = len(after) - len(before)
        kept = (s if a == b else 0 for s, a, b in zip(strides, before, after[extra:]))
        return (0,) * extra + tuple(kept)
    if view.view == "slice":
        return tuple(s * step for s, step in zip(strides, view.attrs[view.signature.params[1]]))
    return None
