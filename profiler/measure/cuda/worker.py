"""CUDA work in a child process: a kernel that faults or never ends is reported, and the next request still works."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import IO, Any

from profiler.measure.cuda.wire import (
    CANCELLED,
    DIED,
    FAILED,
    FAULT,
    TIMEOUT,
    CudaRequest,
    CudaResponse,
    read_frame,
    request_frame,
    response_of,
    write_frame,
)

_ENDING = 10.0  # seconds the driver gets to tear a process down
_POLL = 0.1  # seconds between two looks at whether it is still wanted


class CudaWorker:
    """A warm child for one device; started on the first request and again after one that had to be ended."""

    def __init__(self, device: int = 0) -> None:
        self.device = device
        self._process: subprocess.Popen[bytes] | None = None
        self._frames: queue.Queue[Any] = queue.Queue()
        self._lock = threading.Lock()
        self._errors = b""

    def __enter__(self) -> CudaWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def command(self) -> list[str]:
        """What is started."""
        return [sys.executable, "-P", "-m", "profiler.measure.cuda.child", str(self.device)]

    @property
    def pid(self) -> int | None:
        """The child's process id while there is one."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def run(
        self, request: CudaRequest, time_limit: float = 60.0, cancelled: Callable[[], bool] = lambda: False
    ) -> CudaResponse:
        """Run a request within `time_limit` seconds, the child's start included; what a kernel does never raises.

        A kernel cannot be told to stop: where it is cancelled, or this thread interrupted, its process is ended.
        """
        with self._lock:
            try:
                return self._answer(request, time_limit, cancelled)
            except BaseException:
                self._end()
                raise

    def _answer(self, request: CudaRequest, time_limit: float, cancelled: Callable[[], bool]) -> CudaResponse:
        deadline = monotonic() + time_limit
        process = self._started()
        assert process.stdin is not None
        threading.Thread(target=_send, args=(process.stdin, request), daemon=True).start()
        kernel, call = "", 0
        while True:
            left = deadline - monotonic()
            stopped = CANCELLED if cancelled() else TIMEOUT if left <= 0 else ""
            if stopped:
                self._end()
                error = f"no end within {time_limit:g} s; its process was ended" if stopped == TIMEOUT else stopped
                return CudaResponse(FAILED, failure=stopped, error=error, kernel=kernel, calls=call)
            try:
                frame = self._frames.get(timeout=min(left, _POLL))
            except queue.Empty:
                continue
            if frame is None:
                return self._died(kernel, call)
            header, blobs = frame
            if header["kind"] == "running":
                kernel, call = header["kernel"], header["call"]
                continue
            response = response_of(header, blobs)
            if response.failure == FAULT:
                self._end()
            return response

    def close(self) -> None:
        """End the child."""
        with self._lock:
            if self._process is not None and self._process.stdin is not None and self._process.poll() is None:
                with contextlib.suppress(OSError, subprocess.TimeoutExpired):  # then it is killed
                    self._process.stdin.close()
                    self._process.wait(_ENDING)
            self._end()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._end()
        # This program's own folder first: the folder one works in, which may be on the path too, must not hide it.
        paths = [str(Path(__file__).parents[3]), *(path or os.getcwd() for path in sys.path)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
        frames: queue.Queue[Any] = queue.Queue()
        assert process.stdout is not None and process.stderr is not None
        self._errors = b""
        threading.Thread(target=_receive, args=(process.stdout, frames), daemon=True).start()
        threading.Thread(target=self._listen, args=(process.stderr,), daemon=True).start()
        self._process, self._frames = process, frames
        return process

    def _listen(self, stream: IO[bytes]) -> None:
        for line in stream:
            self._errors = (self._errors + line)[-4000:]

    def _died(self, kernel: str, call: int) -> CudaResponse:
        process = self._process
        assert process is not None
        try:
            status = process.wait(_ENDING)
        except subprocess.TimeoutExpired:
            status = None
        self._end()
        words = [line for line in self._errors.decode(errors="replace").splitlines() if line.strip()]
        name = signal.Signals(-status).name if status is not None and status < 0 else f"status {status}"
        error = f"the process that ran it ended with {name}{f': {words[-1]}' if words else ''}"
        return CudaResponse(
            FAILED, failure=DIED, error=error, error_name=name, kernel=kernel, log="\n".join(words), calls=call
        )

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.kill()
            process.wait()
        assert process.stdin is not None  # the readers close the other two when they come to the end
        with contextlib.suppress(OSError):  # what was still to be sent has nowhere to go
            process.stdin.close()


def _send(stream: IO[bytes], request: CudaRequest) -> None:
    with contextlib.suppress(OSError, ValueError):  # the child is gone, which the reader reports
        write_frame(stream, *request_frame(request))  # pyright: ignore[reportArgumentType]


def _receive(stream: IO[bytes], frames: queue.Queue[Any]) -> None:
    with stream:
        while (frame := read_frame(stream)) is not None:  # pyright: ignore[reportArgumentType]
            frames.put(frame)
    frames.put(None)
