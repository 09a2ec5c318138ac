"""Opaque values: made, passed, kept between runs, changed in place and consumed by kernels of a package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler import BufferType, Graph, OpaqueBufferType, OpaqueType, TensorType, compile, dim, load, load_library, ops
from compiler import reference as in_numpy
from compiler.backend.sass import resources_of
from compiler.errors import CompilerError, ExecutionError, GraphError, KernelError, UnavailableError
from compiler.graph.opaque import Opaque
from compiler.importers.mlir_text import parse_graph

KERNELS = Path(__file__).parent / "opaque_kernels"
LIBRARY = load_library(KERNELS)
RNG = OpaqueType("rng")
MASK = (1 << 64) - 1


def uniform(seed: int, drawn: int, count: int) -> np.ndarray:
    """The numbers that the package draws, in Python's own arithmetic."""
    found = []
    for number in range(drawn + 1, drawn + count + 1):
        z = (seed + number * 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        found.append(((z ^ (z >> 31)) >> 40) / (1 << 24))
    return np.array(found, np.float32)


def drawn_in_numpy(state: dict[str, Any], *, count: int) -> tuple[np.ndarray, dict[str, Any]]:
    seed, drawn = int(state["seed"]), int(state["drawn"])
    return uniform(seed, drawn, count), {"seed": state["seed"], "drawn": np.int64(drawn + count)}


def seeding() -> Graph:
    with Graph("seeding", inputs=[TensorType("i64", ())]) as graph:
        graph.output(ops.custom("rng_seed", [graph.inputs[0] * 2], RNG))
    return graph


def drawing(state: Any = RNG) -> Graph:
    """Two draws one after the other, the first with an op behind it; gives the state as well."""
    with Graph("drawing", inputs=[state]) as graph:
        kinds = [TensorType("f32", (5,)), RNG]
        one, between = ops.custom("rng_uniform", [graph.inputs[0]], kinds)
        two, after = ops.custom("rng_uniform", [between], kinds)
        graph.output(one + 1, two, after)
    return graph


def paged(pages: Any = None, **more: Any) -> dict[str, Any]:
    return {"pages": dim("P") if pages is None else pages, "width": 3, **more}


def pushing() -> Graph:
    """A row is put into a cache where it lies, which is read before and after."""
    with Graph(
        "pushing", {"cache": OpaqueBufferType("paged_cache", **paged()), "row": TensorType("f32", (3,))}
    ) as graph:
        cache, row = graph.inputs
        rows = TensorType("f32", (4 * dim("P"), 3))
        before = ops.custom("cache_read", [ops.buffer_load(cache)], rows)
        ops.update("cache_push", cache, [row * 2])
        graph.output(before, ops.custom("cache_read", [ops.buffer_load(cache)], rows))
    return graph


def new_cache(pages: int, library: Any = LIBRARY, **more: Any) -> Opaque:
    with Graph("new", inputs=[]) as graph:
        graph.output(ops.custom("cache_new", [], OpaqueType("paged_cache", **paged(pages, **more))))
    return compile(graph, library=library).execute()[0]


@pytest.mark.parametrize("flow", ["per-kernel", "all-kernel"])
def test_a_state_is_handed_on_from_kernel_to_kernel_and_from_run_to_run(flow: str) -> None:
    (state,) = compile(seeding(), library=LIBRARY, flow=flow).execute(np.int64(21))
    assert repr(state) == 'Opaque(!mo.opaque<"rng">)'
    assert int(state["seed"]) == 42 and int(state["drawn"]) == 0
    draw = compile(drawing(), library=LIBRARY, flow=flow)
    for start in (0, 10, 20):
        one, two, state = draw.execute(state)
        np.testing.assert_array_equal(one, uniform(42, start, 5) + 1)
        np.testing.assert_array_equal(two, uniform(42, start + 5, 5))
        assert int(state["drawn"]) == start + 10


def test_ops_before_and_after_are_fused_as_with_tensors() -> None:
    (kernel,) = compile(seeding(), library=LIBRARY).kernels
    assert "rng_seed(rng(out0), FusedInput(input0, i64, ()))" in kernel.source
    assert {kernel.name for kernel in compile(drawing(), library=LIBRARY).kernels} == {
        "rng_uniform_kernel",
        "add_kernel",
    }


def test_a_buffer_is_changed_in_place_in_the_order_of_the_graph() -> None:
    model = compile(pushing(), library=LIBRARY)
    push = next(kernel for kernel in model.kernels if "cache_push" in kernel.source)
    assert "cache_push(paged_cache(out0, pages=P, width=3)" in push.source
    assert len(push.fused.inputs) == 1  # the row alone: the cache is not copied
    cache, want = new_cache(2), np.zeros((8, 3), np.float32)
    memory = cache.memory.ctypes.data
    for number in range(8):
        before, after = model.execute(cache, np.full(3, number + 1, np.float32))
        np.testing.assert_array_equal(before, want)
        want[number] = 2 * (number + 1)
        np.testing.assert_array_equal(after, want)
    assert cache.memory.ctypes.data == memory
    assert int(cache["length"]) == 8 and bool(cache["full"])
    assert cache["table"].tolist() == [1, 0]  # pages are handed out from the end
    np.testing.assert_array_equal(cache["rows"][1], want[:4])


def test_a_value_is_stored_to_a_buffer() -> None:
    with Graph("kept", {"cache": OpaqueBufferType("paged_cache", **paged()), "row": TensorType("f32", (3,))}) as graph:
        cache, row = graph.inputs
        after = ops.custom("cache_append", [ops.buffer_load(cache), row], OpaqueType("paged_cache", **paged()))
        ops.buffer_store(cache, after)
        graph.output(after)
    model, cache = compile(graph, library=LIBRARY), new_cache(3)
    for number in range(5):
        (given,) = model.execute(cache, np.full(3, number, np.float32))
        assert given.memory.tobytes() == cache.memory.tobytes()
        assert given.memory.ctypes.data != cache.memory.ctypes.data
    assert cache["rows"][2, :, 0].tolist() == [0, 1, 2, 3] and cache["rows"][1, 0, 0] == 4


def test_updates_give_results_and_keep_their_order() -> None:
    with Graph("twice", {"state": OpaqueBufferType("rng")}) as graph:
        (state,) = graph.inputs
        two = [ops.update("rng_next", state, [], TensorType("f32", (n,))) for n in (3, 4)]
        graph.output(*two)
    state = LIBRARY.zeros(RNG)
    state["seed"][...] = 5
    model = compile(graph, library=LIBRARY)
    for start in (0, 7):
        one, other = model.execute(state)
        np.testing.assert_array_equal(np.concatenate([one, other]), uniform(5, start, 7))


def test_an_update_stays_though_nobody_reads_what_it_gives() -> None:
    with Graph("last", {"state": OpaqueBufferType("rng"), "x": TensorType("f32", (2,))}) as graph:
        state, x = graph.inputs
        ops.update("rng_next", state, [], TensorType("f32", (3,)))
        graph.output(x + 1)
    state = LIBRARY.zeros(RNG)
    compile(graph, library=LIBRARY).execute(state, np.zeros(2, np.float32))
    assert int(state["drawn"]) == 3


def test_a_tensor_in_a_buffer_is_changed_in_place_too(tmp_path: Path) -> None:
    (tmp_path / "bump.py").write_text(
        '@kernel("bump")\ndef bump(counts: Tensor, at: FusedInput):\n'
        "    i = index(at[()])\n    counts[i] = counts[i] + 1\n"
    )
    with Graph("bumps", {"counts": BufferType("i64", ("N",)), "at": TensorType("i64", ())}) as graph:
        counts, at = graph.inputs
        ops.update("bump", counts, [at], reference=lambda counts, at: counts.__setitem__(at, counts[at] + 1))
        graph.output(ops.buffer_load(counts))
    counts, same = np.zeros(4, np.int64), np.zeros(4, np.int64)
    model = compile(graph, library=load_library(tmp_path))
    for at in (2, 0, 2):
        (seen,) = model.execute(counts, np.int64(at), threads=1)
        (wanted,) = in_numpy(graph, same, np.int64(at))
        np.testing.assert_array_equal(seen, wanted)
    assert counts.tolist() == same.tolist() == [1, 0, 2, 0]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (lambda: LIBRARY.zeros(OpaqueType("paged_cache", pages=2, width=4)), "{pages = 2, width = 4}"),
        (lambda: LIBRARY.zeros(RNG), 'got one of !mo.opaque<"rng">'),
        (lambda: np.zeros(113, np.uint8), "got ndarray"),
    ],
    ids=["other parameters", "another type", "an array"],
)
def test_a_value_of_another_type_is_refused_in_a_line(value: Any, said: str) -> None:
    with pytest.raises(ExecutionError) as told:
        compile(pushing(), library=LIBRARY).execute(value(), np.zeros(3, np.float32))
    assert "input 0 (cache): expected a value of" in str(told.value) and said in str(told.value)
    assert "\n" not in str(told.value)


