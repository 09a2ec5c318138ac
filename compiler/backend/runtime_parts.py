"""How threads take parts of a kernel's work while it runs, as LLVM IR text.

Every thread has a share of the parts, one after the other, so that what it used in the call before is still in its
caches. Who is done with its own helps those that are not: processors are not equally fast, and some have other things
to do. Each share has a count of the parts that were taken, on a cache line of its own, which only late helpers disturb.
"""

from __future__ import annotations

from string import Template

SHARES = 64
"""So many threads take parts; with more of them each has one."""
PARTS_BYTES = 64 + 64 * SHARES
SEVERAL = 8
"""Parts a thread that much work is cut into."""
MUCH = 256 << 10
"""Work of more than so many bytes a thread is cut into several parts: less is over before it pays."""

# Items are divided into parts, parts into shares. A thread has the items begin..end; nothing where these are equal.
# Whoever finds nothing left says so; the last one to do so sets all counts back for the next kernel, which begins only
# when all threads have met. Where every thread has one part at most nothing is counted: the second time there is none.
_PARTS = Template("""
define { i64, i64 } @kg_take(ptr %rt, i64 %tid, i64 %threads, i64 %items, i64 %bytes, i64 %before) nounwind {
entry:
  %leaving = getelementptr i8, ptr %rt, i64 $start
  %counts = getelementptr i8, ptr %leaving, i64 64
  %work = mul i64 %items, %bytes
  %enough = mul i64 %threads, $much
  %much = icmp sgt i64 %work, %enough
  %many = mul i64 %threads, $several
  %wanted = select i1 %much, i64 %many, i64 %threads
  %scarce = icmp slt i64 %items, %wanted
  %parts = select i1 %scarce, i64 %items, i64 %wanted
  %few = icmp sle i64 %parts, %threads
  %crowd = icmp sgt i64 %threads, $shares
  %alone = icmp sle i64 %threads, 1
  %kept.a = or i1 %few, %crowd
  %kept = or i1 %kept.a, %alone
  br i1 %kept, label %keep, label %search
keep:
  %first = icmp slt i64 %before, 0
  br i1 %first, label %own, label %none
own:
  %own.next = add i64 %tid, 1
  %own.low.all = mul i64 %tid, %items
  %own.low = udiv i64 %own.low.all, %threads
  %own.high.all = mul i64 %own.next, %items
  %own.high = udiv i64 %own.high.all, %threads
  %own.begin = insertvalue { i64, i64 } undef, i64 %own.low, 0
  %own.range = insertvalue { i64, i64 } %own.begin, i64 %own.high, 1
  ret { i64, i64 } %own.range
search:
  %turn = phi i64 [ 0, %entry ], [ %turn.next, %empty ]
  %sum = add i64 %tid, %turn
  %over = icmp sge i64 %sum, %threads
  %wrapped = sub i64 %sum, %threads
  %who = select i1 %over, i64 %wrapped, i64 %sum
  %offset = mul i64 %who, 64
  %count.at = getelementptr i8, ptr %counts, i64 %offset
  %low.all = mul i64 %who, %parts
  %low = udiv i64 %low.all, %threads
  %who.next = add i64 %who, 1
  %high.all = mul i64 %who.next, %parts
  %high = udiv i64 %high.all, %threads
  %size = sub i64 %high, %low
  %seen = load atomic i64, ptr %count.at monotonic, align 8
  %left = icmp slt i64 %seen, %size
  br i1 %left, label %take, label %empty
take:
  %taken = atomicrmw add ptr %count.at, i64 1 monotonic, align 8
  %mine = icmp slt i64 %taken, %size
  br i1 %mine, label %found, label %empty
found:
  %part = add i64 %low, %taken
  %part.next = add i64 %part, 1
  %begin.all = mul i64 %part, %items
  %begin = udiv i64 %begin.all, %parts
  %end.all = mul i64 %part.next, %items
  %end = udiv i64 %end.all, %parts
  %begun = insertvalue { i64, i64 } undef, i64 %begin, 0
  %range = insertvalue { i64, i64 } %begun, i64 %end, 1
  ret { i64, i64 } %range
empty:
  %turn.next = add i64 %turn, 1
  %more = icmp slt i64 %turn.next, %threads
  br i1 %more, label %search, label %leave
leave:
  %gone = atomicrmw add ptr %leaving, i64 1 acq_rel, align 8
  %gone.now = add i64 %gone, 1
  %last = icmp eq i64 %gone.now, %threads
  br i1 %last, label %reset, label %none
reset:
  %number = phi i64 [ 0, %leave ], [ %number.next, %reset ]
  %number.offset = mul i64 %number, 64
  %number.at = getelementptr i8, ptr %counts, i64 %number.offset
  store atomic i64 0, ptr %number.at monotonic, align 8
  %number.next = add i64 %number, 1
  %unset = icmp slt i64 %number.next, %threads
  br i1 %unset, label %reset, label %ready
ready:
  store atomic i64 0, ptr %leaving release, align 8
  br label %none
none:
  ret { i64, i64 } zeroinitializer
}
""")


def parts_text(start: int) -> str:
    """LLVM IR of `kg_take`, whose counts lie `start` bytes into what the threads of a model share."""
    return _PARTS.substitute(start=start, shares=SHARES, much=MUCH, several=SEVERAL)
