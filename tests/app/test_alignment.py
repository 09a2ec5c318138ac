"""Matching the lines of two IR texts: renumbering is no difference, another operand is."""

from __future__ import annotations

import itertools
import random
import time

from app.viewmodels.compilation import LineText
from app.viewmodels.text.alignment import matched_lines, plain_line, same_but_numbers
from app.viewmodels.text.diff import CAME, GAP, SAME, WENT, diff_documents, diff_sides
from app.viewmodels.text.text_document import index_text


def document(*lines: str):
    return index_text(LineText("".join(f"{line}\n" for line in lines).encode()))


def test_matches_are_in_order_and_never_cross():
    generator = random.Random(3)
    for _ in range(60):
        old = [bytes([generator.randrange(97, 103)]) for _ in range(generator.randrange(40))]
        new = [bytes([generator.randrange(97, 103)]) for _ in range(generator.randrange(40))]
        pairs = matched_lines(old, new)
        assert all(old[a] == new[b] for a, b in pairs)
        assert all(a < c and b < d for (a, b), (c, d) in itertools.pairwise(pairs))
        if old == new:
            assert len(pairs) == len(old)


def test_renumbered_values_are_no_difference():
    before = document("%0 = a.one", "%1 = a.gone", "%2 = a.two %0", "%3 = a.three %2")
    after = document("%0 = a.one", "%1 = a.two %0", "%2 = a.three %1")
    diff = diff_documents(before, after)
    assert diff.marks.tolist() == [SAME, WENT, SAME, SAME]
    assert diff.summary == "+0 \u22121"


def test_another_operand_is_a_difference_even_if_the_shape_is_the_same():
    before = document("%0 = a.one", "%1 = a.two", "%2 = a.add %0, %1")
    after = document("%0 = a.one", "%1 = a.two", "%2 = a.add %1, %1")
    assert diff_documents(before, after).marks.tolist() == [SAME, SAME, WENT, CAME]


def test_debug_numbers_do_not_count():
    assert plain_line(b"  %x = fadd float %a, %b, !dbg !12") == plain_line(b"  %x = fadd float %a, %b, !dbg !90")
    assert same_but_numbers([(b"%0 = a", b"%4 = a"), (b"b %0", b"b %4"), (b"b %0", b"b %5")]) == [True, True, False]


def test_the_sides_are_level():
    one, other = diff_sides(document("a", "b", "c", "d"), document("a", "x", "y", "z", "d"))
    assert one.document.lines == other.document.lines
    assert one.marks.tolist() == [SAME, WENT, WENT, GAP, SAME]
    assert other.marks.tolist() == [SAME, CAME, CAME, CAME, SAME]
    assert one.numbers.tolist() == [1, 2, 3, 0, 4]
    assert [side.document.line(4) for side in (one, other)] == ["d", "d"]


def seconds_of_a_loop() -> float:
    """Processor time of three million additions: a fifth of a second on an ordinary processor that is not shared."""
    start, total = time.process_time(), 0
    for number in range(3_000_000):
        total += number
    return time.process_time() - start


def test_twenty_thousand_lines_are_compared_within_a_second():
    before = [f"%{i} = arith.addi %{max(i - 1, 0)}, %{max(i - 3, 0)}" for i in range(20_000)]
    after = [f"%{i} = arith.addi %{max(i - 1, 0)}, %{max(i - 3, 0)}" for i in range(19_999)]
    times = []
    for _ in range(3):
        start = time.process_time()
        diff = diff_documents(document(*before), document(*after))
        times.append(time.process_time() - start)
        assert diff.came + diff.went < 10
        if times[-1] < 1.0:
            return
    # On a processor that is far slower, or whose speed others take away for a while: a few such loops.
    assert min(times) < 3 * seconds_of_a_loop()