def test_an_opaque_value_is_no_array() -> None:
    with pytest.raises(ExecutionError, match=r"input 1 \(row\): expected an array, got a value of"):
        compile(pushing(), library=LIBRARY).execute(new_cache(2), LIBRARY.zeros(RNG))


def test_a_value_of_another_layout_is_refused(tmp_path: Path) -> None:
    text = (KERNELS / "paged_cache.py").read_text()
    (tmp_path / "paged_cache.py").write_text(text.replace("full=bool", "full=i64").replace("full = ", "full = 0 * "))
    other = load_library(tmp_path).zeros(OpaqueType("paged_cache", **paged(2)))
    with pytest.raises(ExecutionError, match="was made with another layout; make it anew"):
        compile(pushing(), library=LIBRARY).execute(other, np.zeros(3, np.float32))


def test_text_reads_back_and_compiles_to_the_same() -> None:
    for graph in (drawing(), pushing()):
        text = str(graph)
        again = parse_graph(text)
        assert str(again) == text
        assert [k.source for k in compile(again, library=LIBRARY).kernels] == [
            k.source for k in compile(graph, library=LIBRARY).kernels
        ]
    assert '!mo.opaque_buffer<"paged_cache", {pages = P, width = 3}>' in text
    assert "mogg.kernel @cache_push" in compile(pushing(), library=LIBRARY).ir("mogg").replace("mul_", "")


