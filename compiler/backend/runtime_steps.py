"""What a thread does between two barriers, as LLVM IR text: the walk over the model's steps, places and the clock.

`runtime_ir` says how steps and places are laid out, `runtime_arrays` what `kg_arrays` is given: it binds a call's
arrays and walks the steps alone.
"""

from __future__ import annotations

from string import Template

from compiler.errors import LoweringError
from compiler.targets.target import Target

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
  %calls = mul i64 %tid, %count
  %row = mul i64 %calls, 2
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %step, label %done
step:
  %number = phi i64 [ 0, %entry ], [ %number.next, %next ]
  %at = getelementptr [32 x i8], ptr %steps, i64 %number
  %meet.at = getelementptr i8, ptr %at, i64 20
  %meet = load i32, ptr %meet.at, align 4
  %double = mul i64 %number, 2
  %first = add i64 %row, %double
  %number.one = add i64 %number, 1
  call void @kg_place(ptr %places, i64 %tid, i64 %number.one)
  call void @kg_mark(ptr %trace, i64 %first)
  call void @kg_call(i64 %tid, i64 %threads, ptr %rt, ptr %at, ptr %words)
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

define i64 @kg_arrays(ptr %arrays, ptr %call) nounwind {
entry:
  %items = load i64, ptr %call, align 8
  %type.at = getelementptr i8, ptr %call, i64 8
  %type = load ptr, ptr %type.at, align 8
  %table.at = getelementptr i8, ptr %call, i64 16
  %table = load ptr, ptr %table.at, align 8
  %program.at = getelementptr i8, ptr %call, i64 24
  %program = load ptr, ptr %program.at, align 8
  %count.at = getelementptr i8, ptr %call, i64 32
  %count = load i64, ptr %count.at, align 8
  %given.at = getelementptr i8, ptr %arrays, i64 16
  %given = load i64, ptr %given.at, align 8
  %as.many = icmp eq i64 %given, %count
  br i1 %as.many, label %next, label %refuse
next:
  %number = phi i64 [ 0, %entry ], [ %number.next, %taken ]
  %more = icmp slt i64 %number, %count
  br i1 %more, label %look, label %run
look:
  %like.offset = mul i64 %number, 40
  %like.start = getelementptr i8, ptr %call, i64 40
  %like = getelementptr i8, ptr %like.start, i64 %like.offset
  %item.offset = mul i64 %number, 8
  %item.start = getelementptr i8, ptr %arrays, i64 %items
  %item.at = getelementptr i8, ptr %item.start, i64 %item.offset
  %array = load ptr, ptr %item.at, align 8
  %array.type.at = getelementptr i8, ptr %array, i64 8
  %array.type = load ptr, ptr %array.type.at, align 8
  %is.array = icmp eq ptr %array.type, %type
  br i1 %is.array, label %kind, label %refuse
kind:
  %dtype.at = getelementptr i8, ptr %array, i64 56
  %dtype = load ptr, ptr %dtype.at, align 8
  %like.dtype = load ptr, ptr %like, align 8
  %same.dtype = icmp eq ptr %dtype, %like.dtype
  %rank.at = getelementptr i8, ptr %array, i64 24
  %rank.short = load i32, ptr %rank.at, align 4
  %rank = sext i32 %rank.short to i64
  %like.rank.at = getelementptr i8, ptr %like, i64 8
  %like.rank = load i64, ptr %like.rank.at, align 8
  %same.rank = icmp eq i64 %rank, %like.rank
  %flags.at = getelementptr i8, ptr %array, i64 64
  %flags.short = load i32, ptr %flags.at, align 4
  %flags = zext i32 %flags.short to i64
  %needed.at = getelementptr i8, ptr %like, i64 24
  %needed = load i64, ptr %needed.at, align 8
  %set = and i64 %flags, %needed
  %plain = icmp eq i64 %set, %needed
  %same.kind = and i1 %same.dtype, %same.rank
  %fits = and i1 %same.kind, %plain
  br i1 %fits, label %shape, label %refuse
shape:
  %sizes.at = getelementptr i8, ptr %array, i64 32
  %sizes = load ptr, ptr %sizes.at, align 8
  %like.sizes.at = getelementptr i8, ptr %like, i64 16
  %like.sizes = load ptr, ptr %like.sizes.at, align 8
  br label %axis
axis:
  %dim = phi i64 [ 0, %shape ], [ %dim.next, %compare ]
  %dims.left = icmp slt i64 %dim, %rank
  br i1 %dims.left, label %compare, label %bind
compare:
  %size.at = getelementptr i64, ptr %sizes, i64 %dim
  %size = load i64, ptr %size.at, align 8
  %like.size.at = getelementptr i64, ptr %like.sizes, i64 %dim
  %like.size = load i64, ptr %like.size.at, align 8
  %same.size = icmp eq i64 %size, %like.size
  %dim.next = add i64 %dim, 1
  br i1 %same.size, label %axis, label %refuse
bind:
  %place.at = getelementptr i8, ptr %like, i64 32
  %place = load i64, ptr %place.at, align 8
  %used = icmp sge i64 %place, 0
  br i1 %used, label %store, label %taken
store:
  %data.at = getelementptr i8, ptr %array, i64 16
  %data = load ptr, ptr %data.at, align 8
  %slot = getelementptr i64, ptr %table, i64 %place
  store ptr %data, ptr %slot, align 8
  br label %taken
taken:
  %number.next = add i64 %number, 1
  br label %next
run:
  %only.bind = icmp eq ptr %program, null
  br i1 %only.bind, label %done, label %walk
walk:
  call void @kg_steps(i64 0, i64 1, ptr %program)
  br label %done
done:
  ret i64 1
refuse:
  ret i64 0
}

