"""`if`: decided while elaborating, or merged at run time; and where `return` may stand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.compiler.language.drive import body_error, ir, run, scalar

ONE, TWO = np.float32([1]), np.float32([-1])


def both(body: str, head: str = "", dtype: str = "i64") -> tuple[object, object]:
    """What a body stores when a[0] > 0, and when it is not."""
    return tuple(run(body, (dtype, (1,)), a, head=head)[0] for a in (ONE, TWO))  # pyright: ignore[reportReturnType]


def test_a_known_condition_leaves_one_arm_and_never_looks_at_the_other():
    text = ir("if N == N:\n    o[0] = 1.0\nelse:\n    this_name_does_not_exist()")
    assert "scf.if" not in text
    assert scalar("10", head="X = 3\n") == 10
    assert (
        run(
            "if X > 2:\n    out[0] = 1\nelif X > 1:\n    out[0] = 2\nelse:\n    nonsense + 1",
            ("i64", (1,)),
            head="X = 3\n",
        )[0]
        == 1
    )


@pytest.mark.parametrize(
    "value, taken", [("()", 2), ("(0,)", 1), ("None", 2), ("'a'", 1), ("''", 2), ("0.0", 2), ("f32", 1)]
)
def test_known_conditions_have_pythons_truth(value, taken):
    assert run(f"if {value}:\n    out[0] = 1\nelse:\n    out[0] = 2", ("i64", (1,)))[0] == taken


def test_variables_assigned_in_arms_are_merged():
    assert both("x = i64(1)\nif a[0] > 0:\n    x = x + 10\nout[0] = x") == (11, 1)
    assert both("if a[0] > 0:\n    x = i64(5)\nelse:\n    x = i64(7)\nout[0] = x") == (5, 7)
    assert both("x = i64(0)\nif a[0] > 0:\n    x = i64(5)\nelif a[0] > -5:\n    x = i64(6)\nout[0] = x") == (5, 6)


def test_numbers_that_differ_become_positions_and_those_that_agree_stay_known():
    assert both("if a[0] > 0:\n    k = 3\nelse:\n    k = 4\nout[0] = k.cast(i64)") == (3, 4)
    assert both("k = 3\nif a[0] > 0:\n    k = 3\nout[0] = stack(f32, k).size") == (3, 3)
    assert both("t = (3, 4)\nif a[0] > 0:\n    t = (3, 5)\nout[0] = stack(f32, t[0]).size + t[1].cast(i64)") == (8, 7)
    assert both("f = True\nif a[0] > 0:\n    f = False\nout[0] = f.cast(i64)") == (0, 1)


def test_a_literal_takes_the_type_of_the_other_arm():
    assert both("x = f32(2)\nif a[0] > 0:\n    x = 0.5\nout[0] = x", dtype="f32") == (0.5, 2)
    assert both("if a[0] > 0:\n    x = 1\nelse:\n    x = i64(9)\nout[0] = x") == (1, 9)
    assert both("x = zeros(i64, 4)\nif a[0] > 0:\n    x = 3\nout[0] = x.sum()") == (12, 0)
    assert both("x = i64(1)\nif a[0] > 0:\n    x = splat(x, 4)\nout[0] = x.sum()") == (4, 4)  # a scalar widens


def test_tuples_lists_and_positions_merge_part_by_part():
    assert both("x = [i64(1), i64(2)]\nif a[0] > 0:\n    x[1] = 5\nout[0] = x[0] * 10 + x[1]") == (15, 12)
    assert both("p = position((0, 1))\nif a[0] > 0:\n    p = position((0, 2))\nout[0] = p[1].cast(i64)") == (2, 1)
    assert both("x, y = i64(1), i64(2)\nif a[0] > 0:\n    x, y = y, x\nout[0] = x * 10 + y") == (21, 12)


@pytest.mark.parametrize(
    "body, message",
    [
        ("if o[0] > 0:\n    x = 1\no[0] = x", "3:8: x has no value on every way to this line"),
        (
            "x = f32(0)\nif o[0] > 0:\n    x = f64(0)\ny = x",
            "4:5: x is f64 on one way to this line and f32 on the other",
        ),
        (
            "x = f32(0)\nif o[0] > 0:\n    x = i32(0)\ny = x",
            "4:5: x is i32 on one way to this line and f32 on the other",
        ),
        ("x = 1.5\nif o[0] > 0:\n    x = 2.5\ny = x", "4:5: x is float 2.5 on one way to this line and float 1.5"),
        ("x = None\nif o[0] > 0:\n    x = o[0]\ny = x", "4:5: x is f32 on one way to this line and None on the other"),
        ("x = (1, 2)\nif o[0] > 0:\n    x = (1, 2, 3)\ny = x", "4:5: x is tuple on one way to this line and tuple"),
        ("x = True\nif o[0] > 0:\n    x = 5\ny = x", "4:5: x is int 5 on one way to this line and bool True"),
        (
            "x = position((0,), width=2)\nif o[0] > 0:\n    x = position((0,), width=4)\ny = x",
            "4:5: x is a position on",
        ),
        ("x = o.load(0, width=2)\nif o[0] > 0:\n    x = o.load(0, width=4)\ny = x", "4:5: x is SIMD[f32, 4] on one"),
        ("if o[0]:\n    pass", "1:1: the condition of if must be one bool, not f32; use .any() or .all()"),
        ("if o.load(0, width=4) > 0:\n    pass", "1:1: the condition of if must be one bool, not SIMD[bool, 4]"),
    ],
)
def test_values_that_cannot_be_one(body, message):
    assert body_error(body).startswith(message)


def test_a_variable_that_differs_may_go_unused():
    assert both("x = 1.5\nif a[0] > 0:\n    x = 2.5\nx = i64(4)\nout[0] = x") == (4, 4)


def test_what_is_computed_in_an_arm_stays_in_it():
    # A symbolic size is a run-time value: computed for an arm, it is not there for what follows.
    body = "if o[0] > 0:\n    o[(N // 3) * 2] = 1.0\no[(N // 3) * 2] = 2.0"
    assert ir(body).count("arith.divui") == 2
    x = np.zeros(10, np.float32)
    run("if b[0] > 0:\n    out[1] = 1.0\nout[(b.shape[0] // 3)] = 2.0", ("f32", (4,)), ONE, x)


def test_no_operation_leaves_an_arm():
    text = ir("x = o[0]\nif x > 0:\n    o[1] = x * x\no[2] = x * x")
    assert text.count("arith.mulf") == 2  # the one in the arm is not seen outside


def test_arms_see_and_reuse_what_came_before():
    assert ir("x = o[0]\no[2] = x * x\nif x > 0:\n    o[1] = x * x").count("arith.mulf") == 1


# Returns

EARLY = """
@inline
def f(x, *, known):
    if known:
        return i64(100)
    if x > 0:
        return i64(1)
    y = i64(2)
    return y
