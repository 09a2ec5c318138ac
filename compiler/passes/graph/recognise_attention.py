"""Attention: softmax(q @ k.T * scale, masked) @ v, plain, masked, causal, with keys that several heads share."""

from __future__ import annotations

import math

import numpy as np
from xdsl.ir import Operation, SSAValue

from compiler.dialects.mo import MoOp, TensorType, attrs_of
from compiler.graph.dtypes import DTYPES, numpy_dtype
from compiler.graph.ops.attention import MOST_HEAD
from compiler.passes.graph.pattern import (
    Found,
    below,
    commuted,
    dtype_of,
    insert,
    is_used_once,
    made_by,
    number_of,
    over_last_axis,
    scaled,
    shape_of,
)
from compiler.passes.graph.rewrite import array_of

_OP = "scaled_dot_product_attention"
_NEVER = -1e30  # what is below this hides a key as well as -inf does, as long as another key is seen


def attention(op: MoOp) -> Found | None:
    """A product with a softmax of masked, scaled products."""
    weights, v = op.operands
    if DTYPES[dtype_of(v)].kind != "f" or not is_used_once(weights):
        return None
    scores = _softmaxed(weights)
    if scores is None:
        return None
    hidden = _Mask()
    scores = hidden.taken_off(scores)
    if scores is None:
        return None
    products, scale = scaled(scores)
    if scale <= 0:  # what is largest would be smallest
        return None
    product = made_by(products, "matmul")
    shifts = 2 if products is scores else 1  # the largest score is looked for, and taken off
    if product is None or len(list(products.uses)) > shifts:
        return None
    q, turned = product.operands
    if not all(isinstance(size, int) and size <= MOST_HEAD for size in (shape_of(q)[-1], shape_of(v)[-1])):
        return None
    k = _transposed(op, turned)
    few_k, few_v = _shared(k), _shared(v)
    grouped = False
    if few_k is not None and few_v is not None and shape_of(few_k)[:-1] == shape_of(few_v)[:-1]:
        k, v, grouped = few_k, few_v, True
    masks = hidden.operands(op, (*shape_of(q)[:-1], shape_of(turned)[-1]))
    kind: TensorType = op.results[0].type  # type: ignore[assignment]
    made = insert(
        op, _OP, (q, k, v, *masks), kind, is_causal=hidden.causal, scale=float(scale), enable_gqa=grouped
    )  # fmt: skip
    name = "attention" + ", causal" * hidden.causal + ", masked" * bool(masks) + ", shared heads" * grouped
    owner = made.owner
    assert isinstance(owner, Operation)
    return Found(name, hidden.nothing_seen(op, made), (q, k, v, turned, *hidden.inputs), owner)


def _softmaxed(weights: SSAValue) -> SSAValue | None:
    """What a value is the softmax of, along its last axis."""
    named = made_by(weights, "softmax")
    if named is not None:
        return named.operands[0] if attrs_of(named)["axis"] == len(shape_of(weights)) - 1 else None
    shape = shape_of(weights)
    op = made_by(weights, "div", "mul")
    for power, total in () if op is None else commuted(op)[: 1 if op.name == "mo.div" else 2]:
        raised = made_by(power, "exp")
        if raised is None:
            continue
        if op is not None and op.name == "mo.mul":
            spread = made_by(total, "broadcast_to")
            inverse = made_by(below(spread.operands[0], "reshape"), "div", "reciprocal") if spread is not None else None
            if inverse is None or (inverse.name == "mo.div" and number_of(inverse.operands[0]) != 1.0):
                continue
            bottom = below(inverse.operands[-1], "reshape")
            summed = made_by(bottom, "reduce_sum")
            if summed is None or tuple(attrs_of(summed)["axes"]) != (len(shape) - 1,):
                continue
            if shape_of(spread.operands[0]) != (*shape[:-1], 1):  # type: ignore[union-attr]
                continue
        else:
            summed = over_last_axis(total, shape, "reduce_sum")
        if summed is None or summed.operands[0] is not power:
            continue
        shifted = made_by(raised.operands[0], "sub")
        if shifted is None:
            continue
        scores, top = shifted.operands
        largest = over_last_axis(top, shape, "reduce_max")
        if largest is not None and largest.operands[0] is scores:
            return scores
    return None


def _transposed(op: MoOp, value: SSAValue) -> SSAValue:
    """The keys of which a product takes the transposed: as they were, or turned back."""
    rank = len(shape_of(value))
    swap = (*range(rank - 2), rank - 1, rank - 2)
    turn = made_by(value, "transpose")
    if turn is not None:
        perm = tuple(attrs_of(turn)["perm"])
        if perm == swap:
            return turn.operands[0]
    shape = shape_of(value)
    kind = TensorType.of(dtype_of(value), (*shape[:-2], shape[-1], shape[-2]))
    return insert(op, "transpose", (value,), kind, perm=swap)


