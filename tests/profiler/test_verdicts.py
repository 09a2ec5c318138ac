"""Verdicts find what is there and do not find what is not, however processes differ and whatever else ran meanwhile."""

from dataclasses import replace

import numpy as np
import pytest

from profiler.analysis.exact_tests import permuted, sign_flips, signed_rank_interval, step_down
from profiler.analysis.undisturbed import Times
from profiler.analysis.verdicts import (
    ALPHA,
    CANNOT_TELL,
    FASTER,
    FEW,
    OTHERS,
    PROCESSES,
    SAME,
    SLOWER,
    TURNS,
    WIDEST,
    compare_family,
    compare_times,
    stated,
)

CALLED = (FASTER, SLOWER)


def a_run(rng, level=1e6, processes=5, between=0.01, blocks=6, size=20, noise=0.02, lost=0.0):
    """A run: processes whose medians differ, samples that scatter upwards as times do, some processor time lost."""
    parts = []
    for _ in range(processes):
        median = level * np.exp(between * rng.standard_normal())
        parts.append(median * (1 + np.abs(noise * rng.standard_normal(blocks * size))))
    values = np.concatenate(parts)
    if lost:
        values = values / (1 - lost)
    missing = (values * lost).astype(np.int64)
    return Times(values.astype(np.int64), (size,) * (blocks * processes), (blocks,) * processes, missing)


@pytest.mark.parametrize("between", [0.0, 0.01, 0.1])
@pytest.mark.parametrize("processes", [5, 8])
def test_a_run_compared_with_itself_is_hardly_ever_said_to_differ(between, processes):
    rng = np.random.default_rng(1)
    made = dict(processes=processes, between=between)
    found = [compare_times(a_run(rng, **made), a_run(rng, **made)) for _ in range(300)]
    assert sum(verdict.verdict in CALLED for verdict in found) <= 300 * ALPHA * 2
    if between <= 0.01:
        assert sum(verdict.verdict == SAME for verdict in found) >= 294
    assert all(verdict.bound <= WIDEST for verdict in found if verdict.verdict == SAME)


def test_processes_of_two_kinds_are_not_two_programs():
    rng = np.random.default_rng(2)

    def bimodal():
        parts = [a_run(rng, level=1e6 * rng.choice([1.0, 1.08]), processes=1, between=0.0005) for _ in range(5)]
        blocks, counts = parts[0].blocks * 5, (6,) * 5
        return Times(np.concatenate([part.values for part in parts]), blocks, counts)

    assert sum(compare_times(bimodal(), bimodal()).verdict in CALLED for _ in range(300)) <= 6


@pytest.mark.parametrize("kernels", [1, 20])
def test_many_kernels_compared_together_are_not_more_often_wrong(kernels):
    rng = np.random.default_rng(3)
    wrong = 0
    for _ in range(150):
        pairs = [(a_run(rng, blocks=2, size=5), a_run(rng, blocks=2, size=5)) for _ in range(kernels)]
        wrong += any(verdict.verdict in CALLED for verdict in compare_family(pairs))
    assert wrong <= 150 * ALPHA * 3


@pytest.mark.parametrize("factor, verdict", [(1.03, SLOWER), (0.97, FASTER), (2.0, SLOWER)])
@pytest.mark.parametrize("others", [0, 20])
def test_three_percent_is_found_among_other_kernels_too(factor, verdict, others):
    rng = np.random.default_rng(4)
    found = 0
    for _ in range(50):
        pairs = [(a_run(rng, between=0.002), a_run(rng, 1e6 * factor, between=0.002))]
        pairs += [(a_run(rng, between=0.002), a_run(rng, between=0.002)) for _ in range(others)]
        got = compare_family(pairs)[0]
        found += got.verdict == verdict
        assert got.low <= got.ratio <= got.high and got.method == PROCESSES
    assert found >= 45