"""


def test_early_returns():
    assert both("out[0] = f(a[0], known=False)", EARLY) == (1, 2)
    assert both("out[0] = f(a[0], known=True)", EARLY) == (100, 100)


def test_a_return_in_an_arm_inside_known_branches():
    head = (
        "@inline\ndef f(x):\n    if True:\n        if x > 0:\n            return i64(1)\n"
        "        y = i64(5)\n    z = y + 1\n    return z\n"
    )
    assert both("out[0] = f(a[0])", head) == (1, 6)


def test_a_kernel_that_returns_early_still_does_the_rest_on_the_other_way():
    assert both("if True:\n    if a[0] > 0:\n        return\nout[0] = 3") == (0, 3)
    assert both("out[0] = 1\nif a[0] > 0:\n    return\nout[0] = 2") == (1, 2)
    assert both("if a[0] > 0:\n    out[0] = 1\n    return\nelse:\n    out[0] = 2\n    return") == (1, 2)


def test_nested_returns_on_every_way():
    head = (
        "@inline\ndef f(x):\n    if x > 0:\n        if x > 2:\n            return i64(1)\n        elif x > 0.5:\n"
        "            pass\n        else:\n            return i64(2)\n"
        "    elif x < -2:\n        return i64(3)\n    return i64(4)\n"
    )
    got = [run("out[0] = f(a[0])", ("i64", (1,)), np.float32([x]), head=head)[0] for x in (3, 1, 0.2, -3, -1)]
    assert got == [1, 4, 2, 3, 4]


def test_returned_tuples_merge():
    head = "@inline\ndef f(x):\n    if x > 0:\n        return x, i64(1)\n    return -x, i64(2)\n"
    assert both("x, y = f(a[0])\nout[0] = y + x.cast(i64) * 10", head) == (11, 12)


@pytest.mark.parametrize(
    "body, message",
    [
        (
            "def f(x):\n    if x > 0:\n        return f32(1)\ny = f(o[0])",
            "2:5: the result is f32 on one way to this line and None",
        ),
        (
            "def f(x):\n    if x > 0:\n        return f32(1)\n    return f64(1)\ny = f(o[0])",
            "2:5: the result is f32 on one way",
        ),
        ("for i in range(5):\n    return", "1:1: return inside a run-time loop"),
        ("for i in range(5):\n    if o[0] > 0:\n        return", "2:5: return inside a run-time loop"),
        ("while o[0] > 0:\n    return", "1:1: return inside a run-time loop"),
        (
            "for i in range(5):\n    for j in unroll(2):\n        if o[0] > 0:\n            return",
            "3:9: return inside a run-time",
        ),
    ],
)
def test_returns_that_cannot_be(body, message):
    assert body_error(body).startswith(message)


def test_an_unrolled_loop_may_be_left_by_a_known_return():
    head = "@inline\ndef f(xs):\n    for x in unroll(xs):\n        if x > 3:\n            return x\n    return 0\n"
    assert scalar("f((1, 2, 4, 8)) * 10 + f((1,))", head=head) == 40


FIRST_LARGE = """
@inline
def first_large(x, limits):
    for k, limit in enumerate(limits):
        if x > limit:
            return index(k) + 10
    return index(99)
