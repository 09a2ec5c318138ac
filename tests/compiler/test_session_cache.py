"""What a compilation takes from the caches, and that what it takes is what it would have made."""

import numpy as np
import pytest

from app.inputs import graph_sizes, random_inputs
from app.sources import load_source
from compiler import BufferType, Graph, TensorType, load_library, ops
from compiler.cache import default_cache
from compiler.errors import ExecutionError
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph

FLOWS = ("all-kernel", "per-kernel")


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path / "cache"))


def mlp(width=24, activation=ops.relu):
    with Graph(
        "mlp", inputs=[TensorType("f32", ("M", 16)), TensorType("f32", (16, width)), TensorType("f32", (width, 8))]
    ) as g:
        x, a, b = g.inputs
        g.output(activation(x @ a) @ b)
    return g


def work_done(model):
    return {record.name for record in model.trace.passes if record.stage in ("mo", "mogg", "kgen", "machine")}


def compiled(model):
    return sorted(p.kernel for p in model.trace.passes if p.stage == "machine" and not p.kernel.startswith("kg_shared"))


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("sample", ["mlp", "transformer-block", "layernorm-gelu", "conv-relu-pool"])
def test_a_model_from_the_cache_is_the_model(sample, flow):
    source = load_source(f"sample:{sample}")
    inputs = random_inputs(source.graph, graph_sizes(source.graph, source.dims, {}), 1)
    first = compile_graph(source.graph, CompileOptions(flow=flow))
    again = compile_graph(load_source(f"sample:{sample}").graph, CompileOptions(flow=flow))
    assert work_done(again) == set() and work_done(first) != set()
    assert again.stats["cache"] == {"hits": len(again.kernels), "misses": 0}
    for one, two in zip(first.execute(*inputs), again.execute(*inputs), strict=True):
        assert one.tobytes() == two.tobytes()
    assert [k.name for k in first.kernels] == [k.name for k in again.kernels]
    assert first.ledger == again.ledger
    assert [k.nodes for k in first.kernels] == [k.nodes for k in again.kernels]
    assert [first.record(k.name) for k in first.kernels] == [again.record(k.name) for k in again.kernels]
    for stage in ("mo", "mogg", "mgp"):
        assert first.stage(stage) == again.stage(stage)
    assert [[op.name for op in c.ops] for c in first.fusion.calls] == [
        [op.name for op in c.ops] for c in again.fusion.calls
    ]


def facts(host):
    """A host program without the identities of its buffers."""
    slots = {b: (n, b.name, b.type, b.kind, b.index, b.nodes, b.array is None or b.array.tobytes())
             for b, n in host.slots.items()}  # fmt: skip
    calls = [([slots[b] for b in call.buffers], call.sizes, call.launch, call.fused.roles) for call in host.calls]
    lives = [(slots[life.buffer], life.first, life.last, life.reuses and slots[life.reuses]) for life in host.lifetimes]
    outputs = [slots[b] for b in host.fusion.outputs]
    inputs = [b and (b.name, slots.get(b)) for b in host.fusion.inputs]
    return host.interface, host.records, host.fusion.kernels, calls, lives, inputs, outputs


@pytest.mark.parametrize("target", ["cpu", "sm_90a"])
def test_a_host_program_from_the_cache_says_what_it_said(target):
    def build():
        kinds = {
            "x": TensorType("f32", ("M", 16)),
            "memory": BufferType("f32", ("M", 16)),
            "unused": TensorType("i8", ()),
        }
        with Graph("g", inputs=kinds) as g:
            x, memory, _ = g.inputs
            table = ops.constant(np.arange(256, dtype=np.float32).reshape(16, 16))
            ops.buffer_store(memory, ops.buffer_load(memory) + x)
            g.output(ops.softmax(x @ table)[-3:], ops.sum(ops.buffer_load(memory), axis=0), x[:0])
        return g

    first = compile_graph(build(), CompileOptions(target=target))
    again = compile_graph(build(), CompileOptions(target=target))
    assert work_done(again) == set()
    assert facts(again.host) == facts(first.host)
    assert again.plan(M=100).peak == first.plan(M=100).peak
    with pytest.raises(ExecutionError, match=r"outside a size|would be"):
        again.host.check({"M": 1})


def test_without_cache_nothing_is_read_or_written():
    compile_graph(mlp(), CompileOptions())
    before = default_cache().info()
    model = compile_graph(mlp(), CompileOptions(cache=False))
    assert {"fuse", "elaborate", "llvm"} <= work_done(model)
    assert default_cache().info() == before
    default_cache().clear()
    compile_graph(mlp(), CompileOptions(cache=False))
    assert default_cache().info().entries == 0


@pytest.mark.parametrize(
    "other", [{"opt_level": 1}, {"debug": "line-tables"}, {"target": "sm_90"}, {"fuse": False}, {"flow": "per-kernel"}]
)
def test_what_changes_the_output_changes_the_key(other):
    compile_graph(mlp(), CompileOptions())
    assert work_done(compile_graph(mlp(), CompileOptions(**other))) != set()


