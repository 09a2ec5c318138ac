"""Compile-time values: Python's own arithmetic, sequences and texts, within limits; and constants of a file."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.errors import KernelError
from compiler.language.values import static
from tests.compiler.language.drive import ARITHMETIC, COMPARISONS, body_error, elaborate, error, kernel, run, scalar

NUMBERS = st.one_of(st.integers(-50, 50), st.floats(-50, 50).map(lambda x: round(x, 2)), st.booleans())


def known(expression: str, head: str = "") -> object:
    """The value of a compile-time expression, read off a failing assertion."""
    message = body_error(f"assert False, ({expression},)", head=head)
    return eval(message.split("assertion failed: ")[1], {"nan": math.nan, "inf": math.inf})[0]


def expressions() -> st.SearchStrategy[str]:
    literals = st.one_of(NUMBERS.map(repr), st.sampled_from(["(1, 2)", "(1, 2.5)", "[3]", "()", "'ab'", "''", "None"]))

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        signs = st.sampled_from([*ARITHMETIC, *COMPARISONS, "and", "or"])
        return st.one_of(
            st.tuples(inner, signs, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
            st.tuples(st.sampled_from(["-", "+", "~", "not "]), inner).map(lambda t: f"({t[0]}{t[1]})"),
            st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
            st.tuples(inner, inner).map(lambda t: f"({t[0]}, {t[1]})"),
            st.tuples(inner, st.integers(-3, 3)).map(lambda t: f"({t[0]},)[{t[1]}]"),
            st.tuples(inner, inner).map(lambda t: f"[{t[0]} for k in range(3) if {t[1]}]"),
        )

    return st.recursive(literals, grow, max_leaves=6)


@settings(max_examples=300, deadline=None)
@given(expression=expressions())
def test_known_values_are_computed_as_python_computes_them(expression):
    try:
        expected = eval(expression)
    except (TypeError, ZeroDivisionError, ValueError, OverflowError, IndexError):
        expected = KernelError
    try:
        got = known(expression)
    except AssertionError:
        raise
    except (SyntaxError, IndexError, ValueError):
        got = KernelError  # the expression itself was refused
    if expected is KernelError or isinstance(expected, complex):
        assert got is KernelError or expected is not KernelError
    elif got is not KernelError:  # what the language refuses besides is listed below
        assert repr(got) == repr(expected)


@pytest.mark.parametrize(
    "expression, value",
    [
        ("7 // -2", -4),
        ("-7 % 3", 2),
        ("2 ** 10", 1024),
        ("2 ** -1", 0.5),
        ("1 / 4", 0.25),
        ("~5", -6),
        ("1 << 8", 256),
        ("(1, 2) + (3,)", (1, 2, 3)),
        ("[1] * 3", [1, 1, 1]),
        ("3 * (1, 2)", (1, 2, 1, 2, 1, 2)),
        ("'a' + 'b'", "ab"),
        ("(1, 2, 3)[-1]", 3),
        ("(1, 2, 3)[1:]", (2, 3)),
        ("[1, 2, 3][::-1]", [3, 2, 1]),
        ("'abc'[1]", "b"),
        ("2 in (1, 2)", True),
        ("'b' not in 'abc'", False),
        ("None is None", True),
        ("(1, 2) == (1, 2)", True),
        ("(1, 2) == [1, 2]", False),
        ("(1, 2) < (1, 3)", True),
        ("f32 == f32", True),
        ("f32 == f64", False),
        ("[x * y for x in range(3) for y in range(x)]", [0, 0, 2]),
        ("[x for x in range(10) if x % 3 == 0]", [0, 3, 6, 9]),
        ("[y for x in ((1, 2), (3, 4)) for y in unroll(x)]", [1, 2, 3, 4]),
        ("[a + b for a, b in zip((1, 2), (3, 4))]", [4, 6]),
        ("len((1, 2))", 2),
        ("len(range(5))", 5),
        ("tuple([1, 2])", (1, 2)),
        ("list((1,))", [1]),
        ("tuple(range(2, 8, 3))", (2, 5)),
        ("tuple(enumerate((5, 6)))", ((0, 5), (1, 6))),
        ("tuple(zip((1, 2), (3, 4, 5)))", ((1, 3), (2, 4))),
        ("reversed((1, 2))", (2, 1)),
        ("sorted((3, 1, 2))", (1, 2, 3)),
        ("sum((1, 2, 3))", 6),
        ("any((0, 1))", True),
        ("all(())", True),
        ("int(3.7)", 3),
        ("int(-3.7)", -3),
        ("float(2)", 2.0),
        ("float('0x1p-3')", 0.125),
        ("float('1e3')", 1000.0),
        ("str(3) + str(2.5) + str(f32) + str((1, 'a'))", "32.5f32(1, 'a')"),
        ("f'{1 + 1}-{(2,)}-{None}'", "2-(2,)-None"),
        ("min(3, 1, 2)", 1),
        ("max((1, 5))", 5),
        ("abs(-4)", 4),
        ("min(1, f32.nan) != min(1, f32.nan)", True),
        ("fmin(1, f32.nan)", 1),
        ("fmax(f32.nan, 2)", 2),
        ("ceildiv(7, 2)", 4),
        ("static(5)", True),
        ("is_static((1, 2))", True),
        ("static(N)", False),
        ("1 if 2 > 1 else undefined_name", 1),
        ("True and 5", 5),
        ("0 or 'x'", "x"),
        ("not ()", True),
        ("(lambda x, y: x * y)(6, 7)", 42),
        ("[*(1, 2), *[3]]", [1, 2, 3]),
        ("(*(), 1)", (1,)),
    ],
)
def test_known_values(expression, value):
    got = known(expression)
    assert got == value and type(got) is type(value)


@pytest.mark.parametrize(
    "expression, message",
    [
        ("1 // 0", "int 1 // int 0: integer division or modulo by zero"),
        ("1.0 % 0", "float 1.0 % int 0: float modulo"),
        ("1 << -1", "negative shift count"),
        ("1 >> -1", "negative shift count"),
        ("1.5 << 2", "unsupported operand"),
        ("0 ** -1", "0 ** int -1"),
        ("(-8) ** 0.5", "a negative number has no such power"),
        ("10.0 ** 400", "Numerical result out of range"),
        ("10 ** 5000", "the result of a compile-time power is too large"),
        ("1 << 5000", "distance of a compile-time shift is too"),
        ("2 ** 4000 * 2 ** 4000", "more than 4096 bits"),
        ("'a' * 100000", "more than 65536 items"),
        ("(0,) * 40000 * 2", "more than 65536 items"),
        ("[0] * -1 + 1", "+ does not apply to list and int 1"),
        ("'%d' % 3", "% does not apply to str '%d' and int 3"),
        ("'a' < 1", "< does not apply"),
        ("(1,) < ('a',)", "< does not"),
        ("-'a'", "- does not apply to str 'a'"),
        ("~1.5", "~ does not apply to float 1.5"),
        ("(1, 2)[2]", "index 2 of 2 items"),
        ("(1, 2)[1.0]", "a compile-time index is needed"),
        ("(1, 2)[index(0)]", "a compile-time index is needed"),
        ("(1, 2)[::0]", "the step of a slice cannot be 0"),
        ("(1, 2)[:1.5]", "a slice needs compile-time bounds"),
        ("5[0]", "int 5 has no elements"),
        ("1 in 5", "`in` needs compile-time values"),
        ("1 in 'abc'", "`in` needs"),
        ("o[0] in (1, 2)", "`in` needs"),
        ("1 in (o[0], 2)", "`in` needs"),
        ("b'x'", "no bytes, complex or ... literals"),
        ("1j", "no bytes, complex"),
        ("...", "no bytes, complex"),
        ("{1: 2}", "no dict expression"),
        ("{1}", "no set expression"),
        ("(x := 3)", "no := expression"),
        ("[x async for x in (1,)]", "async"),
        ("{x for x in ()}", "no set comprehension"),
        ("{x: 1 for x in ()}", "no dict comprehension"),
        ("f(**{})", "unknown name f"),
        ("len(5)", "not a compile-time sequence"),
        ("len(o)", "Tensor is not a compile-time sequence"),
        ("sorted((1, 'a'))", "sorted needs compile-time numbers"),
        ("int('3')", "int() is for compile-time numbers"),
        ("int(f32.nan)", "int() is for"),
        ("float('x')", "is not a number"),
        ("float(10 ** 400)", "is not a number a float can hold"),
        ("abs('a')", "abs is not defined"),
        ("ceildiv(1, 0)", "positive divisor"),
        ("tuple(range(10 ** 12))", "more than 65536 numbers"),
        ("len(range(10 ** 30))", "more than 65536 numbers"),
        ("[x for x in range(10 ** 12)]", "more than 65536 numbers"),
        ("[0 for x in range(65536) for y in range(65536)]", "too many steps"),
        ("None.x", "None has no attribute x"),
        ("(1).real", "int 1 has no attribute real"),
        ("'a'.upper()", "has no attribute upper"),
        ("[].append(1)", "lists do not grow in place"),
        ("f32.__class__", "has no attribute __class__"),
        ("5()", "int 5 cannot be called"),
        ("*o", "no * expression"),
        ("(*5,)", "only a tuple or list can be spread"),
        ("target.nothing", "the target has no attribute"),
        ("@", "syntax error"),
        ("1 +", "syntax error"),
        ("undefined", "unknown name undefined"),
    ],
)
def test_what_known_values_refuse(expression, message):
    assert message in body_error(f"x = {expression}")


def test_values_cannot_double_without_end():
    assert "more than 65536 items" in body_error("x = (1,)\nfor i in unroll(64):\n    x = (x, x)")
    assert "more than 65536 items" in body_error("x = [1]\nfor i in unroll(64):\n    x = [*x, *x]")
    assert "more than 65536 items" in body_error("x = [1, 2]\nfor i in unroll(64):\n    x[0] = x\n    x[1] = x")
    assert "more than 65536 characters" in body_error("x = 'a'\nfor i in unroll(64):\n    x = x + x")
    assert "more than 65536 characters" in body_error("x = 'a'\nfor i in unroll(64):\n    x = f'{x}{x}'")
    assert "more than 4096 bits" in body_error("x = 3\nfor i in unroll(64):\n    x = x * x")
    assert "too large" in body_error("x = N\nfor i in unroll(64):\n    x = x * (x + 1)")
    assert "too large" in body_error("x = N\nfor i in unroll(64):\n    x = x // (x + 7)")
    assert "too many steps" in body_error("for i in unroll(60000):\n    for j in unroll(60000):\n        pass")


def test_assert_and_error():
    assert body_error("assert 1 > 2") == "1:1: assertion failed: 1 > 2"
    assert body_error("assert False, f'width {3}\\nis odd'") == "1:1: assertion failed: width 3 is odd"
    assert body_error("assert o[0] > 0").endswith("assert needs a compile-time condition")
    assert body_error("error('no\\nway')") == "1:1: no way"
    assert len(body_error("error('x' * 5000)")) < 500
    run("assert True, nothing\nout[0] = 1", ("i64", (1,)))


# Constants of a file


def test_constants():
    head = '"""A file."""\nfrom somewhere import *\n'
    head += "K = 4\nSHAPE: tuple = (K, K * 2)\nA = B = 7\nNAMES = [\n    'x',\n    'y',\n]\n"
    assert scalar("K + SHAPE[1] + A + B + len(NAMES)", head=head) == 28
    assert run("out.store(iota(i64, K), 0)", ("i64", (4,)), head="K = 2 + 2\n").tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "line, message",
    [
        ("X = 1 // 0", "1:5: int 1 // int 0"),
        ("X = f32(0)", "1:5: a constant of a file is a compile-time value"),
        ("X = zeros(f32, 4)", "1:5: a constant of a file"),
        ("X = stack(f32, 4)", "1:5: a constant of a file"),
        ("X = target.is_cpu", "1:5: unknown name target"),
        ("X = thread_index()", "1:5: a constant of a file"),
        ("X = launch(blocks=1, threads=2)", "1:5: a constant of a file"),
        ("X = f(1)", "1:5: unknown name f"),
        ("if True:\n    X = 1", "1:1: only functions and constants may stand at the top of a kernel file"),
        ("class X:\n    pass", "1:1: only functions and constants"),
        ("for i in range(3):\n    pass", "1:1: only functions and"),
        ("async def f():\n    pass", "1:1: only functions and constants"),
        ("X = (", "1:5: syntax error: '(' was never closed"),
        ("X = None.y", "1:5: None has no attribute y"),
        ("def f(x):\n    return x", "1:1: f needs one decorator"),
    ],
)
def test_constants_that_cannot_be(line, message):
    source = f"{line}\n{kernel('o[0] = 1.0', 'o: Tensor[f32, (N,)]')}"
    if line.startswith("def f"):
        source = source.replace("o[0] = 1.0", "o[0] = f(1.0)")
    problem = error(source)
    assert f"{problem.location.line}:{problem.location.column}: {problem.message}".startswith(message)  # pyright: ignore[reportOptionalMemberAccess]


def test_a_file_is_cut_at_its_statements_whatever_they_look_like():
    sources = [
        'A = """one\nX = two\n"""\n',
        "A = '''\ndef f(x):\n    pass\n'''\n",
        "A = (\n1,\n2,\n)\n",
        "A = 1 + \\\n2\n",
        '@inline\ndef f(x):\n    """Doc\nat the margin.\n"""\n    return x\nA = 1\n',
        '# """ in a comment\nA = 1\n',
        "A = 1; B = 2\n",
        "@inline\ndef f(\nx,\n):\n    return x\nA = 1\n",
        "A = 1\r\nB = 2\r\n",
    ]
    for head in sources:
        module, _ = elaborate(head + kernel("o[0] = f32(1 if A else 0)", "o: Tensor[f32, (N,)]"))
        assert module is not None


def test_sizes_compare_where_it_can_be_decided():
    assert static.never_negative(3) and not static.never_negative(-1)
    assert run("out[0] = 1 if a.shape[0] + 1 > a.shape[0] else 2", ("i64", (1,)), np.zeros(3, np.float32))[0] == 1
