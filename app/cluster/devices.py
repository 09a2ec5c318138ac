"""Devices of other machines: `tcp://HOST:PORT/cpu` and `/cuda:0` are of a worker of the scheduler at that address.

A model is compiled here, for the worker's processor or card, and launched there in child processes; what was measured
comes back as the records that a run on this machine gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from app.cluster import device_work
from app.cluster.device_work import ANSWERS, Ceilings, Inputs, RemoteMeasure, RemoteOutcome
from app.cluster.errands import Lost, asked_of, done_by
from app.cluster.fingerprint import this_worker
from app.cluster.holding import sent
from app.cluster.joining import Cluster, Worker, joined
from app.cluster.kernel_folders import kernel_folder
from app.cluster.places import check_place
from app.cluster.preload import GPU
from compiler.errors import CompilerError, UnavailableError
from compiler.graph.graph import Graph
from compiler.import_time import Stretch
from compiler.model import Model
from compiler.processes.frames import opened, parcel
from compiler.processes.messages import Refusal, remade
from compiler.temporary import temporary_folder
from profiler.measure.commit import source_commit
from profiler.measure.outcome import Outcome, with_conditions
from profiler.model_records import compilation_record, compiled, stage_records
from profiler.records import FAILED, INTERRUPTED, Ceiling, Machine, MeasuredRun, MeasureRequest

if TYPE_CHECKING:
    from profiler.measure.cpu.timing import Turn


@dataclass(frozen=True, eq=False)
class _Compiled:
    """What a graph was compiled to, and the file that is sent: it names the moment, so that it is made once."""

    graph: Graph
    model: Model
    took: Stretch
    file: bytes


@dataclass(frozen=True)
class RemoteDevice:
    """A device of a worker."""

    cluster: Cluster
    worker: Worker
    device: str
    _compiled: dict[Any, _Compiled] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def machine(self) -> Machine:
        """The machine as a run there sees it."""
        return _read(asked_of(self.cluster, self.worker, device_work.machine_here, self.device))

    @property
    def target(self) -> str:
        """What to compile for: the worker's processor, which is `cpu` where it is one like ours, or its card."""
        fingerprint = self.worker.fingerprint
        assert fingerprint is not None
        if self.device == "cpu":
            return "cpu" if fingerprint.target == this_worker().target else fingerprint.target
        from compiler.targets.nvptx import best_target

        index = int(self.device.partition(":")[2] or 0)
        card = next((card for card in fingerprint.cards if card.index == index), None)
        if card is None:
            raise UnavailableError(f"there is no device {self.device} at {self.worker.address}")
        return best_target(card.target)

    def ceilings(self, threads: int | None) -> tuple[Ceiling, ...]:
        """What the device can do, measured there now."""
        found: Ceilings = self._done(device_work.ceilings_here, self.device, threads)
        return found.found

    def measure(
        self, request: MeasureRequest, graph: Graph, arrays: Sequence[np.ndarray], *, texts: bool = False,
        outputs: bool = False, progress: Callable[[str], None] = lambda words: None,
    ) -> Outcome:  # fmt: skip
        """Compile `graph` here and run it there, in as many processes as the request asks for."""
        outcome = self.measure_once(request, graph, arrays, texts=texts, outputs=outputs, progress=progress)
        return with_conditions(outcome, commit=commit) if (commit := source_commit(request.source)) else outcome

    def measure_once(
        self, request: MeasureRequest, graph: Graph, arrays: Sequence[np.ndarray], *, texts: bool = False,
        outputs: bool = False, brief: bool = False, progress: Callable[[str], None] = lambda words: None,
        cancelled: Callable[[], bool] = lambda: False, turn: Turn | None = None,
    ) -> Outcome:  # fmt: skip
        """The same as one request, as `profiler.measure` does on this machine; `brief` asks for times only, and `turn`
        says when a block of calls may be timed.

        A lost connection, or worker, is an interrupted run.
        """
        try:
            made = self._made(graph, request)
        except CompilerError as error:
            return Outcome(MeasuredRun(FAILED, error=str(error)), error=error, compiling=True)
        record = compilation_record(made.model, request.source, made.took.seconds, request.libraries, made.took.imports)
        stages = tuple(stage_records(made.model)) if texts else ()
        progress("compiled")
        asked = RemoteMeasure(request, "", "", outputs, brief, turns=turn is not None)
        found = self._measured(made.file, asked, arrays, progress, cancelled, turn)
        if isinstance(found, Lost):
            outcome = Outcome(MeasuredRun(INTERRUPTED, error=found.message), record, stages, error=found)
        else:
            error = None if found.error is None else remade(found.error)
            outcome = Outcome(found.result, record, stages, found.outputs, found.output_types, error)
        return with_conditions(outcome, remote=f"{self.cluster.address}/{self.device}")

    def _made(self, graph: Graph, request: MeasureRequest) -> _Compiled:
        """The graph compiled for this device; what takes turns here is compiled once."""
        key = id(graph), request.options, request.libraries, request.artifact
        if key not in self._compiled:
            model, took = compiled(graph, request.options, request.libraries, request.artifact)
            with temporary_folder("remote") as folder:
                file = Path(folder, "model.kgx")
                model.save(file)
                self._compiled[key] = _Compiled(graph, model, took, file.read_bytes())
        return self._compiled[key]

    def _measured(
        self, file: bytes, asked: RemoteMeasure, arrays: Sequence[np.ndarray], progress: Callable[[str], None],
        cancelled: Callable[[], bool], turn: Turn | None,
    ) -> RemoteOutcome | Lost:  # fmt: skip
        """Send what is missing there and have it measured."""
        topic = f"kernelglass-{uuid4().hex}"
        try:
            code = sent(self.cluster, self.worker, file)
            inputs = sent(self.cluster, self.worker, parcel(Inputs(tuple(arrays))))
            folders = tuple(kernel_folder(Path(folder)) for folder in asked.request.libraries)
            whole = parcel(replace(asked, model=code, inputs=inputs, folders=folders))
            said: SimpleQueue[str] = SimpleQueue()  # Dask tells it from a thread of its own; we tell it from ours
            waiting: SimpleQueue[int | None] = SimpleQueue()

            def hear(event: Any) -> None:
                if turn is not None and isinstance(event[1], int):
                    waiting.put(event[1])
                else:
                    said.put(str(event[1]))

            def answer() -> None:
                while turn is not None and (clean := waiting.get()) is not None:
                    with suppress(UnavailableError):  # whoever waits for the task says so
                        asked_of(self.cluster, self.worker, device_work.answer_here, topic, turn(clean))

            self.cluster.client.subscribe_topic(topic, hear)

            def tell() -> None:
                while not said.empty():
                    progress(said.get())
                if cancelled():
                    raise Lost("it was cancelled")

            answering = Thread(target=answer, name="turns", daemon=True)
            answering.start()
            try:
                return self._done(device_work.measure_here, whole, topic, meanwhile=tell)
            finally:
                waiting.put(None)
                self.cluster.client.unsubscribe_topic(topic)
        except Lost as error:
            return error

    def _done(self, function: Any, *arguments: Any, meanwhile: Callable[[], None] = lambda: None) -> Any:
        """Something that is measured: on this worker alone, and never tried again."""
        needs = {} if self.device == "cpu" else {"resources": {GPU: 1}}
        return _read(done_by(self.cluster, self.worker, function, *arguments, meanwhile=meanwhile, **needs))


def _read(said: bytes) -> Any:
    found = opened(said, ANSWERS)
    if isinstance(found, Refusal):
        raise remade(found)
    return found


@contextmanager
def remote_device(text: str) -> Iterator[RemoteDevice]:
    """The device behind `tcp://HOST:PORT/cpu`, for the time of the block: of the first worker that has such a one."""
    address, device = check_place(text)
    with joined(address) as cluster:
        able = [w for w in cluster.useful() if device == "cpu" or (w.fingerprint is not None and w.fingerprint.cards)]
        if not able:
            raise UnavailableError(f"no worker at {address} has a card")
        yield RemoteDevice(cluster, able[0], device)
