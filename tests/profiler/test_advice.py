"""Advice follows from figures: a finding for each that is past its limit, with the number, and silence elsewhere."""

from profiler.analysis.advice import advice
from profiler.sampled import PLACES


def launch(**changes):
    known = {
        "kernel": "k", "position": 0, "median": 1e-3, "share": 0.9, "bound": "memory", "bytes": 1000, "loads": 600,
        "stores": 400, "thread_seconds": (1e-3, 1e-3), "key": "k",
    }  # fmt: skip
    return known | changes


def line(text, count, stalls=(), file="/lib/k.py", number=7):
    return {"line": number, "count": count, "text": text, "nodes": (), "file": file, "source_line": number,
            "stalls": stalls}  # fmt: skip


def document(launches, kernels=None, waiting=0, counters=()):
    found = {"times": {"median": 1e-3}, "launches": launches, "counters": list(counters)}
    if kernels is not None:
        inside = sum(kernel["samples"] for kernel in kernels)
        found["sampling"] = {"samples": inside + waiting, "inside": inside, "waiting": waiting, "kernels": kernels}
    return found


def sampled(stage, *lines):
    return {"kernel": "k", "samples": 1000, "stages": [{"stage": stage, "lines": list(lines)}]}


def test_nothing_is_said_where_nothing_is_wrong():
    assert advice(document([launch()], [sampled(PLACES, line("a", 200), line("b", 200))])) == []


def test_a_kernel_far_below_its_roof_is_named_with_its_share():
    (found,) = advice(document([launch(share=0.34)]))
    assert "reaches 34% of what the measured memory bandwidth allows" in found.words and found.kernel == "k"


def test_traffic_beyond_what_must_be_moved_is_named_with_its_ratio():
    (found,) = advice(document([launch(loads=2700)]))
    assert "moves 3.1 times its data" in found.words


def test_uneven_threads_are_named():
    (found,) = advice(document([launch(thread_seconds=(1e-3, 1e-4))]))
    assert "uneven work: the slowest takes 1.82 times the mean" in found.words


def test_waiting_threads_are_named():
    (found,) = advice(document([launch()], [sampled(PLACES, line("a", 100))], waiting=250))
    assert "threads wait for others in 20% of all samples" in found.words


def test_scalar_arithmetic_and_the_stack_are_found_in_the_listing():
    asm = sampled("asm", line("fadd s0, s1, s2", 300), line("ldr q0, [sp, #16]", 150), line("fmla v0.4s, v1.4s", 100))
    words = [item.words for item in advice(document([launch()], [asm]))]
    assert words == [
        "30% of its samples are at scalar arithmetic: lanes of the vectors stay empty",
        "15% of its samples are at loads and stores of the stack: registers run out",
    ]


def test_what_warps_wait_for_is_named_with_its_line():
    stalls = (("short_scoreboard", 410), ("wait", 50))
    (found,) = advice(document([launch()], [sampled(PLACES, line("x = board[i]", 500, stalls))]))
    assert "41% of its samples wait for shared memory" in found.words and found.where == "k.py:7"


def test_the_dearest_comes_first_and_trifles_are_left_out():
    launches = [
        launch(share=0.5),
        launch(kernel="m", position=1, share=0.1),
        launch(kernel="t", median=1e-5, share=0.1),
    ]
    assert [item.kernel for item in advice(document(launches))] == ["m", "k"]


def test_local_memory_is_named():
    counters = [{"name": "k: local_bytes", "value": 64.0, "unit": "B", "note": ""}]
    (found,) = advice(document([launch()], counters=counters))
    assert "local memory" in found.words
