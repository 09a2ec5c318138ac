"""What a thread does between two barriers, as LLVM IR text: the walk over the model's steps, places and the clock.

`runtime_ir` says how steps and places are laid out.
"""

from __future__ import annotations

from string import Template

from compiler.targets.target import Target

ARGUMENT_COUNTS = (5, 13, 61)
"""How many words `kg_steps` hands to a kernel besides its first three: the smallest of these that is enough."""

_STEPS = Template("""
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
""")


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


def steps_text(target: Target) -> str:
    """LLVM IR of `kg_steps`, `kg_mark`, `kg_place` and `kg_now`."""
    clock = 6 if "darwin" in target.triple or "macos" in target.triple else 1  # CLOCK_MONOTONIC
    return _STEPS.substitute(dispatch=_dispatch(), most=ARGUMENT_COUNTS[-1], clock=clock)
