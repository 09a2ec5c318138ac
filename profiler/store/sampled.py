"""Sampled lines as bytes: the records as JSON, zlib-compressed, one row a kernel. Read back, every field is checked."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any, TypeVar

from profiler.sampled import MODEL, SampledKernel, Sampling
from profiler.store.connection import Store, StoreError

_Record = TypeVar("_Record", Sampling, SampledKernel)
_LEVEL = 6  # the texts of lines shrink to a fifth, and there are few of them
_MOST = 1 << 28


def put_sampling(store: Store, run: int, found: Sampling) -> None:
    """Keep what sampling found of a run. Call it inside a transaction."""
    for name, record in ((MODEL, replace(found, kernels=())), *((kernel.kernel, kernel) for kernel in found.kernels)):
        plain = _encoded(record)
        values = (run, name, len(plain), zlib.compress(plain, _LEVEL))
        store.connection.execute("INSERT INTO sampled (run, kernel, size, data) VALUES (?, ?, ?, ?)", values)


def sampling(store: Store, run: int) -> Sampling | None:
    """What sampling found of a run, the kernel with most samples first; None where it was not sampled."""
    rows = store.rows("SELECT kernel, size, data FROM sampled WHERE run = ? ORDER BY kernel", (run,))
    if not rows:
        return None
    whole = [_decoded(store, row, Sampling) for row in rows if row["kernel"] == MODEL]
    kernels = [_decoded(store, row, SampledKernel) for row in rows if row["kernel"] != MODEL]
    if not whole or any(kernel.kernel != row["kernel"] for kernel, row in zip(kernels, rows[1:], strict=True)):
        raise StoreError(f"{store.path} is damaged: the samples of run {run} do not belong together")
    known = {row["position"] for row in store.rows("SELECT position FROM launches WHERE run = ?", (run,))}
    if any(launch.position not in known for launch in whole[0].counted):
        raise StoreError(f"{store.path} is damaged: run {run} has counters of a launch that it did not make")
    return replace(whole[0], kernels=tuple(sorted(kernels, key=lambda kernel: -kernel.samples)))


def _encoded(record: Any) -> bytes:
    import msgspec

    return msgspec.json.encode(record)


def _decoded(store: Store, row: dict[str, Any], kind: type[_Record]) -> _Record:
    import msgspec

    from compiler.processes.known_types import readable

    try:
        if not 0 <= row["size"] <= _MOST:
            raise ValueError("its size is wrong")
        plain = zlib.decompressobj().decompress(row["data"], row["size"] + 1)
        if len(plain) != row["size"]:
            raise ValueError("its size is wrong")
        found = msgspec.json.decode(plain, type=readable(kind))
    except (zlib.error, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise StoreError(f"{store.path} is damaged: samples of lines do not read ({error})") from None
    return found
