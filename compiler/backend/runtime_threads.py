"""How threads wait for each other and for work, as LLVM IR text: barrier, worker loop, dispatcher.

`runtime_ir` says how the memory they share is laid out.
"""

from __future__ import annotations

from string import Template

from compiler.backend.runtime_processors import LOOKS
from compiler.targets.target import Target

OBSERVER = 88
"""Where in the pool the address of notes is, if a worker is to note its clocks after each job."""
# Turns of a loop that waits for a word to change: a pause each, or the processor given away.
_TURN = """pause:
  call void asm sideeffect "$pause", ""()
  br label %again
yield:
  %ignored = call i32 @sched_yield()
  br label %again
again:
  %spins.next = add i32 %spins, 1
  br label %wait"""
# Where the pool keeps the job: what to call, with what, and how many threads do.
_JOB = """  %entry.at = getelementptr i8, ptr %pool, i64 64
  %args.at = getelementptr i8, ptr %pool, i64 72
  %threads.at = getelementptr i8, ptr %pool, i64 80
  %taken.at = getelementptr i8, ptr %pool, i64 96"""
# The line of thread %tid in the pool.
_LINE = """  %offset = mul i64 %tid, 64
  %lines = getelementptr i8, ptr %pool, i64 128
  %slot = getelementptr i8, ptr %lines, i64 %offset
  %sleeping.at = getelementptr i8, ptr %slot, i64 4"""

