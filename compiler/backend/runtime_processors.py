"""How threads of one job keep off each other's processors, as LLVM IR text.

Two threads on one processor take turns, each as long as the other waits, and so never sleep; Linux then leaves them
there for seconds while another is idle, and a job takes twice as long. So now and then everybody who comes to a job
tells its processor in a set of bits (`kg_processor`; -1: not this time), and moves where somebody of the same job has
that one: to one of those it may use that nobody has told (`kg_apart`). Where it may be otherwise stays as it was.
"""

from __future__ import annotations

from compiler.targets.target import Target

LOOKS = 4
"""Of so many jobs one looks; a power of two."""
_APART = """
define internal i64 @kg_processor(i1 %look) nounwind {
entry:
  br i1 %look, label %ask, label %unknown
ask:
  %number = call i32 @sched_getcpu()
  %known = icmp ult i32 %number, 63
  br i1 %known, label %done, label %unknown
done:
  %wide = zext i32 %number to i64
  %bit = shl i64 1, %wide
  ret i64 %bit
unknown:
  ret i64 -1
}

define internal void @kg_apart(ptr %taken.at) nounwind {
entry:
  %may = alloca [16 x i64], align 8
  %other = alloca [16 x i64], align 8
  %bit = call i64 @kg_processor(i1 true)
  %unknown = icmp eq i64 %bit, -1
  br i1 %unknown, label %done, label %tell
tell:
  %before = atomicrmw or ptr %taken.at, i64 %bit monotonic, align 8
  %shared = and i64 %before, %bit
  %alone = icmp eq i64 %shared, 0
  br i1 %alone, label %done, label %ask
ask:
  %found = call i32 @sched_getaffinity(i32 0, i64 128, ptr %may)
  %said = icmp eq i32 %found, 0
  br i1 %said, label %choose, label %done
choose:
  %allowed = load i64, ptr %may, align 8
  %now = load atomic i64, ptr %taken.at monotonic, align 8
  %elsewhere = xor i64 %now, -1
  %free = and i64 %allowed, %elsewhere
  %none = icmp eq i64 %free, 0
  br i1 %none, label %done, label %move
move:
  call void @llvm.memset.p0.i64(ptr align 8 %other, i8 0, i64 128, i1 false)
  store i64 %free, ptr %other, align 8
  %moved = call i32 @sched_setaffinity(i32 0, i64 128, ptr %other)
  %back = call i32 @sched_setaffinity(i32 0, i64 128, ptr %may)
  %there = call i64 @kg_processor(i1 true)
  %lost = icmp eq i64 %there, -1
  br i1 %lost, label %done, label %tell.there
tell.there:
  %ignored = atomicrmw or ptr %taken.at, i64 %there monotonic, align 8
  br label %done
done:
  ret void
}
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""
# Elsewhere no thread tells where it is.
_ANYWHERE = """
define internal i64 @kg_processor(i1 %look) nounwind {
entry:
  ret i64 -1
}

define internal void @kg_apart(ptr %taken.at) nounwind {
entry:
  ret void
}
"""


def processors_text(target: Target) -> str:
    """LLVM IR of `kg_processor` and `kg_apart`, and of what these call."""
    return _APART if "linux" in target.triple else _ANYWHERE