def test_what_processes_differ_by_is_what_cannot_be_told():
    rng = np.random.default_rng(5)
    verdicts = [compare_times(a_run(rng, between=0.03), a_run(rng, 1.03e6, between=0.03)) for _ in range(50)]
    assert sum(verdict.verdict == SLOWER for verdict in verdicts) <= 2
    doubts = [compare_times(a_run(rng, between=0.01), a_run(rng, 1.035e6, between=0.01)) for _ in range(50)]
    assert any(verdict.verdict == CANNOT_TELL and "processes of the same run" in verdict.why for verdict in doubts)
    assert all("--again" in verdict.advice for verdict in doubts if verdict.why)


def test_the_interval_covers_the_true_ratio_as_often_as_it_says():
    rng = np.random.default_rng(6)
    held = 0
    for _ in range(300):
        got = compare_times(a_run(rng, between=0.02), a_run(rng, 1.05e6, between=0.02))
        held += got.low <= 1.05 <= got.high
    assert 0.91 <= held / 300 <= 0.99


def test_processes_that_hardly_scatter_do_not_make_drift_between_runs_a_difference():
    rng = np.random.default_rng(13)
    held = called = 0
    for _ in range(300):
        drift = np.exp(0.005 * rng.standard_normal(2))
        runs = [a_run(rng, 1e6 * moved, between=0.0001) for moved in drift]
        got = compare_times(*runs)
        held += got.low <= 1 <= got.high
        called += got.verdict in CALLED
    assert held >= 276 and called <= 6


def test_time_that_others_took_is_not_held_against_a_run():
    rng = np.random.default_rng(7)
    plain, disturbed = a_run(rng, between=0.001), a_run(rng, between=0.001, lost=0.4)
    for one, two in ((plain, disturbed), (disturbed, plain)):
        got = compare_times(one, two)
        assert got.verdict == CANNOT_TELL and "other programs" in got.why and abs(got.ratio - 1) > 0.3
        assert got.low <= 1 <= got.high and not got.enough and got.words.startswith("cannot tell: other programs")
    really = compare_times(plain, a_run(rng, 2e6, between=0.001, lost=0.1))
    assert really.verdict == SLOWER


def two_threads(rng, level, share=0.5, processes=5, clean=0.0):
    """A run whose two threads lost `share` of all their time, but for a part of calls that lost nothing."""
    made = a_run(rng, level, processes, between=0.01)
    values = np.array(made.values, np.float64)
    disturbed = rng.random(len(values)) >= clean
    values[disturbed] /= 1 - share
    lost = np.where(disturbed, 2 * share * values, 0).astype(np.int64)
    return Times(values.astype(np.int64), made.blocks, made.processes, lost, threads=2)


def test_two_threads_that_lost_half_of_their_time_still_tell_a_large_difference():
    rng = np.random.default_rng(14)
    got = compare_times(two_threads(rng, 1e6), two_threads(rng, 5e6))
    assert got.verdict == SLOWER and 2 < got.low < 5 < got.high
    near = [compare_times(two_threads(rng, 1e6), two_threads(rng, 1e6)) for _ in range(50)]
    assert not any(verdict.verdict in CALLED for verdict in near)


def test_undisturbed_calls_are_compared_however_busy_the_machine_was():
    rng = np.random.default_rng(15)
    quiet = a_run(rng)
    for clean in (0.05, 0.5):
        got = compare_times(quiet, two_threads(rng, 1e6, 0.6, clean=clean))
        assert got.verdict == SAME and got.ratio == pytest.approx(1, abs=0.02)
        assert compare_times(quiet, two_threads(rng, 1.5e6, 0.6, clean=clean)).verdict == SLOWER


def test_turns_find_through_drift_what_runs_made_one_after_the_other_cannot():
    rng = np.random.default_rng(8)
    found = wrong = apart = 0
    for _ in range(60):
        drift = np.exp(np.cumsum(0.02 * rng.standard_normal(8)))

        def run(level, drift=drift):
            parts = [a_run(rng, level * d, 1, 0.002) for d in drift]
            return Times(np.concatenate([x.values for x in parts]), parts[0].blocks * 8, (6,) * 8)

        a, b, slow = run(1e6), run(1e6), run(1.03e6)
        wrong += compare_times(a, b, turns=True).verdict in CALLED
        got = compare_times(a, slow, turns=True)
        assert got.method == TURNS
        found += got.verdict == SLOWER
        apart += compare_times(a, slow).verdict == SLOWER
    assert wrong <= 3 and found >= 55 and apart < found


