"""How processes of this program talk: frames, each one typed message and the arrays that belong to it.

A frame is a head (what follows, and how long), the message as msgpack, and the arrays' bytes. Large arrays do not go
through the pipe: they are put into memory that the other side maps, and only its descriptor is sent; of an array that
lies in a file only the place is. Nothing is pickled; what is read is checked against the type that its name stands for,
and whatever does not fit is `Unreadable`.
"""

from __future__ import annotations

import mmap
import os
import select
import socket
import struct
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from math import prod
from time import monotonic
from typing import TYPE_CHECKING, Any

import msgspec

from compiler.errors import ParseError
from compiler.processes.known_types import readable

if TYPE_CHECKING:
    import numpy as np

_HEAD = struct.Struct("<4sBxxxQQ")  # mark, how the arrays come, bytes of the message, bytes of the arrays
_MARK = b"kgf1"
_INLINE, _MAPPED = 0, 1
LARGE = 1 << 20  # bytes of arrays from which on mapping them is cheaper than copying them through a pipe
_ALIGNED = 64
_ARRAY, _TEXT, _PLACE = (
    1,
    2,
    3,
)  # msgpack extensions: an array of this frame, a text that is not UTF-8, a place in a file
_POLL = 0.1  # seconds between two looks at whether a wait is still wanted


class Unreadable(ParseError):
    """What the other side sent is no message: it was damaged, or another program wrote it."""


class TimeIsUp(Exception):
    """A wait did not end within its time."""


class NotWanted(Exception):
    """A wait was cancelled."""


@dataclass(frozen=True)
class Wait:
    """How long to wait for the other side: until a moment of `monotonic`, or until nobody wants it any more."""

    until: float | None = None
    cancelled: Callable[[], bool] | None = None

    def check(self) -> int | None:
        """Milliseconds until somebody should look again; None is as long as it takes."""
        if self.cancelled is not None and self.cancelled():
            raise NotWanted
        left = None if self.until is None else self.until - monotonic()
        if left is not None and left <= 0:
            raise TimeIsUp
        if self.cancelled is None and left is None:
            return None
        return int(1000 * min(_POLL, _POLL if left is None else left)) + 1


_AS_LONG_AS_IT_TAKES = Wait()


class _Head(msgspec.Struct, array_like=True):
    """What a message is, what it is about, and where its arrays are: (dtype, shape, first byte) of each."""

    kind: str
    job: int
    arrays: list[tuple[str, tuple[int, ...], int]]
    body: msgspec.Raw
    odd: bool = False


@dataclass(frozen=True)
class Message:
    """One message as it arrived: the name of its type, the number of the job it belongs to, and itself."""

    kind: str
    job: int
    value: Any


def named(*types: type) -> dict[str, Any]:
    """A table of message types by their own names."""
    return {kind.__name__: kind for kind in types}


