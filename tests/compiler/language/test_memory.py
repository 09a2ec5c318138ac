"""Loads and stores, positions, lanes, stack arrays, workspaces, fused inputs and outputs, atomics, raw instructions."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.graph.dtypes import numpy_dtype
from tests.compiler.language.drive import (
    DTYPES,
    body_error,
    compiled,
    elaborate,
    error,
    ir,
    kernel,
    library,
    lower,
    run,
    scalar,
    text,
)
from tests.compiler.language.test_operators import samples

X = np.arange(24, dtype=np.float32).reshape(4, 6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 2, 3, 5, 8])
def test_every_dtype_is_loaded_and_stored_at_every_width(dtype, width):
    x = np.concatenate([samples(dtype, 0), samples(dtype, 1)])[: 3 * width]
    x = np.resize(x, 3 * width)
    got = run(
        f"for i in range(0, {3 * width}, {width}):\n    out.store(a.load(i, width={width}), i)",
        (dtype, (3 * width,)),
        x,
    )
    np.testing.assert_array_equal(got.view(np.uint8), x.view(np.uint8))


@pytest.mark.parametrize(
    ("position", "bytes_aligned"),
    [
        ("i * 4", 16), ("i * 2", 8), ("i * 4 + 1", None), ("(i * 4 + N * 8) % 64", 16), ("i * 4 % N", None),
        ("min(i * 4, 60)", 16), ("min(i * 4, N - 4)", None), ("max(i * 8 - 2, 2)", 8),
        ("select(i < N, i * 4, i * 12 + 8)", 16),
    ],
)  # fmt: skip
def test_positions_of_vectors_say_how_far_they_are_aligned(position, bytes_aligned):
    body = f"launch(blocks=1, threads=32)\ni = thread_index()\no.store(o.load({position}, width=4), 0)"
    module, _ = elaborate(kernel(body, "o: Tensor[f32, (N,)]"), target="sm_90a")
    (load,) = [op for op in module.walk() if op.name == "vector.load"]
    stated = load.attributes.get("kg.align")
    assert (stated and stated.value.data) == bytes_aligned


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_lanes_lie_along_any_axis(axis):
    width = X.shape[axis]
    got = run(f"v = a.load(0, 0, width={width}, axis={axis})\nout.store(v * 2, 0, 0, axis={axis})", ("f32", (4, 6)), X)
    expected = np.zeros_like(X)
    where = (slice(None), 0) if axis in (0, -2) else (0, slice(None))
    expected[where] = X[where] * 2
    np.testing.assert_array_equal(got, expected)


def test_positions():
    body = """
at = position((1, 2), width=3, axis=1)
assert at.width == 3 and at.axis == 1 and len(at) == 2
assert at.index == (1, 2) and at[0] == 1 and at[-1] == 2 and at[:1] == (1,)
out[at] = a[at] + 1
out.store(a.load(at) * 0 + 9, position((0, 0), width=3, axis=1))
out[position((3, 0), width=6)] = 5.0
"""
    expected = np.zeros_like(X)
    expected[1, 2:5] = X[1, 2:5] + 1
    expected[0, :3] = 9
    expected[3] = 5
    np.testing.assert_array_equal(run(body, ("f32", (4, 6)), X), expected)


@pytest.mark.parametrize(
    "expression, message",
    [
        ("position(3)", "made from a tuple"),
        ("position((0,), width=0)", "a width is"),
        ("position((0,), axis=1)", "axis 1 of 1"),
        ("position((0.5,))", "is not an index"),
        ("position((0,), wide=2)", "unexpected keyword"),
        ("position()", "missing"),
        ("position((0,), width=2).lanes(5)", "int 5 cannot be called"),
        ("position((0,), width=2).lanes()", ".lanes() takes function"),
        ("position((0,), width=2).lanes(lambda at: 5)", "gives one run-time value, not int 5"),
        ("position((0,))[1]", "index 1 of 1"),
        ("o[position((0, 0))]", "a position of 2 indices for 1 axes"),
        ("position((), width=2)", "2 lanes of a single element"),
    ],
)
def test_what_positions_refuse(expression, message):
    assert message in body_error(f"x = {expression}")


def test_a_position_says_how_many_lanes_are_stored():
    assert "8 lanes cannot become 4 lanes" in body_error("o[position((0,), width=4)] = o.load(0, width=8)")
    got = run("out[position((0,), width=4)] = f32(3)", ("f32", (4,)))
    np.testing.assert_array_equal(got, [3] * 4)


def test_lanes_evaluates_each_lane_alone():
    body = "at = position((0, 0), width=6, axis=1)\nout.store(at.lanes(lambda one: a[3 - one[1] % 4, one[1]]), 0)"
    np.testing.assert_array_equal(run(body, ("f32", (6,)), X), [X[3 - j % 4, j] for j in range(6)])
    assert scalar("position((2,)).lanes(lambda one: a[one[0], 1])", "f32", X) == X[2, 1]


def test_stack_arrays():
    body = """
