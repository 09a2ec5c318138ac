import ml_dtypes
import numpy as np
import pytest

from compiler.errors import ExecutionError
from compiler.graph.binding import bind, resolve
from compiler.graph.dim_text import dim
from compiler.graph.types import TensorType


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


def test_symbols_take_the_sizes_of_the_arrays():
    types = [TensorType("f32", ("M", "K")), TensorType("bf16", ("K", 3))]
    assert bind(types, [zeros(2, 5), zeros(5, 3, dtype=ml_dtypes.bfloat16)]) == {"M": 2, "K": 5}


def test_expressions_are_solved_or_checked():
    assert bind([TensorType("f32", ("2*M + 1",))], [zeros(9)]) == {"M": 4}
    assert bind([TensorType("f32", ("M + N",)), TensorType("f32", ("N",))], [zeros(9), zeros(2)]) == {"N": 2, "M": 7}
    with pytest.raises(ExecutionError, match=r"input 1, axis 0: expected 2\*M = 6, got 7"):
        bind([TensorType("f32", ("M",)), TensorType("f32", ("2*M",))], [zeros(3), zeros(7)])
    with pytest.raises(ExecutionError, match=r"no size of M makes 2\*M equal 7"):
        bind([TensorType("f32", ("2*M",))], [zeros(7)])
    with pytest.raises(ExecutionError, match=r"cannot tell the sizes in M \+ N"):
        bind([TensorType("f32", ("M + N",))], [zeros(7)])


@pytest.mark.parametrize(
    "arrays, words",
    [
        ([zeros(2, 3)], "expected 2 arrays, got 1: x, y"),
        ([zeros(2, 3), [1, 2]], r"input 1 \(y\): expected a NumPy array, got list"),
        ([zeros(2, 3), zeros(2, dtype=np.float64)], r"input 1 \(y\): expected dtype f32, got f64"),
        ([zeros(2, 3), zeros(2, dtype=np.complex64)], "expected dtype f32, got NumPy complex64"),
        ([zeros(2, 3), zeros(2, dtype=">f4")], "expected dtype f32, got byte-swapped f32|got NumPy >f4"),
        ([zeros(2, 4), zeros(2)], r"input 0 \(x\): expected shape \(M, 3\), got \(2, 4\)"),
        ([zeros(2), zeros(2)], r"input 0 \(x\): expected shape \(M, 3\), got \(2,\)"),
        ([zeros(2, 3), zeros(4)], r"dim M is 2 at input 0 \(x\), axis 0 but 4 at input 1 \(y\), axis 0"),
    ],
)
def test_arguments_that_do_not_fit_say_which_and_why(arrays, words):
    types = [TensorType("f32", ("M", 3)), TensorType("f32", ("M",))]
    with pytest.raises(ExecutionError, match=words):
        bind(types, arrays, ["x", "y"])


def test_attributes_resolve_to_numbers():
    assert resolve({"shape": 1}["shape"], {}) == 1
    assert resolve((dim("M"), 4, dim("2*M")), {"M": 3}) == (3, 4, 6)
    with pytest.raises(ExecutionError, match="dim M is in no input's shape"):
        resolve(dim("M"), {})