class Channel:
    """One end of a conversation. One thread may send while another receives.

    `known` says which messages may arrive: their names and types.
    """

    def __init__(self, connection: socket.socket, known: Mapping[str, Any]) -> None:
        connection.setblocking(False)
        self._socket = connection
        self._reader = _Reader(known)
        self._pending = bytearray()
        self._descriptors: list[int] = []

    def fileno(self) -> int:
        """Our end's descriptor."""
        return self._socket.fileno()

    def hang_up(self) -> None:
        """End the conversation; whoever waits here for a message hears so as well."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Hang up, and give back what is held."""
        self._socket.close()
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors = []

    # Sending

    def send(self, value: Any, kind: str = "", job: int = 0, wait: Wait = _AS_LONG_AS_IT_TAKES) -> None:
        """Send a message, by the name of its type unless it is known by another; OSError where nobody listens."""
        message, arrays, total = _message(value, kind, job)
        mapped = total >= LARGE
        start = _HEAD.pack(_MARK, _MAPPED if mapped else _INLINE, len(message), total)
        if mapped:
            self._send_descriptor(start, arrays, total, wait)
            self._write(message, wait)
        else:
            self._write(b"".join((start, message, *_padded(arrays))), wait)

    def _send_descriptor(self, start: bytes, arrays: list[np.ndarray], total: int, wait: Wait) -> None:
        with memory_file() as file:
            for part in _padded(arrays):
                file.write(part)
            file.flush()
            self._until(select.POLLOUT, wait)
            sent = socket.send_fds(self._socket, [start], [file.fileno()])
        self._write(start[sent:], wait)

    def _write(self, data: bytes, wait: Wait) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[self._socket.send(view) :]
            except BlockingIOError:
                self._until(select.POLLOUT, wait)

    # Receiving

    def receive(self, wait: Wait = _AS_LONG_AS_IT_TAKES) -> Message:
        """The next message; EOFError when the other side is gone, also where it went in the middle of one."""
        self._fill(_HEAD.size, wait)
        mark, how, size, total = _HEAD.unpack_from(self._pending)
        if mark != _MARK or how not in (_INLINE, _MAPPED):
            raise Unreadable("the child process sent something unreadable")
        end = _HEAD.size + size
        whole = end + (total if how == _INLINE else 0)
        self._fill(whole, wait)
        message, data = self._pending[_HEAD.size : end], self._pending[end:whole]
        del self._pending[:whole]
        try:
            return self._reader.read(message, self._mapped(total) if how == _MAPPED else data)
        except (msgspec.MsgspecError, ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
            raise Unreadable("the child process sent something unreadable") from error

    def _mapped(self, total: int) -> mmap.mmap:
        descriptor = self._descriptors.pop(0)
        try:
            return mmap.mmap(descriptor, total, access=mmap.ACCESS_COPY)
        finally:
            os.close(descriptor)

    def _fill(self, size: int, wait: Wait) -> None:
        """Have so many bytes at hand."""
        while len(self._pending) < size:
            self._until(select.POLLIN, wait)
            try:
                data, descriptors, _, _ = socket.recv_fds(self._socket, 1 << 20, 4)
            except BlockingIOError:
                continue
            except ConnectionError:
                raise EOFError from None
            self._descriptors += descriptors
            if not data:
                raise EOFError
            self._pending += data

    def _until(self, event: int, wait: Wait) -> None:
        poll = select.poll()
        poll.register(self._socket, event)
        while not poll.poll(wait.check()):
            pass


class _Reader:
    """Messages of known types from bytes. Without `places` none may name a file of this machine."""

    def __init__(self, known: Mapping[str, Any], *, places: bool = True) -> None:
        self._known = known
        self._places = places
        self._decoders: dict[str, msgspec.msgpack.Decoder[Any]] = {}
        self._arrays: list[np.ndarray] = []

    def read(self, message: bytes | bytearray, data: bytes | bytearray | mmap.mmap) -> Message:
        head = msgspec.msgpack.decode(message, type=readable(_Head))
        self._arrays = [_array(data, *described) for described in head.arrays]
        kind = readable(self._known[head.kind])
        if head.odd:
            value = msgspec.convert(msgspec.msgpack.decode(head.body, ext_hook=self._extension), kind)
        else:
            decoder = self._decoders.get(head.kind)
            if decoder is None:
                decoder = self._decoders[head.kind] = msgspec.msgpack.Decoder(kind, ext_hook=self._extension)
            value = decoder.decode(head.body)
        self._arrays = []
        return Message(head.kind, head.job, value)

    def _extension(self, code: int, data: memoryview) -> Any:
        if code == _ARRAY:
            return self._arrays[int.from_bytes(data, "little")]
        if code == _TEXT:
            return bytes(data).decode(errors="surrogatepass")
        if code == _PLACE and self._places:
            return _array_in_file(msgspec.msgpack.decode(data, type=readable(_Placed)))
        raise ValueError(f"no extension {code}")


def parcel(value: Any) -> bytes:
    """A message as bytes for another machine: arrays go along, wherever they lie."""
    message, arrays, total = _message(value, places=False)
    return b"".join((_HEAD.pack(_MARK, _INLINE, len(message), total), message, *_padded(arrays)))


def opened(data: bytes, known: Mapping[str, Any]) -> Any:
    """The message in a parcel, checked as one from a child is; `Unreadable` where it is none."""
    try:
        mark, how, size, total = _HEAD.unpack_from(data)
        end = _HEAD.size + size
        if mark != _MARK or how != _INLINE or len(data) != end + total:
            raise Unreadable("what another machine sent is unreadable")
        return _Reader(known, places=False).read(data[_HEAD.size : end], bytearray(data[end:])).value
    except (struct.error, msgspec.MsgspecError, ValueError, TypeError, LookupError, RecursionError) as error:
        raise Unreadable("what another machine sent is unreadable") from error


def _message(
    value: Any, kind: str = "", job: int = 0, *, places: bool = True
) -> tuple[bytes, list[np.ndarray], int]:  # fmt: skip
    """A message with its head, the arrays that follow it, and how many bytes those take."""
    arrays: list[np.ndarray] = []
    body, odd = _encoded(value, arrays, places)
    described, total = [], 0
    for array in arrays:
        described.append((array.dtype.name, array.shape, total))
        total += -(-array.nbytes // _ALIGNED) * _ALIGNED
    head = _Head(kind or type(value).__name__, job, described, msgspec.Raw(body), odd)
    return msgspec.msgpack.encode(head), arrays, total


def _encoded(value: Any, arrays: list[np.ndarray], places: bool) -> tuple[bytes, bool]:
    """A message as msgpack; its arrays are put aside. The flag is for one with a text that is no UTF-8."""

    def aside(found: Any) -> Any:
        import numpy as np

        if isinstance(found, np.ndarray):
            placed = _placed(found) if places else None
            if placed is not None:
                return msgspec.msgpack.Ext(_PLACE, msgspec.msgpack.encode(placed))
            arrays.append(np.asarray(found, order="C"))
            return msgspec.msgpack.Ext(_ARRAY, (len(arrays) - 1).to_bytes(4, "little"))
        if isinstance(found, np.generic):
            return found.item()
        raise TypeError(f"a {type(found).__name__} cannot be sent to another process")

    try:
        return msgspec.msgpack.encode(value, enc_hook=aside), False
    except UnicodeEncodeError:  # such as a file's name: bytes that are no text
        arrays.clear()
        return msgspec.msgpack.encode(_marked(value), enc_hook=aside), True


def _marked(value: Any) -> Any:
    """A message as plain data in which texts that may be no UTF-8 stand as their bytes."""
    if isinstance(value, str) and not value.isascii():
        return msgspec.msgpack.Ext(_TEXT, value.encode(errors="surrogatepass"))
    if is_dataclass(value):
        return {field.name: _marked(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {key: _marked(item) for key, item in value.items()}
    return [_marked(item) for item in value] if isinstance(value, list | tuple | frozenset) else value


def _padded(arrays: Iterable[np.ndarray]) -> Iterable[Any]:
    """The bytes of arrays, each beginning at a whole number of cache lines."""
    for array in arrays:
        if array.nbytes:
            yield array.reshape(-1).view("u1").data
            yield bytes(-array.nbytes % _ALIGNED)


class _Placed(msgspec.Struct, array_like=True):
    """An array that lies in a file."""

    dtype: str
    shape: tuple[int, ...]
    path: bytes
    state: tuple[int, int, int, int]
    offset: int


def _placed(array: np.ndarray) -> _Placed | None:
    from compiler.constants.file_arrays import place_of

    place = place_of(array)
    if place is None:
        return None
    file = place.file
    state = (file.device, file.inode, file.size, file.modified)
    return _Placed(array.dtype.name, array.shape, os.fsencode(file.path), state, place.offset)


def _array_in_file(placed: _Placed) -> np.ndarray:
    from compiler.constants.file_arrays import FileState, Place, array_at

    place = Place(FileState(os.fsdecode(placed.path), *placed.state), placed.offset)
    return array_at(place, _dtype(placed.dtype), placed.shape)


def _array(data: bytes | bytearray | mmap.mmap, dtype: str, shape: tuple[int, ...], start: int) -> np.ndarray:
    import numpy as np

    kind = _dtype(dtype)
    count = prod(shape)
    return np.frombuffer(data, kind, count, start).reshape(shape) if count else np.zeros(shape, kind)


def _dtype(name: str) -> np.dtype:
    import numpy as np

    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes  # noqa: F401  after this NumPy knows the names of its dtypes

        return np.dtype(name)


def memory_file() -> Any:
    """A file in memory, or on disk where the system has no such; it is gone when both sides are done with it."""
    if hasattr(os, "memfd_create"):
        with suppress(OSError):
            return os.fdopen(os.memfd_create("kernelglass"), "w+b")
    return tempfile.TemporaryFile()