def test_a_file_and_the_cache_know_the_layouts(tmp_path: Path) -> None:
    compile(pushing(), library=LIBRARY).save(tmp_path / "pushing.kgx")
    for model in (load(tmp_path / "pushing.kgx"), compile(pushing(), library=LIBRARY)):
        cache = new_cache(1)
        _, after = model.execute(cache, np.ones(3, np.float32))
        assert after[0].tolist() == [2, 2, 2] and int(cache["length"]) == 1
        with pytest.raises(ExecutionError, match="expected a value of"):
            model.execute(LIBRARY.zeros(RNG), np.ones(3, np.float32))


def test_another_layout_is_another_model(tmp_path: Path) -> None:
    text = (KERNELS / "random.py").read_text()
    (tmp_path / "random.py").write_text(text)
    compile(seeding(), library=load_library(tmp_path)).execute(np.int64(1))
    (tmp_path / "random.py").write_text(
        text.replace("struct(seed=i64, drawn=i64)", "struct(drawn=i64, more=f32, seed=i64)")
    )
    (state,) = compile(seeding(), library=load_library(tmp_path)).execute(np.int64(1))
    assert list(state.fields()) == ["drawn", "more", "seed"] and int(state["seed"]) == 2


def test_parameters_choose_dtypes() -> None:
    cache = new_cache(2, dtype="bf16")
    assert cache["rows"].dtype.itemsize == 2 and cache.layout.bytes == 8 + 2 * 4 + 2 * 4 * 3 * 2 + 1


