"""Timing a model without Python in the loop: a few lines of LLVM IR that call it again and again and read the clocks.

Each call may use another set of buffers, so that data does not sit in cache only because the last call put it there.
Outside of the timed spans the loop can note which call it is in, and how much processor time the process has had.
"""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import Template
from typing import TYPE_CHECKING

import numpy as np

from compiler.backend.executor import PLACES_WORD
from compiler.backend.jit import LoadedCode, load_objects
from compiler.backend.llvm import compile_llvm
from compiler.backend.runtime import aligned_bytes, load_runtime, runtime_symbols, thread_pool
from compiler.backend.runtime_ir import POOL_HEADER
from compiler.backend.runtime_threads import OBSERVER
from compiler.cache import default_cache, key_of, producer, target_identity
from compiler.targets import get_target
from profiler.measure.cpu import yardstick

if TYPE_CHECKING:
    from compiler.program.execution import Program

_NEVER = (1 << 63) - 1
_MEASURE = Template("""
define i64 @kg_measure(ptr %pool, ptr %function, ptr %args, i64 %threads, ptr %tables, i64 %sets, i64 %first,
                        i64 %count, i64 %dims, ptr %times, ptr %trace, i64 %stride, ptr %progress, i64 %begun,
                        ptr %clocks, i64 %every, i32 %clock, ptr %notes, i64 %until) nounwind {
entry:
  %observer.at = getelementptr i8, ptr %pool, i64 $observer
  %sizes.at = getelementptr i8, ptr %args, i64 8
  %trace.at = getelementptr i8, ptr %args, i64 24
  %traced = icmp ne ptr %trace, null
  %told = icmp ne ptr %progress, null
  %watched = icmp ne ptr %clocks, null
  %shared = icmp ne ptr %notes, null
  br i1 %shared, label %observe, label %begin.calls
observe:
  store atomic ptr %notes, ptr %observer.at release, align 8
  call void @kg_run(ptr %pool, ptr @kg_nothing, ptr null, i64 %threads)
  br label %begin.calls
begin.calls:
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %again, label %done
again:
  %i = phi i64 [ 0, %begin.calls ], [ %i.next, %after ]
  %number = add i64 %first, %i
  %set = urem i64 %number, %sets
  %words.at = getelementptr ptr, ptr %tables, i64 %set
  %words = load ptr, ptr %words.at, align 8
  store ptr %words, ptr %args, align 8
  %sizes = getelementptr i8, ptr %words, i64 %dims
  store ptr %sizes, ptr %sizes.at, align 8
  %offset = mul i64 %i, %stride
  %row = getelementptr i8, ptr %trace, i64 %offset
  %chosen = select i1 %traced, ptr %row, ptr null
  store ptr %chosen, ptr %trace.at, align 8
  br i1 %told, label %tell, label %look
tell:
  %made = add i64 %begun, %i
  store volatile i64 %made, ptr %progress, align 8
  br label %look
look:
  br i1 %watched, label %turn, label %start
turn:
  %group = udiv i64 %i, %every
  %rest = urem i64 %i, %every
  %due = icmp eq i64 %rest, 0
  br i1 %due, label %watch, label %start
watch:
  call void @kg_watch(ptr %pool, ptr %notes, i64 %threads, ptr %clocks, i64 %group, i32 %clock)
  br label %start
start:
  %begin = call i64 @kg_now()
  call void @kg_run(ptr %pool, ptr %function, ptr %args, i64 %threads)
  %end = call i64 @kg_now()
  %twice = mul i64 %i, 2
  %begin.at = getelementptr i64, ptr %times, i64 %twice
  store i64 %begin, ptr %begin.at, align 8
  %end.at = getelementptr i8, ptr %begin.at, i64 8
  store i64 %end, ptr %end.at, align 8
  br label %after
after:
  %i.next = add i64 %i, 1
  %wanted = icmp slt i64 %i.next, %count
  %early = icmp slt i64 %end, %until
  %more = and i1 %wanted, %early
  br i1 %more, label %again, label %last
last:
  br i1 %watched, label %close, label %done
close:
  %wide = add i64 %i.next, %every
  %less = sub i64 %wide, 1
  %groups = udiv i64 %less, %every
  call void @kg_watch(ptr %pool, ptr %notes, i64 %threads, ptr %clocks, i64 %groups, i32 %clock)
  br label %done
done:
  %calls = phi i64 [ 0, %begin.calls ], [ %i.next, %last ], [ %i.next, %close ]
  store atomic ptr null, ptr %observer.at release, align 8
  store ptr null, ptr %trace.at, align 8
  ret i64 %calls
}

define internal void @kg_nothing(i64 %tid, i64 %threads, ptr %args) nounwind {
entry:
  ret void
}

define internal void @kg_watch(ptr %pool, ptr %notes, i64 %threads, ptr %clocks, i64 %group, i32 %clock) nounwind {
entry:
  %time = alloca { i64, i64 }, align 8
  %ignored = call i32 @clock_gettime(i32 %clock, ptr %time)
  %seconds = load i64, ptr %time, align 8
  %rest.at = getelementptr i8, ptr %time, i64 8
  %rest = load i64, ptr %rest.at, align 8
  %scaled = mul i64 %seconds, 1000000000
  %used = add i64 %scaled, %rest
  %now = call i64 @kg_now()
  %row = mul i64 %group, %threads
  %twice = mul i64 %row, 2
  %wall.at = getelementptr i64, ptr %clocks, i64 %twice
  store i64 %now, ptr %wall.at, align 8
  %used.at = getelementptr i8, ptr %wall.at, i64 8
  store i64 %used, ptr %used.at, align 8
  %shared = icmp ne ptr %notes, null
  br i1 %shared, label %worker, label %done
worker:
  %tid = phi i64 [ 1, %entry ], [ %tid.next, %copy ]
  %offset = mul i64 %tid, 64
  %lines = getelementptr i8, ptr %pool, i64 $header
  %line = getelementptr i8, ptr %lines, i64 %offset
  %note = getelementptr i8, ptr %notes, i64 %offset
  %job.at = getelementptr i8, ptr %note, i64 16
  %job = load atomic i32, ptr %line monotonic, align 4
  br label %wait
wait:
  %written = load atomic i32, ptr %job.at acquire, align 4
  %there = icmp eq i32 %written, %job
  br i1 %there, label %copy, label %wait
copy:
  %place = mul i64 %tid, 16
  %worker.at = getelementptr i8, ptr %wall.at, i64 %place
  call void @llvm.memcpy.p0.p0.i64(ptr %worker.at, ptr %note, i64 16, i1 false)
  %tid.next = add i64 %tid, 1
  %more = icmp slt i64 %tid.next, %threads
  br i1 %more, label %worker, label %done
done:
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @kg_now()
declare void @kg_run(ptr, ptr, ptr, i64)
declare i32 @clock_gettime(i32, ptr)
""")


