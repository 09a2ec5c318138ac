"""Reading an ONNX file: the message and its tensors as arrays, with nothing allocated that the file does not hold.

Data outside the file is read only from regular files below the model's own folder, or from the blobs of a download of
the Hugging Face hub's whose links the folder has. No other link that leads out of the folder is followed.
"""

from __future__ import annotations

import math
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from compiler.errors import GraphError, Location, ParseError, UnavailableError
from compiler.importers.files import check_fetched, hub_repository, read_file

_LARGEST_FILE = 2**31 - 1  # protobuf's own limit
_TYPES: dict[int, tuple[str, str, str]] = {  # TensorProto.DataType: NumPy's name, the field of unpacked data, ours
    1: ("float32", "float_data", "f32"), 2: ("uint8", "int32_data", "u8"), 3: ("int8", "int32_data", "i8"),
    4: ("uint16", "int32_data", "u16"), 5: ("int16", "int32_data", "i16"), 6: ("int32", "int32_data", "i32"),
    7: ("int64", "int64_data", "i64"), 9: ("bool", "int32_data", "bool"), 10: ("float16", "int32_data", "f16"),
    11: ("float64", "double_data", "f64"), 12: ("uint32", "uint64_data", "u32"),
    13: ("uint64", "uint64_data", "u64"), 16: ("bfloat16", "int32_data", "bf16"),
}  # fmt: skip


def onnx_package() -> Any:
    """The `onnx` package, which is an extra."""
    try:
        import onnx
    except ImportError:
        raise UnavailableError("reading ONNX files needs the onnx package: pip install 'kernelglass[onnx]'") from None
    return onnx


def read_model(path: str | os.PathLike[str]) -> Any:
    """The ModelProto in a file; what is no such file is a ParseError of one line."""
    onnx = onnx_package()
    name = os.fspath(path)
    data = _bytes(Path(name), name)
    check_fetched(data[:64], name)
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception as error:  # protobuf's implementations raise different ones for what does not parse
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        raise ParseError("not an ONNX file, or one that is cut off or damaged", Location(name)) from None
    if not model.HasField("graph") or not (model.graph.node or model.graph.output):
        raise ParseError("not an ONNX model: it has no graph", Location(name))
    return model


def _bytes(path: Path, name: str) -> bytes:
    with suppress(OSError, ValueError):
        if path.stat().st_size > _LARGEST_FILE:
            raise ParseError("larger than 2 GB, which an ONNX file cannot be; keep weights as external data",
                             Location(name))  # fmt: skip
    return read_file(path, _LARGEST_FILE, name)


def type_name(elem_type: int) -> str:
    """Our name of an element type, or ONNX's where we have none."""
    known = _TYPES.get(elem_type)
    if known is not None:
        return known[2]
    names = {number: text for text, number in onnx_package().TensorProto.DataType.items()}
    return names.get(elem_type, f"type {elem_type}").lower()


def numpy_type(elem_type: int) -> np.dtype:
    """NumPy's dtype of an element type; one that nothing here computes with is a GraphError."""
    known = _TYPES.get(elem_type)
    if known is None:
        raise GraphError(f"elements of type {type_name(elem_type)} are not read")
    if known[0] == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(known[0])


def array_of(tensor: Any, folder: Path | None) -> np.ndarray:
    """The array a TensorProto holds; its shape must agree with what is there."""
    dtype, shape = numpy_type(tensor.data_type), tuple(tensor.dims)
    if any(size < 0 for size in shape):
        raise GraphError(f"tensor {tensor.name!r} has a negative size in its shape {shape}")
    count = math.prod(shape)
    if tensor.data_location == 1:
        return _external(tensor, dtype, shape, folder)
    if tensor.HasField("raw_data"):
        data = tensor.raw_data
        if len(data) != count * dtype.itemsize:
            raise GraphError(_disagrees(tensor, shape, count * dtype.itemsize, f"{len(data)} bytes"))
        return np.frombuffer(data, dtype.newbyteorder("<") if dtype.itemsize > 1 else dtype).reshape(shape)
    numbers = getattr(tensor, _TYPES[tensor.data_type][1])
    if len(numbers) != count:
        raise GraphError(_disagrees(tensor, shape, count, f"{len(numbers)} elements"))
    if dtype.name in ("float16", "bfloat16"):
        return np.array(numbers, np.int64).astype(np.uint16).view(dtype).reshape(shape)
    field = np.int64 if dtype.kind in "iub" and dtype.name != "uint64" else dtype
    return np.array(numbers, field).astype(dtype).reshape(shape)


def _disagrees(tensor: Any, shape: tuple[int, ...], wanted: int, found: str) -> str:
    return f"tensor {tensor.name!r} of shape {shape} should hold {wanted}, but there are {found}"


def _external(tensor: Any, dtype: np.dtype, shape: tuple[int, ...], folder: Path | None) -> np.ndarray:
    said = {entry.key: entry.value for entry in tensor.external_data}
    what = f"tensor {tensor.name!r}"
    if folder is None:
        raise GraphError(f"{what} is kept in another file; give from_onnx the model's path instead of its message")
    path = _inside(folder, said.get("location", ""), what)
    wanted = math.prod(shape) * dtype.itemsize
    try:
        offset, length = int(said.get("offset", 0)), int(said.get("length", wanted))
    except ValueError:
        raise GraphError(f"{what}: its offset and length in {path.name} are not numbers") from None
    if length != wanted:
        raise GraphError(_disagrees(tensor, shape, wanted, f"{length} bytes"))
    size = path.stat().st_size
    if offset < 0 or offset + wanted > size:
        raise GraphError(f"{what}: {path.name} has {size} bytes, fewer than offset {offset} and {wanted} bytes need")
    if not wanted:
        return np.zeros(shape, dtype)
    return np.memmap(path, dtype.newbyteorder("<"), "r", offset, shape)


def _inside(folder: Path, location: str, what: str) -> Path:
    """The regular file that a path below the folder means, with every link on the way to it resolved."""
    parts = Path(location).parts
    if not parts or "\0" in location or os.path.isabs(location) or ".." in parts or "\\" in location or ":" in location:
        raise GraphError(
            f"{what}: its data is said to be in {location!r}, which is not a path inside the model's folder"
        )
    try:
        home = folder.resolve(strict=True)
        real = (home / location).resolve(strict=True)
        mode = real.stat().st_mode
    except (OSError, RuntimeError, ValueError):  # RuntimeError: a circle of links
        raise GraphError(f"{what}: there is no file {location!r} beside the model") from None
    repository = hub_repository(home)
    if not real.is_relative_to(home) and (repository is None or real.parent != repository / "blobs"):
        raise GraphError(f"{what}: {location!r} is a link that leads out of the model's folder, which is not followed")
    if not stat.S_ISREG(mode):
        raise GraphError(f"{what}: {location!r} is no regular file")
    return real
