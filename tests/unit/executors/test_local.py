"""Parts on threads of this process: the same sums in the same order, whatever happens."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import dcomp
from dcomp.executors import LocalExecutor, SideBySide, pairwise_sum, resolve_executor
from dcomp.models import DirichletMultinomial


class Order:
    """A sum that remembers how it was put together."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __add__(self, other: Order) -> Order:
        return Order(f"({self.text}{other.text})")


@pytest.mark.parametrize(
    ("n", "tree"),
    [
        (1, "0"),
        (2, "(01)"),
        (3, "((01)2)"),
        (5, "(((01)(23))4)"),
        (7, "(((01)(23))((45)6))"),
        (8, "(((01)(23))((45)(67)))"),
    ],
)
def test_one_tree_over_the_numbers_of_the_parts(n, tree):
    assert pairwise_sum(Order(str(part)) for part in range(n)).text == tree


def test_the_tree_loses_less_than_a_queue():
    """Of 2^16 numbers a pairwise sum errs by some last digits, one after the other by hundreds."""
    ones = [np.float32(0.1)] * (1 << 16)
    exact = float(np.float32(0.1)) * (1 << 16)
    queue = np.float32(0)
    for one in ones:
        queue += one
    assert abs(float(pairwise_sum(ones)) - exact) < 1e-6 * exact < abs(float(queue) - exact)


def nothing(part, local, shared, n_threads):
    return (part, local, shared, n_threads), None


def test_a_task_may_have_nothing_to_add_up():
    for executor in (LocalExecutor(3), SideBySide(3)):
        left, total = executor.map_reduce(nothing, "abc", [1, 2, 3], "told")
        threads = 1 if isinstance(executor, SideBySide) else 3
        assert total is None
        assert executor.gather(left) == [
            ("a", 1, "told", threads),
            ("b", 2, "told", threads),
            ("c", 3, "told", threads),
        ]


def test_every_part_has_a_local_of_its_own():
    for executor in (LocalExecutor(1), SideBySide(2)):
        with pytest.raises(ValueError, match="shorter"):
            executor.map_reduce(nothing, "abc", [1, 2], None)


def late(part, local, shared, n_threads):
    time.sleep(0.02 * (3 - part))  # the last is the first to be ready
    return threading.get_ident(), Order(str(part))


def test_side_by_side_adds_in_the_order_of_the_parts():
    seen: list[int] = []
    left, total = SideBySide(3).map_reduce(
        late, [0, 1, 2], [None] * 3, None, lambda: seen.append(1)
    )
    assert total.text == "((01)2)"
    assert len(set(left)) == 3
    assert threading.get_ident() not in left
    assert len(seen) == 3


def test_what_a_part_raises_is_raised_and_the_rest_is_let_go():
    begun: list[int] = []

    def task(part, local, shared, n_threads):
        begun.append(part)
        if part == 1:
            raise RuntimeError("part 1")
        time.sleep(0.05)
        return None, None

    with pytest.raises(RuntimeError, match="part 1"):
        SideBySide(2).map_reduce(task, list(range(50)), [None] * 50, None)
    assert len(begun) < 10


@pytest.mark.parametrize("wrong", [2, "local", LocalExecutor, object()])
def test_an_executor_must_be_one(wrong):
    with pytest.raises(dcomp.InvalidParameter, match="executor must be a dcomp"):
        dcomp.fit([[1, 2], [3, 0]], DirichletMultinomial.build(2), executor=wrong)


@pytest.mark.parametrize("wrong", [0, -1, 2.5, "2", None, True])
def test_threads_are_one_or_more(wrong):
    with pytest.raises(dcomp.InvalidParameter, match="a whole number of threads, 1 or more; got"):
        LocalExecutor(wrong)


def test_an_executor_or_n_jobs():
    with pytest.raises(dcomp.InvalidParameter, match="not both; got n_jobs=2"):
        resolve_executor(2, LocalExecutor(1))


def test_given_executors_are_taken():
    own = LocalExecutor(5)
    assert resolve_executor(None, own) is own
    assert resolve_executor(2) == LocalExecutor(2)
    assert own.side_by_side() == SideBySide(5)
