"""The host's threads: the native runtime loaded once, and the pool of workers that wait inside it.

The pool belongs to the process, grows when more threads are asked for, is taken down at exit, and is made anew in a
forked child. One job runs at a time; a second caller waits for its turn. Threads that another runtime lends
(`compiler.frameworks.openmp` says whose, and why) run a job without it.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache

from compiler.backend.jit import LoadedCode, load_objects
from compiler.backend.runtime_ir import POOL_HEADER, POOL_SLOT, SYMBOLS, runtime_text
from compiler.errors import ExecutionError
from compiler.frameworks.openmp import OpenMP
from compiler.targets import get_target
from compiler.targets.target import Target

STACK_BYTES = 16 << 20
MAX_THREADS = 1024
_JOIN_SECONDS = 2.0
_AWAKE = 0xFFFFFFFF  # turns of waiting: minutes


_supplied: dict[str, bytes] = {}


def supply_runtime(target: Target, image: bytes) -> None:
    """Give the object that `runtime_object` would make, from a cache: it then need not be compiled."""
    _supplied[target.name] = image


@cache
def runtime_object(target: Target) -> bytes:
    """The runtime's object code for a CPU target: unoptimised, as it mostly waits and LLVM then takes 8 ms, not 80."""
    if target.name in _supplied:
        return _supplied[target.name]
    from compiler.backend.llvm import compile_llvm

    return compile_llvm(runtime_text(target), target, 0).object


@lru_cache(maxsize=1)
def load_runtime() -> LoadedCode:
    """The runtime in this process; loaded once, never unloaded."""
    return load_objects([runtime_object(get_target("cpu"))], SYMBOLS)


def runtime_symbols() -> dict[str, int]:
    """Name -> address of what kernels and host programs import."""
    code = load_runtime()
    return {name: code.address(name) for name in SYMBOLS}


def default_threads() -> int:
    """One thread for each processor this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def aligned_bytes(size: int, alignment: int = 64) -> tuple[int, object]:
    """(address, owner) of `size` zeroed bytes at an aligned address; keep the owner alive."""
    owner = ctypes.create_string_buffer(size + alignment)
    start = ctypes.addressof(owner)
    return (start + alignment - 1) // alignment * alignment, owner


class Pool:
    """Workers that wait in native code for jobs of the form `void entry(i64 tid, i64 nthreads, ptr args)`."""

    def __init__(self) -> None:
        code = load_runtime()
        pointer = ctypes.c_void_p
        self._run = ctypes.CFUNCTYPE(None, pointer, pointer, pointer, ctypes.c_int64)(code.address("kg_run"))
        self._worker = ctypes.CFUNCTYPE(None, pointer, ctypes.c_int64)(code.address("kg_worker"))
        self._patience = ctypes.CFUNCTYPE(None, ctypes.c_uint32)(code.address("kg_patience"))
        self._stop = ctypes.CFUNCTYPE(None, pointer, ctypes.c_int64)(code.address("kg_stop"))
        address, self._memory = aligned_bytes(POOL_HEADER + POOL_SLOT * MAX_THREADS)
        self._address = pointer(address)
        self._threads: list[threading.Thread] = []
        self._turn = threading.Lock()
        self._closed = False

    @property
    def threads(self) -> int:
        """Threads that can take part in a job now, the caller included."""
        return len(self._threads) + 1

    def thread_ids(self) -> list[int]:
        """The system's numbers of the threads that take part in jobs of the thread that asks, itself first."""
        return [threading.get_native_id(), *(thread.native_id or 0 for thread in self._threads)]

    @contextmanager
    def reserved(self, nthreads: int) -> Iterator[int]:
        """The pool for this thread alone, with so many threads: its address, for native code that calls `kg_run`.

        Threads that have a processor each wait for each other without giving it away. On a busy machine one that does
        may not get it back for milliseconds, and no call would be as long as it takes.
        """
        with self._turn:
            if nthreads > len(self._threads) + 1:
                self._grow(nthreads)
            self._patience(_AWAKE if 1 < nthreads <= default_threads() else 0)
            try:
                yield self._address.value or 0
            finally:
                self._patience(0)

    def run(self, entry: ctypes.c_void_p, args: ctypes.c_void_p, nthreads: int) -> None:
        """Run a job on `nthreads` threads, this one among them, and wait for all of them."""
        with self._turn:
            if nthreads > len(self._threads) + 1:
                self._grow(nthreads)
            self._run(self._address, entry, args, nthreads)

    def _grow(self, nthreads: int) -> None:
        if nthreads > MAX_THREADS:
            raise ExecutionError(f"{nthreads} threads asked for; at most {MAX_THREADS} are possible")
        if self._closed:
            raise ExecutionError("the thread pool has been shut down")
        previous = threading.stack_size(STACK_BYTES)
        try:
            while len(self._threads) + 1 < nthreads:
                tid = len(self._threads) + 1
                thread = threading.Thread(
                    target=self._worker, args=(self._address, tid), name=f"kernelglass-{tid}", daemon=True
                )
                thread.start()
                self._threads.append(thread)
        finally:
            threading.stack_size(previous)

    def close(self) -> None:
        """Stop the workers. One that is stuck in a kernel is left behind: it is a daemon."""
        with self._turn:
            if self._closed:
                return
            self._closed = True
            self._stop(self._address, len(self._threads) + 1)
            for thread in self._threads:
                thread.join(_JOIN_SECONDS)
            self._threads.clear()


_PARALLEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)


def run_on_lent(openmp: OpenMP, entry: int, args: int, threads: int) -> None:
    """Run a job on at most so many of another runtime's threads, this one among them, and wait for all of them.

    The runtime is asked for its usual number of threads, whatever the job needs: asked for fewer it would end the
    others, and start them anew for its own next operation. Threads that the job does not need go back at once.
    """
    job = (ctypes.c_int64 * 5)(entry, args, threads, openmp.number, openmp.count)
    _PARALLEL(openmp.parallel)(load_runtime().address("kg_joined"), ctypes.addressof(job), 0, 0)


_pool: Pool | None = None
_pool_lock = threading.Lock()


def thread_pool() -> Pool:
    """The process's pool; its workers start when a job first needs them."""
    global _pool
    if _pool is None:
        with _pool_lock:
            if _pool is None:
                _pool = Pool()
    return _pool


def _shut_down() -> None:
    if _pool is not None:
        _pool.close()


def _forget_after_fork() -> None:
    """In a forked child the workers do not exist and locks may be held by threads that do not exist either."""
    global _pool, _pool_lock
    _pool = None
    _pool_lock = threading.Lock()


atexit.register(_shut_down)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
