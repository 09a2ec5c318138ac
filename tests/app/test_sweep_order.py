"""Which cell of a sweep a process is given next."""

import threading

import pytest

from app.sweep.child import CompileTask
from app.sweep.order import Order
from compiler.options import CompileOptions


def tasks(*cells):
    """Tasks of `source target`."""
    named = [cell.split() for cell in cells]
    return [CompileTask(source, CompileOptions(target)) for source, target in named]


def test_a_process_keeps_to_the_target_it_had():
    asked = tasks("a cpu", "a sm_90a", "b cpu", "b sm_90a", "c cpu", "c sm_90a")
    order = Order(asked, 2)
    first, second = order.take(), order.take()
    assert {asked[first].options.target, asked[second].options.target} == {"cpu", "sm_90a"}
    for target in ("cpu", "sm_90a", "sm_90a", "cpu"):
        assert asked[order.take({target})].options.target == target
    assert order.take({"cpu"}) is None


def test_what_takes_longest_goes_first_once_it_is_known():
    asked = tasks("short cpu", "short cpu", "middle cpu", "middle cpu", "long cpu", "long cpu")
    order = Order(asked, 2)
    for _ in range(3):  # one of each source, before any is asked for twice
        number = order.take({"cpu"})
        order.learn(number, {"short": 1.0, "middle": 3.0, "long": 9.0}[asked[number].source])
    assert [asked[order.take({"cpu"})].source for _ in range(3)] == ["long", "middle", "short"]


def test_a_long_cell_for_another_target_does_not_wait():
    asked = tasks("short cpu", "short cpu", "short cpu", "long cpu", "long sm_90a")
    order = Order(asked, 2)
    order.learn(order.take(), 1.0)
    order.learn(order.take({"cpu"}), 9.0)
    assert asked[order.take({"cpu"})] == asked[4]


def test_a_process_stays_with_its_target_while_the_longest_can_wait():
    asked = tasks(*["short cpu"] * 12, *["long sm_90a"] * 2)
    order = Order(asked, 2)
    order.learn(order.take({"cpu"}), 1.0)
    order.learn(order.take({"sm_90a"}), 4.0)
    taken = [asked[order.take({"cpu"})].options.target for _ in range(12)]
    # 15.0 are left: after six short ones 9.0, of which one process does the long one with half a short one left to it
    assert taken == ["cpu"] * 6 + ["sm_90a"] + ["cpu"] * 5


@pytest.mark.parametrize("learnt", [False, True])
def test_every_task_is_taken_once_whoever_takes(learnt):
    asked = tasks(*[f"{source} {target}" for source in "abcd" for target in ("cpu", "sm_90a", "gfx942")] * 5)
    order, found = Order(asked, 4), []

    def take():
        had = set()
        while (number := order.take(had)) is not None:
            found.append(number)
            had.add(asked[number].options.target)
            if learnt:
                order.learn(number, 0.1 * number)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(len(asked)))


def test_nothing_is_left_of_what_nobody_wants():
    order = Order(tasks("a cpu", "b cpu"), 2)
    order.clear()
    assert order.take() is None