# Jobs are posted to all threads before any is asked whether it sleeps: the stores then go on side by side.
_THREADS = Template("""
@kg.pauses = internal global i32 $pauses
@kg.yields = internal global i32 $yields

define void @kg_patience(i32 %turns) nounwind {
entry:
  %usual = icmp eq i32 %turns, 0
  %pauses = select i1 %usual, i32 $pauses, i32 %turns
  %yields = select i1 %usual, i32 $yields, i32 %turns
  store atomic i32 %pauses, ptr @kg.pauses monotonic, align 4
  store atomic i32 %yields, ptr @kg.yields monotonic, align 4
  ret void
}

define void @kg_barrier(ptr %rt, i64 %threads) nounwind {
entry:
  %alone = icmp sle i64 %threads, 1
  br i1 %alone, label %done, label %arrive
arrive:
  %generation.at = getelementptr i8, ptr %rt, i64 64
  %sleepers.at = getelementptr i8, ptr %rt, i64 68
  %generation = load atomic i32, ptr %generation.at acquire, align 4
  %before = atomicrmw add ptr %rt, i32 1 acq_rel, align 4
  %count = trunc i64 %threads to i32
  %others = sub i32 %count, 1
  %last = icmp eq i32 %before, %others
  br i1 %last, label %release, label %wait
release:
  store atomic i32 0, ptr %rt monotonic, align 4
  %following = add i32 %generation, 1
  store atomic i32 %following, ptr %generation.at seq_cst, align 4
  %sleepers = load atomic i32, ptr %sleepers.at seq_cst, align 4
  %none = icmp eq i32 %sleepers, 0
  br i1 %none, label %done, label %wake
wake:
  call void @kg_wake(ptr %generation.at, i32 2147483647)
  br label %done
wait:
  %spins = phi i32 [ 0, %arrive ], [ %spins.next, %again ], [ %spins, %sleep ]
  %now = load atomic i32, ptr %generation.at acquire, align 4
  %open = icmp ne i32 %now, %generation
  br i1 %open, label %done, label %idle
idle:
  %pauses = load atomic i32, ptr @kg.pauses monotonic, align 4
  %patient = icmp ult i32 %spins, %pauses
  br i1 %patient, label %pause, label %polite
polite:
  %yields = load atomic i32, ptr @kg.yields monotonic, align 4
  %watching = icmp ult i32 %spins, %yields
  br i1 %watching, label %yield, label %sleep
$turn
sleep:
  %slept = atomicrmw add ptr %sleepers.at, i32 1 seq_cst, align 4
  call void @kg_sleep(ptr %generation.at, i32 %generation)
  %awake = atomicrmw sub ptr %sleepers.at, i32 1 seq_cst, align 4
  br label %wait
done:
  ret void
}

define void @kg_worker(ptr %pool, i64 %tid) nounwind {
entry:
$line
$job
  %waiting.at = getelementptr i8, ptr %pool, i64 4
  %observer.at = getelementptr i8, ptr %pool, i64 $observer
  br label %wait
wait:
  %last = phi i32 [ 0, %entry ], [ %last, %again ], [ %last, %sleep ], [ %job, %finish ], [ %job, %note ]
  %spins = phi i32 [ 0, %entry ], [ %spins.next, %again ], [ %spins, %sleep ], [ 0, %finish ], [ 0, %note ]
  %job = load atomic i32, ptr %slot acquire, align 4
  %posted = icmp ne i32 %job, %last
  br i1 %posted, label %check, label %idle
idle:
  %wanted = load atomic i64, ptr %threads.at monotonic, align 8
  %taken = icmp slt i64 %tid, %wanted
  %pauses.now = load atomic i32, ptr @kg.pauses monotonic, align 4
  %pauses = select i1 %taken, i32 %pauses.now, i32 $pauses
  %patient = icmp ult i32 %spins, %pauses
  br i1 %patient, label %pause, label %polite
polite:
  %yields.now = load atomic i32, ptr @kg.yields monotonic, align 4
  %yields = select i1 %taken, i32 %yields.now, i32 $yields
  %awake = icmp ult i32 %spins, %yields
  br i1 %awake, label %yield, label %sleep
$turn
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
  %processors = load atomic i64, ptr %taken.at monotonic, align 8
  %anywhere = icmp eq i64 %processors, -1
  br i1 %anywhere, label %call, label %apart
apart:
  call void @kg_apart(ptr %taken.at)
  br label %call
call:
  call void %function(i64 %tid, i64 %threads, ptr %args)
  %pending = atomicrmw sub ptr %pool, i32 1 seq_cst, align 4
  %final = icmp eq i32 %pending, 1
  br i1 %final, label %notify, label %finish
notify:
  %waiting = load atomic i32, ptr %waiting.at seq_cst, align 4
  %asleep = icmp ne i32 %waiting, 0
  br i1 %asleep, label %wake, label %finish
wake:
  call void @kg_wake(ptr %pool, i32 1)
  br label %finish
finish:
  %observer = load atomic ptr, ptr %observer.at acquire, align 8
  %watched = icmp ne ptr %observer, null
  br i1 %watched, label %note, label %wait
note:
  call void @kg_note(ptr %observer, i64 %tid, i32 %job)
  br label %wait
done:
  ret void
}

define internal void @kg_note(ptr %observer, i64 %tid, i32 %job) nounwind {
entry:
  %time = alloca { i64, i64 }, align 8
  %ignored = call i32 @clock_gettime(i32 $clock, ptr %time)
  %now = call i64 @kg_now()
  %seconds = load i64, ptr %time, align 8
  %rest.at = getelementptr i8, ptr %time, i64 8
  %rest = load i64, ptr %rest.at, align 8
  %scaled = mul i64 %seconds, 1000000000
  %used = add i64 %scaled, %rest
  %offset = mul i64 %tid, 64
  %line = getelementptr i8, ptr %observer, i64 %offset
  store i64 %now, ptr %line, align 8
  %used.at = getelementptr i8, ptr %line, i64 8
  store i64 %used, ptr %used.at, align 8
  %job.at = getelementptr i8, ptr %line, i64 16
  store atomic i32 %job, ptr %job.at release, align 4
  ret void
}

define internal void @kg_post(ptr %pool, i64 %tid, i1 %stop) nounwind {
entry:
$line
  %job = load atomic i32, ptr %slot monotonic, align 4
  %following = add i32 %job, 1
  %positive = and i32 %following, 2147483647
  %next = select i1 %stop, i32 -1, i32 %positive
  store atomic i32 %next, ptr %slot release, align 4
  ret void
}

define internal void @kg_rouse(ptr %pool, i64 %tid) nounwind {
entry:
$line
  %sleeping = load atomic i32, ptr %sleeping.at seq_cst, align 4
  %asleep = icmp ne i32 %sleeping, 0
  br i1 %asleep, label %wake, label %done
wake:
  call void @kg_wake(ptr %slot, i32 1)
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
$job
  store ptr %function, ptr %entry.at, align 8
  store ptr %args, ptr %args.at, align 8
  store atomic i64 %threads, ptr %threads.at monotonic, align 8
  %turn.at = getelementptr i8, ptr %pool, i64 104
  %turn = load i64, ptr %turn.at, align 8
  %turn.next = add i64 %turn, 1
  store i64 %turn.next, ptr %turn.at, align 8
  %part = and i64 %turn, $between
  %now = icmp eq i64 %part, 0
  %here = call i64 @kg_processor(i1 %now)
  store atomic i64 %here, ptr %taken.at monotonic, align 8
  %count = trunc i64 %threads to i32
  %others = sub i32 %count, 1
  store atomic i32 %others, ptr %pool monotonic, align 4
  br label %post
post:
  %tid = phi i64 [ 1, %share ], [ %tid.next, %post ]
  call void @kg_post(ptr %pool, i64 %tid, i1 false)
  %tid.next = add i64 %tid, 1
  %more = icmp slt i64 %tid.next, %threads
  br i1 %more, label %post, label %posted
posted:
  fence seq_cst
  br label %rouse
rouse:
  %sleeper = phi i64 [ 1, %posted ], [ %sleeper.next, %rouse ]
  call void @kg_rouse(ptr %pool, i64 %sleeper)
  %sleeper.next = add i64 %sleeper, 1
  %sleepers = icmp slt i64 %sleeper.next, %threads
  br i1 %sleepers, label %rouse, label %work
work:
  call void %function(i64 0, i64 %threads, ptr %args)
  br label %wait
wait:
  %spins = phi i32 [ 0, %work ], [ %spins.next, %again ]
  %left = load atomic i32, ptr %pool acquire, align 4
  %busy = icmp ne i32 %left, 0
  br i1 %busy, label %idle, label %done
idle:
  %pauses = load atomic i32, ptr @kg.pauses monotonic, align 4
  %patient = icmp ult i32 %spins, %pauses
  br i1 %patient, label %pause, label %polite
polite:
  %yields = load atomic i32, ptr @kg.yields monotonic, align 4
  %watching = icmp ult i32 %spins, %yields
  br i1 %watching, label %yield, label %prepare
$turn
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
  fence seq_cst
  call void @kg_rouse(ptr %pool, i64 %tid)
  %tid.next = add i64 %tid, 1
  %more = icmp slt i64 %tid.next, %threads
  br i1 %more, label %post, label %done
done:
  ret void
}
""")

