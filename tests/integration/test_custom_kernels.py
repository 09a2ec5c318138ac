"""Kernels a user brings: what is accepted runs as its source says; what cannot be right is refused where it stands."""

from __future__ import annotations

import platform
import subprocess
import sys

import numpy as np
import pytest

from compiler import Graph, TensorType, load_library, ops
from compiler.errors import KernelError
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph

ROW = TensorType("f32", (8,))
X = np.arange(8, dtype=np.float32)


@pytest.fixture
def library(tmp_path):
    def made(text: str):
        (tmp_path / "mine.py").write_text(text)
        return load_library(tmp_path)

    return made


def run(library, *kernels: str, inputs: int = 1, results: int = 1, **options):
    """The results of custom kernels, each applied to what the one before gave."""
    with Graph("g", inputs=[ROW] * inputs) as graph:
        values = list(graph.inputs)
        for kernel in kernels:
            made = ops.custom(kernel, values, [ROW] * results)
            values = list(made) if isinstance(made, tuple) else [made]
        graph.output(*values)
    x = X.copy()
    x.flags.writeable = False
    return compile_graph(graph, CompileOptions(cache=False, **options), library).execute(*[x] * inputs)


def refusal(library, text: str, **more) -> str:
    """What a kernel `k` is refused with, without the folder it is in."""
    with pytest.raises(KernelError) as caught:
        run(library(text), "k", **more)
    assert "\n" not in str(caught.value)
    return str(caught.value).rsplit("/", 1)[-1]


@pytest.mark.parametrize("flow", ["all-kernel", "per-kernel"])
@pytest.mark.parametrize("opt_level", [0, 3])
def test_outlined_functions_that_come_out_equal_are_one(library, flow, opt_level):
    body = "(out, x, n):\n    for i in range(n):\n        out[i] = x[i] + f32(1)\n"
    text = f"@outlined\ndef one{body}@outlined\ndef two{body}"
    text += (
        '@kernel("both")\ndef both(out: Tensor, x: Tensor):\n    one(out, x, index(8))\n    two(out, out, index(8))\n'
    )
    text += '@kernel("second")\ndef second(out: Tensor, x: Tensor):\n    two(out, x, index(8))\n'
    (y,) = run(library(text), "both", "second", flow=flow, opt_level=opt_level)
    np.testing.assert_array_equal(y, X + 3)


def test_a_kernel_may_have_several_results(library):
    text = '@kernel("k")\ndef k(low: Tensor, high: Tensor, x: FusedInput):\n    for i in range(8):\n'
    text += "        low[i] = x[i] - f32(1)\n        high[i] = x[i] + f32(1)\n"
    low, high = run(library(text), "k", results=2)
    np.testing.assert_array_equal(low, X - 1)
    np.testing.assert_array_equal(high, X + 1)
    assert refusal(library, text, inputs=2, results=2) == (
        "custom_0: k, the kernel for 'k', takes 1 input beside 2 results; 2 are given"
    )


HEAD = '@kernel("k")\ndef k(out: Tensor, x: Tensor):\n'


def test_a_store_to_an_input_is_refused(library):
    found = refusal(library, f"{HEAD}    out[0] = f32(1)\n    x[0] = f32(5)\n")
    assert found.startswith("mine.py:4:5: this stores to an input")
    last = '@kernel("k")\ndef k(x: Tensor, out: Tensor):\n    for i in range(8):\n        out[i] = x[i]\n'
    assert "mine.py:4:9: this stores to an input; a kernel stores to its outputs, which come first" in refusal(
        library, last
    )
    assert "this stores to an input" in refusal(library, f"{HEAD}    out[0] = x.atomic_add(0, f32(1))\n")


def test_a_store_to_an_input_in_an_outlined_function_is_refused(library):
    text = "@outlined\ndef fill(row, n):\n    for i in range(n):\n        row[i] = f32(1)\n"
    assert "this stores to an input" in refusal(library, f"{text}{HEAD}    fill(x, index(8))\n    out[0] = f32(1)\n")
    (y,) = run(library(f"{text}{HEAD}    fill(out, index(8))\n"), "k")
    np.testing.assert_array_equal(y, np.ones(8))


