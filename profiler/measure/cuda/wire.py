"""Requests and answers between this process and the one that runs CUDA work, and how they travel: JSON and raw bytes.

A frame is two lengths, a JSON header and the blobs the header tells the sizes of. Nothing is pickled.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO

import numpy as np

from compiler.errors import ParseError
from compiler.graph.dtypes import from_numpy, numpy_dtype
from profiler.measure.cuda.program import DeviceProgram, Slot, Step

_LENGTHS = struct.Struct("<QQ")
FINISHED, FAILED = "finished", "failed"
# What went wrong, for a failed answer
UNAVAILABLE, REFUSED, FAULT, TIMEOUT, DIED = "unavailable", "refused", "fault", "timeout", "died"
CANCELLED = "cancelled"


@dataclass(frozen=True, eq=False)
class CudaRequest:
    """Run a program on these arguments (None for one that no kernel reads).

    The first run goes kernel by kernel, so that a failure names its kernel; `repeats` more are timed, each kernel with
    events, and `replays` more as a CUDA graph, whose outputs must equal the first run's. With a `budget` (seconds),
    calls are timed until the interval of the median is within `width`, or `repeats` of them where that is not zero;
    with `rotate`, on as many copies of the buffers as it takes to get out of the cache. `careful` asks for so many runs
    kernel by kernel and no times: to find the kernel of a fault that a timed run met.
    """

    program: DeviceProgram
    arrays: tuple[np.ndarray | None, ...]
    repeats: int = 0
    replays: int = 0
    poison: bool = False
    budget: float = 0.0
    width: float = 0.01
    rotate: bool = False
    careful: int = 0


@dataclass(frozen=True, eq=False)
class CudaResponse:
    """What came of it. Times are milliseconds: `traces` one tuple a repeat with one number a launch."""

    status: str
    outputs: tuple[np.ndarray, ...] = ()
    mutable: Mapping[int, np.ndarray] = field(default_factory=dict)
    traces: tuple[tuple[float, ...], ...] = ()
    replay_ms: float | None = None
    replay_equal: bool | None = None
    memory: Mapping[str, Any] = field(default_factory=dict)
    transfers: tuple[Mapping[str, Any], ...] = ()
    functions: Mapping[str, Any] = field(default_factory=dict)
    conditions: Mapping[str, Any] = field(default_factory=dict)
    log: str = ""
    failure: str = ""
    error: str = ""
    error_name: str = ""
    kernel: str = ""
    blocks: tuple[int, ...] = ()
    reached: bool = True
    sets: int = 1
    calls: int = 0
    """Runs made, or begun where one failed."""


def write_frame(stream: BinaryIO, header: Mapping[str, Any], blobs: list[bytes] | None = None) -> None:
    """Send one frame."""
    blobs = blobs or []
    text = json.dumps({**header, "blobs": [len(blob) for blob in blobs]}).encode()
    stream.write(_LENGTHS.pack(len(text), sum(map(len, blobs))))
    stream.write(text)
    for blob in blobs:
        stream.write(blob)
    stream.flush()


def read_frame(stream: BinaryIO) -> tuple[dict[str, Any], list[bytes]] | None:
    """The next frame, or None at the end of the stream (or of a peer that died in the middle of one)."""
    lengths = _exactly(stream, _LENGTHS.size)
    if lengths is None:
        return None
    head, body = _LENGTHS.unpack(lengths)
    text, data = _exactly(stream, head), _exactly(stream, body)
    if text is None or data is None:
        return None
    header = json.loads(text)
    blobs: list[bytes] = []
    start = 0
    for size in header.pop("blobs"):
        blobs.append(data[start : start + size])
        start += size
    if start != len(data):
        raise ParseError("a frame's blobs do not add up")
    return header, blobs


def _exactly(stream: BinaryIO, size: int) -> bytes | None:
    parts: list[bytes] = []
    while size:
        part = stream.read(size)
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _array_header(array: np.ndarray) -> dict[str, Any]:
    return {"dtype": from_numpy(array.dtype), "shape": list(array.shape)}


def _array(header: Mapping[str, Any], data: bytes) -> np.ndarray:
    return np.frombuffer(bytearray(data), numpy_dtype(header["dtype"])).reshape(header["shape"])


def request_frame(request: CudaRequest) -> tuple[dict[str, Any], list[bytes]]:
    """A request as a frame."""
    program = request.program
    blobs = [*program.ptx, *(data for _, data in program.constants)]
    arrays: list[dict[str, Any] | None] = []
    for array in request.arrays:
        arrays.append(None if array is None else _array_header(array))
        if array is not None:
            blobs.append(np.ascontiguousarray(array).tobytes())
    header = {
        "kind": "request",
        "name": program.name,
        "target": program.target,
        "slots": [asdict(slot) for slot in program.slots],
        "steps": [asdict(step) for step in program.steps],
        "inputs": program.inputs,
        "outputs": program.outputs,
        "arena": program.arena,
        "ptx": len(program.ptx),
        "constants": [number for number, _ in program.constants],
        "arrays": arrays,
        **{name: getattr(request, name) for name in _ASKED},
    }
    return header, blobs


_ASKED = ("repeats", "replays", "poison", "budget", "width", "rotate", "careful")


def request_of(header: Mapping[str, Any], blobs: list[bytes]) -> CudaRequest:
    """The request in a frame."""
    texts, numbers = header["ptx"], header["constants"]
    program = DeviceProgram(
        name=header["name"],
        target=header["target"],
        slots=tuple(Slot(**{**slot, "shape": tuple(slot["shape"])}) for slot in header["slots"]),
        steps=tuple(
            Step(s["kernel"], tuple(s["blocks"]), s["threads"], tuple(s["slots"]), tuple(s["dims"]))
            for s in header["steps"]
        ),
        inputs=tuple(header["inputs"]),
        outputs=tuple(header["outputs"]),
        arena=header["arena"],
        ptx=tuple(blobs[:texts]),
        constants=tuple(zip(numbers, blobs[texts : texts + len(numbers)], strict=True)),
    )
    rest = iter(blobs[texts + len(numbers) :])
    arrays = tuple(None if found is None else _array(found, next(rest)) for found in header["arrays"])
    return CudaRequest(program, arrays, **{name: header[name] for name in _ASKED})


def response_frame(response: CudaResponse) -> tuple[dict[str, Any], list[bytes]]:
    """An answer as a frame."""
    arrays = [*response.outputs, *response.mutable.values()]
    header = {
        "kind": "response",
        "outputs": len(response.outputs),
        "mutable": list(response.mutable),
        "arrays": [_array_header(array) for array in arrays],
        **{name: getattr(response, name) for name in _PLAIN},
    }
    return header, [np.ascontiguousarray(array).tobytes() for array in arrays]


_PLAIN = (
    "status", "traces", "replay_ms", "replay_equal", "memory", "transfers", "functions", "conditions", "log", "failure",
    "error", "error_name", "kernel", "blocks", "reached", "sets", "calls",
)  # fmt: skip


def response_of(header: Mapping[str, Any], blobs: list[bytes]) -> CudaResponse:
    """The answer in a frame."""
    arrays = [_array(found, data) for found, data in zip(header["arrays"], blobs, strict=True)]
    plain = {name: header[name] for name in _PLAIN}
    plain["traces"] = tuple(tuple(trace) for trace in plain["traces"])
    plain["transfers"], plain["blocks"] = tuple(plain["transfers"]), tuple(plain["blocks"])
    count = header["outputs"]
    mutable = dict(zip(header["mutable"], arrays[count:], strict=True))
    return CudaResponse(outputs=tuple(arrays[:count]), mutable=mutable, **plain)
