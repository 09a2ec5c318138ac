"""Things that hold elements and are asked for them by position: tensors, fused inputs, fused outputs, and their views.

A tensor is a flat buffer with strides, so most views of it cost nothing. A fused input is a lambda from a position to
values; its views rewrite the position. Whoever loads cannot tell the two apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from compiler.errors import KernelError
from compiler.graph.dims import mod
from compiler.language.builder import Builder
from compiler.language.context import Context
from compiler.language.values import arithmetic as math
from compiler.language.values import memory
from compiler.language.values.dtypes import DType
from compiler.language.values.lanes import extract, shuffle
from compiler.language.values.positions import check_inside, delinearize, linearize, permuted, shifted, total
from compiler.language.values.records import Position, Simd, StaticSize
from compiler.language.values.shapes import Shape, kept_axes, reshaped_strides

UNSIZED = 1 << 40  # the length of a row whose length nobody knows: never reached


class Loadable:
    """What tensors and fused inputs share: a dtype, a shape, loading at a position and views."""

    dtype: DType
    shape: Shape

    @property
    def rank(self) -> int:
        """How many axes."""
        return len(self.shape)

    def load(self, run: Context, at: Position) -> Simd:
        """The values at a position; the caller keeps it inside the shape."""
        raise KernelError("this cannot be loaded from")

    def contiguity(self, axis: int) -> bool:
        """Whether loads along an axis are known to be unit-stride in memory."""
        return False

    def adjacency(self, axis: int) -> bool:
        """Whether neighbours along an axis are known to be neighbours in memory, in either direction."""
        return self.contiguity(axis)

    def reads(self) -> tuple[Loadable, ...]:
        """What it is known to load from: itself, where it lies in memory."""
        return (self,)

    def iterates(self) -> bool:
        """Whether computing an element is known to run a `while` loop, in which lanes wait for each other."""
        return False

    def permute(self, perm: Sequence[int]) -> Loadable:
        """Axis k of the result is axis perm[k] of this."""
        perm = tuple(perm)
        inverse = tuple(perm.index(axis) for axis in range(self.rank))

        def fetch(run: Context, at: Position) -> Simd:
            return self.load(run, permuted(at, perm, inverse))

        shape = tuple(self.shape[k] for k in perm)
        return FusedInput(
            fetch, self.dtype, shape, lambda axis: self.contiguity(perm[axis]), lambda axis: self.adjacency(perm[axis])
        )

    def slice(self, starts: Sequence[Any], steps: Sequence[Any], shape: Shape) -> Loadable:
        """Element i of each axis of the result is element start + i*step of this."""

        def fetch(run: Context, at: Position) -> Simd:
            backwards = at.width > 1 and steps[at.axis] == -1  # the same elements from the other end
            if at.width > 1 and steps[at.axis] != 1 and not backwards:
                return lanes(run.b, at, lambda one: fetch(run, one))
            index = [
                math.binary(run.b, "+", start, math.binary(run.b, "*", i, step))
                for i, start, step in zip(at.index, starts, steps, strict=True)
            ]
            if not backwards:
                return self.load(run, replace(at, index=tuple(index)))
            index[at.axis] = math.binary(run.b, "-", index[at.axis], at.width - 1)
            ahead = self.load(run, replace(at, index=tuple(index)))
            return shuffle(run.b, ahead, ahead, tuple(reversed(range(at.width))))

        return FusedInput(
            fetch, self.dtype, shape, lambda axis: steps[axis] == 1 and self.contiguity(axis),
            lambda axis: steps[axis] in (1, -1) and self.adjacency(axis),
        )  # fmt: skip

    def broadcast(self, shape: Shape) -> Loadable:
        """Repeated along new leading axes and along axes of size 1."""
        extra = len(shape) - self.rank
        kept = kept_axes(self.shape, shape)

        def fetch(run: Context, at: Position) -> Simd:
            index = tuple(at.index[k + extra] if keep else 0 for k, keep in enumerate(kept))
            if at.width > 1 and at.axis >= extra and kept[at.axis - extra]:
                return self.load(run, Position(index, at.width, at.axis - extra))
            return math.splat(run.b, self.load(run, Position(index, 1, max(len(index) - 1, 0))), at.width)

        return FusedInput(fetch, self.dtype, shape, lambda axis: axis >= extra and self.contiguity(axis - extra))

    def reshape(self, shape: Shape) -> Loadable:
        """The same elements in row-major order under another shape."""
        if shape == self.shape:
            return self

        def fetch(run: Context, at: Position) -> Simd:
            last = len(shape) - 1
            # A run of lanes stays inside one row when the old rows are whole multiples of the new ones.
            whole = self.rank and shape and at.axis == last and mod(self.shape[-1], shape[-1]) == 0
            if at.width > 1 and not whole:
                return lanes(run.b, at, lambda one: fetch(run, one))
            index = delinearize(run.b, linearize(run.b, at.index, shape), self.shape)
            return self.load(run, Position(index, at.width, max(self.rank - 1, 0)))

        whole_rows = bool(self.rank and shape) and mod(self.shape[-1], shape[-1]) == 0

        def contiguity(axis: int) -> bool:
            return whole_rows and axis == len(shape) - 1 and self.contiguity(self.rank - 1)

        return FusedInput(fetch, self.dtype, shape, contiguity)

    def drop(self, axis: int, index: Any) -> Loadable:
        """One axis fixed at an index."""

        def fetch(run: Context, at: Position) -> Simd:
            full = (*at.index[:axis], index, *at.index[axis:])
            along = at.axis + (1 if at.axis >= axis and at.index else 0)
            return self.load(run, Position(full, at.width, along))

        shape = self.shape[:axis] + self.shape[axis + 1 :]
        return FusedInput(fetch, self.dtype, shape, lambda k: self.contiguity(k + (1 if k >= axis else 0)))


@dataclass(frozen=True, eq=False)
class FusedInput(Loadable):
    """A lambda from a position to values."""

    fetch: Callable[[Any, Position], Simd]
    dtype: DType  # pyright: ignore[reportIncompatibleVariableOverride]
    shape: Shape  # pyright: ignore[reportIncompatibleVariableOverride]
    unit_stride: Callable[[int], bool] = lambda axis: False
    unit_step: Callable[[int], bool] | None = None  # in either direction, where that is known apart
    sources: Callable[[], tuple[Any, ...]] = tuple
    loops: Callable[[], bool] = bool

    def iterates(self) -> bool:
        return self.loops() or any(x.iterates() for x in self.reads())

    def reads(self) -> tuple[Loadable, ...]:
        """What it is known to load from."""
        return tuple(value for value in self.sources() if isinstance(value, Loadable))

    def load(self, run: Context, at: Position) -> Simd:
        value = self.fetch(run, at)
        if not isinstance(value, Simd):
            value = math.literal(run.b, value, self.dtype, at.width)
        if value.dtype is not self.dtype:
            raise KernelError(f"this input promises {self.dtype.name} but its function gives {value.type_name}")
        return math.splat(run.b, value, at.width)

    def contiguity(self, axis: int) -> bool:
        return self.unit_stride(axis % self.rank if self.rank else 0)

    def adjacency(self, axis: int) -> bool:
        return self.contiguity(axis) if self.unit_step is None else self.unit_step(axis % self.rank if self.rank else 0)


@dataclass(frozen=True, eq=False)
class Tensor(Loadable):
    """A flat buffer seen through a shape and strides (in elements)."""

    buffer: Any  # the SSA value of the buffer
    dtype: DType  # pyright: ignore[reportIncompatibleVariableOverride]
    shape: Shape  # pyright: ignore[reportIncompatibleVariableOverride]
    strides: Shape
    offset: Any = 0

    @property
    def is_fixed(self) -> bool:
        """Whether sizes and strides are known or symbolic, none of them a run-time value."""
        return not any(isinstance(part, Simd) for part in (*self.shape, *self.strides))

    def flat(self) -> Tensor:
        """The whole buffer as one long row, whatever this shows of it."""
        return Tensor(self.buffer, self.dtype, (UNSIZED,), (1,))

    def linear(self, b: Builder, index: Sequence[Any]) -> Any:
        """The buffer position of an index; terms that change least are added first so that they leave the loops."""
        if len(index) != self.rank:
            raise KernelError(f"{len(index)} indices for a tensor of {self.rank} axes")
        terms = [self.offset]
        terms += [math.binary(b, "*", i, s) for i, s in zip(index, self.strides, strict=True)]
        return total(b, terms)

    def load(self, run: Context, at: Position) -> Simd:
        position = self.linear(run.b, at.index)
        if at.width == 1:
            return memory.load(run.b, self.buffer, self.dtype, position, 1)
        stride = self.strides[at.axis]
        if stride == 1:
            return memory.load(run.b, self.buffer, self.dtype, position, at.width)
        if stride == 0 or self.shape[at.axis] == 1:
            return math.splat(run.b, memory.load(run.b, self.buffer, self.dtype, position, 1), at.width)
        if stride == -1:  # backwards: one load from the other end
            first = math.binary(run.b, "-", position, at.width - 1)
            ahead = memory.load(run.b, self.buffer, self.dtype, first, at.width)
            return shuffle(run.b, ahead, ahead, tuple(reversed(range(at.width))))
        return memory.gather(run.b, self.buffer, self.dtype, position, stride, at.width)

    def store(self, run: Context, at: Position, value: Simd) -> None:
        """Put values at a position."""
        position = self.linear(run.b, at.index)
        if value.width == 1:
            memory.store(run.b, self.buffer, self.dtype, position, value)
            return
        stride = self.strides[at.axis]
        if stride == 1:
            memory.store(run.b, self.buffer, self.dtype, position, value)
        else:
            memory.scatter(run.b, self.buffer, self.dtype, position, stride, value)

    def contiguity(self, axis: int) -> bool:
        return self.rank > 0 and self.strides[axis] in (0, 1)

    def adjacency(self, axis: int) -> bool:
        return self.rank > 0 and self.strides[axis] in (-1, 0, 1)

    def permute(self, perm: Sequence[int]) -> Tensor:
        return replace(self, shape=tuple(self.shape[k] for k in perm), strides=tuple(self.strides[k] for k in perm))

    def slice(self, starts: Sequence[Any], steps: Sequence[Any], shape: Shape) -> Loadable:
        if any(isinstance(step, Simd) for step in (*steps, *self.strides)):
            return super().slice(starts, steps, shape)
        offset = self.offset
        for start, stride in zip(starts, self.strides, strict=True):
            offset = _plus(offset, start, stride)
            if offset is None:
                return super().slice(starts, steps, shape)
        strides = tuple(stride * step for stride, step in zip(self.strides, steps, strict=True))
        return replace(self, shape=shape, strides=strides, offset=offset)

    def broadcast(self, shape: Shape) -> Tensor:
        extra = len(shape) - self.rank
        kept = kept_axes(self.shape, shape)
        strides = (0,) * extra + tuple(s if keep else 0 for s, keep in zip(self.strides, kept, strict=True))
        return replace(self, shape=shape, strides=strides)

    def reshape(self, shape: Shape) -> Loadable:
        if not self.is_fixed:  # strides of the run: every index is computed
            return super().reshape(shape)
        strides = reshaped_strides(self.shape, self.strides, shape)
        if strides is None:
            return super().reshape(shape)
        return replace(self, shape=shape, strides=strides)

    def drop(self, axis: int, index: Any) -> Loadable:
        offset = _plus(self.offset, index, self.strides[axis])
        if offset is None:
            return super().drop(axis, index)
        shape, strides = self.shape, self.strides
        return replace(
            self, shape=shape[:axis] + shape[axis + 1 :], strides=strides[:axis] + strides[axis + 1 :], offset=offset
        )


def _plus(offset: Any, index: Any, stride: StaticSize) -> Any:
    """offset + index*stride when all are known sizes; None when one is a run-time value."""
    if isinstance(offset, Simd) or isinstance(index, Simd) or isinstance(stride, Simd):
        return None
    return offset + index * stride


@dataclass(frozen=True, eq=False)
class FusedOutput:
    """A sink: a lambda that takes a position and the values computed there."""

    put: Callable[[Any, Position, Simd], None]
    dtype: DType
    shape: Shape
    memory: Tensor | None = None  # where what is handed over lies as it is, if nothing else is done with it

    @property
    def rank(self) -> int:
        """How many axes."""
        return len(self.shape)

    def store(self, run: Context, at: Position, value: Simd) -> None:
        """Hand values over."""
        self.put(run, at, value)

    def permute(self, perm: Sequence[int]) -> FusedOutput:
        """A sink whose axis k is axis perm[k] of this one."""
        perm = tuple(perm)
        inverse = tuple(perm.index(axis) for axis in range(self.rank))

        def put(run: Context, at: Position, value: Simd) -> None:
            self.store(run, permuted(at, perm, inverse), value)

        return FusedOutput(put, self.dtype, tuple(self.shape[k] for k in perm))

    def reshape(self, shape: Shape) -> FusedOutput:
        """A sink of another shape over the same elements in row-major order."""
        if shape == self.shape:
            return self

        def put(run: Context, at: Position, value: Simd) -> None:
            last = len(shape) - 1
            whole = self.rank and shape and at.axis == last and mod(self.shape[-1], shape[-1]) == 0
            if at.width > 1 and not whole:
                for lane in range(at.width):
                    put(run, shifted(run.b, at, lane), extract(run.b, value, lane))
                return
            index = delinearize(run.b, linearize(run.b, at.index, shape), self.shape)
            self.store(run, Position(index, at.width, max(self.rank - 1, 0)), value)

        return FusedOutput(put, self.dtype, shape)


def tensor_sink(tensor: Tensor) -> FusedOutput:
    """A tensor as a sink."""
    return FusedOutput(lambda run, at, value: tensor.store(run, at, value), tensor.dtype, tensor.shape, tensor)


def lanes(b: Builder, at: Position, one: Callable[[Position], Any]) -> Simd:
    """Each lane evaluated alone, in a small loop over a scratch row: slow, but right for any access pattern."""
    if at.width == 1:
        return one(at)
    return memory.lane_loop(b, at.width, lambda lane: one(shifted(b, at, lane)))


def put(run: Context, sink: Tensor | FusedOutput, at: Position, value: Any) -> None:
    """Store a value; a literal takes the sink's dtype, and its lanes decide how many elements are written."""
    if not isinstance(value, Simd):
        value = math.literal(run.b, value, sink.dtype, at.width)
    if value.dtype is not sink.dtype:
        raise KernelError(f"a {value.type_name} cannot be stored where {sink.dtype.name} is asked for; cast it")
    if at.width > 1:
        value = math.splat(run.b, value, at.width)
    elif value.width > 1 and not at.index:
        raise KernelError(f"a {value.type_name} cannot be stored in a single element")
    at = Position(at.index, value.width, at.axis)
    check_inside(run.b, sink.shape, at)
    sink.store(run, at, value)
