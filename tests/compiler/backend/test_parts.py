"""Work that threads take in parts while a kernel runs: each part once, whoever is late."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.backend.executor import Executor, TableStep, load_kernels
from compiler.backend.llvm import compile_llvm
from compiler.backend.runtime_parts import MUCH, SHARES
from compiler.targets import get_target

HOST = get_target("cpu")
# Counts how often each item was done, and by whom; thread 0 dawdles over each of its parts.
KERNEL = """
define void @work(i64 %tid, i64 %threads, ptr %rt, ptr %times, ptr %who, i64 %items, i64 %bytes) {
entry:
  br label %take
take:
  %before = phi i64 [ -1, %entry ], [ %begin, %done ], [ %begin, %dawdle ]
  %range = call { i64, i64 } @kg_take(ptr %rt, i64 %tid, i64 %threads, i64 %items, i64 %bytes, i64 %before)
  %begin = extractvalue { i64, i64 } %range, 0
  %end = extractvalue { i64, i64 } %range, 1
  %some = icmp slt i64 %begin, %end
  br i1 %some, label %do, label %leave
do:
  %item = phi i64 [ %begin, %take ], [ %next, %do ]
  %at = getelementptr i64, ptr %times, i64 %item
  %seen = atomicrmw add ptr %at, i64 1 acq_rel, align 8
  %who.at = getelementptr i64, ptr %who, i64 %item
  store i64 %tid, ptr %who.at, align 8
  %next = add i64 %item, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %do, label %done
done:
  %slow = icmp eq i64 %tid, 0
  br i1 %slow, label %dawdle, label %take
dawdle:
  %ignored = call i32 @usleep(i32 2000)
  br label %take
leave:
  ret void
}
declare { i64, i64 } @kg_take(ptr, i64, i64, i64, i64, i64)
declare i32 @usleep(i32)
"""


@pytest.fixture(scope="module")
def code():
    text = f'target datalayout = "{HOST.data_layout}"\ntarget triple = "{HOST.triple}"\n{KERNEL}'
    return load_kernels([compile_llvm(text, HOST, 2).object], ["work"])


def run(code, items: int, threads: int, steps: int = 3, item_bytes: int = MUCH) -> tuple[np.ndarray, np.ndarray]:
    executor = Executor([TableStep("work", (0, 1), (0, 1))] * steps, code, 2, 2)
    times, who = np.zeros(max(items, 1), np.int64), np.full(max(items, 1), -1, np.int64)
    executor.bind(0, times.ctypes.data)
    executor.bind(1, who.ctypes.data)
    executor.set_dims([items, item_bytes])
    for _ in range(2):
        executor.call(threads)
    return times, who


@pytest.mark.parametrize("item_bytes", [1, MUCH])
@pytest.mark.parametrize(("items", "threads"), [(1, 1), (70, 1), (2, 3), (3, 3), (8, 2), (111, 3), (5, 4)])
def test_each_item_is_done_once_a_kernel(code, items, threads, item_bytes):
    times, _ = run(code, items, threads, item_bytes=item_bytes)
    assert (times == 6).all()


def test_no_items_are_done_by_nobody(code):
    assert run(code, 0, 3)[0].sum() == 0


def test_who_is_done_early_helps_who_is_late(code):
    _, who = run(code, 64, 2, steps=1)
    assert (who[:32] == 1).sum() >= 16  # the share of thread 0, which sleeps after each part


def test_little_work_stays_with_its_thread(code):
    _, who = run(code, 64, 2, steps=1, item_bytes=16)
    assert (who[:32] == 0).all()
    assert (who[32:] == 1).all()


def test_more_threads_than_shares_keep_to_their_own(code):
    times, who = run(code, 4 * SHARES, SHARES + 1, steps=1)
    assert (times == 2).all()
    assert (np.diff(who) >= 0).all()
