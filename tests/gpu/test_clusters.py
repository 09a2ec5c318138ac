"""Blocks that run as one: they reach each other's shared memory, and products of which pairs of blocks share tiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler import Graph, TensorType, ops
from compiler.graph.dtypes import numpy_dtype
from compiler.language.library import load_library
from compiler.options import CompileOptions, Tuned
from compiler.pipeline import compile_graph
from profiler.tuning.candidates import tunables
from tests.gpu.known_kernels import HEAD

pytestmark = pytest.mark.gpu
KERNELS = f'''{HEAD}
from kernels.gpu_clusters import meet_cluster, word_of
from kernels.gpu_warpgroups import shared_address


@kernel("of_the_neighbour")
def of_the_neighbour(out: Tensor, x: Tensor):
    """Each block gives what the other block of its pair read."""
    launch(blocks=ceildiv(x.shape[0], 32), threads=32, cluster=2)
    board = shared(i32, (32,))
    thread, block = thread_index(), block_index()
    at = min(block * 32 + thread, index(x.shape[0]) - 1)
    board[thread] = x[at]
    meet_cluster()
    found = word_of(shared_address(board) + (thread * 4).cast(i32), (1 - block % 2).cast(i32))
    meet_cluster()
    if block * 32 + thread < x.shape[0]:
        out[at] = found
'''


@pytest.mark.parametrize("blocks", [2, 7, 300])
def test_blocks_of_a_cluster_read_each_others_shared_memory(device: Any, tmp_path: Path, blocks: int) -> None:
    from profiler.measure.cuda.model import CudaModel

    (tmp_path / "known.py").write_text(KERNELS)
    size = blocks * 32
    with Graph("pairs", inputs=[TensorType("i32", (size,))]) as graph:
        graph.output(ops.custom("of_the_neighbour", list(graph.inputs), TensorType("i32", (size,))))
    model = CudaModel(compile_graph(graph, CompileOptions(device.target, cache=False), load_library(tmp_path)), device)
    values = np.random.default_rng(blocks).integers(0, 1 << 30, size, np.int32)
    whole = np.concatenate([values, np.full(32, values[-1])]) if blocks % 2 else values
    wanted = whole.reshape(-1, 2, 32)[:, ::-1].reshape(-1)[:size]
    (got,) = model.execute(values)
    np.testing.assert_array_equal(got, wanted)
    model.close()


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("m", "k", "n", "columns"), [(512, 320, 768, 256), (1024, 64, 384, 192), (256, 4096, 128, 64)])
def test_products_of_pairs_are_those_of_single_blocks(
    device: Any, turned: bool, m: int, k: int, n: int, columns: int
) -> None:
    from profiler.measure.cuda.model import CudaModel

    shapes = (m, k), (n, k) if turned else (k, n)
    with Graph("product", inputs=[TensorType("bf16", shape) for shape in shapes]) as graph:
        x, w = graph.inputs
        graph.output(x @ (ops.transpose(w, (1, 0)) if turned else w))
    rng = np.random.default_rng(m + n)
    arrays = [rng.standard_normal(shape).astype(numpy_dtype("bf16")) for shape in shapes]
    (found,) = tunables(compile_graph(graph, CompileOptions(device.target, cache=False)))
    results = []
    for blocks in (1, 2):
        parts = (("parts", 1),) if "parts" in dict(found.defaults) else ()
        chosen = Tuned(found.problem, (("cluster", blocks), ("columns", columns), *parts))
        made = compile_graph(graph, CompileOptions(device.target, cache=False, tuned=(chosen,)))
        launch = made.record(found.kernel).launch
        assert launch is not None and launch.cluster == blocks
        model = CudaModel(made, device)
        results.append(np.asarray(model.execute(*arrays)[0], np.float32))
        model.close()
    np.testing.assert_array_equal(*results)
    right = arrays[1].T if turned else arrays[1]
    np.testing.assert_allclose(results[0], arrays[0].astype(np.float32) @ right.astype(np.float32), rtol=2e-2, atol=0.5)
