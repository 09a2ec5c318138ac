"""Fusing never costs time or changes a value: products read along their rows, and work is not done again for each."""

from __future__ import annotations

import re

import numpy as np
import pytest

from compiler import Graph, TensorType, ops
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph

N = 192
RANDOM = np.random.default_rng(0)
W, X = RANDOM.standard_normal((N, N)).astype(np.float32), RANDOM.standard_normal(N).astype(np.float32)


def model(types, build, fuse=True, force_fuse=frozenset()):
    with Graph("g", inputs=[TensorType("f32", shape) for shape in types]) as graph:
        made = build(*graph.inputs)
        graph.output(*(made if isinstance(made, tuple) else (made,)))
    return compile_graph(graph, CompileOptions(fuse=fuse, force_fuse=force_fuse))


def models(types, build):
    return [model(types, build, fuse) for fuse in (True, False)]


@pytest.mark.parametrize(
    "before", [ops.relu, lambda w: w + 1, lambda w: ops.cast(ops.cast(w, "bf16"), "f32"), lambda w: w * w[:, :1],
               lambda w: ops.flip(w, axis=0), lambda w: ops.flip(w, axis=1), lambda w: ops.tile(w, (1, 2))[:, ::2],
               lambda w: ops.relu(ops.flip(w, axis=1)), lambda w: ops.roll(w, 1, axis=1)],
    ids=["relu", "plus-one", "casts", "times-a-column", "rows-in-reverse", "columns-in-reverse", "every-second-column",
         "relu-of-columns-in-reverse", "rolled"],
)  # fmt: skip
def test_a_matrix_times_a_vector_behind_elementwise_work_has_the_same_bits_fused_and_not(before):
    fused, apart = models([(N, N), (N,)], lambda w, x: before(w) @ x)
    assert len(fused.kernels) == 1 < len(apart.kernels)
    np.testing.assert_array_equal(fused.execute(W, X)[0], apart.execute(W, X)[0])


def test_a_fused_input_is_as_contiguous_as_what_it_reads():
    from tests.compiler.language.drive import elaborate, text

    read = "FusedInput(lambda at: {}, f32, (8, 8))"
    cases = {"x[at] + y[at]": (0, 1), "x[at] + x[at]": (0, 1), "z[at]": (1, 0), "x[at] + z[at]": (0, 0),
             "x[at.index[0], at.index[1]]": (0, 0), "at.lanes(lambda one: x[one])": (0, 0)}  # fmt: skip
    for expression, expected in cases.items():
        body = f"    z = x.permute((1, 0))\n    f = {read.format(expression)}\n"
        body += "".join(f"    out[{k}] = f32(1 if f.is_contiguous({k}) else 0)\n" for k in (0, 1))
        head = "@kernel\ndef kernel(out: Tensor[f32, (2,)], x: Tensor[f32, (8, 8)], y: Tensor[f32, (8, 8)]):\n"
        module, _ = elaborate(head + body)
        found = text(module)
        assert ("1.0" in found, "0.0" in found) == (any(expected), not all(expected)), expression


def test_a_transcendental_of_a_vector_is_not_computed_again_for_every_row():
    for function in (ops.exp, ops.gelu, lambda v: ops.pow(v, 2.5)):
        fused = model([(N,), (N, N)], lambda v, y: function(v) * y)  # noqa: B023
        assert len(fused.kernels) == 2
        reasons = [d.reason for d in fused.ledger if not d.accepted]
        assert any(
            f"would compute {N} elements of about" in reason and f"{N} times each" in reason for reason in reasons
        )
    fused = model([("M",), ("K", "M")], lambda v, y: ops.exp(v) * y)
    assert any("again and again" in d.reason for d in fused.ledger)


def test_little_work_or_few_elements_are_computed_again():
    assert len(model([(N,), (N, N)], lambda v, y: ops.relu(v) * y).kernels) == 1
    assert len(model([(N,), (N, N)], lambda v, y: ops.rsqrt(v + 1) * y).kernels) == 1
    assert len(model([(8,), (4, 8)], lambda v, y: ops.exp(v) * y).kernels) == 1


