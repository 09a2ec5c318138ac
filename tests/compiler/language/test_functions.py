"""Functions, outlined functions, closures and lambdas: what is shared or inlined, how arguments meet parameters."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from compiler.dialects import kgen
from compiler.language.syntax.functions import Frame
from tests.compiler.language.drive import body_error, elaborate, error, kernel, library, lower, run, scalar, text

SQUARE = "@function\ndef square(x, *, times=1):\n    for _ in unroll(times):\n        x = x * x\n    return x\n"
X = np.arange(1, 9, dtype=np.float32)


def instances(source: str, **options: object) -> list[kgen.FuncOp]:
    module, _ = elaborate(source, **options)  # pyright: ignore[reportArgumentType]
    return [op for op in kgen.functions(module) if op.kernel is None]


def test_a_function_is_instantiated_once_for_each_types_and_parameters():
    body = """
o[0] = square(o[1]) + square(o[2])
o.store(square(o.load(4, width=4)), 0)
o.store(square(o.load(8, width=4)), 0)
o[0] = square(o[1], times=2)
o[0] = square(f64(o[1])).cast(f32)
"""
    found = instances(kernel(body, "o: Tensor[f32, (N,)]", SQUARE))
    assert [op.sym_name.data for op in found] == ["square_f32", "square_f32x4", "square_f32_2", "square_f64"]
    assert {op.generator.data for op in found} == {"square"}


def test_kernels_of_one_module_share_functions():
    from compiler.language.elaborate import Elaborator
    from compiler.language.kernel import KernelSource
    from compiler.targets import get_target

    elaborator = Elaborator(library(SQUARE), get_target("cpu"))
    for name in ("one", "two"):
        elaborator.add(KernelSource(name, f"@kernel\ndef {name}(o: Tensor[f32, (4,)]):\n    o[0] = square(o[1])\n"))
    names = [op.sym_name.data for op in kgen.functions(elaborator.module())]
    assert sorted(names) == ["one", "square_f32", "two"]


def test_equal_calls_are_made_once_and_leave_loops():
    body = "for i in range(N):\n    o[i] = square(o.dtype(N)) + square(o.dtype(N))"
    module, _ = elaborate(kernel(body, "o: Tensor[f32, (N,)]", SQUARE))
    shown = text(module)
    assert shown.count("kgen.call") == 1 and shown.index("kgen.call") < shown.index("scf.for")


def test_symbols_never_collide():
    head = "@function\ndef f(x, *, k=(1,)):\n    return x + k[0]\n@function\ndef f_f32_2(x):\n    return x * 7\n"
    source = kernel(
        "o[0] = f(o[0], k=(1,)) + f(o[0], k=(2,)) + f_f32_2(o[0]) + f(o[0], k=(3,))", "o: Tensor[f32, (N,)]", head
    )
    names = [op.sym_name.data for op in instances(source)]
    assert len(names) == len(set(names)) == 4
    got = run("out[0] = f(a[0], k=(1,)) + f(a[0], k=(2,)) + f_f32_2(a[0])", ("f32", (1,)), X, head=head)
    assert got[0] == 1 + 1 + 1 + 2 + 7


def test_a_function_returns_a_value_or_a_tuple_of_values():
    head = "@function\ndef both(x, y):\n    return x + y, x - y\n@function\ndef one(x):\n    return (x,)\n"
    assert run("p, q = both(a[4], a[1])\nout[0] = p * q + one(a[0])[0]", ("f32", (1,)), X, head=head)[0] == 22


@pytest.mark.parametrize(
    "definition, call, message",
    [
        ("def f(x):\n    pass", "f(o[0])", "f must return run-time values on every way, not None"),
        ("def f(x):\n    return 3", "f(o[0])", "f must return run-time values on every way, not int 3"),
        ("def f(x):\n    return ()", "f(o[0])", "f must return run-time values"),
        ("def f(x):\n    return x, 1", "f(o[0])", "f must return run-time values"),
        ("def f(x):\n    return x", "f(o)", "Tensor cannot be passed to a @function; make it @inline"),
        ("def f(x):\n    return x", "f(lambda y: y)", "a function cannot be passed to a @function"),
        ("def f(x):\n    return x", "f()", "f lacks its argument x"),
        ("def f(x):\n    return x", "f(o[0], o[1])", "f takes 1 arguments, not 2"),
        ("def f(x):\n    return x", "f(o[0], k=1)", "f has no parameter k"),
        ("def f(x, *, k):\n    return x", "f(o[0])", "f lacks its parameter k"),
        ("def f(x, *, k):\n    return x", "f(o[0], k=o[1])", "f32 cannot be passed to a @function"),
        ("def f(x):\n    return f(x)", "f(o[0])", "f calls itself without end"),
        (
            "def f(x):\n    return x + thread_index().cast(f32)",
            "f(o[0])",
            "thread_index() belongs in a kernel, not in a @function",
        ),
        ("def f(x):\n    barrier()\n    return x", "f(o[0])", "barrier() belongs in a kernel"),
        ("def f(x):\n    return x * N", "f(o[0])", "unknown name N"),
    ],
)
def test_what_functions_refuse(definition, call, message):
    assert message in body_error(f"y = {call}", head=f"@function\n{definition}\n")


def test_functions_compute_with_parameters_of_every_kind():
    head = "@function\ndef f(x, *, a, b, c, d, e):\n    return x * a + b + len(c) + (1 if d else 0) + e.bits\n"
    assert (
        run("out[0] = f(a[0], a=2, b=0.5, c=(1, 2), d='t', e=i16)", ("f32", (1,)), X, head=head)[0]
        == 2 + 0.5 + 2 + 1 + 16
    )


# Inline functions and their arguments


def test_inline_functions_take_anything():
    head = (
        "@inline\ndef apply(f, t, pair, *rest, scale=2, name='x'):\n"
        "    return f(t[pair[0]]) * scale + len(rest) + (10 if name == 'y' else 0)\n"
    )
    assert run("out[0] = apply(lambda v: v + 1, a, (3, 4))", ("f32", (1,)), X, head=head)[0] == 10
    assert run("out[0] = apply(lambda v: v, a, (3, 4), 5, 6, scale=3, name='y')", ("f32", (1,)), X, head=head)[0] == 24
    assert run("out[0] = apply(lambda v: v, t=a, pair=(3,))", ("f32", (1,)), X, head=head)[0] == 8
    assert run("xs = (5, 6)\nout[0] = apply(lambda v: v, a, *[(0,)], *xs)", ("f32", (1,)), X, head=head)[0] == 4


def test_defaults_are_evaluated_in_the_function_that_has_them():
    files = library(
        "K = 5\n@inline\ndef f(x, *, k=K * 2):\n    return x + k\n", "K = 100\n@inline\ndef g(x):\n    return f(x)\n"
    )
    module, _ = elaborate(kernel("o[0] = g(o[0])", "o: Tensor[f32, (N,)]"), library=files)
    assert "1.000000e+01" in text(module)


def test_errors_in_defaults_and_callees_are_placed_where_they_are():
    files = library(
        "\n\n@inline\ndef f(x, *, k=1 + None):\n    return x\n",
        "@inline\ndef g(x):\n    y = x\n    return y + (1, 2)\n",
    )
    problem = error(kernel("o[0] = f(o[0])", "o: Tensor[f32, (N,)]"), library=files)
    assert str(problem) == "library0.py:4:15: + does not apply to int 1 and None"
    problem = error(kernel("o[0] = g(o[0])", "o: Tensor[f32, (N,)]"), library=files)
    assert str(problem) == "library1.py:4:12: +: tuple and f32 do not mix"


def test_elementwise_functions_compute_16_bit_floats_in_f32():
    body = "(x, y):\n    return (x + y) - x\n"
    head = f"@elementwise('x.f')\ndef f{body}@elementwise('x.g', raw=True)\ndef g{body}"
    small = np.array([2048, 1], np.float16)
    assert run("out[0] = f(a[0], a[1])", ("f16", (1,)), small, head=head)[0] == 1
    assert run("out[0] = g(a[0], a[1])", ("f16", (1,)), small, head=head)[0] == 0
    assert run("out[0] = f(a[0], a[1]) > 0", ("bool", (1,)), small, head=head)[0]


# Outlined functions

ADD_ROWS = (
    "@outlined\ndef add_rows(target, source, count, *, factor=1):\n"
    "    for i in range(count):\n        target[i] = target[i] + source[i] * factor\n"
)


def test_an_outlined_function_takes_arrays_of_any_length_and_is_shared():
    body = """
