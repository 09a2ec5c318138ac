"""The roof over a kernel is that of the dtype it computes in; what was not measured is not made up."""

import pytest

from profiler.analysis.roofline import kernel_dtype, roofline
from profiler.records import Ceiling

CEILINGS = [
    Ceiling("copy memory", 1, 10.0, "GB/s", 9.0, 11.0), Ceiling("multiply-add f32", 1, 80.0, "GFLOP/s", 79.0, 81.0),
    Ceiling("multiply-add f16", 1, 160.0, "GFLOP/s", 159.0, 161.0),
]  # fmt: skip
SOURCE = (
    '@kernel("k")\ndef k(\n    out0: Tensor[{}, (M, 4)],\n    in0: Tensor[{}, (M, 4)],\n):\n    x: Tensor[f64, ()]\n'
)


def launch(kernel, flops, moved):
    return {
        "kernel": kernel,
        "position": 0,
        "median": 1e-3,
        "flops": flops,
        "bytes": moved,
        "loads": moved,
        "stores": 0,
    }


@pytest.mark.parametrize(
    "out, given, dtype", [("f32", "f16", "f16"), ("f32", "i8", "f32"), ("bool", "i64", ""), ("bf16", "bf16", "bf16")]
)
def test_the_dtype_is_that_of_the_first_operand_of_floating_point(out, given, dtype):
    assert kernel_dtype(SOURCE.format(out, given)) == dtype


def test_each_kernel_lies_under_the_peak_of_its_dtype():
    launches = [launch(name, 40_000_000, 1000) for name in ("half", "single", "brain", "unnamed")]
    points = roofline(launches, CEILINGS, {"half": "f16", "single": "f32", "brain": "bf16"})
    assert [point.roof for point in points] == [160.0, 80.0, None, 80.0]
    assert [point.share for point in points] == [pytest.approx(0.25), pytest.approx(0.5), None, pytest.approx(0.5)]
    assert [point.bound for point in points] == ["compute", "compute", "unknown", "compute"]


def test_little_arithmetic_lies_under_the_slope():
    (point,) = roofline([launch("k", 1000, 4000)], CEILINGS)
    assert point.roof == pytest.approx(2.5) and point.bound == "memory" and point.share == pytest.approx(1e-3 / 2.5)