def test_dear_work_along_an_axis_of_one_is_done_for_vectors():
    for types, build in (
        [[(4096, 1)], lambda x: ops.mean(ops.silu(x), axis=0)],
        [[(256, 1)], lambda x: ops.gelu(ops.concat([x, x + 1], axis=0))],
    ):
        fused, apart = models(types, build)
        assert len(fused.kernels) == 2
        assert any("one element at a time" in d.reason for d in fused.ledger if not d.accepted)
        x = RANDOM.standard_normal(types[0]).astype(np.float32)
        np.testing.assert_array_equal(fused.execute(x)[0], apart.execute(x)[0])
    assert len(model([(4096, 1)], lambda x: ops.mean(ops.relu(x), axis=0)).kernels) == 1


def reasons_of(model):
    return [d.reason for d in model.ledger if not d.accepted]


def check_same(fused, apart, types):
    arrays = [RANDOM.standard_normal(shape).astype(np.float32) for shape in types]
    for one, other in zip(fused.execute(*arrays), apart.execute(*arrays), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "build", [lambda x: ops.sum(ops.transpose(x), axis=1), lambda x: ops.softmax(ops.transpose(x)),
              lambda x: ops.max(ops.relu(ops.flip(ops.transpose(x), axis=1)), axis=0)],
    ids=["sum", "softmax", "max-of-relu-in-reverse"],
)  # fmt: skip
def test_a_kernel_that_walks_the_last_axis_reads_a_copy_of_what_lies_across_it(build):
    fused, apart = models([(N, N)], build)
    assert len(fused.kernels) == 2
    assert any(f"{N * N} elements would be read from a cache line each" in reason for reason in reasons_of(fused))
    check_same(fused, apart, [(N, N)])
    assert len(model([(64, 64)], build).kernels) == 1  # the nearest cache holds them all


def test_a_kernel_that_asks_how_its_operands_lie_reads_them_where_they_are():
    assert len(model([(N, N), (N, N)], lambda x, y: ops.transpose(x) @ y).kernels) == 1
    assert len(model([(N, N)], lambda x: ops.relu(ops.transpose(x)) * 2).kernels) == 1
    mixed, apart = models([(N, N), (N, N)], lambda x, y: ops.transpose(x) + y)
    assert len(mixed.kernels) == 2
    check_same(mixed, apart, [(N, N), (N, N)])


def test_what_is_turned_is_computed_before():
    for build in (lambda x: ops.transpose(ops.sin(x)), lambda x: ops.relu(ops.transpose(ops.roll(x, 1, axis=1)))):
        fused, apart = models([(N, N)], build)
        assert len(fused.kernels) == 2
        assert any(f"its {N * N} elements are computed sooner in the order" in reason for reason in reasons_of(fused))
        check_same(fused, apart, [(N, N)])
        assert len(model([(32, 32)], build).kernels) == 1


def test_nothing_is_stored_across_memory():
    for types, build, kernels in (
        ([(N, N)], lambda x: ops.transpose(ops.square(x)), 1),
        ([(N, N), (N, N)], lambda x, y: ops.relu(ops.transpose(x @ y)), 2),
        ([(N, N), (N, N)], lambda x, y: (ops.transpose(x * y), ops.exp(x * y)), 2),
    ):
        fused, apart = models(types, build)
        assert len(fused.kernels) == kernels
        assert not any(".permute(" in kernel.source for kernel in fused.kernels)
        check_same(fused, apart, types)


def test_dear_work_on_results_that_come_one_at_a_time_is_done_for_vectors():
    types = [(2048, 32)]
    build = lambda x: ops.erf(x @ ops.constant(np.ones((32, 1), np.float32)))  # noqa: E731
    fused, apart = models(types, build)
    assert len(fused.kernels) == 2
    assert any("2048 elements of about" in r and "one at a time" in r for r in reasons_of(fused))
    check_same(fused, apart, types)
    assert len(model([(64, 32)], build).kernels) == 1
    assert len(model(types, lambda x: ops.silu(ops.mean(x, axis=0))).kernels) == 1