t = stack(f32, (4, 6))
assert t.shape == (4, 6) and t.size == 24 and t.dtype == f32 and t.strides == (6, 1)
for i in range(4):
    t.store(a.load(i, 0, width=6), i, 0)
for i in range(6):
    out.store(t.load(0, i, width=4, axis=0), i, 0)
"""
    np.testing.assert_array_equal(run(body, ("f32", (6, 4)), X), X.T)
    assert (
        run("t = stack(index, 4)\nfor i in range(4):\n    t[i] = i * 3\nout[0] = t[2].cast(i64)", ("i64", (1,)))[0] == 6
    )
    assert run(
        "t = stack(bool, 4)\nfor i in range(4):\n    t[i] = i > 1\nout[0] = t.load(0, width=4).any()", ("bool", (1,))
    )[0]


def test_stack_arrays_are_at_the_top_of_their_function():
    shown = ir("for i in range(N):\n    t = stack(f32, 4)\n    t[0] = o[i]\n    o[i] = t[0]")
    assert shown.index("memref.alloca") < shown.index("scf.for")


@pytest.mark.parametrize(
    "shape, message",
    [
        ("N", "compile-time sizes"),
        ("-1", "below zero"),
        ("2 ** 23", "MiB at most"),
        ("(1, 2.0)", "a shape is"),
        ("10 ** 30", "too many elements"),
        ("index(4)", "a shape is"),
    ],
)
def test_stack_arrays_that_cannot_be(shape, message):
    assert message in body_error(f"x = stack(f32, {shape})")


def test_stack_arrays_of_one_function_have_a_limit_together():
    assert "4 MiB at most" in body_error("for i in unroll(5):\n    x = stack(u8, 2 ** 20)\n    x[0] = 1")


def test_shared_memory_is_for_gpus():
    assert "shared memory is for GPUs" in body_error("x = shared(f32, 4)")
    source = kernel(
        "launch(blocks=(N,), threads=32)\ns = shared(f32, (2, 4))\ns[0, 0] = o[0]\nbarrier()\no[0] = s[0, 0]",
        "o: Tensor[f32, (N,)]",
    )
    module, record = elaborate(source, target="sm_90")
    assert record.launch is not None and record.launch.threads == 32 and str(record.launch.blocks[0]) == "N"
    assert "memref.global" in text(lower(module, target="sm_90"))


@pytest.mark.parametrize(
    "call",
    [
        "launch()",
        "launch(blocks=1)",
        "launch(blocks=1, threads=0)",
        "launch(blocks=1, threads=5000)",
        "launch(1, 2)",
        "launch(blocks=(1, 1, 1, 1), threads=32)",
        "launch(blocks=(), threads=32)",
        "launch(blocks=-1, threads=32)",
        "launch(blocks=1, threads=32)\nlaunch(blocks=1, threads=32)",
    ],
)
def test_launches_that_cannot_be(call):
    assert error(kernel(call, "o: Tensor[f32, (N,)]"), target="sm_90").message


def test_threads():
    assert "block_index() is for GPU kernels" in body_error("x = block_index()")
    assert "thread_index() is for GPU kernels" in body_error("x = thread_index(1)")
    assert "an axis is 0, 1 or 2" in body_error("x = thread_index(axis=3)")
    assert scalar("thread_index().cast(i64) * 10 + thread_count().cast(i64)") == 1
    shown = ir("a = thread_index()\nfor i in range(N):\n    o[i + thread_index() + a] = 1.0")
    assert shown.count("kgen.thread") == 1


def test_one_loop_of_a_cpu_kernel_takes_parts():
    assert "take_part belongs in a kernel of the CPU" in body_error("x = take_part(N, 4, -1)")
    assert ir("assert takes_parts()\nassert not takes_parts()\no[0] = 1.0")
    assert ir("for i in range(N):\n    assert not takes_parts()\n    o[i] = 1.0\nassert takes_parts()")
    elaborate(kernel("assert not takes_parts()", "o: Tensor[f32, (N,)]"), target="sm_90")


# Workspaces

WORK = (
    "@kernel('x.work')\n"
    "def work(out: FusedOutput, x: FusedInput, scratch: Workspace[out.dtype, x.shape[0] * 2], *, scale=1):\n"
    "    for i in range(x.shape[0]):\n        scratch[i] = x[i] * scale\n"
    "    barrier()\n"
    "    for i in range(x.shape[0]):\n        out[i] = scratch[x.shape[0] - 1 - i]\n"
)


def test_workspaces_are_arguments_of_the_kernel():
    source = kernel("work(out, a, scale=3)", "out: Tensor[f32, (M,)], a: Tensor[f32, (M,)]")
    module, record = elaborate(source, library=library(WORK))
    (workspace,) = record.workspaces
    assert workspace.dtype == "f32" and str(workspace.shape[0]) == "2*M"
    assert text(module).index("%ws0") > 0
    (signature,) = [library(WORK).signature("x.work")]
    assert signature is not None and signature.inputs == ("fused",) and signature.params == ("scale",)


@pytest.mark.parametrize(
    "annotation",
    [
        "Workspace",
        "Workspace[f32]",
        "Workspace[f32, 4, 4]",
        "Workspace[5, 4]",
        "Workspace[f32, 'a']",
        "Workspace[f32, -4]",
        "Workspace[index, 4]",
        "Workspace[f32, (4, 4)]",
    ],
)
def test_workspaces_that_cannot_be(annotation):
    head = f"@inline\ndef f(x, w: {annotation}):\n    return x\n"
    assert error(head + kernel("o[0] = f(o[0])", "o: Tensor[f32, (N,)]")).location is not None


# Fused inputs and outputs


def test_a_fused_input_is_a_function_of_the_position():
    body = """
