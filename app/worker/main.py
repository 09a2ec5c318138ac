"""The window's child process: takes requests, answers with plain records. No Qt is ever imported here.

Compiling holds the GIL and LLVM's lock for long stretches, and a kernel under test may crash: both are kept away from
the window by doing them here. Ending the process is how a job is cancelled.
"""

from __future__ import annotations

import contextlib
import os
import traceback
from typing import Any

from app.viewmodels import requests
from app.viewmodels.frame.weights import WeightsRequest
from app.viewmodels.pieces import cut
from app.viewmodels.runs.bisecting import BisectRequest
from app.viewmodels.runs.serving import GenerateRequest
from app.viewmodels.runs.tuning import TuneRequest
from app.viewmodels.text.kernel_list import KernelListRequest
from app.worker.answers import PIECE, REQUESTS
from compiler.processes.frames import Channel
from compiler.processes.own_priority import OwnPriority
from profiler.records import DATABASE_VARIABLE, READONLY_VARIABLE

KNOWN = REQUESTS
_FEW = 4  # cores: the window's thread, those that help it, the display's, and one more
_NICE, _NICER = 5, 10  # the second leaves the window nine tenths of a core that both want
LATER = (
    "llvmlite.binding", "compiler.program.execution", "compiler.backend.jit", "app.worker.compile_session",
    "compiler.passes.graph.run", "compiler.passes.fusion.run", "app.viewmodels.graph.layout", "igraph",
    "app.worker.store_jobs", "app.worker.machine_jobs", "compiler.passes.kernel.run",
    "compiler.language.builtins.raw_instructions", "compiler.lowering.llvm_text", "compiler.backend.llvm",
    "compiler.backend.emission", "compiler.backend.provenance", "app.worker.measuring", "app.compilation",
    "app.checking", "compiler.reference", "profiler.recording", "profiler.tuning.kept", "profiler.measure.in_turns",
    "scipy.special", "numpy.ma",
)  # fmt: skip
"""What workers come to need, in the order in which it is likely to be asked for."""


def prepare() -> None:
    """Before any request: load what opening a source begins with."""
    import compiler.pipeline  # noqa: F401


def serve(channel: Channel) -> None:
    """Answer requests until the other end closes, giving way to the window in all that is not measured."""
    usual = OwnPriority()
    give_way()
    handlers = _Handlers(usual)
    with contextlib.suppress(EOFError, OSError):
        while True:
            request, job = (found := channel.receive()).value, found.job
            if isinstance(request, requests.Database):
                _use_database(request)
                continue
            value = handlers.answer(request, lambda progress, job=job: channel.send(progress, job=job))
            if isinstance(value, requests.Failure):
                channel.send(value, job=job)
                continue
            pieces, rest = cut(value)
            for field, entries in pieces:
                channel.send(entries, f"{found.kind}{PIECE}{field}", job)
            channel.send(rest, found.kind, job)


def _use_database(database: requests.Database) -> None:
    """Ask the database that the window has now; this process may be older than that choice."""
    os.environ[READONLY_VARIABLE] = "1" if database.readonly else ""
    if database.path is None:
        os.environ.pop(DATABASE_VARIABLE, None)
    else:
        os.environ[DATABASE_VARIABLE] = database.path


def give_way() -> None:
    """Let the window go first in all that is not measured; where that cannot be had, work as usual.

    Where cores are few the window has to share one with this process or what it starts, and each share that those get
    is a pause in the middle of what the window draws. Not less than a tenth is left to them, though: who only takes
    what nobody else wants (`SCHED_IDLE`) waits for ever behind a program that is always busy.
    """
    with contextlib.suppress(OSError, AttributeError):
        os.nice(_NICER if len(os.sched_getaffinity(0)) <= _FEW else _NICE)
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


class _Handlers:
    """The state of a worker: at most one compilation, and what was asked of it."""

    def __init__(self, usual: OwnPriority) -> None:
        self._session: Any = None
        self._usual = usual

    def answer(self, request: Any, report: requests.Report) -> Any:
        from compiler.errors import CompilerError, UnavailableError

        try:
            return self._dispatch(request, report)
        except CompilerError as error:
            place = error.location
            kind = "unavailable" if isinstance(error, UnavailableError) else "user"
            return requests.Failure(
                error.message, str(error), place.file if place else "", place.line if place else 0, kind
            )
        except MemoryError:
            return requests.Failure("there is not enough memory for this", traceback.format_exc(), kind="environment")
        except Exception as error:  # a bug of ours: the window shows it and lives on
            return requests.Failure(f"{type(error).__name__}: {error}", traceback.format_exc(), kind="bug")

    def _dispatch(self, request: Any, report: requests.Report) -> Any:
        match request:
            case requests.LayoutRequest():
                from app.viewmodels.graph.layout import lay_out

                return lay_out(request)
            case requests.CompileRequest():
                from app.worker.compile_session import CompileSession

                self._session = CompileSession(request, report)
                return self._session.records()
            case requests.ReadRequest():
                from app.worker.compile_session import CompileSession

                self._session = CompileSession(request.compilation, report, reading=True)
                return request.compilation.source
            case requests.OpenRunRequest():
                from app.worker.stored_session import StoredSession

                self._session = StoredSession(request.run, request.compilation)
                return self._session.records()
        if type(request) in _MEASURING:
            return self._usual.call(lambda: self._asked(request, report))
        if type(request) in _ASKED:
            return self._asked(request, report)
        from app.worker import store_jobs

        if type(request) in _TIMING:
            return self._usual.call(lambda: store_jobs.answer(request, report))
        return store_jobs.answer(request, report)

    def _asked(self, request: Any, report: requests.Report) -> Any:
        return getattr(self._session, _ASKED[type(request)])(request, report)


_MEASURING = (requests.RunRequest, requests.TimeEditRequest)
_TIMING = (
    TuneRequest,
    requests.FlowsRequest,
    requests.CeilingsRequest,
    GenerateRequest,
    BisectRequest,
    requests.AgainRequest,
)
"""Those that need no compilation at hand, and time processes: these must not give way."""
_ASKED = {
    requests.StageRequest: "stage", requests.PassesRequest: "passes", requests.FindRequest: "find",
    requests.KeepRequest: "keep", requests.TimeEditRequest: "time_edit", requests.RunRequest: "run",
    WeightsRequest: "weights", KernelListRequest: "library_kernels",
}  # fmt: skip
"""What a compilation or a stored run answers, and the method that does."""
