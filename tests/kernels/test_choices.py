"""Whatever a kernel of the library leaves to choose, every candidate computes the same; on a GPU it assembles."""

import shutil
import subprocess

import numpy as np
import pytest

from compiler import Graph, TensorType, ops, reference
from compiler.options import CompileOptions, Tuned
from compiler.passes.fusion.edits import problem_of
from compiler.pipeline import compile_graph
from compiler.reading import read_graph
from profiler.analysis.accuracy import relative_error
from profiler.tuning.candidates import Variations, tunables


def graph_of(make, *shapes, dtype="f32"):
    with Graph("tuned", inputs=[TensorType(dtype, shape) for shape in shapes]) as graph:
        graph.output(make(*graph.inputs))
    return graph


def product(a, b):
    return a @ b


CASES = {
    "matmul": (product, (70, 530), (530, 150)),
    "matmul by the whole of k": (product, (40, 300), (300, 90)),
    "matmul of any rows": (product, ("M", 600), (600, 70)),
    "a few rows": (product, (12, 300), (300, 130)),
    "more rows": (product, (20, 300), (300, 130)),
    "one row": (product, (1, 700), (700, 530)),
    "conv2d": (lambda x, w: ops.conv2d(x, w, padding=(1, 1)), (1, 8, 20, 20), (16, 8, 3, 3)),
    "attention": (lambda q, k, v: ops.scaled_dot_product_attention(q, k, v), (2, 70, 32), (2, 90, 32), (2, 90, 32)),
    "softmax": (lambda x: ops.softmax(x, axis=-1), (6, 300)),
    "sum of rows": (lambda x: ops.sum(x, axis=-1), (20, 777)),
    "sum of columns": (lambda x: ops.sum(x, axis=0), (77, 900)),
    "sum of all": (lambda x: ops.sum(x, axis=(0, 1)), (130, 777)),
    "transpose": (lambda x: ops.transpose(x, (1, 0)) + 1.0, (150, 90)),
    "elementwise": (lambda x: ops.exp(x) * 2.0, (3, 5000)),
}
QUICK = {"matmul by the whole of k", "a few rows", "softmax", "transpose"}
MOST = 40  # that a kernel of the library should leave to try at all


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CASES]
)
def test_every_candidate_computes_the_same(name):
    make, *shapes = CASES[name]
    graph = graph_of(make, *shapes)
    sizes = [tuple(33 if size == "M" else size for size in shape) for shape in shapes]
    arrays = [np.random.default_rng(3).normal(size=shape).astype(np.float32) for shape in sizes]
    wanted = reference(graph, *arrays)
    model = compile_graph(graph, CompileOptions())
    (found,) = tunables(model)
    candidates, broken = Variations(model).around(found, ())
    assert broken == [] and 0 < len(candidates) <= MOST
    for chosen in candidates:
        tuned = compile_graph(graph, CompileOptions(tuned=(Tuned(found.problem, chosen),)))
        assert tuned.tuned[found.kernel] == dict(chosen)
        for got, right in zip(tuned.execute(*arrays), wanted, strict=True):
            assert relative_error(got, right) < 1e-4, chosen


def test_what_is_left_to_choose_is_what_the_library_says():
    model = compile_graph(graph_of(product, (70, 530), (530, 150)), CompileOptions())
    (found,) = tunables(model)
    assert [name for name, _ in found.defaults] == ["register tile", "depth", "columns", "waiting rows"]
    assert found.problem == problem_of(model.kernels[0].fused, model.target)


def test_products_have_the_same_bits_whatever_is_chosen():
    """Tiles and blocks only say which sums are made when: each goes along k."""
    make, *shapes = CASES["matmul by the whole of k"]
    graph = graph_of(make, *shapes)
    arrays = [np.random.default_rng(4).normal(size=shape).astype(np.float32) for shape in shapes]
    model = compile_graph(graph, CompileOptions())
    (found,) = tunables(model)
    (usual,) = model.execute(*arrays)
    for chosen in Variations(model).around(found, ())[0]:
        (got,) = compile_graph(graph, CompileOptions(tuned=(Tuned(found.problem, chosen),))).execute(*arrays)
        assert np.array_equal(got, usual), chosen


GPU_CASES = {
    "by warpgroups": (product, "bf16", (512, 256), (256, 512)),
    "without tensor cores": (product, "f32", (256, 256), (256, 256)),
    "a row times columns": (lambda a, b: a @ ops.transpose(b, (1, 0)), "bf16", (1, 512), (256, 512)),
    "sum": (lambda x: ops.sum(x, axis=(0, 1)), "f32", (1024, 4096)),
    "elementwise": (lambda x: ops.exp(x), "f32", (64, 512)),
}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas is not installed")
@pytest.mark.parametrize("name", GPU_CASES)
def test_every_candidate_for_a_gpu_assembles(name, tmp_path):
    make, dtype, *shapes = GPU_CASES[name]
    graph = graph_of(make, *shapes, dtype=dtype)
    model = read_graph(graph, CompileOptions("sm_90a"))
    (found,) = tunables(model)
    candidates, broken = Variations(model).around(found, ())
    assert broken == [] and candidates
    for chosen in candidates:
        tuned = read_graph(graph, CompileOptions("sm_90a", tuned=(Tuned(found.problem, chosen),)))
        (tmp_path / "k.ptx").write_text(tuned.kernel(found.kernel).ir("ptx"))
        made = subprocess.run(
            ["ptxas", "-arch=sm_90a", "-o", str(tmp_path / "k.cubin"), str(tmp_path / "k.ptx")],
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert made.returncode == 0, (chosen, made.stderr)
