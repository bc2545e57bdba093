"""The cache of prepared spaces: its budget, and threads that want the same one."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from ordsim_core.distances import Distance, prepare
from workers.spaces import SpaceCache, weight


def space(rows: int) -> Any:
    return prepare(np.arange(rows * 2, dtype=np.float64).reshape(rows, 2), Distance.EUCLIDEAN)


def test_the_cache_keeps_to_its_budget_and_drops_what_was_longest_unused() -> None:
    made: list[str] = []
    small = weight(space(10))
    assert small >= 10 * 2 * 8
    kept = SpaceCache(budget=3 * small)

    def get(name: str) -> Any:
        return kept.get((name, Distance.EUCLIDEAN), lambda: made.append(name) or space(10))  # type: ignore[func-returns-value]

    for name in "abcadab":
        get(name)
    assert made == ["a", "b", "c", "d", "b"]
    assert kept.held_bytes == 3 * small


def test_the_two_sides_of_a_shard_are_kept_whatever_they_weigh() -> None:
    kept = SpaceCache(budget=0)
    made: list[str] = []
    for name in "xyxyzz":
        kept.get((name, Distance.EUCLIDEAN), lambda name=name: made.append(name) or space(10))  # type: ignore[misc]
    assert made == ["x", "y", "z"]


def test_the_same_values_under_two_distances_are_two_spaces() -> None:
    kept = SpaceCache(budget=10**9)
    values = np.arange(1.0, 9.0).reshape(4, 2)
    spaces_of = [kept.get(("f", d), lambda d=d: prepare(values, d)) for d in Distance]  # type: ignore[misc]
    assert [s.distance for s in spaces_of] == list(Distance)


def test_threads_that_want_the_same_space_prepare_it_once() -> None:
    kept = SpaceCache(budget=10**9)
    made = []
    begun, go = threading.Event(), threading.Event()

    def slow() -> Any:
        begun.set()
        assert go.wait(30)
        made.append(1)
        return space(5)

    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(kept.get(("f", Distance.EUCLIDEAN), slow))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    assert begun.wait(30)
    # Another space does not wait for the one that is being prepared.
    kept.get(("g", Distance.EUCLIDEAN), lambda: space(5))
    go.set()
    for thread in threads:
        thread.join(30)
    assert made == [1]
    assert len({id(one) for one in found}) == 1


def test_a_space_that_cannot_be_prepared_is_tried_again() -> None:
    kept = SpaceCache(budget=10**9)

    def fail() -> Any:
        raise ValueError("not now")

    with pytest.raises(ValueError, match="not now"):
        kept.get(("f", Distance.EUCLIDEAN), fail)
    assert kept.get(("f", Distance.EUCLIDEAN), lambda: space(5)).rows == 5