one, two = stack(f32, 4), stack(f32, 8)
for i in range(4):
    one[i] = a[i]
for i in range(8):
    two[i] = f32(0)
add_rows(two, one, index(4))
add_rows(two, two, index(8))
add_rows(out, two, index(8))
for i in range(4):
    out[i] = out[i] * 10
"""
    got = run(body, ("f32", (8,)), X, head=ADD_ROWS)
    np.testing.assert_array_equal(got, [20, 40, 60, 80, 0, 0, 0, 0])
    source = kernel(body, "out: Tensor[f32, (8,)], a: Tensor[f32, (8,)]", ADD_ROWS)
    (instance,) = instances(source)
    assert instance.outlined is not None
    shown = text(lower(elaborate(source)[0]))
    assert shown.count("call @add_rows") == 3 and shown.count("kg.outlined") == 1


def test_calls_of_outlined_functions_stay_even_where_their_values_go_unused():
    head = "@outlined\ndef bump(t, i):\n    t[i] = t[i] + 1\n    return t[i]\n"
    body = (
        "row = stack(i64, 2)\nrow[0] = 5\nbump(row, index(0))\nx = bump(row, index(0))\n"
        "out[0] = row[0] * 100 + bump(row, index(0))"
    )
    assert run(body, ("i64", (1,)), head=head)[0] == 708


def test_outlined_functions_instantiate_for_each_dtype_and_parameter():
    body = (
        "s = stack(f32, 4)\nt = stack(f64, 4)\nadd_rows(s, s, index(4))\n"
        "add_rows(t, t, index(2))\nadd_rows(s, s, index(2), factor=3)"
    )
    assert len(instances(kernel(body, "o: Tensor[f32, (N,)]", ADD_ROWS))) == 3


@pytest.mark.parametrize(
    "call",
    [
        "add_rows(o.reshape((2, 2)), o, index(1))",
        "add_rows(o.slice((1,), (1,), (2,)), o, index(1))",
        "add_rows(o.slice((0,), (2,), (2,)), o, index(1))",
    ],
)
def test_outlined_functions_take_whole_arrays(call):
    assert "takes whole one-dimensional arrays" in body_error(call, "o: Tensor[f32, (4,)]", ADD_ROWS)


# Closures


def test_closures_see_the_current_values_around_them():
    assert run("k = i64(1)\ndef f(x):\n    return x * 10 + k\nk = i64(5)\nout[0] = f(i64(2))", ("i64", (1,)))[0] == 25
    assert (
        run("def f(x):\n    def g(y):\n        return y + x\n    return g\nout[0] = f(i64(2))(i64(40))", ("i64", (1,)))[
            0
        ]
        == 42
    )
    assert (
        run("fs = [lambda x: x + k for k in range(3)]\nout[0] = fs[0](i64(10))", ("i64", (1,)))[0] == 12
    )  # as in Python
    assert run("def f(n):\n    return 1 if n <= 1 else n * f(n - 1)\nout[0] = f(10)", ("i64", (1,)))[0] == 3628800


def test_closures_have_variables_of_their_own():
    assert (
        run(
            "x = i64(1)\ndef f():\n    x = i64(2)\n    x = x + 1\n    return x\ny = f()\nout[0] = x * 10 + y",
            ("i64", (1,)),
        )[0]
        == 13
    )
    assert (
        run(
            (
                "s = i64(0)\ndef f(n):\n    s = i64(0)\n    for i in range(n):\n        s = s + 2\n"
                "    return s\nout[0] = f(4) + s"
            ),
            ("i64", (1,)),
        )[0]
        == 8
    )


@pytest.mark.parametrize(
    "body, place",
    [
        ("s = f32(0)\ndef f():\n    s = s + 1\nf()", "3:9"),
        ("s = f32(0)\ndef f():\n    s += 1\nf()", "3:5"),
        ("s = [f32(0)]\ndef f():\n    s[0] = f32(1)\nf()", "3:5"),
        ("s = zeros(f32, 4)\ndef f():\n    s[0] = 1\nf()", "3:5"),
        ("s = f32(0)\ndef f():\n    for i in range(4):\n        s = s + 1\nf()", "4:13"),
    ],
)
def test_closures_cannot_change_variables_around_them(body, place):
    assert body_error(body) == f"{place}: s belongs to the enclosing function; a nested function cannot change it"


def test_closures_store_into_tensors_around_them():
    body = (
        "row = stack(f32, 4)\ndef put(i, v):\n    row[i] = v\nfor i in range(4):\n"
        "    put(i, a[i])\nout[0] = row.load(0, width=4).sum()"
    )
    assert run(body, ("f32", (1,)), X)[0] == 10


@pytest.mark.parametrize(
    "definition",
    [
        "def f(x=1):\n    return x",
        "def f(**k):\n    return 1",
        "def f(x, /):\n    return x",
        "@inline\ndef f(x):\n    return x",
    ],
)
def test_nested_functions_take_plain_arguments(definition):
    assert "a nested function takes plain arguments" in body_error(definition)


def test_two_arguments_of_one_name():
    assert body_error("def f(x, x):\n    return x") == "1:10: two arguments are called x"
    assert error("@kernel\ndef kernel(x: Tensor[f32, (4,)], x: Tensor[f32, (4,)]):\n    pass\n").message.startswith(
        "two arguments"
    )


def test_recursion_on_known_values_ends():
    head = "@inline\ndef fib(n):\n    if n < 2:\n        return n\n    return fib(n - 1) + fib(n - 2)\n"
    assert scalar("fib(12)", head=head) == 144
    assert "fib calls itself without end" in body_error("x = fib(10 ** 6)", head=head)


def test_elaborated_functions_leave_nothing_for_the_collector():
    body = "def outer(x):\n    def inner(y):\n        return x + y\n    return inner\no[0] = outer(o[0])(o[1])"
    source = kernel(body, "o: Tensor[f32, (N,)]")
    elaborate(source)
    gc.collect()
    gc.disable()
    try:
        before = sum(isinstance(held, Frame) for held in gc.get_objects())
        elaborate(source)
        assert sum(isinstance(held, Frame) for held in gc.get_objects()) == before
    finally:
        gc.enable()


HALVE = "@outlined\ndef halve(n, by):\n    return n // by, n - by\n"


def test_a_function_given_counts_divides_without_looking_at_signs():
    body = """
