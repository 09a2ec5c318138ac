"""How sizes, numbers, strings and arrays are spelled in mo text. What is written here reads back bit for bit.

Arrays that are named by a digest are read back where a file that has them is still there.
"""

from __future__ import annotations

import math
import re

import numpy as np

from compiler.constants.digests import digest_of
from compiler.constants.file_arrays import is_large
from compiler.graph.dims import Dim
from compiler.graph.dtypes import DTYPES, from_numpy, numpy_dtype

_SMALL = 32  # arrays up to here are written as numbers, larger ones as the hex of their bytes
DIGEST = "blake2b:"
"""How the name of an array that is not written out begins."""
_IDENTIFIER = re.compile(r"[a-zA-Z_][a-zA-Z0-9_$.]*")


def size_text(size: int | Dim) -> str:
    """A size as MLIR text: `//` would start a comment there, so floordiv and mod are words, as in affine maps."""
    return str(size).replace(" // ", " floordiv ").replace(" % ", " mod ")


def float_text(value: float) -> str:
    """A float so that it reads back exactly and as a float: MLIR wants a dot."""
    text = repr(value)
    if "." in text or "n" in text:  # 1.5, inf, nan
        return text
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}.0e{exponent}" if exponent else f"{mantissa}.0"


def string_text(value: str) -> str:
    """A string literal, as MLIR escapes it."""
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    data = value.encode("utf-8", "surrogatepass")
    plain = (chr(b) if 0x20 <= b <= 0x7E and b not in b'"\\' else "\\\\" if b == 0x5C else f"\\{b:02X}" for b in data)
    return f'"{"".join(plain)}"'


def identifier_text(name: str) -> str:
    """A name as it is where it is an identifier, else as a string literal."""
    return name if _IDENTIFIER.fullmatch(name) else string_text(name)


def array_text(array: np.ndarray, *, elide: bool = False) -> str:
    """`<[2], f32, [1.0, 2.0]>`; a larger one as the hex of its bytes, or only named when it is elided.

    Weights are not text: a large array is named by the digest of its content.
    """
    dtype = from_numpy(array.dtype)
    small = array.size <= _SMALL
    body = "elided" if elide and not small else numbers_text(array, dtype) if small else None
    if body is None and is_large(array):
        body = f'"{DIGEST}{digest_of(array)}"'
    if body is None:
        body = f'"0x{array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes().hex().upper()}"'
    return f"<[{', '.join(map(str, array.shape))}], {DTYPES[dtype].mlir}, {body}>"


def array_from_bytes(data: bytes, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """The array whose little-endian bytes these are."""
    made = np.frombuffer(data, dtype=numpy_dtype(dtype).newbyteorder("<")).reshape(shape)
    return made.astype(numpy_dtype(dtype), copy=True)


def numbers_text(array: np.ndarray, dtype: str) -> str | None:
    """The elements as `[1.0, 2.0]`, or None when numbers would not give every bit back (a NaN with a payload)."""
    flat = array.reshape(-1)
    if DTYPES[dtype].kind != "f":
        pieces = [str(v).lower() if dtype == "bool" else str(v) for v in flat.tolist()]
        return f"[{', '.join(pieces)}]"
    pieces = []
    kind = numpy_dtype(dtype)
    for element in flat:
        value = float(element)
        for digits in (3, 6, 9, 17):
            text = float_text(float(f"{value:.{digits}g}")) if math.isfinite(value) else float_text(value)
            if np.array(float(text), dtype=kind).tobytes() == element.tobytes():
                pieces.append(text)
                break
        else:
            return None
    return f"[{', '.join(pieces)}]"
