"""Sizes that are known only when a kernel runs: in shapes, in arithmetic, in comparisons."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.graph.dtypes import numpy_dtype
from tests.compiler.language.drive import body_error, compiled, elaborate, error, ir, kernel

ARGUMENTS = "out: Tensor[i64, (8,)], a: Tensor[f32, (M,)], b: Tensor[f32, (N, 4)]"


def values(body: str, m: int, n: int) -> list[int]:
    out = np.zeros(8, np.int64)
    compiled(kernel(body, ARGUMENTS))(out, np.zeros(m, np.float32), np.zeros((n, 4), np.float32))
    return out.tolist()


def test_sizes_are_run_time_values_wherever_one_is_needed():
    body = """
out[0] = index(M).cast(i64)
out[1] = (M * 2 + N).cast(i64)
out[2] = i64(M - N)
s = index(0)
for i in range(M):
    s = s + N
out[3] = s.cast(i64)
out[4] = (s + M * N).cast(i64)
out[5] = a.size.cast(i64) + b.size.cast(i64) * 100
"""
    assert values(body, 5, 3)[:6] == [5, 13, 2, 15, 30, 5 + 1200]


EXPRESSIONS = st.recursive(
    st.sampled_from(["M", "N", "1", "2", "3", "7"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "+"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, st.sampled_from(["//", "%"]), st.sampled_from(["2", "3", "(N + 1)", "M"])).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        inner.map(lambda t: f"ceildiv({t}, 3)"),
        inner.map(lambda t: f"(-{t})"),
    ),
    max_leaves=6,
)


@settings(max_examples=80, deadline=None)
@given(expression=EXPRESSIONS, m=st.integers(1, 9), n=st.integers(0, 9))
def test_arithmetic_on_sizes_is_that_of_whole_numbers(expression, m, n):
    expected = eval(expression, {"M": m, "N": n, "ceildiv": lambda a, b: -(-a // b)})
    assert values(f"out[0] = i64({expression})", m, n)[0] == expected


@pytest.mark.parametrize("sign", ["==", "!=", "<", "<=", ">", ">="])
def test_comparisons_are_decided_where_they_can_be_and_made_otherwise(sign):
    assert "scf.if" not in ir(f"if N + 2 {sign} N + 1:\n    o[0] = 1.0\nelse:\n    o[0] = 2.0")
    body = f"out[0] = 1 if True else 0\nif M {sign} N:\n    out[0] = 2\nelse:\n    out[0] = 3"
    for m, n in ((3, 4), (4, 4), (5, 4)):
        assert values(body, m, n)[0] == (2 if eval(f"{m} {sign} {n}") else 3)


def test_shapes_compare_item_by_item():
    body = (
        "if a.shape == (N,):\n    out[0] = 1\nelse:\n    out[0] = 2\nif a.shape != (N,):\n"
        "    out[1] = 1\nout[2] = 1 if b.shape == (N, 4) else 0"
    )
    assert values(body, 4, 4)[:3] == [1, 0, 1] and values(body, 3, 4)[:3] == [2, 1, 1]
    assert "scf.if" not in ir("if (N, 4) == (N, 5):\n    o[0] = 1.0")


def test_a_size_in_a_literal_position_takes_no_other_dtype():
    assert "the size N and f32 do not mix; cast one of them" in body_error("x = o[0] * N")
    assert "the size N and i64 do not mix" in body_error("x = i64(3) + N")
    assert "whether the size N is zero is not known" in body_error("if N:\n    pass")
    assert "/ is not defined for the size N" in body_error("x = N / 2")
    assert "** is not defined for the size N" in body_error("x = N ** 2")
    assert "the size N // 0: division by zero" in body_error("x = N // 0")
    assert "division by zero" in body_error("x = N % 0")
    assert "< does not apply to the size N and float 2.5" in body_error("x = N < 2.5")
    assert "max is not defined for the size N and float 1.5" in body_error("x = max(N, 1.5)")


def test_sizes_name_shapes_and_loops_and_loads():
    source = kernel(
        "for i in range(M):\n    for j in range(0, K, 2):\n        out.store(a.load(i, j, width=2) + f32(M), i, j)",
        "out: Tensor[f32, (M, K)], a: Tensor[f32, (M, K)]",
    )
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    out = np.zeros_like(x)
    compiled(source)(out, x)
    np.testing.assert_array_equal(out, x + 3)


def test_shapes_may_be_expressions_and_constants():
    arguments = "o: Tensor[f32, (2 * M + 1, K * 4, min(M, N), M // 2, M % 3)], p: Tensor[f32, (N,)]"
    source = kernel("assert o.shape[1] == 12", arguments, "K = 3\n")
    _, record = elaborate(source)
    assert [str(size) for size in record.arguments[0].shape] == ["2*M + 1", "12", "min(M, N)", "(M // 2)", "(M % 3)"]
    assert record.symbols == ("M", "N")
    assert elaborate(kernel("pass", "o: Tensor['f32', 'M', 4]"))[1].arguments[0].dtype == "f32"
    assert elaborate(kernel("pass", "o: Tensor[f32, M]"))[1].symbols == ("M",)
    assert elaborate(kernel("pass", "o: Tensor[f32]"))[1].arguments[0].shape == ()


@pytest.mark.parametrize(
    "argument, message",
    [
        ("o", "o needs a type: Tensor[dtype, (sizes...)]"),
        ("o: Tensor", "o needs a type"),
        ("o: Tensor[()]", "o needs a type"),
        ("o: FusedInput", "o needs a type"),
        ("o: Tensor[5, (4,)]", "int 5 is not a dtype"),
        ("o: Tensor['x', (4,)]", "is not a dtype"),
        ("o: Tensor[index, (4,)]", "a tensor cannot hold index"),
        ("o: Tensor[f32, (-4,)]", "below zero"),
        ("o: Tensor[f32, (4.5,)]", "a shape is"),
        ("o: Tensor[f32, (2 ** 70,)]", "too many elements"),
        ("o: Tensor[f32, (2 ** 40, 2 ** 40)]", "too many elements"),
        ("o: Tensor[f32, ('M +',)]", "the dim 'M +' ends too early"),
        ("o: Tensor[f32, ('',)]", "dim"),
        ("o: Tensor[f32, (None,)]", "a shape is"),
        ("o: Tensor[f32, (M / 2,)]", "/ is not defined for the size M"),
        ("o: Tensor[f32, (M // 0,)]", "division by zero"),
        ("o: Tensor[f32, (f(M),)]", "unknown name f"),
        ("*o", "names each of its tensors"),
        ("o: Tensor[f32, (4,)], *, k", "needs a default for k"),
    ],
)
def test_arguments_that_cannot_be(argument, message):
    assert message in error(f"@kernel\ndef kernel({argument}):\n    pass\n").message


def test_parameters_of_a_kernel_compiled_alone_have_their_defaults():
    source = "@kernel\ndef kernel(o: Tensor[i64, (1,)], *, k=5):\n    o[0] = k\n"
    out = np.zeros(1, numpy_dtype("i64"))
    compiled(source)(out)
    assert out[0] == 5


def test_sizes_given_besides_those_of_the_tensors():
    from compiler.language.elaborate import Elaborator
    from compiler.language.kernel import KernelSource
    from compiler.pipeline import language_target
    from compiler.targets import get_target
    from tests.compiler.language.drive import EMPTY

    elaborator = Elaborator(EMPTY, language_target(get_target("cpu")))
    record = elaborator.add(KernelSource("kernel", kernel("o[0] = f32(Z)", "o: Tensor[f32, (N,)]"), symbols=("Z",)))
    assert record.symbols == ("N", "Z")
