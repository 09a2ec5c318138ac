"""Medians, intervals, outliers, and the processor time that others took."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiler.analysis.statistics import (
    lost_share,
    order_interval,
    rank_test,
    split_processes,
    student_quantile,
    summarise,
)


@pytest.fixture(autouse=True, scope="module")
def _scipy_is_loaded():
    """Whatever asks for an interval first loads SciPy, which takes longer than Hypothesis lets an example take."""
    student_quantile(4)


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=300))
def test_the_interval_holds_the_median(times):
    found = summarise(times)
    assert found.minimum <= found.low <= found.median <= found.high <= found.maximum
    assert found.count == len(times) and 0 <= found.outliers <= len(times)


@given(st.lists(st.integers(1, 10**9), min_size=10, max_size=60), st.integers(2, 8))
def test_the_interval_of_processes_holds_the_median(times, processes):
    blocks = (len(times) // processes,) * (processes - 1)
    blocks = (*blocks, len(times) - sum(blocks))
    found = summarise(times, blocks, (1,) * processes)
    assert 0 < found.low <= found.median <= found.high and found.minimum <= found.median <= found.maximum
    assert found.processes == processes


def test_the_interval_covers_the_true_median_as_often_as_it_says():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(1000):
        low, high = order_interval(np.sort(rng.exponential(size=50)))
        covered += low <= np.log(2) <= high
    assert 930 <= covered <= 995


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.99])
def test_any_confidence_is_honoured(confidence):
    rng = np.random.default_rng(2)
    covered = [0, 0]
    for _ in range(1000):
        low, high = order_interval(np.sort(rng.exponential(size=2000)), confidence)
        covered[0] += low <= np.log(2) <= high
        processes = round(2 / (1 - confidence))
        times = 1e6 * np.exp(0.02 * rng.standard_normal(processes))
        found = summarise(times, (1,) * processes, (1,) * processes, confidence)
        covered[1] += found.low <= 1e-3 <= found.high
    for share in covered:  # order statistics come in whole steps: a few more than were promised, never fewer
        assert confidence - 0.03 <= share / 1000 <= min(confidence + 0.7 * (1 - confidence), 0.999)


@pytest.mark.parametrize("blocks", [(), (10,) * 70])
def test_more_confidence_takes_a_wider_interval(blocks):
    times = np.random.default_rng(3).integers(900, 1100, 700)
    widths = [summarise(times, blocks, confidence=c).width for c in (0.5, 0.8, 0.9, 0.95, 0.99)]
    assert widths == sorted(widths) and len(set(widths)) > 3


@pytest.mark.parametrize("processes", [3, 5, 12])
def test_the_interval_of_a_run_covers_what_other_runs_would_give(processes):
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(500):
        medians = 1e6 * np.exp(0.02 * rng.standard_normal(processes))
        times = np.concatenate([median * (1 + 0.001 * rng.standard_normal(40)) for median in medians])
        found = summarise(times.astype(np.int64), (10,) * 4 * processes, (4,) * processes)
        covered += found.low <= 1e-3 <= found.high
    assert covered >= 460  # blocks alone would give a fraction of that: they know nothing of other processes


def test_processes_are_told_apart_by_their_blocks():
    parts = split_processes(np.arange(10), (2, 3, 1, 4), (3, 1))
    assert [part.tolist() for part in parts] == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9]]
    for blocks, processes in (((), ()), ((2, 2), (1,)), ((10,), (2,))):
        assert len(split_processes(np.arange(10), blocks, processes)) == 1


def test_outliers_are_counted_and_kept():
    found = summarise([100] * 50 + [101] * 50 + [5000])
    assert found.outliers == 1 and found.maximum == pytest.approx(5e-6)


def test_no_times_is_an_error():
    with pytest.raises(ValueError):
        summarise([])


def test_lost_time_is_a_share_of_all_threads_time():
    times, lost = np.array([100, 100]), np.array([0, 50])
    assert lost_share(times, lost, 1) == 0.25 and lost_share(times, lost, 2) == 0.125
    assert lost_share(np.zeros(0), np.zeros(0), 1) == 0.0


@pytest.mark.parametrize(
    "freedom, confidence, value",
    [(1, 0.95, 12.7062), (4, 0.95, 2.7764), (8, 0.99, 3.3554), (30, 0.95, 2.0423)],
)
def test_students_quantiles_agree_with_tables(freedom, confidence, value):
    assert student_quantile(freedom, confidence) == pytest.approx(value, rel=1e-3)


@pytest.fixture(scope="module")
def scipys_rank_test():
    """It takes a second to load, so only the process that runs these tests does."""
    from scipy.stats import mannwhitneyu

    return mannwhitneyu


@given(a=st.lists(st.integers(0, 12), min_size=1, max_size=40), b=st.lists(st.integers(0, 12), min_size=1, max_size=40))
def test_the_rank_test_is_scipys(scipys_rank_test, a, b):
    if len({*a, *b}) > 1:
        expected = scipys_rank_test(a, b, method="asymptotic").pvalue
        assert rank_test(a, b) == pytest.approx(expected, rel=1e-9)


def test_the_rank_test_agrees_with_known_values():
    assert rank_test([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]) == pytest.approx(1.0, abs=0.01)
    assert rank_test(list(range(10)), list(range(100, 110))) == pytest.approx(0.000183, rel=0.1)
    assert rank_test([], [1]) == 1.0 and rank_test([3, 3], [3, 3]) == 1.0
