"""Figures on a page: in the unit that suits them, and with digits enough to tell apart what differs."""

import pytest

from profiler.report.lanes import lanes
from profiler.report.plots.axes import fitted
from profiler.report.words import exact, interval, moment, seconds, short, time_unit
from profiler.scale import Scale, linear


@pytest.mark.parametrize(
    "ends, words",
    [
        ((15.1e-3, 21.7e-3), "15.1 to 21.7 ms"), ((1.0187e-3, 1.0231e-3), "1.019 to 1.023 ms"),
        ((1e-3, 1e-3), "1 to 1 ms"), ((900e-6, 1.2e-3), "0.9 to 1.2 ms"), ((1.00001e-6, 1.00002e-6), "1 to 1 µs"),
        ((12e-9, 48e-9), "12 to 48 ns"), ((3.5, 1234.5), "3.5 to 1234 s"),
    ],
)  # fmt: skip
def test_an_interval_is_in_one_unit_and_its_ends_differ(ends, words):
    assert interval(ends) == words


def test_durations_counts_and_moments():
    assert (seconds(2e-6), exact(1.01873e-3), exact(None)) == ("2 µs", "1.019 ms", "")
    assert [short(number) for number in (None, 7, 67_374_000, 2e12)] == ["", "7", "67.4 M", "2 T"]
    assert moment("2026-01-31T10:11:12.345+00:00") == "2026-01-31 10:11:12 UTC" and moment("then") == "then"


@pytest.mark.parametrize("low, high", [(0, 1), (1e-9, 3e-9), (0.013, 0.0131), (5, 5), (-3, 1e6), (0, 1e-300)])
def test_a_scale_has_a_few_round_ticks_inside_it(low, high):
    scale = linear(low, high, 0, 100)
    ticks = scale.ticks(6)
    assert 1 <= len(ticks) <= 8 and all(scale.low - 1e-12 <= tick <= scale.high * (1 + 1e-9) for tick in ticks)
    assert scale(scale.low) == 0 and scale(scale.high) == 100


@pytest.mark.parametrize("low, high, first, last", [(0.2, 100, 0.2, 100), (1e-3, 1e6, 1e-3, 1e6), (3, 4, None, None)])
def test_a_logarithmic_scale_ticks_at_ones_twos_and_fives(low, high, first, last):
    ticks = Scale(low, high, 0, 100, log=True).ticks()
    assert all(low * 0.99 <= tick <= high * 1.01 for tick in ticks)
    if first:
        assert (ticks[0], ticks[-1]) == pytest.approx((first, last)) and len(ticks) <= 12


def test_sizes_tick_at_powers_of_two():
    assert Scale(0, 786_432, 0, 1, binary=True).ticks(5) == [0, 262_144, 524_288, 786_432]


def test_words_are_cut_to_fit_and_spans_dealt_out():
    assert fitted("abcdef", 100) == "abcdef" and fitted("abcdefghij", 40).endswith("…") and fitted("abcdef", 10) == ""
    assert time_unit(3e-5) == ("µs", 1e-6) and time_unit(0) == ("ns", 1e-9)
    assert lanes([(0, 2, "a"), (1, 3, "b"), (2, 4, "c")]) == [[(0, 2, "a"), (2, 4, "c")], [(1, 3, "b")]]
