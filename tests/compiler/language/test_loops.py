"""`for` and `while`: run-time loops that carry variables, and loops repeated while elaborating."""

from __future__ import annotations

import numpy as np
import pytest

from tests.compiler.language.drive import body_error, ir, run

X = np.arange(1, 11, dtype=np.float32)


def test_a_range_is_a_run_time_loop_even_when_its_bounds_are_known():
    assert ir("for i in range(10):\n    o[i] = 1.0").count("scf.for") == 1
    assert ir("for i in unroll(10):\n    o[i] = 1.0").count("scf.for") == 0
    assert "scf.for" not in ir("for i in range(1):\n    o[i] = 1.0")  # one turn is no loop
    assert "memref.store" not in ir("for i in range(0):\n    o[i] = nonsense")


@pytest.mark.parametrize(
    "bounds", ["7", "2, 9", "1, 10, 3", "5, 5", "6, 2", "N", "N // 2, N", "0, N, 4", "k, N", "0, N, k"]
)
def test_bounds(bounds):
    body = f"k = index(3)\nfor i in range({bounds}):\n    o[i] = o[i] + 1.0"
    source = body.replace("o[", "out[").replace("N", "a.shape[0]")
    expected = np.zeros(10, np.float32)
    expected[list(eval(f"range({bounds})", {"k": 3, "N": 10}))] += 1
    np.testing.assert_array_equal(run(source, ("f32", (10,)), X), expected)


def test_variables_that_change_are_carried():
    assert run("s = f32(0)\nfor i in range(10):\n    s = s + a[i]\nout[0] = s", ("f32", (1,)), X)[0] == 55
    assert (
        run(
            "s = zeros(f32, 2)\nfor i in range(0, 10, 2):\n    s += a.load(i, width=2)\nout[0] = s.sum()",
            ("f32", (1,)),
            X,
        )[0]
        == 55
    )
    assert run("k = 0\nfor i in range(10):\n    k = k + 2\nout[0] = k.cast(i64)", ("i64", (1,)))[0] == 20
    assert run("f = True\nfor i in range(3):\n    f = not f\nout[0] = f", ("bool", (1,)))[0] == False  # noqa: E712
    got = run("x, y = i64(0), i64(1)\nfor i in range(10):\n    x, y = y, x + y\nout[0] = x\nout[1] = y", ("i64", (2,)))
    assert got.tolist() == [55, 89]


def test_lists_and_tuples_are_carried_part_by_part():
    body = (
        "acc = [f32(0) for _ in range(3)]\nfor i in range(10):\n    for k in unroll(3):\n"
        "        acc[k] = acc[k] + a[i] * k\n"
    )
    np.testing.assert_array_equal(
        run(body + "for k in unroll(3):\n    out[k] = acc[k]", ("f32", (3,)), X), [0, 55, 110]
    )
    body = (
        "t = (i64(1), (i64(2), i64(3)))\nfor i in range(4):\n    t = (t[1][0], (t[1][1], t[0]))\n"
        "out[0] = t[0]\nout[1] = t[1][1]"
    )
    assert run(body, ("i64", (2,))).tolist() == [2, 1]
    body = (
        "p = position((0, 0))\nfor i in range(4):\n    p = position((p[0] + 1, i))\n"
        "out[0] = p[0].cast(i64)\nout[1] = p[1].cast(i64)"
    )
    assert run(body, ("i64", (2,))).tolist() == [4, 3]


def test_a_literal_inside_takes_the_type_from_before():
    assert run("s = f32(3)\nfor i in range(4):\n    s = 0.5\nout[0] = s", ("f32", (1,)))[0] == 0.5
    assert run("s = [f32(3), f32(4)]\nfor i in range(4):\n    s[1] = 2\nout[0] = s[0] + s[1]", ("f32", (1,)))[0] == 5
    assert run("s = zeros(f32, 4)\nfor i in range(2):\n    s = a[0]\nout[0] = s.sum()", ("f32", (1,)), X)[0] == 4


def test_loops_nest_and_use_what_is_outside():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    body = (
        "for i in range(3):\n    s = f32(0)\n    for j in range(4):\n"
        "        s = s + a[i, j] * (i + j).cast(f32)\n    out[i] = s"
    )
    weights = np.add.outer(np.arange(3), np.arange(4))
    np.testing.assert_array_equal(run(body, ("f32", (3,)), x), (x * weights).sum(1))


def test_a_known_number_that_only_lives_in_the_body_stays_known():
    body = "w = 1\nfor i in range(0, 8, 4):\n    w = 4\n    out.store(a.load(i, width=w), i)"
    np.testing.assert_array_equal(run(body, ("f32", (8,)), X), X[:8])


