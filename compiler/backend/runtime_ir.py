"""The native runtime as LLVM IR text: barrier, worker loop, dispatcher, clock. No Python runs between kernels.

Barrier state (`rt`, 128 bytes): arrivals at byte 0, generation at byte 64, each an i32 on a cache line of its own.
Pool (`POOL_HEADER + 64 * threads` bytes): pending workers (i32) and "the caller sleeps" (i32) at byte 0; entry, args
and thread count at byte 64; then a line per thread: job generation (i32; -1 means stop) and "this worker sleeps" (i32).
A worker is woken through its own line, so one that is not part of a job never looks at it.
Place (`PLACE_BYTES` a thread, or null): the step the thread is in, counted from 1, and 0 between steps. It tells
whoever can read that memory where a thread was when it crashed, hung or was killed.
Step (32 bytes): kernel, pointer to its argument slots (i32 each), their number (i32), "all meet afterwards" (i32).
"""

from __future__ import annotations

from string import Template

from compiler.targets.target import Target

POOL_HEADER = 128
POOL_SLOT = 64
BARRIER_BYTES = 128
TRACE_FIELDS = 2
PLACE_BYTES = 64
STEP_BYTES = 32
ARGUMENT_COUNTS = (5, 13, 61)
"""How many words `kg_steps` hands to a kernel besides its first three: the smallest of these that is enough."""
SYMBOLS = ("kg_barrier", "kg_worker", "kg_run", "kg_stop", "kg_mark", "kg_now", "kg_steps", "kg_place")