@pytest.mark.parametrize(
    "build", [lambda x: ops.silu(ops.mean(x, axis=-1)), lambda x: ops.exp(ops.max(x, axis=-1)) + 1,
              lambda x: (x - ops.max(x, axis=-1, keepdims=True), ops.silu(ops.mean(ops.square(x), axis=-1) * 2))],
    ids=["mean", "max", "beside-whole-rows"],
)  # fmt: skip
@pytest.mark.parametrize("shape", [(2048, 32), (3, 5, 7), (11, 70, 33), (67, 9), (600, 2, 1, 8), (900, 3, 8)], ids=str)
def test_what_follows_from_a_row_is_done_for_several_rows_at_once(build, shape):
    fused, apart = models([shape], build)
    gathers = shape[-2] >= 8  # those of one line
    assert not (gathers and any("one at a time" in reason for reason in reasons_of(fused)))
    check_same(fused, apart, [shape])


def test_the_quotients_that_follow_from_rows_are_of_vectors():
    alone = lambda x: ops.silu(ops.max(x, axis=1))  # noqa: E731
    for build in (alone, lambda x: (x - ops.max(x, axis=1, keepdims=True), alone(x))):
        (kernel,) = model([(2048, 32)], build).kernels
        assert re.search(r"fdiv <\d+ x float>", kernel.ir("llvm"))


def test_dear_work_is_not_done_at_the_ends_of_short_rows():
    build = lambda x: ops.sigmoid(ops.softmax(x) * 0.25)  # noqa: E731
    fused, apart = models([(768, 200)], build)
    assert any("rows of 200 end within a vector" in reason for reason in reasons_of(fused))
    check_same(fused, apart, [(768, 200)])
    for shape in ((768, 256), (768, 2000), (1, 200)):
        assert len(model([shape], build).kernels) == 1


@pytest.mark.parametrize(
    "build", [lambda x: ops.silu(ops.sum(x, axis=0)), lambda x: ops.softmax(x, axis=0),
              lambda x: (x - ops.max(x, axis=0, keepdims=True), ops.exp(ops.mean(ops.square(x), axis=0)))],
    ids=["sum", "softmax", "beside-whole-columns"],
)  # fmt: skip
@pytest.mark.parametrize("shape", [(2048, 1), (1000, 3, 1), (70000, 1, 1)], ids=str)
def test_columns_of_one_element_are_walked_in_vectors(build, shape):
    fused, apart = models([shape], build)
    check_same(fused, apart, [shape])
    reducing = [kernel for kernel in fused.kernels if "reduce" in kernel.name or "softmax" in kernel.name]
    assert reducing and all(re.search(r"load <\d+ x float>", kernel.ir("llvm")) for kernel in reducing)


def test_a_step_along_one_element_is_no_step():
    fused, apart = models([(256, 8)], lambda x: ops.sin(ops.flip(ops.sum(x, axis=1, keepdims=True), axis=1)))
    assert len(fused.kernels) == 1
    check_same(fused, apart, [(256, 8)])


def test_dear_work_is_not_done_twice_for_an_element_that_is_also_read_elsewhere():
    fused, apart = models([(N, N)], lambda x: (lambda y: y * ops.flip(y, axis=0))(ops.silu(x)))
    assert len(fused.kernels) == 2
    assert any(f"{N * N} elements of about" in reason and "2 times each" in reason for reason in reasons_of(fused))
    check_same(fused, apart, [(N, N)])
    assert len(model([(N, N)], lambda x: (lambda y: y * ops.flip(y, axis=0))(ops.relu(x))).kernels) == 1


def test_what_is_turned_is_copied_also_where_a_joined_or_reversed_value_reads_it():
    for build in (
        lambda x: ops.sum(ops.concat([ops.transpose(x), ops.relu(ops.transpose(x))], axis=0), axis=1),
        lambda x: ops.flip(ops.relu(ops.transpose(x)) + 1, axis=1),
    ):
        fused, apart = models([(N, N)], build)
        assert len(fused.kernels) == 2
        assert any(f"{N * N} elements would be read from a cache line each" in reason for reason in reasons_of(fused))
        check_same(fused, apart, [(N, N)])