@lru_cache(maxsize=1)
def load_loop() -> LoadedCode:
    """The loop and the yardstick in this process; loaded once, with LLVM, and compiled where not in the cache."""
    target = get_target("cpu")
    loop = _MEASURE.substitute(observer=OBSERVER, header=POOL_HEADER) + yardstick.yardstick_ir()
    text = f'target datalayout = "{target.data_layout}"\ntarget triple = "{target.triple}"\n{loop}'
    cache, key = default_cache(), key_of("measuring", text, target_identity(target), producer())
    image = cache.get("object", key)
    if image is None:
        image = compile_llvm(text, target, 1).object
        cache.put("object", key, image)
    return load_objects([image], ["kg_measure", yardstick.NAME], imports=runtime_symbols(), keep=[load_runtime()])


@dataclass(frozen=True)
class Watch:
    """Memory another process reads: a word for the number of the current call, and the threads' places."""

    progress: int
    places: int


class BoundProgram:
    """A program bound to one or more sets of input arrays, each with outputs of its own."""

    def __init__(
        self, program: Program, sets: Sequence[Sequence[np.ndarray]], threads: int | None, watch: Watch | None = None,
        begun: int = 0,
    ) -> None:  # fmt: skip
        bindings = [program.bind(arrays, threads) for arrays in sets]
        self._bindings = bindings
        self._native = program.entry_point
        self._tables = np.array([binding.table.ctypes.data for binding in bindings], np.int64)
        self._args = self._native.arguments
        self._progress = None
        if watch is not None:
            self._args[PLACES_WORD] = watch.places
            self._progress = watch.progress
        self.made = begun
        """Calls made so far, those of an earlier program of the same run included."""
        self.outputs: list[list[np.ndarray]] = [binding.outputs for binding in bindings]
        self.threads: int = bindings[0].threads
        self.calls: int = program.calls
        self.arena_bytes: int = bindings[0].arena_bytes
        self._pool = thread_pool()
        self._notes, self._notes_memory = aligned_bytes(64 * self.threads)
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        self._measure = ctypes.CFUNCTYPE(
            number, pointer, pointer, pointer, number, pointer, number, number, number, number, pointer, pointer,
            number, pointer, number, pointer, number, ctypes.c_int32, pointer, number,
        )(load_loop().address("kg_measure"))  # fmt: skip

    def kernel_address(self, kernel: str) -> int:
        """Where a kernel's machine code begins, to call it by other means."""
        return self._native.kernel_address(kernel)

    def measure(self, count: int, first: int = 0, trace: np.ndarray | None = None) -> np.ndarray:
        """Begin and end (ns) of `count` calls, from set `first` on; `trace` [count, threads, calls, 2] is filled."""
        return self._call(count, first, trace, None, 1)

    def measure_watched(
        self, count: int, first: int, every: int, trace: np.ndarray | None = None, seconds: float = math.inf
    ) -> tuple[np.ndarray, np.ndarray]:
        """Like `measure`, and the nanoseconds of processor time that each call's threads did not get.

        No more calls are begun once so many seconds are over.

        The clock of processor time takes longer to read than a small kernel runs, so it is read before every `every`th
        call, and what a group of calls lost is put down to the longest of them.
        """
        every = max(min(every, count), 1)
        clocks = np.zeros((-(-count // every) + 1, self.threads, 2), np.int64)
        times = self._call(count, first, trace, clocks, every, seconds)
        read = clocks[: -(-len(times) // every) + 1]
        return times, lost_time(times[:, 1] - times[:, 0], read, every)

    def measure_yardstick(self) -> tuple[np.ndarray, np.ndarray]:
        """Nanoseconds that the yardstick takes now, on as many threads as the program, and what of them was lost."""
        clocks = np.zeros((yardstick.TIMED + 1, self.threads, 2), np.int64)
        times = self._call(yardstick.TIMED, 0, None, clocks, 1, function=load_loop().address(yardstick.NAME))
        self.made -= len(times)
        spans = times[:, 1] - times[:, 0]
        return spans, lost_time(spans, clocks, 1)

    def _call(
        self, count: int, first: int, trace: np.ndarray | None, clocks: np.ndarray | None, every: int,
        seconds: float = math.inf, function: int | None = None,
    ) -> np.ndarray:  # fmt: skip
        times = np.zeros((count, 2), np.int64)
        stride = 0 if trace is None else trace.nbytes // max(count, 1)
        # Each thread reads its own clock: what another one has had is known to the system only now and then.
        notes = self._notes if clocks is not None and self.threads > 1 else None
        until = time.monotonic_ns() + int(seconds * 1e9) if seconds < math.inf else _NEVER
        called = self._native.entry if function is None else function
        with self._pool.reserved(self.threads) as pool:
            made = self._measure(
                pool, called, self._args.ctypes.data, self.threads, self._tables.ctypes.data,
                len(self._tables), first, count, 8 * self._native.buffers, times.ctypes.data,
                None if trace is None else trace.ctypes.data, stride, self._progress, self.made + 1,
                None if clocks is None else clocks.ctypes.data, every, time.CLOCK_THREAD_CPUTIME_ID, notes,
                until,
            )  # fmt: skip
        self.made += made
        return times[:made]

    def new_trace(self, count: int) -> np.ndarray:
        """Room for the traces of `count` calls."""
        return np.zeros((count, self.threads, self.calls, 2), np.int64)


def lost_time(spans: np.ndarray, clocks: np.ndarray, every: int) -> np.ndarray:
    """Processor time (ns) each call lost, from each thread's (wall, used) clocks before every `every`th call and after.

    A turn on the processor often ends while a clock is read, between two calls: of the calling thread only what is
    missing from the time inside the calls is theirs. A worker reads its clocks when its part of a call is done, so what
    it lost between two readings may have been before the call, and counts. A call that was interrupted is longer than
    its neighbours, by what it lost; what that does not explain, all calls of the group lost: their threads shared a
    processor all along.
    """
    wall, used = np.diff(clocks[:, :, 0], axis=0), np.diff(clocks[:, :, 1], axis=0)
    threads = clocks.shape[1]
    workers = np.maximum(wall - used, 0)[:, 1:].sum(axis=1)
    lost = np.zeros(len(spans), np.int64)
    for group, got in enumerate(used[:, 0]):
        part = spans[group * every : (group + 1) * every]
        longest, total = int(np.argmax(part)), int(part.sum())
        missing = max(total - int(got), 0) + int(workers[group])
        alone = min(missing, threads * int(part[longest] - np.median(part)) if len(part) > 1 else missing)
        each = lost[group * every : group * every + len(part)]
        each += (part * ((missing - alone) / max(total, 1))).astype(np.int64)
        each[longest] = min(each[longest] + alone, threads * int(part[longest]))
    return lost
