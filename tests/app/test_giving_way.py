"""Work beside the window's thread waits where that has something to do, and only there, and not for ever."""

from app.viewmodels.giving_way import GivingWay


class Times:
    """A clock, the time that a thread worked, and how it slept: told by the test."""

    def __init__(self) -> None:
        self.now = self.worked = self.slept = 0.0

    def pass_by(self, worked: float, waited: float = 0.0) -> None:
        self.worked += worked
        self.now += worked + waited

    def sleep(self, seconds: float) -> None:
        self.slept += seconds
        self.now += seconds


def giving(times: Times) -> GivingWay:
    return GivingWay(lambda: times.now, lambda: times.worked, times.sleep)


def test_it_never_sleeps_while_it_is_alone():
    times = Times()
    pause = giving(times)
    for _ in range(1000):
        pause()
        times.pass_by(worked=0.001)
    assert times.slept == 0


def test_it_lets_others_have_most_of_the_time_while_they_want_it():
    times = Times()
    pause = giving(times)
    pause()
    for _ in range(50):
        times.pass_by(worked=0.0006, waited=0.0006)
        pause()
    assert times.slept >= 2 * times.worked
    before = times.slept
    for _ in range(50):
        times.pass_by(worked=0.0006)
        pause()
    assert times.slept == before, "they have ended"


def test_its_own_sleep_is_not_taken_for_somebody_else():
    times = Times()
    pause = giving(times)
    pause()
    times.pass_by(worked=0.001, waited=0.01)
    pause()
    slept = times.slept
    times.pass_by(worked=0.001)
    pause()
    assert slept and times.slept == slept


def test_it_does_not_wait_for_ever():
    times = Times()
    pause = giving(times)
    for _ in range(10_000):
        pause()
        times.pass_by(worked=0.001, waited=0.002)
    assert times.slept <= 1
