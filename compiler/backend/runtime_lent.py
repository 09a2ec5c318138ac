"""Running a job on threads that another runtime lends: see `compiler.frameworks.openmp` for whose, and why.

The runtime is asked for its usual number of threads, whatever the job needs: asked for fewer it would end the others,
and start them anew for its own next operation. Threads that the job does not need go back at once.
"""

from __future__ import annotations

import ctypes

from compiler.frameworks.openmp import OpenMP

# What `kg_joined` is given, words of 8 bytes: the job's entry and arguments, how many threads it wants, and the
# addresses of two functions: a thread's number, and how many threads there are.
LENT_TEXT = """
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


def run_on_lent(openmp: OpenMP, joined: int, entry: int, args: int, threads: int) -> None:
    """Run a job on at most so many of another runtime's threads, this one among them, and wait for all of them."""
    job = (ctypes.c_int64 * 5)(entry, args, threads, openmp.number, openmp.count)
    _PARALLEL(openmp.parallel)(joined, ctypes.addressof(job), 0, 0)


_PARALLEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)