def test_a_kernel_that_never_stores_its_output_is_refused(library):
    assert refusal(library, f"{HEAD}    y = x[0]\n") == "mine.py:2:1: k stores nothing to its output"
    sink = '@kernel("k")\ndef k(out: FusedOutput, x: FusedInput):\n    y = x[0]\n'
    assert refusal(library, sink) == "mine.py:2:1: k stores nothing to its output"


@pytest.mark.parametrize(
    ("line", "column", "index"),
    [("out[100] = f32(1)", 5, 100), ("out[0] = x[8]", 14, 8), ("out[-1] = f32(1)", 5, -1),
     ("out.store(f32(1), 9)", 5, 9), ("out[0] = x.load(8)", 14, 8), ("out[position((100,))] = f32(1)", 5, 100)],
)  # fmt: skip
def test_a_constant_index_outside_is_refused(library, line, column, index):
    found = refusal(library, f"{HEAD}    {line}\n")
    assert found == f"mine.py:3:{column}: index {index} lies outside axis 0, which has 8 elements"


def test_lanes_that_end_outside_are_refused(library):
    found = refusal(library, f"{HEAD}    out.store(x.load(0, width=4), 6)\n")
    assert found == "mine.py:3:5: indices 6 to 9 lie outside axis 0, which has 8 elements"


def test_what_does_not_fit_the_signature_is_said(library):
    text = f"{HEAD}    out[0] = x[0]\n"
    assert refusal(library, text, inputs=2) == "custom_0: k, the kernel for 'k', takes 1 input; 2 are given"
    with pytest.raises(KernelError, match="no entry for 'other'"):
        run(library(text), "other")
    with Graph("g", inputs=[ROW]) as graph:
        graph.output(ops.custom("k", [graph.inputs[0]], ROW, factor=2))
    with pytest.raises(KernelError, match="custom_0: k has no parameter factor"):
        compile_graph(graph, CompileOptions(cache=False), library(text))


def test_a_missing_return_is_shown_where_it_is_missing(library):
    found = refusal(library, '@elementwise("k")\ndef k(x):\n    y = x + 1\n    z = y\n')
    assert found == "mine.py:4:5: k ends without a return; @elementwise gives a value"


# Assembly: LLVM ends the process at what it cannot assemble.

NUMBERS = TensorType("i64", (8,))
ADD = "add $0, $1, $1" if platform.machine() in ("aarch64", "arm64") else "leaq ($1,$1), $0"


def assembled(library, lines: str, **options):
    text = f'@kernel("k")\ndef k(out: Tensor, x: Tensor):\n    for i in range(8):\n        v = x[i]\n{lines}'
    with Graph("g", inputs=[NUMBERS]) as graph:
        graph.output(ops.custom("k", list(graph.inputs), NUMBERS))
    model = compile_graph(graph, CompileOptions(**{"cache": False, **options}), library(f"{text}        out[i] = v\n"))
    return model.execute(np.arange(8))[0]


def test_assembly_that_is_right_runs(library):
    line = f'        v = asm("{ADD}", "=r,r", i64, 1, v)\n'
    np.testing.assert_array_equal(assembled(library, line), np.arange(8) * 2)


@pytest.mark.parametrize("debug", ["none", "line-tables"])
def test_a_wrong_instruction_is_an_error_at_its_line(library, debug):
    right, wrong = (
        f'        v = asm("{ADD}", "=r,r", i64, 1, v)\n',
        '        v = asm("fnord $0, $1", "=r,r", i64, 1, v)\n',
    )
    with pytest.raises(KernelError, match=r"mine\.py:6: LLVM cannot assemble this: .*in `fnord .*`") as caught:
        assembled(library, f"{right}{wrong}{right}", debug=debug)
    assert "\n" not in str(caught.value)


