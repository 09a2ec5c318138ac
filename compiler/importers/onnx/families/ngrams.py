"""Counting n-grams of token numbers: TfIdfVectorizer."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.value import Value
from compiler.importers.onnx.node import Handler, Node

_MOST_PARTS = 4096  # comparisons of a whole row, which are unrolled
_MOST_EMPTY = 1 << 16  # columns of the result that no n-gram has


def _tf_idf(node: Node) -> Value:
    """How often each n-gram of a pool occurs in a row, its tokens next to each other or so many apart."""
    x = node.x()
    if node.attr("pool_strings"):
        raise GraphError("n-grams of strings are not read")
    if x.rank not in (1, 2) or not isinstance(x.shape[-1], int):
        raise GraphError(f"n-grams are counted in rows of a known size, not in {x!r}")
    rows = x if x.rank == 2 else ops.expand_dims(x, 0)
    columns = [int(at) for at in node.need("ngram_indexes")]
    if not columns or min(columns) < 0 or max(columns) >= len(columns) + _MOST_EMPTY:
        raise GraphError(f"ngram_indexes must be columns of the result, of which up to {_MOST_EMPTY} are empty")
    spans = _spans(node)
    counted: list[Value] = []
    placed: list[int] = []
    for length, grams, numbers in spans:
        if max(numbers) >= len(columns):
            raise GraphError(f"{len(columns)} ngram_indexes for more n-grams than that")
        counted.append(_counts(rows, grams, length, node.attr("max_skip_count", 0)))
        placed += [columns[number] for number in numbers]
    width = max(columns) + 1
    shape = (rows.shape[0], width)
    total = _by_column(counted, placed, width) if counted else ops.zeros(shape, "f32")
    total = _weighted(total, node.attr("mode"), node.attr("weights"), width)
    return total if x.rank == 2 else ops.reshape(total, (width,))


def _spans(node: Node) -> list[tuple[int, np.ndarray, list[int]]]:
    """For each length that is asked for: the length, its n-grams by row, and their numbers in the pool.

    Of two that are equal only the later counts.
    """
    pool, starts = list(node.need("pool_int64s")), list(node.need("ngram_counts"))
    least, most = node.need("min_gram_length"), node.need("max_gram_length")
    ends = [*starts[1:], len(pool)]
    found: list[tuple[int, np.ndarray, list[int]]] = []
    number = 0
    for length, (start, end) in enumerate(zip(starts, ends, strict=True), 1):
        if not 0 <= start <= end <= len(pool) or (end - start) % length:
            raise GraphError(f"the n-grams of length {length} are {start} to {end} of a pool of {len(pool)}")
        grams = np.array(pool[start:end], np.int64).reshape(-1, length)
        if least <= length <= most and len(grams):
            last = {tuple(gram): at for at, gram in enumerate(grams.tolist())}
            kept = sorted(last.values())
            found.append((length, grams[kept], [number + at for at in kept]))
        number += len(grams)
    return found


def _counts(rows: Value, grams: np.ndarray, length: int, skips: int) -> Value:
    """How often each n-gram is in each row, (rows, grams); a single token is the same however far apart."""
    size: Any = rows.shape[1]
    total: Value | None = None
    parts = 0
    for apart in range(1, (skips if length > 1 else 0) + 2):
        windows = size - (length - 1) * apart
        if windows <= 0:
            break
        parts += length
        if parts > _MOST_PARTS:
            raise GraphError(f"n-grams of {length} tokens with {skips} skipped are too many to compare")
        same: Value | None = None
        for at in range(length):
            token = ops.expand_dims(ops.slice(rows, [at * apart], [at * apart + windows], axes=[1]), 2)
            one = ops.equal(token, ops.constant(grams[:, at], rows.dtype))
            same = one if same is None else ops.logical_and(same, one)
        assert same is not None
        count = ops.sum(ops.cast(same, "f32"), axis=1)
        total = count if total is None else ops.add(total, count)
    return total if total is not None else ops.zeros((rows.shape[0], len(grams)), "f32")


def _by_column(counted: list[Value], placed: list[int], width: int) -> Value:
    """Counts at the columns of the result; those that share one are added up."""
    all_of_them = ops.concat([*counted, ops.zeros((counted[0].shape[0], 1), "f32")], 1)
    rounds: list[np.ndarray] = []
    seen = np.zeros(width, np.int64)
    for at, column in enumerate(placed):
        if seen[column] == len(rounds):
            if len(rounds) == _MOST_PARTS:
                raise GraphError("too many n-grams share a column")
            rounds.append(np.full(width, len(placed), np.int64))  # nothing arrives: the zero behind the counts
        rounds[seen[column]][column] = at
        seen[column] += 1
    return reduce(ops.add, (ops.gather(all_of_them, chosen, 1) for chosen in rounds))


def _weighted(total: Value, mode: Any, weights: Any, width: int) -> Value:
    if mode not in ("TF", "IDF", "TFIDF"):
        raise GraphError(f"the mode {mode!r} is not TF, IDF or TFIDF")
    if mode == "IDF":
        total = ops.cast(ops.greater(total, 0), "f32")
    if mode == "TF" or not weights:
        return total
    if len(weights) < width:
        raise GraphError(f"{len(weights)} weights for {width} columns")
    return ops.mul(total, ops.constant(np.array(weights[:width], np.float32)))


NGRAMS: dict[str, Handler] = {"TfIdfVectorizer": _tf_idf}