def test_a_name_that_a_closure_reads_is_carried():
    body = "k = 0\ndef f():\n    return k\nfor i in range(4):\n    k = f() + 1\n    out[i] = k.cast(i64)"
    assert run(body, ("i64", (4,))).tolist() == [1, 2, 3, 4]
    body = (
        "k = 0\ndef g():\n    return k\ndef f():\n    return g()\nfor i in range(4):\n"
        "    k = f() + 1\n    out[i] = k.cast(i64)"
    )
    assert run(body, ("i64", (4,))).tolist() == [1, 2, 3, 4]


def test_elements_stored_in_a_loop_need_no_carrying():
    body = (
        "row = stack(f32, 10)\nfor i in range(10):\n    row[i] = a[i] * 2\nfor i in range(10):\n    out[i] = row[9 - i]"
    )
    np.testing.assert_array_equal(run(body, ("f32", (10,)), X), X[::-1] * 2)


@pytest.mark.parametrize(
    "body, message",
    [
        (
            "s = 0.5\nfor i in range(9):\n    s = s * 2",
            "2:1: s is float 0.5 and changes in a run-time loop; start it as a typed",
        ),
        ("s = None\nfor i in range(9):\n    x = s\n    s = 3", "2:1: s is None and changes in a run-time loop"),
        (
            "s = f32(0)\nfor i in range(9):\n    s = i32(s)",
            "2:1: s is f32 before and i32 after in a run-time loop; it must keep",
        ),
        ("s = f32(0)\nfor i in range(9):\n    s = (s, 2)", "2:1: s is f32 before and tuple after in a run-time loop"),
        (
            "s = (f32(0),)\nfor i in range(9):\n    s = s + s",
            "2:1: s changes its length from 1 to 2 in a run-time loop",
        ),
        ("s = f32(0)\nfor i in range(9):\n    s = splat(s, 4)", "2:1: s is f32 before and SIMD[f32, 4] after"),
        (
            "s = position((0,))\nfor i in range(9):\n    s = position((s[0],), width=2)",
            "2:1: s changes its width or axis",
        ),
        ("x = o\nfor i in range(9):\n    y = x[0]\n    x = 1", "2:1: x is Tensor and changes in a run-time loop"),
        ("for i in range(9):\n    x = i\ny = x", "3:5: x lives inside the loop above only"),
        ("for i in range(9):\n    pass\ny = i", "3:5: i lives inside the loop above only"),
        (
            "k = 1\nfor i in range(9):\n    k = 2\nx = k",
            "4:5: k changes in the loop above; give it a run-time type before",
        ),
        ("for i in range(9, 0, -1):\n    pass", "1:1: the step of a run-time range must be positive, not int -1"),
        ("for i in range(0, 9, 0):\n    pass", "1:10: the step of a range cannot be 0"),
        ("for i in range(0, 9.5):\n    pass", "1:10: float 9.5 cannot bound a range"),
        ("for i in range(i32(4)):\n    pass", "1:1: a position must be one index, not i32"),
        (
            "for i in range(9):\n    break",
            "2:5: break and continue work in unroll(...) loops on compile-time conditions only",
        ),
        ("for i in range(9):\n    continue", "2:5: break and continue work in unroll(...)"),
        ("for i in unroll(9):\n    if o[0] > 0:\n        break", "3:9: break and continue work in unroll(...)"),
        ("def f():\n    break\nfor i in unroll(9):\n    f()", "2:5: break and continue work in unroll(...)"),
        ("break", "1:1: break and continue work in unroll(...)"),
        ("for i in range(9):\n    pass\nelse:\n    pass", "1:1: the kernel language has no for/else"),
        ("while o[0] > 0:\n    pass\nelse:\n    pass", "1:1: the kernel language has no while/else"),
        ("for i in o:\n    pass", "1:1: cannot loop over Tensor"),
        ("for i in 5:\n    pass", "1:1: cannot loop over int 5"),
        ("for i in unroll(N):\n    pass", "1:10: the size N is not a compile-time sequence"),
        ("for i in unroll(10 ** 9):\n    pass", "1:10: a compile-time range of more than 65536 numbers"),
        ("while True:\n    pass", "1:1: the condition of this while never changes"),
        ("while o[0]:\n    pass", "1:1: the condition of while must be one bool, not f32"),
        ("k = 3\nwhile k < 9:\n    o[0] = 1.0", "2:1: the condition of this while never changes"),
    ],
)
def test_loops_that_cannot_be(body, message):
    assert body_error(body).startswith(message)


def test_a_variable_assigned_on_one_way_only_is_carried():
    body = "k = 0\nfor i in range(10):\n    if a[i] > 7:\n        k = 3\nout[0] = k.cast(i64)"
    assert run(body, ("i64", (1,)), X)[0] == 3 and run(body, ("i64", (1,)), X * 0)[0] == 0


