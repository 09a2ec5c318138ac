"""The elementwise driver and the views it reads through."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.language.library import default_library
from tests.compiler.language.drive import elaborate, text
from tests.kernels.checked import DTYPES, MODES, assert_matches, random_array, run


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (37,), (3, 1, 9)])
def test_every_element_is_stored_once_in_any_dtype(dtype, shape):
    x = random_array(dtype, shape)
    assert_matches(run("elementwise(out, in0)", dtype, shape, x), x)


@pytest.mark.parametrize("shape", [(9000,), (2, 0, 3), (1, 4100), (2, 3, 4, 5), (4099,)])
@pytest.mark.parametrize("mode", MODES)
def test_threads_share_long_rows_and_many_rows(shape, mode):
    x = random_array("f32", shape)
    assert_matches(run("elementwise(out, in0)", "f32", shape, x, **mode), x)


@pytest.mark.parametrize("m", [0, 1, 3])
@pytest.mark.parametrize("n", [0, 1, 8, 5000])
def test_one_kernel_serves_every_size(m, n):
    x = random_array("f32", (m, n))
    result = run("elementwise(out, in0)", "f32", ("M", "N"), x, shapes=[("M", "N")], sizes={"M": m, "N": n}, threads=2)
    assert_matches(result, x)


@pytest.mark.parametrize("m, n", [(37, 150), (0, 5), (16, 64), (200, 17)])
@pytest.mark.parametrize("symbolic", [False, True])
def test_transposes_go_tile_by_tile(m, n, symbolic):
    x = random_array("f32", (m, n))
    shape = ("M", "N") if symbolic else (m, n)
    call = "elementwise(out, transpose(in0, perm=(1, 0)))"
    result = run(call, "f32", shape[::-1], x, shapes=[shape], sizes={"M": m, "N": n}, threads=2)
    assert_matches(result, x.T)


X = random_array("f32", (4, 6, 5))
VIEWS = {
    "transpose(in0, perm=(2, 0, 1))": X.transpose(2, 0, 1),
    "reshape(in0, shape=(8, 15))": X.reshape(8, 15),
    "reshape(transpose(in0, perm=(2, 0, 1)), shape=(8, 15))": X.transpose(2, 0, 1).reshape(8, 15),
    "broadcast_to(in0, shape=(3, 4, 6, 5))": np.broadcast_to(X, (3, 4, 6, 5)),
    "strided_slice(in0, starts=(1, 5, 4), steps=(2, -1, -2), shape=(2, 6, 3))": X[1::2, ::-1, ::-2],
    "strided_slice(in0, starts=(1, 0, 1), steps=(1, 1, 1), shape=(2, 6, 4))": X[1:3, :, 1:],
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("mode", MODES[:2])
def test_views_read_the_elements_numpy_reads(view, mode):
    expected = VIEWS[view]
    assert_matches(run(f"elementwise(out, {view})", "f32", expected.shape, X, **mode), expected)


@pytest.mark.parametrize("old, new", [((4, 1, 5), (4, 9, 5)), ((4, 1), (2, 4, 19)), ((), (3, 9))])
def test_broadcasting_repeats_axes_of_one(old, new):
    x = random_array("f32", old)
    result = run(f"elementwise(out, broadcast_to(in0, shape={new}))", "f32", new, x)
    assert_matches(result, np.broadcast_to(x, new))


@pytest.mark.parametrize("shape", ["(1, M)", "(M, 1)", "(1, 1, M, 1)"])
def test_a_size_of_one_is_not_divided_by_on_the_way_to_an_index(shape):
    source = (
        f"@kernel\ndef kernel(out: Tensor[i64, (M,)]):\n    for i in range(M):\n        at = delinearise(i, {shape})\n"
    )
    module, _ = elaborate(source + "        out[i] = i64(at[0] + at[-1])\n", library=default_library())
    assert "div" not in text(module)