# What `kg_joined` is given, words of 8 bytes: the job's entry and arguments, how many threads it wants, and the
# addresses of two functions: a thread's number, and how many threads there are.
_JOINED = """
define void @kg_joined(ptr %job) nounwind {
entry:
  %function = load ptr, ptr %job, align 8
  %args.at = getelementptr i8, ptr %job, i64 8
  %args = load ptr, ptr %args.at, align 8
  %wanted.at = getelementptr i8, ptr %job, i64 16
  %wanted = load i64, ptr %wanted.at, align 8
  %number.at = getelementptr i8, ptr %job, i64 24
  %number = load ptr, ptr %number.at, align 8
  %count.at = getelementptr i8, ptr %job, i64 32
  %count = load ptr, ptr %count.at, align 8
  %tid.narrow = call i32 %number()
  %tid = zext i32 %tid.narrow to i64
  %there.narrow = call i32 %count()
  %there = zext i32 %there.narrow to i64
  %fewer = icmp slt i64 %there, %wanted
  %threads = select i1 %fewer, i64 %there, i64 %wanted
  %needed = icmp slt i64 %tid, %threads
  br i1 %needed, label %work, label %done
work:
  call void %function(i64 %tid, i64 %threads, ptr %args)
  br label %done
done:
  ret void
}
"""

_FUTEX = Template("""
define internal void @kg_sleep(ptr %word, i32 %value) nounwind {
entry:
  %ignored = call i64 (i64, ...) @syscall(i64 $futex, ptr %word, i32 128, i32 %value, ptr null)
  ret void
}

define internal void @kg_wake(ptr %word, i32 %most) nounwind {
entry:
  %ignored = call i64 (i64, ...) @syscall(i64 $futex, ptr %word, i32 129, i32 %most)
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

define internal void @kg_wake(ptr %word, i32 %most) nounwind {
entry:
  ret void
}
declare i32 @usleep(i32)
"""

# Wait about 3 us without giving the processor away; then yield it, which costs little where nobody wants it and is
# what keeps an oversubscribed machine moving; after some 100 us of that, sleep: a processor that falls idle takes over
# a thread that waits for another one, which no processor does whose thread yields. `kg_patience` has those of the
# present job wait longer before they give the processor away, or as usual for 0.
_PAUSES = {"aarch64": 200, "x86_64": 100}
_YIELDS = 300
# On AArch64 `yield` does nothing on most cores; a barrier on instructions is the pause that others use.
_PAUSE = {"aarch64": "isb sy", "x86_64": "pause"}
_FUTEX_NUMBER = {"aarch64": 98, "x86_64": 202}


def threads_text(target: Target) -> str:
    """LLVM IR of `kg_barrier`, `kg_worker`, `kg_run`, `kg_stop`, `kg_patience` and `kg_joined`."""
    pauses = _PAUSES.get(target.arch, 0)
    turn = Template(_TURN).substitute(pause=_PAUSE.get(target.arch, ""))
    clock = 16 if "darwin" in target.triple else 3  # the clock of a thread's own processor time
    return _JOINED + _THREADS.substitute(
        turn=turn, job=_JOB, line=_LINE, pauses=pauses, yields=pauses + _YIELDS, clock=clock, observer=OBSERVER,
        between=LOOKS - 1,
    )  # fmt: skip


def sleep_text(target: Target) -> str:
    """LLVM IR of `kg_sleep` and `kg_wake`, which the others call, and of what these call."""
    linux = "linux" in target.triple and target.arch in _FUTEX_NUMBER
    return _FUTEX.substitute(futex=_FUTEX_NUMBER[target.arch]) if linux else _POLLING