def test_a_wrong_constraint_is_an_error_at_its_line_also_the_second_time(library):
    line = '        v = asm("", "={fnord},r", i64, 1, v)\n'
    for _ in range(2):
        with pytest.raises(KernelError, match=r"mine\.py:5: asm: \w+ has no register for .* of a result"):
            assembled(library, line, cache=True)


def test_an_intrinsic_that_the_processor_has_no_instruction_for_is_an_error_at_its_line(library):
    line = '        v = v + i64(intrinsic("llvm.x86.lwpins32", i8, 1, i32(1), i32(2), i32(3)))\n'
    for _ in range(2):
        found = r"mine\.py:5: llvm\.x86\.lwpins32 is no instruction of x86-64-v3"
        with pytest.raises(KernelError, match=found) as caught:
            assembled(library, line, target="x86-64-v3")
        assert "\n" not in str(caught.value)
    right = '        v = v + intrinsic("llvm.ctpop.i64", i64, 1, v)\n'
    np.testing.assert_array_equal(assembled(library, right), [k + k.bit_count() for k in range(8)])


def test_a_program_outlives_a_wrong_instruction(tmp_path):
    script = """
from pathlib import Path
from compiler import Graph, TensorType, compile, load_library, ops
from compiler.errors import CompilerError
line = 'out[0] = asm("fnord $0, $1", "=r,r", i64, 1, x[0])'
Path("mine.py").write_text(f'@kernel("k")\\ndef k(out: Tensor, x: Tensor):\\n    {line}\\n')
with Graph("g", inputs=[TensorType("i64", (1,))]) as g:
    g.output(ops.custom("k", list(g.inputs), TensorType("i64", (1,))))
try:
    compile(g, cache=False, library=load_library("mine.py"))
except CompilerError as problem:
    print("lives:", problem)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("lives: mine.py:3: LLVM cannot assemble this"), done.stderr


@pytest.mark.parametrize("after", ["nothing", "ops of the graph", "a reduction", "a row kernel"])
@pytest.mark.parametrize(
    ("kernel", "says"),
    [
        ('@elementwise("k")\ndef k(x):\n    return x > 0\n', "mine.py:3:5: k gives SIMD[bool, "),
        ('@elementwise("k")\ndef k(x):\n    y = x.cast(i32)\n    return y\n', "mine.py:4:5: k gives SIMD[i32, "),
        ('@elementwise("k")\ndef k(x):\n    return (x, x)\n', "mine.py:3:5: k gives tuple "),
        ('@elementwise("k")\ndef k(x):\n    return "one"\n', "mine.py:3:5: k gives str 'one' "),
        ('@pointwise("k")\ndef k(at, x: FusedInput):\n    return x[at].cast(i32)\n', "mine.py:3:5: k gives SIMD[i32, "),
        (
            '@view("k")\ndef k(x: FusedInput):\n    return FusedInput(lambda at: x[at].cast(i32), i32, x.shape)\n',
            "mine.py:3:5: k gives a FusedInput of i32 ",
        ),
    ],
)
def test_a_result_of_another_type_is_told_where_the_users_kernel_gives_it(library, kernel, says, after):
    square = TensorType("f32", (8, 8))
    with Graph("g", inputs=[square]) as graph:
        made = ops.custom("k", [graph.inputs[0]], square)
        if after == "ops of the graph":
            made = ops.relu(made) * 2
        elif after == "a reduction":
            made = ops.sum(made, axis=1)
        elif after == "a row kernel":
            made = ops.softmax(ops.mul(made, 2))
        graph.output(made)
    with pytest.raises(KernelError) as caught:
        compile_graph(graph, CompileOptions(cache=False), library(kernel))
    assert str(caught.value).rsplit("/", 1)[-1].startswith(says)
    assert str(caught.value).endswith("where f32 is asked for; cast it") and "\n" not in str(caught.value)


def test_numbers_known_beforehand_are_results_of_any_type(library):
    made = library('@elementwise("k")\ndef k(x):\n    return 3\n')
    np.testing.assert_array_equal(run(made, "k")[0], np.full(8, 3, np.float32))