def test_the_number_of_jobs_changes_nothing():
    compile_graph(mlp(), CompileOptions(jobs=1))
    assert work_done(compile_graph(mlp(), CompileOptions(jobs=2))) == set()


@pytest.mark.parametrize("flow", FLOWS)
def test_a_change_to_one_kernel_compiles_one_kernel(flow):
    first = compile_graph(mlp(), CompileOptions(flow=flow))
    changed = compile_graph(mlp(activation=ops.tanh), CompileOptions(flow=flow))
    (new,) = {k.name for k in changed.kernels} - {k.name for k in first.kernels}
    assert compiled(changed) == [new]
    assert changed.stats["cache"] == {"hits": 1, "misses": 1}
    x = [np.random.default_rng(0).standard_normal(s).astype(np.float32) for s in ((5, 16), (16, 24), (24, 8))]
    expected = np.tanh(x[0] @ x[1]) @ x[2]
    np.testing.assert_allclose(changed.execute(*x)[0], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("flow", FLOWS)
def test_an_edited_source_takes_the_place_of_a_cached_kernel_of_the_same_name(flow):
    first = compile_graph(mlp(), CompileOptions(flow=flow))
    kernel = next(k for k in first.kernels if "relu" in k.source)
    edited = kernel.source.replace(" relu(", " neg(")
    options = CompileOptions(flow=flow, sources=((kernel.name, edited),))
    x = [np.random.default_rng(0).standard_normal(s).astype(np.float32) for s in ((5, 16), (16, 24), (24, 8))]
    for _ in range(2):
        model = compile_graph(mlp(), options)
        np.testing.assert_allclose(model.execute(*x)[0], -(x[0] @ x[1]) @ x[2], rtol=1e-4, atol=1e-4)
    assert compile_graph(mlp(), CompileOptions(flow=flow)).kernel(kernel.name).source == kernel.source


def test_kernels_from_many_programs_fit_together():
    """Each program finds some of its kernels among those of others, in objects that hold kernels it has not got."""
    sizes = [("M", 16, 24, 8), ("M", 16, 24, 9), (1, 16, 24, 8), (5, 16, 600, 8), ("M", 7, 24, 8)]
    for m, k, n, last in sizes + sizes[::-1]:
        with Graph("g", inputs=[TensorType("f32", shape) for shape in ((m, k), (k, n), (n, last), (n,))]) as g:
            x, a, b, c = g.inputs
            g.output(ops.relu(x @ a + c) @ b, ops.softmax(x @ a), ops.tanh(c))
        rows = 5 if m == "M" else m
        generator = np.random.default_rng(0)
        inputs = [generator.standard_normal(s).astype(np.float32) for s in ((rows, k), (k, n), (n, last), (n,))]
        model = compile_graph(g, CompileOptions())
        fresh = compile_graph(g, CompileOptions(cache=False))
        assert [y.tobytes() for y in model.execute(*inputs)] == [y.tobytes() for y in fresh.execute(*inputs)]


HELPER = """
@inline
def twice(x):
    return x + x


@elementwise("mine")
def mine(x):
    return twice(x) + FACTOR


FACTOR = 1.0


@elementwise("other")
def other(x):
    return x - 3.0
"""


def custom(kernel):
    with Graph("g", inputs=[TensorType("f32", (7,))]) as g:
        g.output(ops.custom(kernel, [g.inputs[0]], [TensorType("f32", (7,))])[0])
    return g


@pytest.mark.parametrize(
    "old, new, mine, other",
    [
        ("x + x", "x * 3.0", True, False),
        ("FACTOR = 1.0", "FACTOR = 2.0", True, True),
        ("x - 3.0", "x - 4.0", False, True),
    ],
)
def test_a_library_edit_reaches_the_kernels_that_use_it_and_no_others(tmp_path, old, new, mine, other):
    folder = tmp_path / "lib"
    folder.mkdir()
    (folder / "helper.py").write_text(HELPER)
    x = np.arange(7, dtype=np.float32)
    library = load_library(folder)
    for kernel in ("mine", "other"):
        compile_graph(custom(kernel), CompileOptions(), library)
    (folder / "helper.py").write_text(HELPER.replace(old, new))
    library = load_library(folder)
    for kernel, touched in (("mine", mine), ("other", other)):
        model = compile_graph(custom(kernel), CompileOptions(), library)
        assert ("elaborate" in work_done(model)) == touched
        fresh = compile_graph(custom(kernel), CompileOptions(cache=False), library)
        assert model.execute(x)[0].tobytes() == fresh.execute(x)[0].tobytes()


def test_a_constant_in_the_graph_survives_the_cache():
    values = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)

    def build():
        with Graph("g", inputs=[TensorType("f32", (64, 64))]) as g:
            g.output(g.inputs[0] @ ops.constant(values))
        return g

    (expected,) = compile_graph(build(), CompileOptions(cache=False)).execute(values)
    compile_graph(build(), CompileOptions())
    model = compile_graph(build(), CompileOptions())
    assert work_done(model) == set()
    assert model.execute(values)[0].tobytes() == expected.tobytes()
    other = values.copy()
    other[3, 3] += 1
    values = other
    assert work_done(compile_graph(build(), CompileOptions())) != set()
