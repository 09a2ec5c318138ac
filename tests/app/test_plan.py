"""The simulated farm: its laws, and what it says of a compilation."""

import pytest
from command_line import document

from app.cluster.plan import Farm, Observed, TaskTrace, predicted

EVEN = Observed(1.0, 0.5, tuple(TaskTrace(0.1, 0, 0) for _ in range(64)))


def ideal(workers, **more):
    """A farm that costs nothing but the work."""
    return Farm(workers, **{"latency": 0.0, "hand_out": 0.0, "take_back": 0.0, "start": 0.0} | more)


@pytest.mark.parametrize("workers, seconds", [(1, 6.4), (2, 3.2), (64, 0.1), (1024, 0.1)])
def test_work_is_divided_and_the_rest_is_not(workers, seconds):
    assert predicted(EVEN, ideal(workers)).seconds == pytest.approx(1.5 + seconds)


def test_cores_that_workers_share_are_shared():
    assert predicted(EVEN, ideal(4, cores=2)).seconds == pytest.approx(1.5 + 3.2)


def test_a_scheduler_does_one_thing_at_a_time():
    slow = predicted(EVEN, ideal(1024, hand_out=0.05, take_back=0.05))
    assert slow.seconds == pytest.approx(1.5 + 64 * 0.1, rel=0.03) and slow.scheduler > 0.95


def test_messages_take_their_time():
    work = Observed(0.0, 0.0, (TaskTrace(1.0, 1000, 500),))
    assert predicted(work, ideal(1, latency=0.25, bandwidth=1000.0)).seconds == pytest.approx(1.0 + 2 * 0.25 + 1.5)


def test_the_dearest_go_first():
    work = Observed(0.0, 0.0, tuple(TaskTrace(seconds, 0, 0) for seconds in (1, 1, 1, 1, 4)))
    assert predicted(work, ideal(2)).seconds == pytest.approx(4.0)


def test_a_source_is_planned(kernelglass):
    found = document(kernelglass("cluster", "plan", "sample:many-kernels:6", "--flow", "per-kernel", "--json"))
    assert found["tasks"] == 6 and [farm["workers"] for farm in found["farms"]][-1] == 1024
    seconds = [farm["seconds"] for farm in found["farms"]]
    assert seconds[0] > seconds[2] > found["before"] and seconds[-1] >= found["before"] + found["longest"]


@pytest.mark.slow
@pytest.mark.parametrize("kernels", [100, 1000])
def test_predictions_are_within_a_fifth_of_what_is_measured(kernelglass, kernels):
    pytest.importorskip("distributed")
    found = document(
        kernelglass(
            "cluster", "plan", f"sample:many-kernels:{kernels}", "--cores", 2, "--measure", "1,2,4", "--latency", 0.1,
            "--bandwidth", 10000, "--json",
        )
    )  # fmt: skip
    for farm in found["farms"]:
        if farm["measured"] is not None:
            assert farm["seconds"] == pytest.approx(farm["measured"], rel=0.2), farm