"""


def test_an_unrolled_loop_is_left_by_a_return_that_the_run_decides():
    for value, found in ((7, 10), (4, 11), (2, 12), (0, 99)):
        assert scalar("first_large(a[0], (5, 3, 1)).cast(i64)", "i64", np.int64([value]), head=FIRST_LARGE) == found


def test_what_follows_an_unrolled_loop_is_done_where_it_was_not_left():
    head = """
@inline
def steps(x, y):
    seen = i64(0)
    for row in unroll(3):
        for column in unroll(3):
            if column == 2:
                break
            if row == column:
                continue
            seen = seen * 10 + (row * 3 + column)
            if x == seen:
                return seen + 1000
            if y == row:
                seen = seen + 1
        seen = seen + 1
    seen = seen * 10
    if y > 100:
        return -seen
    return seen
"""

    plain = {"inline": lambda function: function, "i64": int, "unroll": range}
    exec(head, plain)  # to Python the same text says the same
    for x, y in [(-1, 9), (1, 9), (23, 9), (-1, 0), (-1, 1), (-1, 2), (236, 9), (2366, 9), (-1, 101), (33, 0)]:
        got = scalar("steps(a[0], a[1])", "i64", np.int64([x, y]), head=head)
        assert got == plain["steps"](x, y), (x, y)


def test_a_kernel_is_left_from_an_unrolled_loop():
    body = "for i in unroll(4):\n    if a[i] < 0:\n        return\n    out[i] = a[i] + 1\nout[4] = 1"
    assert run(body, ("i64", (5,)), np.int64([1, 2, -1, 4])).tolist() == [2, 3, 0, 0, 0]
    assert run(body, ("i64", (5,)), np.int64([1, 2, 3, 4])).tolist() == [2, 3, 4, 5, 1]