x = FusedInput(lambda at: a[at] * 2 + at[0].cast(f32), f32, (4, 6))
for i in range(4):
    out.store(x.load(i, 0, width=6), i, 0)
"""
    np.testing.assert_array_equal(run(body, ("f32", (4, 6)), X), X * 2 + np.arange(4)[:, None])


def test_a_fused_input_may_give_a_scalar_or_a_number_for_all_lanes():
    body = (
        "x = FusedInput(lambda at: a[0, 5], f32, (6,))\ny = FusedInput(lambda at: 3, f32, (6,))\n"
        "out.store(x.load(0, width=6) + y.load(0, width=6), 0)"
    )
    np.testing.assert_array_equal(run(body, ("f32", (6,)), X), [8] * 6)


@pytest.mark.parametrize(
    "expression, message",
    [
        ("FusedInput(lambda at: i32(1), f32, (4,))[0]", "promises f32 but its function gives i32"),
        ("FusedInput(lambda at: None, f32, (4,))[0]", "None cannot become f32"),
        ("FusedInput(5, f32, (4,))", "needs a function, not int 5"),
        ("FusedInput(lambda: 1, f32, (4,))[0]", "lambda takes 0 arguments, not 1"),
        ("FusedInput(lambda at: 1, 'x', (4,))", "is not a dtype"),
        ("FusedInput(lambda at: 1, f32, 'a')", "a shape is"),
        ("FusedInput(lambda at: o.load(0, width=2), f32, (4,))[0]", "2 lanes cannot become 1"),
        ("FusedInput(lambda at: 1, f32)", "missing a required argument"),
        ("FusedOutput(lambda at, v: 1, f32, (4,)).load(0)", "has no attribute load"),
        ("FusedInput(lambda at: 1, f32, (4,)).store(1, 0)", "has no attribute store"),
        ("FusedOutput(o, f32, (4,))", "needs a function"),
    ],
)
def test_what_fused_inputs_refuse(expression, message):
    assert message in body_error(f"x = {expression}")


def test_arguments_are_fitted_to_their_annotations():
    head = "@inline\ndef f(out: FusedOutput, x: FusedInput, t: Tensor):\n    out[0] = x[0] + t[0]\n"
    assert run("f(out, a, a)", ("f32", (1,)), X[0], head=head)[0] == 0
    for arguments, message in (
        ("5, o, o", "FusedOutput as out, not int 5"),
        ("o, o[0], o", "FusedInput as x, not f32"),
        ("o, o, FusedInput(lambda at: 1, f32, (4,))", "Tensor as t, not FusedInput"),
    ):
        assert message in body_error(f"f({arguments})", head=head)


# Strided looks at flat buffers, atomics, raw instructions


def test_strided_takes_run_time_sizes_and_strides():
    body = """
rows, row = index(b[0]), index(b[1])
t = strided(a.flat, (rows, 6), (row, 1), index(b[2]))
for i in range(rows):
    out.store(t.load(i, 0, width=4), i, 0)
