"""The process that packs cells for a cluster: it reads their sources, and makes of each what a worker is sent.

It loads what graphs need while whoever asked loads Dask.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from app.sweep.child import CompileTask
from compiler.errors import CompilerError
from compiler.processes.child import end_with_parent
from compiler.processes.frames import LARGE, Channel, named
from compiler.processes.messages import Refusal, refusal
from compiler.processes.record_methods import keep_called


@dataclass(frozen=True)
class Cells:
    """What is asked: these cells, in their order."""

    tasks: tuple[CompileTask, ...]


@dataclass(frozen=True, eq=False)
class Packed:
    """A cell as it is sent: how many operations its graph has, and the bytes of a parcel. Many are an array, which need
    not go through a pipe; few are none, as whoever asks may have no NumPy yet."""

    operations: int
    small: bytes = b""
    large: Any = None

    @property
    def parcel(self) -> bytes:
        """What a worker is sent."""
        return self.small if self.large is None else self.large.tobytes()


KNOWN = named(Cells)
ANSWERS = named(Packed, Refusal)
LATER = ()


def prepare() -> None:
    """Before the cells are known: load what reads sources."""
    from compiler.processes.numpy_alone import load_numpy_alone

    load_numpy_alone()
    import app.sweep.cell_work  # noqa: F401
    import compiler.graph.ops  # noqa: F401


def serve(channel: Channel) -> None:
    """Pack the cells that are asked for, one after the other; one that cannot be read is refused."""
    import numpy as np

    from app.sweep.cell_work import packed

    end_with_parent()
    with suppress(EOFError, OSError):
        cells: Cells = channel.receive().value
        for task in cells.tasks:
            try:
                parcel, operations = packed(task)
                if len(parcel) < LARGE:
                    channel.send(Packed(operations, parcel))
                else:
                    channel.send(Packed(operations, large=np.frombuffer(parcel, np.uint8)))
            except CompilerError as error:
                channel.send(refusal(error))
        keep_called()