define internal void @kg_call(i64 %tid, i64 %threads, ptr %rt, ptr %step, ptr %words) naked noinline nounwind {
  call void asm sideeffect $dialect"$call", ""()
  unreachable
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


# `kg_call` calls the step's kernel with the first three arguments it was given itself, still in their registers, and
# with the step's words: as many as the calling convention has registers left for, the others on the stack, however many
# they are. A step's slots are followed by others (or by `SPARE_SLOTS`), so that reading too many of them is harmless.
_CALL = {
    "aarch64": """
  stp x29, x30, [sp, #-16]!
  mov x29, sp
  ldp x16, x9, [x3]
  ldr w10, [x3, #16]
  mov x11, x4
  subs x10, x10, #5
  b.le 2f
  add x12, x10, #1
  and x12, x12, #0xfffffffffffffffe
  sub sp, sp, x12, lsl #3
  add x13, x9, #20
  mov x14, sp
1:
  ldrsw x15, [x13], #4
  ldr x15, [x11, x15, lsl #3]
  str x15, [x14], #8
  subs x10, x10, #1
  b.gt 1b
2:
  ldpsw x3, x4, [x9]
  ldpsw x5, x6, [x9, #8]
  ldrsw x7, [x9, #16]
  ldr x3, [x11, x3, lsl #3]
  ldr x4, [x11, x4, lsl #3]
  ldr x5, [x11, x5, lsl #3]
  ldr x6, [x11, x6, lsl #3]
  ldr x7, [x11, x7, lsl #3]
  blr x16
  mov sp, x29
  ldp x29, x30, [sp], #16
  ret""",
    "x86_64": """
  push rbp
  mov rbp, rsp
  mov r11, qword ptr [rcx + 8]
  mov r10, r8
  mov r9d, dword ptr [rcx + 16]
  sub r9, 3
  jle 3f
  lea rax, [r9 + 1]
  and rax, -2
  shl rax, 3
  sub rsp, rax
  xor eax, eax
2:
  movsxd r8, dword ptr [r11 + 4*rax + 12]
  mov r8, qword ptr [r10 + 8*r8]
  mov qword ptr [rsp + 8*rax], r8
  inc rax
  cmp rax, r9
  jl 2b
3:
  mov rax, qword ptr [rcx]
  movsxd r9, dword ptr [r11 + 8]
  movsxd r8, dword ptr [r11 + 4]
  movsxd rcx, dword ptr [r11]
  mov r9, qword ptr [r10 + 8*r9]
  mov r8, qword ptr [r10 + 8*r8]
  mov rcx, qword ptr [r10 + 8*rcx]
  call rax
  mov rsp, rbp
  pop rbp
  ret""",
}
SPARE_SLOTS = 5


def steps_text(target: Target) -> str:
    """LLVM IR of `kg_steps`, `kg_arrays`, `kg_mark`, `kg_place` and `kg_now`."""
    if target.arch not in _CALL:
        raise LoweringError(f"models run on {' and '.join(_CALL)}, not on {target.arch}")
    clock = 6 if "darwin" in target.triple or "macos" in target.triple else 1  # CLOCK_MONOTONIC
    dialect = "inteldialect " if target.arch == "x86_64" else ""
    return _STEPS.substitute(call=_CALL[target.arch].replace("\n", "\\0A"), dialect=dialect, clock=clock)