_TEMPLATE = Template("""
define void @kg_barrier(ptr %rt, i64 %threads) nounwind {
entry:
  %alone = icmp sle i64 %threads, 1
  br i1 %alone, label %done, label %arrive
arrive:
  %generation.at = getelementptr i8, ptr %rt, i64 64
  %generation = load atomic i32, ptr %generation.at acquire, align 4
  %before = atomicrmw add ptr %rt, i32 1 acq_rel, align 4
  %count = trunc i64 %threads to i32
  %others = sub i32 %count, 1
  %last = icmp eq i32 %before, %others
  br i1 %last, label %release, label %wait
release:
  store atomic i32 0, ptr %rt monotonic, align 4
  %following = add i32 %generation, 1
  store atomic i32 %following, ptr %generation.at release, align 4
  br label %done
wait:
  %spins = phi i32 [ 0, %arrive ], [ %spins.next, %again ]
  %now = load atomic i32, ptr %generation.at acquire, align 4
  %open = icmp ne i32 %now, %generation
  br i1 %open, label %done, label %idle
idle:
  %patient = icmp ult i32 %spins, $pauses
  br i1 %patient, label %pause, label %yield
pause:
  call void asm sideeffect "$pause", ""()
  br label %again
yield:
  %ignored = call i32 @sched_yield()
  br label %again
again:
  %spins.next = add i32 %spins, 1
  br label %wait
done:
  ret void
}

define void @kg_worker(ptr %pool, i64 %tid) nounwind {
entry:
  %offset = mul i64 %tid, 64
  %lines = getelementptr i8, ptr %pool, i64 128
  %slot = getelementptr i8, ptr %lines, i64 %offset
  %sleeping.at = getelementptr i8, ptr %slot, i64 4
  %entry.at = getelementptr i8, ptr %pool, i64 64
  %args.at = getelementptr i8, ptr %pool, i64 72
  %threads.at = getelementptr i8, ptr %pool, i64 80
  %waiting.at = getelementptr i8, ptr %pool, i64 4
  br label %wait
wait:
  %last = phi i32 [ 0, %entry ], [ %last, %again ], [ %last, %sleep ], [ %job, %finish ]
  %spins = phi i32 [ 0, %entry ], [ %spins.next, %again ], [ %spins, %sleep ], [ 0, %finish ]
  %job = load atomic i32, ptr %slot acquire, align 4
  %posted = icmp ne i32 %job, %last
  br i1 %posted, label %check, label %idle
idle:
  %patient = icmp ult i32 %spins, $pauses
  br i1 %patient, label %pause, label %polite
polite:
  %awake = icmp ult i32 %spins, $yields
  br i1 %awake, label %yield, label %sleep
pause:
  call void asm sideeffect "$pause", ""()
  br label %again
yield:
  %ignored = call i32 @sched_yield()
  br label %again
again:
  %spins.next = add i32 %spins, 1
  br label %wait
sleep:
  store atomic i32 1, ptr %sleeping.at seq_cst, align 4
  call void @kg_sleep(ptr %slot, i32 %last)
  store atomic i32 0, ptr %sleeping.at seq_cst, align 4
  br label %wait
check:
  %stop = icmp eq i32 %job, -1
  br i1 %stop, label %done, label %run
run:
  %function = load ptr, ptr %entry.at, align 8
  %args = load ptr, ptr %args.at, align 8
  %threads = load i64, ptr %threads.at, align 8
  call void %function(i64 %tid, i64 %threads, ptr %args)
  %pending = atomicrmw sub ptr %pool, i32 1 seq_cst, align 4
  %final = icmp eq i32 %pending, 1
  br i1 %final, label %notify, label %finish
notify:
  %waiting = load atomic i32, ptr %waiting.at seq_cst, align 4
  %asleep = icmp ne i32 %waiting, 0
  br i1 %asleep, label %wake, label %finish
wake:
  call void @kg_wake(ptr %pool)
  br label %finish
finish:
  br label %wait
done:
  ret void
}

define internal void @kg_post(ptr %pool, i64 %tid, i1 %stop) nounwind {
entry:
  %offset = mul i64 %tid, 64
  %lines = getelementptr i8, ptr %pool, i64 128
  %slot = getelementptr i8, ptr %lines, i64 %offset
  %sleeping.at = getelementptr i8, ptr %slot, i64 4
  %job = load atomic i32, ptr %slot monotonic, align 4
  %following = add i32 %job, 1
  %positive = and i32 %following, 2147483647
  %next = select i1 %stop, i32 -1, i32 %positive
  store atomic i32 %next, ptr %slot seq_cst, align 4
  %sleeping = load atomic i32, ptr %sleeping.at seq_cst, align 4
  %asleep = icmp ne i32 %sleeping, 0
  br i1 %asleep, label %wake, label %done
wake:
  call void @kg_wake(ptr %slot)
  br label %done
done:
  ret void
}

define void @kg_run(ptr %pool, ptr %function, ptr %args, i64 %threads) nounwind {
entry:
  %alone = icmp sle i64 %threads, 1
  br i1 %alone, label %single, label %share
single:
  call void %function(i64 0, i64 1, ptr %args)
  ret void
share:
  %entry.at = getelementptr i8, ptr %pool, i64 64
  %args.at = getelementptr i8, ptr %pool, i64 72
  %threads.at = getelementptr i8, ptr %pool, i64 80
  store ptr %function, ptr %entry.at, align 8
  store ptr %args, ptr %args.at, align 8
  store i64 %threads, ptr %threads.at, align 8
  %count = trunc i64 %threads to i32
  %others = sub i32 %count, 1
  store atomic i32 %others, ptr %pool monotonic, align 4
  br label %post
post:
  %tid = phi i64 [ 1, %share ], [ %tid.next, %post ]
  call void @kg_post(ptr %pool, i64 %tid, i1 false)
  %tid.next = add i64 %tid, 1
  %more = icmp slt i64 %tid.next, %threads
  br i1 %more, label %post, label %work
work:
  call void %function(i64 0, i64 %threads, ptr %args)
  br label %wait
wait:
  %spins = phi i32 [ 0, %work ], [ %spins.next, %again ]
  %left = load atomic i32, ptr %pool acquire, align 4
  %busy = icmp ne i32 %left, 0
  br i1 %busy, label %idle, label %done
idle:
  %patient = icmp ult i32 %spins, $pauses
  br i1 %patient, label %pause, label %polite
polite:
  %watching = icmp ult i32 %spins, $yields
  br i1 %watching, label %yield, label %prepare
pause:
  call void asm sideeffect "$pause", ""()
  br label %again
yield:
  %ignored = call i32 @sched_yield()
  br label %again
again:
  %spins.next = add i32 %spins, 1
  br label %wait
prepare:
  %waiting.at = getelementptr i8, ptr %pool, i64 4
  store atomic i32 1, ptr %waiting.at seq_cst, align 4
  br label %look
look:
  %remaining = load atomic i32, ptr %pool seq_cst, align 4
  %unfinished = icmp ne i32 %remaining, 0
  br i1 %unfinished, label %sleep, label %awake
sleep:
  call void @kg_sleep(ptr %pool, i32 %remaining)
  br label %look
awake:
  store atomic i32 0, ptr %waiting.at seq_cst, align 4
  br label %done
done:
  ret void
}

define void @kg_stop(ptr %pool, i64 %threads) nounwind {
entry:
  %some = icmp sgt i64 %threads, 1
  br i1 %some, label %post, label %done
post:
  %tid = phi i64 [ 1, %entry ], [ %tid.next, %post ]
  call void @kg_post(ptr %pool, i64 %tid, i1 true)
  %tid.next = add i64 %tid, 1
  %more = icmp slt i64 %tid.next, %threads
  br i1 %more, label %post, label %done
done:
  ret void
}

define void @kg_steps(i64 %tid, i64 %threads, ptr %program) nounwind {
entry:
  %words = load ptr, ptr %program, align 8
  %rt.at = getelementptr i8, ptr %program, i64 16
  %rt = load ptr, ptr %rt.at, align 8
  %trace.at = getelementptr i8, ptr %program, i64 24
  %trace = load ptr, ptr %trace.at, align 8
  %steps.at = getelementptr i8, ptr %program, i64 32
  %steps = load ptr, ptr %steps.at, align 8
  %count.at = getelementptr i8, ptr %program, i64 40
  %count = load i64, ptr %count.at, align 8
  %places.at = getelementptr i8, ptr %program, i64 48
  %places = load ptr, ptr %places.at, align 8
  %argv = alloca [$most x i64], align 16
  %calls = mul i64 %tid, %count
  %row = mul i64 %calls, 2
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %step, label %done
step:
  %number = phi i64 [ 0, %entry ], [ %number.next, %next ]
  %at = getelementptr [32 x i8], ptr %steps, i64 %number
  %kernel = load ptr, ptr %at, align 8
  %slots.at = getelementptr i8, ptr %at, i64 8
  %slots = load ptr, ptr %slots.at, align 8
  %size.at = getelementptr i8, ptr %at, i64 16
  %size = load i32, ptr %size.at, align 4
  %meet.at = getelementptr i8, ptr %at, i64 20
  %meet = load i32, ptr %meet.at, align 4
  %empty = icmp eq i32 %size, 0
  br i1 %empty, label %begin, label %copy
copy:
  %j = phi i32 [ 0, %step ], [ %j.next, %copy ]
  %slot.at = getelementptr i32, ptr %slots, i32 %j
  %slot = load i32, ptr %slot.at, align 4
  %word.at = getelementptr i64, ptr %words, i32 %slot
  %word = load i64, ptr %word.at, align 8
  %arg.at = getelementptr i64, ptr %argv, i32 %j
  store i64 %word, ptr %arg.at, align 8
  %j.next = add i32 %j, 1
  %left = icmp ult i32 %j.next, %size
  br i1 %left, label %copy, label %begin
begin:
  %double = mul i64 %number, 2
  %first = add i64 %row, %double
  %number.one = add i64 %number, 1
  call void @kg_place(ptr %places, i64 %tid, i64 %number.one)
  call void @kg_mark(ptr %trace, i64 %first)
$dispatch
end:
  %second = add i64 %first, 1
  call void @kg_mark(ptr %trace, i64 %second)
  call void @kg_place(ptr %places, i64 %tid, i64 0)
  %alone = icmp eq i32 %meet, 0
  br i1 %alone, label %next, label %barrier
barrier:
  call void @kg_barrier(ptr %rt, i64 %threads)
  br label %next
next:
  %number.next = add i64 %number, 1
  %more = icmp slt i64 %number.next, %count
  br i1 %more, label %step, label %done
done:
  ret void
}

define void @kg_mark(ptr %trace, i64 %index) nounwind {
entry:
  %off = icmp eq ptr %trace, null
  br i1 %off, label %done, label %write
write:
  %now = call i64 @kg_now()
  %at = getelementptr i64, ptr %trace, i64 %index
  store i64 %now, ptr %at, align 8
  br label %done
done:
  ret void
}

define void @kg_place(ptr %places, i64 %tid, i64 %step) nounwind {
entry:
  %off = icmp eq ptr %places, null
  br i1 %off, label %done, label %write
write:
  %offset = mul i64 %tid, 64
  %at = getelementptr i8, ptr %places, i64 %offset
  store volatile i64 %step, ptr %at, align 8
  br label %done
done:
  ret void
}

define i64 @kg_now() nounwind {
entry:
  %time = alloca { i64, i64 }, align 8
  %ignored = call i32 @clock_gettime(i32 $clock, ptr %time)
  %seconds = load i64, ptr %time, align 8
  %rest.at = getelementptr i8, ptr %time, i64 8
  %rest = load i64, ptr %rest.at, align 8
  %scaled = mul i64 %seconds, 1000000000
  %now = add i64 %scaled, %rest
  ret i64 %now
}
$waiting
declare i32 @sched_yield()
declare i32 @clock_gettime(i32, ptr)
""")

