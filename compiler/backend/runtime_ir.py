"""The native runtime as LLVM IR text: barrier, worker loop, dispatcher, clock. No Python runs between kernels.

Barrier state (`rt`, 128 bytes): arrivals at byte 0, generation and how many sleep until it changes at byte 64, each an
i32, on two cache lines; then what `runtime_parts` counts.
Pool (`POOL_HEADER + 64 * threads` bytes): pending workers (i32) and "the caller sleeps" (i32) at byte 0; entry, args,
thread count, the address of notes (or null), the processors of this job's threads (`runtime_processors`) and the number
of jobs at byte 64; then a line per thread: job generation (i32; -1 means stop) and "this worker sleeps" (i32). A worker
is woken through its own line, so one that is not part of a job never looks at it.
Notes (64 bytes a thread): the time, the processor time that the thread has had, and its job's generation, written when
a job is done and nobody waits for the thread any more.
Place (`PLACE_BYTES` a thread, or null): the step the thread is in, counted from 1, and 0 between steps. It tells
whoever can read that memory where a thread was when it crashed, hung or was killed.
Step (32 bytes): kernel, pointer to its argument slots (i32 each), their number (i32), "all meet afterwards" (i32).
"""

from __future__ import annotations

from compiler.backend.runtime_parts import PARTS_BYTES, parts_text
from compiler.backend.runtime_processors import processors_text
from compiler.backend.runtime_steps import steps_text
from compiler.backend.runtime_threads import sleep_text, threads_text
from compiler.targets.target import Target

POOL_HEADER = 128
POOL_SLOT = 64
_PARTS_AT = 128
BARRIER_BYTES = _PARTS_AT + PARTS_BYTES
TRACE_FIELDS = 2
PLACE_BYTES = 64
STEP_BYTES = 32
# x86 without bf16 keeps one as an f32 from one block to the next, and calls this to have it back.
_CONVERSION = "__truncsfbf2"
SYMBOLS = (
    "kg_barrier", "kg_worker", "kg_run", "kg_stop", "kg_patience", "kg_now", "kg_steps", "kg_arrays", "kg_take",
    "kg_joined", _CONVERSION,
)  # fmt: skip
_DECLARED = """
declare i32 @sched_yield()
declare i32 @clock_gettime(i32, ptr)
"""


def runtime_text(target: Target) -> str:
    """LLVM IR of the runtime for a CPU target."""
    from compiler.lowering.conversions import library_conversion

    head = f'target datalayout = "{target.data_layout}"\ntarget triple = "{target.triple}"\n'
    own = threads_text(target), steps_text(target), parts_text(_PARTS_AT), sleep_text(target), processors_text(target)
    return "".join([head, *own, library_conversion(_CONVERSION), _DECLARED])