def _shared(value: SSAValue) -> SSAValue | None:
    """What has fewer heads (axis -3), each repeated in a row; None when it is not so."""
    joined = made_by(value, "reshape")
    repeated = made_by(joined.operands[0], "broadcast_to") if joined is not None else None
    single = repeated.operands[0] if repeated is not None else None
    if repeated is None or single is None:
        return None
    wide, narrow, result = shape_of(repeated.results[0]), shape_of(single), shape_of(value)
    if len(wide) != len(result) + 1 or len(narrow) != len(wide) or len(result) < 3:
        return None
    if narrow[-3] != 1 or (*narrow[:-3], *narrow[-2:]) != (*wide[:-3], *wide[-2:]):
        return None
    heads = (*wide[:-3], *wide[-2:])
    if result != (*wide[:-4], wide[-4] * wide[-3], *wide[-2:]):
        return None
    base = made_by(single, "reshape")
    return base.operands[0] if base is not None and shape_of(base.operands[0]) == heads else None


class _Mask:
    """What hides keys from queries, taken off the scores."""

    def __init__(self) -> None:
        self.causal = False
        self.seen: SSAValue | None = None  # bool: which keys are seen; others are hidden by -inf
        self.added: SSAValue | None = None
        self.inputs: tuple[SSAValue, ...] = ()

    def taken_off(self, scores: SSAValue) -> SSAValue | None:
        """The scores without their mask; None when it is one that attention does not have."""
        choice = made_by(scores, "where")
        if choice is not None:
            condition, kept, other = choice.operands
            fill = number_of(other)
            if fill is None or not fill <= _NEVER or not is_used_once(kept):
                return None
            if _is_causal(condition):
                self.causal = True
            elif fill == -math.inf:
                self.seen = condition
            else:
                return None
            self.inputs = (condition,)
            return kept
        total = made_by(scores, "add")
        if total is not None:
            for kept, mask in commuted(total):
                base, _ = scaled(kept)
                if made_by(base, "matmul") is not None and is_used_once(kept) and number_of(mask) is None:
                    self.added = mask
                    self.inputs = (mask,)
                    return kept
        return scores

    def operands(self, op: MoOp, shape: tuple[int, ...]) -> tuple[SSAValue, ...]:
        """The mask as attention's operand."""
        mask = self.seen if self.seen is not None else self.added
        if mask is None:
            return ()
        if shape_of(mask) == shape:
            return (mask,)
        return (insert(op, "broadcast_to", (mask,), TensorType.of(dtype_of(mask), shape), shape=shape),)

    def nothing_seen(self, op: MoOp, made: SSAValue) -> SSAValue:
        """Attention gives zeros where a query sees no key; the ops one by one give NaN, and so does this."""
        mask = self.seen if self.seen is not None else self.added
        if mask is None:
            return made
        small = below_broadcast(mask)
        shape, result = shape_of(small), shape_of(made)
        rows = TensorType.of(dtype_of(mask), shape[:-1])
        sees = insert(op, "reduce_max", (small,), rows, axes=(len(shape) - 1,))
        if self.seen is None:
            lowest = _constant(op, -math.inf, dtype_of(mask), shape[:-1])
            sees = insert(op, "greater", (sees, lowest), TensorType.of("bool", shape[:-1]))
        column = insert(op, "reshape", (sees,), TensorType.of("bool", (*shape[:-1], 1)), shape=(*shape[:-1], 1))
        wide = insert(op, "broadcast_to", (column,), TensorType.of("bool", result), shape=result)
        nan = _constant(op, math.nan, dtype_of(made), result)
        return insert(op, "where", (wide, made, nan), TensorType.of(dtype_of(made), result))


def below_broadcast(mask: SSAValue) -> SSAValue:
    """A mask before it was repeated along axes other than the keys'."""
    spread = made_by(mask, "broadcast_to")
    if spread is None or not shape_of(spread.operands[0]) or shape_of(spread.operands[0])[-1] != shape_of(mask)[-1]:
        return mask
    return spread.operands[0]


def _constant(op: MoOp, number: float, dtype: str, shape: tuple[int, ...]) -> SSAValue:
    element = np.array(number, numpy_dtype(dtype))
    single = insert(op, "constant", (), TensorType.of(dtype, ()), value=element)
    return insert(op, "broadcast_to", (single,), TensorType.of(dtype, shape), shape=shape) if shape else single


def _is_causal(condition: SSAValue) -> bool:
    """Whether query i sees keys 0 to i, and no others."""
    base = below(condition, "broadcast_to")
    array = array_of(base)
    if array is not None and array.ndim >= 2:
        return bool((array == np.tri(*array.shape[-2:], dtype=bool)).all())
    rank = len(shape_of(base))
    compared = made_by(base, "greater_equal", "less_equal")
    if compared is None or rank < 2:
        return False
    later, earlier = compared.operands if compared.name == "mo.greater_equal" else compared.operands[::-1]
    return _counts(later, rank - 2, rank) and _counts(earlier, rank - 1, rank)


def _counts(value: SSAValue, axis: int, rank: int) -> bool:
    """Whether a value is its own index along an axis of `rank`."""
    while (view := made_by(value, "broadcast_to", "reshape")) is not None:
        source = view.operands[0]
        before, after = shape_of(source), shape_of(value)
        if view.name == "mo.broadcast_to":
            axis -= len(after) - len(before)
        elif len(before) == 1 and [size for at, size in enumerate(after) if at != axis and size != 1] == []:
            axis = 0
        else:
            return False
        value = source
        if axis < 0:
            return False
    counted = made_by(value, "iota")
    return counted is not None and attrs_of(counted)["axis"] == axis