_FUTEX = Template("""
define internal void @kg_sleep(ptr %word, i32 %value) nounwind {
entry:
  %ignored = call i64 (i64, ...) @syscall(i64 $futex, ptr %word, i32 128, i32 %value, ptr null)
  ret void
}

define internal void @kg_wake(ptr %word) nounwind {
entry:
  %ignored = call i64 (i64, ...) @syscall(i64 $futex, ptr %word, i32 129, i32 1)
  ret void
}
declare i64 @syscall(i64, ...)
""")

# Where there is no futex a sleeper polls; whoever wakes it has nothing to do.
_POLLING = """
define internal void @kg_sleep(ptr %word, i32 %value) nounwind {
entry:
  %ignored = call i32 @usleep(i32 50)
  ret void
}

define internal void @kg_wake(ptr %word) nounwind {
entry:
  ret void
}
declare i32 @usleep(i32)
"""

# Wait about 3 us without giving the processor away; then yield it, which costs little where nobody wants it and is
# what keeps an oversubscribed machine moving; workers without a job sleep after some 100 us of that.
_PAUSES = {"aarch64": 200, "x86_64": 100}
_YIELDS = 300
# On AArch64 `yield` does nothing on most cores; a barrier on instructions is the pause that others use.
_PAUSE = {"aarch64": "isb sy", "x86_64": "pause"}
_FUTEX_NUMBER = {"aarch64": 98, "x86_64": 202}


