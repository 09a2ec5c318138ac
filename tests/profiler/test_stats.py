"""Medians, intervals and verdicts: they find what is there and do not find what is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiler.stats import FASTER, SAME, SLOWER, compare_times, order_interval, rank_test, summarise


def blocks_of(rng, median, blocks=12, size=40, drift=0.004, noise=0.02):
    """A run: blocks whose medians wander a little, samples that scatter upwards, as times do."""
    parts = []
    for _ in range(blocks):
        level = median * (1 + drift * rng.standard_normal())
        parts.append(level * (1 + np.abs(noise * rng.standard_normal(size))))
    return np.concatenate(parts).astype(np.int64), (size,) * blocks


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=300))
def test_the_interval_holds_the_median(times):
    found = summarise(times)
    assert found.minimum <= found.low <= found.median <= found.high <= found.maximum
    assert found.count == len(times) and 0 <= found.outliers <= len(times)


def test_the_interval_covers_the_true_median_as_often_as_it_says():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(1000):
        low, high = order_interval(np.sort(rng.exponential(size=50)))
        covered += low <= np.log(2) <= high
    assert 930 <= covered <= 995


def test_outliers_are_counted_and_kept():
    found = summarise([100] * 50 + [101] * 50 + [5000])
    assert found.outliers == 1 and found.maximum == pytest.approx(5e-6)


def test_no_times_is_an_error():
    with pytest.raises(ValueError):
        summarise([])


def test_runs_of_the_same_thing_show_no_difference_at_least_95_times_in_100():
    rng = np.random.default_rng(1)
    same = 0
    for _ in range(100):
        (a, a_blocks), (b, b_blocks) = blocks_of(rng, 1e6), blocks_of(rng, 1e6)
        same += compare_times(a, b, a_blocks, b_blocks).verdict == SAME
    assert same >= 95


@pytest.mark.parametrize("factor, verdict", [(1.03, SLOWER), (0.97, FASTER), (2.0, SLOWER)])
def test_three_percent_is_found(factor, verdict):
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(50):
        (a, a_blocks), (b, b_blocks) = blocks_of(rng, 1e6), blocks_of(rng, 1e6 * factor)
        got = compare_times(a, b, a_blocks, b_blocks)
        found += got.verdict == verdict
        assert got.low <= got.ratio * 1.02 and got.high >= got.ratio * 0.98
    assert found >= 48


def test_a_difference_below_the_floor_is_not_called():
    rng = np.random.default_rng(3)
    a, blocks = blocks_of(rng, 1e6, drift=0.0001)
    b, _ = blocks_of(rng, 1.01e6, drift=0.0001)
    assert compare_times(a, b, blocks, blocks).verdict == SAME
    assert compare_times(a, b, blocks, blocks, floor=0.004).verdict == SLOWER


def test_too_few_blocks_never_tell_a_difference():
    found = compare_times([100, 100], [900, 900])
    assert found.verdict == SAME and not found.enough


def test_the_verdict_is_the_same_every_time():
    rng = np.random.default_rng(4)
    (a, blocks), (b, _) = blocks_of(rng, 1e6), blocks_of(rng, 1e6)
    assert compare_times(a, b, blocks, blocks) == compare_times(a, b, blocks, blocks)


def test_the_rank_test_agrees_with_known_values():
    assert rank_test([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]) == pytest.approx(1.0, abs=0.01)
    assert rank_test(list(range(10)), list(range(100, 110))) == pytest.approx(0.000183, rel=0.1)
    assert rank_test([], [1]) == 1.0 and rank_test([3, 3], [3, 3]) == 1.0