def test_one_process_each_allows_for_what_is_not_known():
    rng = np.random.default_rng(9)
    one = a_run(rng, processes=1, blocks=12, between=0)
    close, far = (a_run(rng, level, processes=1, blocks=12, between=0) for level in (1.07e6, 1.3e6))
    near = compare_times(one, close)
    assert near.verdict == SAME and near.method == FEW and 0.15 < near.bound < 0.2
    between = compare_times(one, a_run(rng, 1.095e6, processes=1, blocks=12, between=0))
    assert between.verdict == CANNOT_TELL and "few processes" in between.why
    alike = compare_times(one, a_run(rng, processes=1, blocks=12, between=0))
    assert alike.verdict == SAME and 0.1 < alike.bound < 0.15
    assert compare_times(one, far).verdict == SLOWER and compare_times(far, one).verdict == FASTER
    assert compare_times(one, a_run(rng, 1.3e6, processes=5)).method == FEW
    assert "between-process variation is unknown" in stated([FEW])


def test_too_few_calls_never_tell_a_difference():
    found = compare_times(Times(np.array([100, 100])), Times(np.array([900, 900])))
    assert found.verdict == CANNOT_TELL and not found.enough and found.why == "too few calls were timed"


def test_the_verdict_is_the_same_every_time():
    rng = np.random.default_rng(10)
    a, b = a_run(rng, processes=12), a_run(rng, processes=12)
    assert compare_times(a, b) == compare_times(a, b)


def test_permutations_are_exact_and_the_true_labelling_comes_first():
    one, two = np.arange(5.0)[:, None], np.arange(5.0)[:, None] + 10
    ways = permuted(one, two)
    assert ways.shape == (252, 1) and ways[0] == ways.max() and step_down(ways)[0] == pytest.approx(2 / 252)
    flips = sign_flips(np.linspace(1, 2, 8)[:, None])
    assert flips.shape == (256, 1) and step_down(flips)[0] == pytest.approx(2 / 256)


def test_step_down_gives_each_question_at_least_its_own_chance():
    rng = np.random.default_rng(11)
    values = rng.standard_normal((10, 6))
    ways = permuted(values[:5], values[5:])
    alone = np.array([step_down(ways[:, [k]])[0] for k in range(6)])
    assert (step_down(ways) >= alone - 1e-12).all() and step_down(ways).max() <= 1


def test_runs_of_many_processes_are_compared_by_drawn_labellings():
    rng = np.random.default_rng(12)
    a, b = a_run(rng, processes=20, between=0.005), a_run(rng, 1.05e6, processes=20, between=0.005)
    found = compare_times(a, b)
    assert found.verdict == SLOWER and found.p == pytest.approx(1 / 10_000)


def test_equal_times_do_not_differ():
    flat = Times(np.full(100, 1000), (4,) * 25, (5,) * 5)
    found = compare_times(flat, flat)
    assert (found.verdict, found.ratio) == (SAME, 1.0) and found.low <= 1 <= found.high and found.bound < 0.02


@pytest.mark.parametrize("count", [6, 8, 12])
def test_the_interval_of_pairs_holds_for_heavy_tails_too(count):
    rng = np.random.default_rng(16)
    ends = [signed_rank_interval(rng.standard_t(2, count)) for _ in range(1000)]
    assert 940 <= sum(low <= 0 <= high for low, high in ends) <= 985


def test_no_difference_beyond_a_bound_is_only_said_if_the_bound_is_worth_saying():
    rng = np.random.default_rng(17)
    found = [compare_times(a_run(rng, between=0.3), a_run(rng, between=0.3)) for _ in range(40)]
    assert sum(verdict.verdict == CANNOT_TELL for verdict in found) >= 38
    assert all(verdict.words.startswith("cannot tell: the times scatter") for verdict in found if not verdict.enough)
    narrow = compare_times(a_run(rng), a_run(rng))
    assert narrow.words == f"no measurable difference beyond {narrow.bound:.1%}"


