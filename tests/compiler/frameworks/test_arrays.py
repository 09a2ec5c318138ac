"""Arrays of other frameworks go into a model where they lie, and come out as the kind that went in."""

from __future__ import annotations

import gc
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from compiler import BufferType, Graph, TensorType, compile, ops
from compiler.errors import ExecutionError
from compiler.frameworks.dlpack import _on_loan, offered, read_capsule

DTYPES = ["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool"]


def doubling(dtype: str = "f32", shape: tuple[Any, ...] = ("M",)) -> Any:
    graph = Graph("twice", [TensorType(dtype, shape)])
    with graph:
        (x,) = graph.inputs
        graph.output(ops.logical_not(x) if dtype == "bool" else x + x)
    return compile(graph)


class Foreign:
    """An array of a framework that nobody knows: DLPack is all it has."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **how: Any) -> Any:
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("dtype", DTYPES)
def test_torch_tensors_of_every_dtype_go_in_and_come_out(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    from compiler.frameworks.lending import torch_dtype

    model = doubling(dtype)
    given = torch.tensor([0, 1, 3], dtype=torch_dtype(dtype))
    expected = ~given if dtype == "bool" else given + given
    for _ in range(3):  # the first call, and those that take the quick way
        (found,) = model.execute(given)
        assert found.dtype is given.dtype
        assert torch.equal(found, expected)


def test_tensors_with_gaps_with_gradients_and_of_other_sizes_are_taken() -> None:
    torch = pytest.importorskip("torch")
    model = doubling("f32", ("M", "N"))
    whole = torch.arange(24.0).reshape(4, 6)
    for given in (whole, whole.T, whole[:, ::2], whole[1:], torch.nn.Parameter(whole), whole[:0], whole):
        (found,) = model.execute(given)
        assert torch.equal(found, given.detach() * 2)
        assert not found.requires_grad


def test_a_result_lives_on_when_the_next_call_is_made() -> None:
    torch = pytest.importorskip("torch")
    model = doubling()
    for size in (16, 100_000):  # small ones are the allocator's, large ones the model's own memory
        kept = [model.execute(torch.full((size,), float(k)))[0] for k in range(4)]
        assert [int(found[-1]) for found in kept] == [0, 2, 4, 6]


def test_numpy_and_torch_may_take_turns() -> None:
    torch = pytest.importorskip("torch")
    model = doubling()
    for _ in range(3):
        assert type(model.execute(np.ones(5, np.float32))[0]) is np.ndarray
        assert isinstance(model.execute(torch.ones(5))[0], torch.Tensor)
        assert isinstance(model.execute(torch.ones(7))[0], torch.Tensor)


def test_the_kind_of_the_first_foreign_array_decides() -> None:
    torch = pytest.importorskip("torch")
    graph = Graph("sum", [TensorType("f32", (3,)), TensorType("f32", (3,)), TensorType("f32", ())])
    with graph:
        x, y, z = graph.inputs
        graph.output(x + y * z)
    (found,) = compile(graph).execute(np.ones(3, np.float32), torch.ones(3), 2.0)
    assert torch.equal(found, torch.full((3,), 3.0))


def test_a_tensor_is_written_where_it_lies() -> None:
    torch = pytest.importorskip("torch")
    graph = Graph("count", [BufferType("f32", (3,))])
    with graph:
        (buffer,) = graph.inputs
        value = ops.buffer_load(buffer) + 1
        ops.buffer_store(buffer, value)
        graph.output(value * 1)
    model, counter = compile(graph), torch.zeros(3)
    for _ in range(3):
        model.execute(counter)
    assert counter.tolist() == [3, 3, 3]


def test_results_can_be_written_to_given_tensors() -> None:
    torch = pytest.importorskip("torch")
    model = doubling()
    there, apart = torch.zeros(4), torch.zeros(8)[::2]
    for result in (there, apart, there, apart):
        result.zero_()
        model.program.execute_into([result], [torch.arange(4.0)])
        assert result.tolist() == [0, 2, 4, 6]


def test_jax_arrays_go_in_and_come_out() -> None:
    jax = pytest.importorskip("jax")
    for dtype in (jax.numpy.float32, jax.numpy.bfloat16, jax.numpy.int32):
        model = doubling({"float32": "f32", "bfloat16": "bf16", "int32": "i32"}[np.dtype(dtype).name])
        for size in (5, 5000):
            given = jax.numpy.arange(size).astype(dtype)
            (found,) = model.execute(given)
            assert isinstance(found, jax.Array) and found.dtype == dtype
            assert (found == given * 2).all()


def test_jax_arrays_never_change() -> None:
    jax = pytest.importorskip("jax")
    graph = Graph("count", [BufferType("f32", (3,))])
    with graph:
        ops.buffer_store(graph.inputs[0], ops.buffer_load(graph.inputs[0]) + 1)
        graph.output(ops.buffer_load(graph.inputs[0]))
    with pytest.raises(ExecutionError, match="mutable buffer must be a writeable"):
        compile(graph).execute(jax.numpy.zeros(3))


def test_anything_with_dlpack_or_an_array_interface_is_read_where_it_lies() -> None:
    model = doubling()
    array = np.arange(4, dtype=np.float32)
    assert model.execute(Foreign(array))[0].tolist() == [0, 2, 4, 6]
    assert model.execute(Foreign(array[::2]))[0].tolist() == [0, 4]

    class Interface:
        __array_interface__ = array.__array_interface__

    assert model.execute(Interface())[0].tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_a_numpy_scalar_fits_an_input_of_rank_0(dtype: Any) -> None:
    model = doubling("f32" if dtype is np.float32 else "bf16", ())
    assert model.execute(dtype(3))[0] == 6


def test_what_is_offered_lives_until_it_is_let_go() -> None:
    before = len(_on_loan)
    array = np.arange(3, dtype=np.float32).astype(ml_dtypes.bfloat16)
    capsule = offered(array).__dlpack__()
    seen = read_capsule(capsule).array()
    del array, capsule
    gc.collect()
    assert seen.astype(np.float32).tolist() == [0, 1, 2]
    assert len(_on_loan) == before + 1
    del seen
    gc.collect()
    assert len(_on_loan) == before
    taken = np.from_dlpack(offered(np.arange(3.0)))
    assert taken.tolist() == [0, 1, 2]
    del taken
    gc.collect()
    assert len(_on_loan) == before


def test_wrong_arguments_are_told_in_a_line() -> None:
    torch = pytest.importorskip("torch")
    model = doubling("f32", (3,))
    for wrong, words in (
        (torch.ones(3, dtype=torch.float64), "expected dtype f32, got f64"),
        (torch.ones(4), "expected shape"),
        (torch.ones(3).to_sparse(), "no plain memory"),
        (torch.ones(3, device="meta"), "lies on meta"),
        (Foreign(np.ones(3, np.complex64)), "no counterpart"),
        (object(), "got object"),
    ):
        with pytest.raises(ExecutionError, match=words):
            model.execute(wrong)
    assert model.execute(torch.ones(3))[0].tolist() == [2, 2, 2]
    with pytest.raises(ExecutionError, match="lies on meta"):  # also where the quick way is open
        model.execute(torch.ones(3, device="meta"))