@pytest.mark.parametrize(
    "build", [lambda x: ops.gelu(x) @ ops.constant(W), lambda x: ops.cumsum(ops.exp(x), axis=1),
              lambda x: ops.max_pool2d(ops.tanh(ops.reshape(x, (1, 1, N, N))), (3, 3)),
              lambda x: ops.softmax(ops.sin(x), axis=0)],
    ids=["product", "running-sum", "pool", "softmax-of-columns"],
)  # fmt: skip
def test_a_kernel_that_may_ask_twice_for_an_element_does_nothing_dear_to_have_it(build):
    fused, apart = models([(N, N)], build)
    assert len(fused.kernels) == 2
    assert any("may ask for an element more than once" in reason for reason in reasons_of(fused))
    check_same(fused, apart, [(N, N)])


def test_packed_weights_are_taken_apart_in_the_product_that_reads_them():
    codes = ops.cast
    fused = model([(1, N), (N, N)], lambda x, w: ops.linear(x, codes(codes(w, "i32") // 16, "f32") * 0.5))
    assert len(fused.kernels) == 1


def test_a_row_kernel_neither_keeps_nor_repeats_what_is_dear():
    def centred(x, axis):
        return x - ops.mean(x, axis=axis, keepdims=True)

    for build, word in (
        (lambda x: (lambda y: (y, ops.square(centred(y, 1))))(ops.silu(x)), "would have to keep"),
        (lambda x: ops.square(centred(ops.silu(x), 0)), "would be done again in each of 2 walks"),
    ):
        fused, apart = models([(N, N)], build)
        assert len(fused.kernels) == 2
        assert any(word in reason for reason in reasons_of(fused))
        check_same(fused, apart, [(N, N)])
    assert len(model([(N, N)], lambda x: ops.square(centred(ops.silu(x), 1))).kernels) == 1


def test_one_dear_op_on_the_results_of_a_product_is_enough():
    fused, apart = models([(N, N), (N, N)], lambda x, y: ops.sin(ops.gelu(x @ y) + 1))
    assert [len(kernel.nodes) > 1 for kernel in fused.kernels] == [True, False]
    assert any("in a loop of their own" in reason for reason in reasons_of(fused))
    check_same(fused, apart, [(N, N), (N, N)])


def test_a_kernel_runs_where_its_op_stands_and_not_where_the_last_op_behind_it_does():
    def build(x, w):
        copied = ops.transpose(x)
        product = copied @ w
        sums = ops.sum(copied, axis=0)
        return sums, ops.relu(product)

    names = [call.kernel.name for call in model([(N, N), (N, N)], build).fusion.calls]
    assert [name.split("_")[0] for name in names] == ["transpose", "matmul", "reduce"]


def five_results(value):
    return (value, *(value + k for k in range(1, 5)))


def softmax_by_hand(x):
    powers = ops.exp(x - ops.max(x, axis=1, keepdims=True))
    return powers / ops.sum(powers, axis=1, keepdims=True)


@pytest.mark.parametrize("before", [ops.relu, lambda x: ops.softmax(x, axis=1), softmax_by_hand],
                         ids=["elementwise", "softmax", "rows"])  # fmt: skip
def test_dear_work_is_not_done_where_many_large_results_are_stored(before):
    large = [(256, 512)]
    fused, apart = models(large, lambda x: five_results(ops.gelu(before(x))))
    assert any("that does not store 5 results" in reason for reason in reasons_of(fused))
    assert not any("gelu(" in kernel.source and "out4" in kernel.source for kernel in fused.kernels)
    check_same(fused, apart, large)
    for types, build in (
        [[(64, 512)], lambda x: five_results(ops.gelu(before(x)))],  # they stay in the caches
        [large, lambda x: five_results(ops.gelu(before(x)))[:4]],
        [large, lambda x: five_results(ops.relu(before(x)))],
    ):
        assert len(model(types, build).kernels) == 1


def test_dear_work_is_done_beside_many_results_where_the_user_wants_it():
    def build(x):
        return five_results(ops.gelu(ops.softmax(x, axis=1)))

    wanted = model([(256, 512)], build, force_fuse=frozenset({("softmax_0", "gelu_0")}))
    assert len(wanted.kernels) == 1 < len(model([(256, 512)], build).kernels)


@pytest.mark.parametrize("shape", [(3, 37), (64, 200), (8, 5000)], ids=str)
def test_computed_values_are_read_backwards_in_vectors_and_as_they_are(shape):
    for build in (
        lambda x: ops.flip(ops.square(x) + x, axis=1),
        lambda x: ops.sum(ops.flip(x * 2 - 1, axis=1), axis=0),
        lambda x: ops.transpose(ops.flip(x, axis=1)) * 3,
        lambda x: ops.transpose(ops.flip(ops.relu(x), axis=(0, 1))),
    ):
        check_same(*models([shape], build), [shape])
    source = model([shape], lambda x: ops.flip(ops.square(x) + x, axis=1)).stage("kernel")
    assert "vector.shuffle" in str(source)


@pytest.mark.parametrize("shape", [(1, 5), (17, 3), (19, 5000), (2, 30, 300)], ids=str)
def test_columns_of_several_tensors_are_reduced_to_the_same_bits_as_those_of_one(shape):
    axis = len(shape) - 2
    for build in (
        lambda x, y, z: ops.sum(x * y + z, axis=axis), lambda x, y, z: ops.max(x - y, axis=axis),
        lambda x, y, z: (ops.mean(x * z, axis=axis), ops.min(x * y, axis=axis)),
        lambda x, y, z: x + y - ops.mean(x + y, axis=axis, keepdims=True),
    ):  # fmt: skip
        check_same(*models([shape] * 3, build), [shape] * 3)


@pytest.mark.parametrize("shape, axis", [((6, 700), 0), ((3, 5, 9), 1), ((2, 9000), 1), ((4, 1, 7), 1)], ids=str)
def test_softmax_along_any_axis_is_that_written_out(shape, axis):
    def written(x):
        e = ops.exp(x - ops.max(x, axis=axis, keepdims=True))
        return e / ops.sum(e, axis=axis, keepdims=True)

    x = RANDOM.standard_normal(shape).astype(np.float32)
    named, other = model([shape], lambda x: ops.softmax(x, axis=axis)), model([shape], written, fuse=False)
    np.testing.assert_allclose(named.execute(x)[0], other.execute(x)[0], rtol=2e-6)
    after = model([shape], lambda x: ops.softmax(x, axis=axis) + 1)
    np.testing.assert_allclose(after.execute(x)[0], named.execute(x)[0] + 1, rtol=1e-6)
    logs = model([shape], lambda x: ops.log_softmax(x, axis=axis))
    np.testing.assert_allclose(logs.execute(x)[0], np.log(other.execute(x)[0]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("axis", [0, 1], ids=["columns", "rows"])
def test_what_no_reduction_needs_is_done_in_the_walk_that_stores_it(axis):
    def build(x, y):
        apart = ops.mean(x, axis=axis, keepdims=True) - y
        return ops.mean(apart, axis=axis), ops.gelu(ops.exp(apart))

    shapes = [(96, 80)] * 2
    fused, unfused = models(shapes, build)
    (kernel,) = fused.kernels
    *_, before, last = kernel.source.split("def pass")
    assert "gelu(" in last and "exp(" in last and "exp(" not in before
    check_same(fused, unfused, shapes)


@pytest.mark.parametrize("shape, threads", [((1000, 256), 16384), ((200, 768), 16384), ((512, 4096), 65536)], ids=str)
@pytest.mark.parametrize("target", ["sm_90a", "gfx942"])
def test_columns_of_a_row_kernel_are_shared_by_many_threads_of_a_card(shape, threads, target):
    with Graph("columns", inputs=[TensorType("f32", shape)]) as graph:
        x = graph.inputs[0]
        graph.output(ops.exp(x - ops.max(x, axis=0, keepdims=True)))
    made = compile_graph(graph, CompileOptions(target, cache=False))
    (kernel,) = made.kernels
    launch = made.host.records[kernel.name].launch
    assert launch.blocks[0] * launch.threads >= threads