def test_references_see_fields() -> None:
    with Graph("drawn", inputs=[RNG]) as graph:
        kinds = [TensorType("f32", (6,)), RNG]
        graph.output(
            *ops.custom("rng_uniform", [graph.inputs[0]], kinds, reference=lambda s: drawn_in_numpy(s, count=6))
        )
    state = LIBRARY.zeros(RNG)
    state["seed"][...] = 9
    got, after = compile(graph, library=LIBRARY).execute(state)
    wanted, fields = in_numpy(graph, state)
    np.testing.assert_array_equal(got, wanted)
    assert {name: int(held) for name, held in after.fields().items()} == {k: int(v) for k, v in fields.items()}
    with pytest.raises(ExecutionError, match="custom kernel 'cache_read' has no NumPy reference"):
        in_numpy(pushing(), new_cache(1), np.ones(3, np.float32))


def test_gpu_code_works_on_the_fields() -> None:
    for graph in (drawing(), pushing()):
        for kernel in compile(graph, target="sm_90a", library=LIBRARY).kernels:
            assert ".visible .entry" in kernel.ir("ptx")
            try:
                (entry,) = resources_of(kernel.unit.object, "sm_90a")
            except UnavailableError:
                continue  # no ptxas on this machine
            assert entry.name == kernel.name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('@opaque("odd")\ndef odd():\n    return 3\n', "odd returns struct"),
        ('@opaque("odd")\ndef odd():\n    return struct()\n', "needs a field"),
        ('@opaque("odd")\ndef odd():\n    return struct(bytes=i64)\n', "cannot be called bytes"),
        ('@opaque("odd")\ndef odd():\n    return struct(n=7)\n', "the field n is a dtype"),
        ('@opaque("odd")\ndef odd(*, n):\n    return struct(x=i64[n])\n', "lacks its parameter n"),
    ],
    ids=["a number", "no field", "bytes", "a field of 7", "no parameter"],
)
def test_a_layout_that_is_none_is_told_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "odd.py").write_text(text)
    with pytest.raises(KernelError, match=said) as told:
        load_library(tmp_path).layout(OpaqueType("odd"))
    assert "odd.py:" in str(told.value)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("state.seeds = 1", "rng has no field seeds; its fields are seed, drawn"),
        ("state.seed = f32(1)", "cannot be stored where i64 is asked for"),
        ("other.seed = 1", "this stores to an input"),
        ("state.seed = 1\n    other.bytes = 3", "bytes is an array"),
    ],
    ids=["no such field", "another dtype", "an input", "the bytes"],
)
def test_mistakes_in_a_kernel_are_told_with_their_line(tmp_path: Path, body: str, said: str) -> None:
    (tmp_path / "wrong.py").write_text(
        f'@kernel("wrong")\ndef wrong(state: Opaque["rng"], other: Opaque):\n    {body}\n'
    )
    with Graph("g", inputs=[RNG]) as graph:
        graph.output(ops.custom("wrong", [graph.inputs[0]], RNG))
    with pytest.raises(KernelError, match=said) as told:
        compile(graph, library=load_library(KERNELS, tmp_path))
    assert "wrong.py:" in str(told.value)


def test_a_kernel_that_asks_for_another_type_is_refused() -> None:
    kind = OpaqueType("paged_cache", **paged(2))
    with Graph("g", inputs=[kind]) as graph:
        graph.output(*ops.custom("rng_uniform", [graph.inputs[0]], [TensorType("f32", (4,)), RNG]))
    with pytest.raises(
        KernelError, match="asks for a value of the opaque type rng as before, not for one of paged_cache"
    ):
        compile(graph, library=LIBRARY)


def test_what_nobody_declares_is_refused() -> None:
    with Graph("g", inputs=[OpaqueType("nothing")]) as graph:
        graph.output(graph.inputs[0])
    with pytest.raises(CompilerError, match="declares no opaque type 'nothing'"):
        compile(graph, library=LIBRARY)
    with pytest.raises(GraphError, match="a number, a text or a dim"):
        OpaqueType("rng", seed=(1, 2))
    with Graph("g", inputs=[RNG]) as graph, pytest.raises(GraphError, match="add"):
        graph.inputs[0] + 1