assert a.is_strided and not FusedInput(lambda at: 1, f32, (4,)).is_strided
"""
    got = run(body, ("f32", (2, 4)), X, np.int64([2, 12, 1]))
    np.testing.assert_array_equal(got, [X.reshape(-1)[1:5], X.reshape(-1)[13:17]])
    sizes = (
        "r = index(a[0, 2])\nt = strided(a.flat, (r, 3), (r, 1), 0)\nout[0] = t.size.cast(i64)\n"
        "out[1] = t.drop(0, 1)[2].cast(i64)"
    )
    assert run(sizes, ("i64", (2,)), X).tolist() == [6, 4]
    cut = (
        "r = index(a[0, 2])\nt = strided(a.flat, (r, 3), (r, 1), 0)\n"
        "out[0] = t.slice((1, 0), (1, 2), (1, 2))[0, 1].cast(i64)"
    )
    assert run(cut, ("i64", (1,)), X)[0] == 4
    told = body_error("r = index(3)\nt = strided(o.flat, (r, r), (r, 1), 0).reshape((9,))")
    assert told.startswith("2:5: a tensor of run-time sizes cannot be reshaped")
    assert "needs a whole flat buffer" in body_error("t = strided(5, (1,), (1,), 0)")
    assert "a size and a stride for each axis" in body_error("t = strided(o.flat, (1, 2), (1,), 0)")


def test_place_is_the_flat_position():
    assert scalar("a.place(2, 3).cast(i64)", "i64", X) == 15
    assert scalar("a.slice((1, 0), (1, 2), (2, 3)).place(1, 2).cast(i64)", "i64", X) == 16


@pytest.mark.parametrize("dtype", ["i32", "i64", "f32", "f64", "u8", "i8", "i16"])
def test_atomic_add_gives_the_value_before(dtype):
    got = run("out[1] = out.atomic_add(0, 5)\nout[2] = out.atomic_add(0, 2)", (dtype, (3,)))
    assert got.tolist() == [7, 0, 5]


def test_raw_instructions():
    assert scalar("intrinsic('llvm.ctpop.i64', i64, 1, a[0])", "i64", np.int64([0b1011])) == 3
    assert scalar("intrinsic('llvm.ctpop.i64', index, 1, index(a[0])).cast(i64)", "i64", np.int64([7])) == 3
    got = run(
        "out.store(intrinsic('llvm.fabs.v4f32', f32, 4, a.load(0, width=4)), 0)",
        ("f32", (4,)),
        np.float32([-1, 2, -3, 4]),
    )
    np.testing.assert_array_equal(got, [1, 2, 3, 4])
    assert run("intrinsic('llvm.memset.p0.i64', None, 1, out, i8(1), 4, False.cast(bool))", ("u8", (6,))).tolist() == [
        1,
        1,
        1,
        1,
        0,
        0,
    ]
    body = "two = intrinsic('llvm.sincos.f32', f32, 1, a[0], results=2)\nout[0] = two[0] * two[0] + two[1] * two[1]"
    shown = ir(body.replace("out[", "o[").replace("a[", "o["))
    assert shown.count("llvm.extractvalue") == 2


@pytest.mark.parametrize(
    "call",
    [
        "intrinsic()",
        "intrinsic('x', f32, 1)",
        "intrinsic('llvm.', f32, 1)",
        "intrinsic('llvm.a b', f32, 1)",
        "intrinsic('llvm.x', 5, 1)",
        "intrinsic('llvm.x', f32, 0)",
        "intrinsic('llvm.x', f32, 1, 'a')",
        "asm('x')",
        "asm(1, 2, None, 1)",
        "intrinsic('llvm.x', f32, 1, results=0)",
    ],
)
def test_raw_instructions_that_cannot_be(call):
    assert body_error(call, "o: Tensor[f32, (4,)]").startswith("1:1: ")


def test_a_kernel_is_compiled_once_for_its_text():
    source = kernel("out[0] = 1", "out: Tensor[i64, (1,)]")
    assert compiled(source) is compiled(source)
    assert numpy_dtype("i64") == np.int64


def test_a_tensor_of_run_time_strides_is_reshaped_by_computing_indices():
    """X has 4 rows of 6: three columns of every other row, as one row and as another matrix."""
    body = """
step = index(b[0])
t = strided(a.flat, (2, 3), (step, 1), 1)
flat = t.reshape((6,))
tall = t.reshape((3, 2))
for i in range(6):
    out[0, i] = flat[i]
    out[1, i] = tall[i // 2, i % 2]
out.store(t.reshape((1, 6)).load(0, 2, width=4), 2, 0)
"""
    part = X.reshape(-1)[[1, 2, 3, 13, 14, 15]]
    got = run(body, ("f32", (3, 6)), X, np.int64([12]))
    np.testing.assert_array_equal(got[:2], [part, part])
    np.testing.assert_array_equal(got[2, :4], part[2:])
