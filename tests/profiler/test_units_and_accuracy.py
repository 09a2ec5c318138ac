"""Numbers in words, and how far apart two results are: one home for each, whoever asks."""

import numpy as np
import pytest

from app.text_tables import seconds as table_seconds
from app.viewmodels.frame import formats
from profiler.analysis.accuracy import relative_error, relative_errors
from profiler.units import count, figure, flops, percent, seconds, size


@pytest.mark.parametrize(
    "value, words",
    [(None, ""), (0.0, "0 ns"), (3.2e-8, "32 ns"), (1e-6, "1 us"), (1.234e-4, "123 us"), (0.05, "50 ms"), (2, "2 s"),
     (12345, "12345 s"), (-0.002, "-2 ms"), (0.99997, "1 s"), (999.97e-6, "1 ms"), (999.7, "1000 s")],
)  # fmt: skip
def test_durations(value, words):
    assert seconds(value) == words
    if value:
        assert table_seconds(value) == words and (value < 0 or formats.seconds(value) == words.replace("us", "µs"))


@pytest.mark.parametrize(
    "value, words, short",
    [(0, "0 B", "0 B"), (1023, "1023 B", "1023 B"), (1536, "1.5 KiB", "1.5 KiB"), (3 << 30, "3.0 GiB", "3 GiB"),
     (5 << 40, "5.0 TiB", "5 TiB"), (1000 << 10, "1000.0 KiB", "1000 KiB")],
)  # fmt: skip
def test_sizes(value, words, short):
    assert (size(value), formats.size(value)) == (words, short)


def test_the_rest():
    assert (size(None), count(None), figure(None), percent(None)) == ("",) * 4
    assert (count(12345.0), figure(1.23456), percent(0.25), flops(2.5e9)) == ("12,345", "1.23", "25%", "2.5 GFLOP")
    assert (figure(999.7), flops(999.7e6)) == ("1000", "1 GFLOP")
    assert (formats.seconds(-1), formats.seconds(0), formats.size(-1), formats.count(-1)) == ("", "0", "", "")


def test_errors_are_relative_to_what_is_typical():
    wanted = np.array([1.0, 0.0, -1.0], np.float32)
    assert relative_errors(wanted + np.float32(0.1), wanted) == pytest.approx([0.1, 0.1225, 0.1], rel=0.01)
    assert relative_error(wanted, wanted) == 0.0 == relative_error(np.zeros(0), np.zeros(0))


def test_integers_are_right_or_wrong_and_nan_equals_nan():
    assert relative_errors(np.array([1, 2]), np.array([1, 3])).tolist() == [0.0, 1.0]
    odd = np.array([np.nan, np.inf, 1.0])
    assert relative_error(odd, odd) == 0.0
    assert relative_error(np.array([np.nan, np.inf, np.inf]), odd) == np.inf
    assert relative_error(np.array([0.0, np.inf, 1.0]), odd) == np.inf
