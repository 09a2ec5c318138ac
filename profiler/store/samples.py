"""Samples as bytes: signed 64-bit little-endian integers, zlib-compressed. No other form is read or written."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from profiler.store.connection import StoreError

if TYPE_CHECKING:  # slow to load, and listing runs unpacks no samples
    import numpy as np

_MOST = 1 << 31


def pack(values: Sequence[int] | np.ndarray) -> bytes:
    """Bytes of some integers."""
    import numpy as np

    return zlib.compress(np.asarray(values, dtype="<i8").tobytes(), 1)


def unpack(data: bytes, count: int) -> np.ndarray:
    """The `count` integers behind some bytes."""
    import numpy as np

    try:
        if not 0 <= count <= _MOST:
            raise ValueError(f"there cannot be {count}")
        plain = zlib.decompressobj().decompress(data, count * 8 + 1)
        if len(plain) != count * 8:
            raise ValueError(f"{len(plain)} bytes for {count} samples")
    except (zlib.error, ValueError) as error:
        raise StoreError(f"the database is damaged: samples do not unpack ({error})") from None
    return np.frombuffer(plain, dtype="<i8").astype(np.int64)