def test_a_variable_may_change_its_type_where_nobody_reads_it_again():
    run("s = f32(0)\nfor i in range(9):\n    s = i32(1)\n    out[i] = s", ("i32", (9,)))
    run(
        "for i in range(1):\n    out[i] = 1\nfor j in range(3):\n    for i in range(3):\n        out[i] = 2",
        ("i32", (3,)),
    )
    message = body_error("s = f32(0)\nfor i in range(9):\n    s = i32(1)\nx = s")
    assert message.startswith("4:5: s is f32 before and i32 after in a run-time loop; it must keep its type")


def test_while():
    assert (
        run(
            (
                "x = i64(27)\nn = i64(0)\nwhile x != 1:\n    x = 3 * x + 1 if x % 2 == 1 else x // 2\n"
                "    n = n + 1\nout[0] = n"
            ),
            ("i64", (1,)),
        )[0]
        == 111
    )
    assert run("k = 0\nwhile k < 5:\n    k = k + 2\nout[0] = k.cast(i64)", ("i64", (1,)))[0] == 6
    assert run("k = 9\nwhile k < 5:\n    k = k + 2\nout[0] = k.cast(i64)", ("i64", (1,)))[0] == 9
    assert run("while False:\n    nonsense()\nout[0] = 4", ("i64", (1,)))[0] == 4
    body = "k = index(0)\nwhile (a[k] < 7) & (k < 9):\n    k = k + 1\nout[0] = k.cast(i64)"
    assert run(body, ("i64", (1,)), X)[0] == 6  # the condition loads anew each time


def test_a_while_that_is_known_to_be_false_leaves_nothing_behind():
    assert "scf.while" not in ir("x = o[0]\nwhile x != x and False:\n    x = x + 1\no[1] = x")


def test_unroll_over_numbers_and_sequences():
    assert run("s = 0\nfor i in unroll(5):\n    s = s + i\nout[0] = s", ("i64", (1,)))[0] == 10
    assert run("s = 0\nfor i in unroll(10, 0, -3):\n    s = s * 10 + i\nout[0] = s", ("i64", (1,)))[0] == 10741
    assert (
        run(
            "s = 0\nfor x, (y, z) in unroll(((1, (2, 3)), (4, (5, 6)))):\n    s = s + x * y * z\nout[0] = s",
            ("i64", (1,)),
        )[0]
        == 126
    )
    assert run("s = 0\nfor i, x in enumerate((7, 8)):\n    s = s + i * x\nout[0] = s", ("i64", (1,)))[0] == 8
    assert run("s = 0\nfor x, y in zip((1, 2), (3, 4)):\n    s = s + x * y\nout[0] = s", ("i64", (1,)))[0] == 11
    assert run("s = i64(0)\nfor x in unroll([i64(1), i64(5)]):\n    s = s + x\nout[0] = s", ("i64", (1,)))[0] == 6
    assert run("s = 0\nfor x in unroll(range(3, 6)):\n    s = s + x\nout[0] = s", ("i64", (1,)))[0] == 12


def test_break_and_continue_on_known_conditions():
    body = (
        "s = 0\nfor i in unroll(10):\n    if i == 2:\n        continue\n    if i == 5:\n"
        "        break\n    s = s * 10 + i\nout[0] = s"
    )
    assert run(body, ("i64", (1,)))[0] == 134
    body = (
        "s = 0\nfor i in unroll(3):\n    for j in unroll(3):\n        if j > i:\n"
        "            break\n        s = s * 10 + j\nout[0] = s"
    )
    assert run(body, ("i64", (1,)))[0] == 1012


def test_pure_work_leaves_the_loop_but_divisions_that_could_trap_stay():
    text = ir("for i in range(N):\n    o[i] = f32(index(N * 7 // 3) & 5) + 1.0")
    assert text.index("arith.muli") < text.index("scf.for")
    text = ir("k = index(o[0])\nfor i in range(N):\n    o[i] = f32(k // index(o[1]))")
    assert text.index("arith.floordivsi") > text.index("scf.for")
    body = "d = index(a[0])\nfor i in range(index(a[1])):\n    out[0] = (100 // d).cast(i64)"
    assert run(body, ("i64", (1,)), np.float32([0, 0]))[0] == 0  # no turn, no division by zero


def test_functions_that_could_trap_stay_in_their_loop():
    head = "@function\ndef ratio(x, y):\n    return x // y\n"
    body = "d = index(a[0])\nfor i in range(index(a[1])):\n    out[0] = ratio(index(100), d).cast(i64)"
    assert run(body, ("i64", (1,)), np.float32([0, 0]), head=head)[0] == 0