for i in range(N):
    q, rest = halve(i, index(2))
    o[q // 3 + 9] = f32(1)
    o[rest // 3 + 9] = f32(2)
"""
    module, _ = elaborate(kernel(body, "o: Tensor[f32, (N,)]", HALVE))
    shown = text(module)
    assert shown.count("arith.divui") == 2  # in the function, and of its result that is a count
    assert shown.count("arith.floordivsi") == 1


def test_calls_with_counts_and_with_signs_are_both_right():
    body = "for i in range(8):\n    out[i] = (halve(i, index(2))[0] * 100 + halve(i - 5, index(2))[0]).cast(i64)"
    x = np.arange(8)
    np.testing.assert_array_equal(run(body, ("i64", (8,)), head=HALVE), x // 2 * 100 + (x - 5) // 2)
    source = kernel(
        "o[halve(index(N) - 5, index(2))[0] + halve(index(N), index(2))[0] + 9] = f32(1)", "o: Tensor[f32, (N,)]", HALVE
    )
    assert len(instances(source)) == 2  # one for counts, one for any


def test_an_input_knows_whether_its_elements_take_a_loop_of_their_own():
    head = """
@inline
def until(x):
    while x.any():
        x = x & (x != x)
    return x
@inline
def through(x):
    return until(x > 0).cast(f32)
@inline
def plain(x):
    return x + 1 if x.width == 1 else plain(x[0])
"""
    for function, expected in (("through", 1), ("plain", 0)):
        asked = f"1 if FusedInput(lambda at: {function}(a[at]), f32, (8,)).iterates else 0"
        assert scalar(asked, "i64", X, head=head) == expected
    assert scalar("1 if a.iterates else 0", "i64", X) == 0
