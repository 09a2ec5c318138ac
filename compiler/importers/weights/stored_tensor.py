"""A tensor of a file of weights: where its bytes are, how they are encoded, and the graph value that it stands for."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np

from compiler.constants.file_arrays import MappedFile
from compiler.errors import ParseError
from compiler.graph import ops
from compiler.graph.dtypes import numpy_dtype
from compiler.graph.value import Value
from compiler.importers.weights.blocks import BLOCKS

_NOT_IN_NAMES = re.compile(r"[^\w$.-]", re.ASCII)
PLAIN = ("f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8", "bool")


@dataclass(frozen=True, eq=False)
class StoredTensor:
    """`encoding` is a dtype, or the name of a block format of GGUF's; the shape is in elements, rows last but one."""

    name: str
    shape: tuple[int, ...]
    encoding: str
    file: MappedFile
    offset: int

    @property
    def bytes(self) -> int:
        """What it takes in the file."""
        return encoded_bytes(self.shape, self.encoding)

    def array(self) -> np.ndarray:
        """The elements of one that is not quantised, where they lie."""
        return self.file.array(numpy_dtype(self.encoding), self.shape, self.offset)

    def value(self, dtype: str = "f32") -> Value:
        """The tensor in the graph that is being built: what it takes to decode it is ops over the packed bytes."""
        return self._decoded(dtype, lambda packed: packed)

    def rows(self, indices: Value, dtype: str = "f32") -> Value:
        """Some of its rows: only their bytes are decoded."""
        return self._decoded(dtype, lambda packed: ops.gather(packed, indices, axis=0))

    def _constant(self, array: np.ndarray) -> Value:
        """The array in the graph, by the name that the file has for it where a node can have that."""
        value = ops.constant(array)
        plain = _NOT_IN_NAMES.sub("_", self.name)
        return value.named(value.graph.free_name(plain)) if plain and not plain[0].isdigit() else value

    def _decoded(self, dtype: str, chosen: Callable[[Value], Value]) -> Value:
        if self.encoding in PLAIN:
            return ops.cast(chosen(self._constant(self.array())), dtype)
        block = BLOCKS[self.encoding]
        counts = (*self.shape[:-1], self.shape[-1] // block.elements)

        def packed(kind: str) -> Value:
            held = numpy_dtype(kind)
            shape = (*counts, block.bytes // held.itemsize)
            return chosen(self._constant(self.file.array(held, shape, self.offset)))

        numbers = block.decode(packed)
        return ops.cast(ops.reshape(numbers, (*numbers.shape[: len(self.shape) - 1], self.shape[-1])), dtype)


def encoded_bytes(shape: tuple[int, ...], encoding: str) -> int:
    """How many bytes a tensor takes; a ParseError where its rows are no whole number of blocks."""
    if encoding in PLAIN:
        return prod(shape) * numpy_dtype(encoding).itemsize
    block = BLOCKS[encoding]
    if not shape or shape[-1] % block.elements:
        raise ParseError(f"rows of {shape[-1] if shape else 1} elements are not whole blocks of {encoding}")
    return prod(shape) // block.elements * block.bytes