def test_threads_that_only_waited_for_their_processors_are_not_said_to_be_alike():
    rng = np.random.default_rng(16)
    for _ in range(20):
        runs = []
        for _work in (1.0, 1.5):  # what they work is nothing beside what they wait, which is the same in both
            values = 8e6 * np.exp(0.01 * rng.standard_normal(150))
            lost = (values * 1.0).astype(np.int64)
            runs.append(Times(values.astype(np.int64), (5,) * 30, (6,) * 5, lost, threads=2))
        assert compare_times(*runs).verdict == CANNOT_TELL
        assert compare_times(*runs, turns=True).verdict == CANNOT_TELL


@pytest.mark.parametrize("processes, turns", [(2, False), (6, False), (8, True)], ids=["few", "processes", "turns"])
def test_calls_that_hardly_had_a_processor_tell_nothing_of_each_other(processes, turns):
    rng = np.random.default_rng(18)
    for _ in range(20):
        runs = []
        for level in (48e6, 33e6):
            values = level * np.exp(0.4 * rng.standard_normal(24 * processes))
            # What two threads had is noted when they are switched, so that a call may seem to have had nothing.
            share = np.minimum(0.92 + 0.09 * rng.standard_normal(len(values)), 1.0)
            times = values.astype(np.int64), (4,) * 6 * processes, (6,) * processes
            runs.append(Times(*times, (2 * share * values).astype(np.int64), threads=2))
        got = compare_times(*runs, turns=turns)
        assert got.verdict == CANNOT_TELL and OTHERS in got.words
        assert 0.3 < got.ratio < 1.5 and got.low > 0.05 and got.high < 20


def beside(run, yardstick, rng):
    """A run with a yardstick that took so long in each of its processes, more or less."""
    every = yardstick * np.exp(0.003 * rng.standard_normal(len(run.parts)))
    return replace(run, yardsticks=tuple(float(x) for x in every))


@pytest.mark.parametrize("processes", [1, 5, 8])
def test_a_machine_that_got_slower_is_not_a_program_that_did(processes):
    rng = np.random.default_rng(31)
    made = dict(processes=processes, between=0.005, blocks=12)
    for _ in range(20):
        before, after = beside(a_run(rng, **made), 60e3, rng), beside(a_run(rng, 1.5e6, **made), 90e3, rng)
        assert compare_times(replace(before, yardsticks=()), after).verdict == SLOWER  # as nothing tells otherwise
        for one, two in ((before, after), (after, before)):
            got = compare_times(one, two)
            assert got.verdict == CANNOT_TELL and "the machine itself was" in got.words and got.advice, got
        # A difference that is larger than what the machine's can explain is one all the same.
        assert compare_times(before, beside(a_run(rng, 4e6, **made), 90e3, rng)).verdict == SLOWER
        # Of another number of threads, the yardstick takes longer of itself.
        assert compare_times(before, replace(after, threads=2)).verdict == SLOWER


@pytest.mark.parametrize(("felt", "verdict"), [(0.0, SLOWER), (1.0, CANNOT_TELL)])
def test_processes_that_do_not_feel_a_slower_machine_are_told_apart_on_it(felt, verdict):
    """A chain of dependent operations takes as long on half a core; one that fills its units takes twice as long."""
    rng, found = np.random.default_rng(33), []

    def a_slowed_run(level, count):
        slow = rng.permutation(np.arange(8) < count)
        parts = [a_run(rng, level * 1.8 ** (felt * x), processes=1, between=0.002) for x in slow]
        blocks, counts = parts[0].blocks * 8, (6,) * 8
        made = Times(np.concatenate([part.values for part in parts]), blocks, counts)
        return replace(made, yardsticks=tuple(60e3 * 1.8**x for x in slow.astype(float)))

    for _ in range(30):
        found.append(compare_times(a_slowed_run(1e6, 2), a_slowed_run(1.1e6, 6)).verdict)
    assert found.count(verdict) >= 27, found


def test_a_machine_that_stayed_as_it_was_hides_nothing():
    rng = np.random.default_rng(32)
    found = [
        compare_times(beside(a_run(rng), 60e3, rng), beside(a_run(rng, level), 60e3, rng)).verdict
        for level in (1e6, 1.15e6)
        for _ in range(50)
    ]
    assert found.count(SAME) >= 49 and found[50:].count(SLOWER) >= 48