def _dispatch() -> str:
    """Call the kernel with as many words as it takes, or a few more.

    Kernels take integers and pointers only; in the calling conventions of AArch64 and x86-64 the caller lays out and
    removes the arguments, so passing more of them than the callee reads is harmless.
    """
    lines: list[str] = []
    for place, words in enumerate(ARGUMENT_COUNTS):
        if place + 1 < len(ARGUMENT_COUNTS):
            other = f"more.{words}"
            lines += (
                f"  %few.{words} = icmp ule i32 %size, {words}",
                f"  br i1 %few.{words}, label %call.{words}, label %{other}",
                f"call.{words}:",
            )
        else:
            other = ""
        for j in range(words):
            lines += (
                f"  %p.{words}.{j} = getelementptr i64, ptr %argv, i64 {j}",
                f"  %a.{words}.{j} = load i64, ptr %p.{words}.{j}, align 8",
            )
        listed = ", ".join(f"i64 %a.{words}.{j}" for j in range(words))
        lines += (f"  call void %kernel(i64 %tid, i64 %threads, ptr %rt, {listed})", "  br label %end")
        if other:
            lines.append(f"{other}:")
    return "\n".join(lines)


def runtime_text(target: Target) -> str:
    """LLVM IR of the runtime for a CPU target."""
    linux = "linux" in target.triple and target.arch in _FUTEX_NUMBER
    body = _TEMPLATE.substitute(
        pause=_PAUSE.get(target.arch, ""),
        dispatch=_dispatch(),
        most=ARGUMENT_COUNTS[-1],
        pauses=_PAUSES.get(target.arch, 0),
        yields=_PAUSES.get(target.arch, 0) + _YIELDS,
        clock=6 if "darwin" in target.triple or "macos" in target.triple else 1,  # CLOCK_MONOTONIC
        waiting=_FUTEX.substitute(futex=_FUTEX_NUMBER[target.arch]) if linux else _POLLING,
    )
    return f'target datalayout = "{target.data_layout}"\ntarget triple = "{target.triple}"\n{body}'
