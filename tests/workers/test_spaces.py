"""The cache of prepared spaces: its budget, and threads that want the same one."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ordsim_core.distances import Distance, Precision
from ordsim_core.spaces import prepare
from workers.spaces import SpaceCache, is_mapped, weight

if TYPE_CHECKING:
    from pathlib import Path

EXACT = Precision.EXACT


def space(rows: int) -> Any:
    return prepare(np.arange(rows * 2, dtype=np.float64).reshape(rows, 2), Distance.EUCLIDEAN)


def test_the_cache_keeps_to_its_budget_and_drops_what_was_longest_unused() -> None:
    made: list[str] = []
    small = weight(space(10))
    assert small >= 10 * 2 * 8
    kept = SpaceCache(budget=3 * small)

    def get(name: str) -> Any:
        return kept.get((name, Distance.EUCLIDEAN, EXACT), lambda: made.append(name) or space(10))  # type: ignore[func-returns-value]

    for name in "abcadab":
        get(name)
    assert made == ["a", "b", "c", "d", "b"]
    assert kept.held_bytes == 3 * small


def test_the_two_sides_of_a_shard_are_kept_whatever_they_weigh() -> None:
    kept = SpaceCache(budget=0)
    made: list[str] = []
    for name in "xyxyzz":
        kept.get((name, Distance.EUCLIDEAN, EXACT), lambda name=name: made.append(name) or space(10))  # type: ignore[misc]
    assert made == ["x", "y", "z"]


def test_the_same_values_under_two_distances_are_two_spaces() -> None:
    kept = SpaceCache(budget=10**9)
    values = np.arange(1.0, 9.0).reshape(4, 2)
    distances = [Distance.EUCLIDEAN, Distance.COSINE]
    spaces_of = [kept.get(("f", d, EXACT), lambda d=d: prepare(values, d)) for d in distances]  # type: ignore[misc]
    assert [s.distance for s in spaces_of] == distances


def test_the_same_values_in_two_precisions_are_two_spaces() -> None:
    kept = SpaceCache(budget=10**9)
    made = [kept.get(("f", Distance.EUCLIDEAN, precision), lambda: space(5)) for precision in Precision]
    assert len({id(one) for one in made}) == len(Precision)


def test_room_is_made_by_dropping_what_was_longest_unused() -> None:
    kept = SpaceCache(budget=10**9)
    made: list[str] = []

    def get(name: str) -> None:
        kept.get((name, Distance.EUCLIDEAN, EXACT), lambda: made.append(name) or space(10))  # type: ignore[func-returns-value]

    for name in "abcd":
        get(name)
    kept.make_room(3 * weight(space(10)))
    for name in "dcb":
        get(name)
    assert made == ["a", "b", "c", "d"]
    kept.make_room(0)
    for name in "bcd":
        get(name)
    assert made == ["a", "b", "c", "d", "d"]


def test_pages_of_files_weigh_nothing(tmp_path: Path) -> None:
    @dataclass
    class Holder:
        mapped: np.ndarray
        parts: tuple[np.ndarray, ...]

    mapped = np.memmap(tmp_path / "values", np.float64, "w+", shape=(100, 4))
    own = np.zeros(10)
    assert weight(Holder(mapped, (own, mapped[5:].T, own, np.asarray(mapped)))) == own.nbytes  # type: ignore[arg-type]
    assert is_mapped(mapped[1:])
    assert not is_mapped(mapped.copy())


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
        threading.Thread(target=lambda: found.append(kept.get(("f", Distance.EUCLIDEAN, EXACT), slow)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    assert begun.wait(30)
    # Another space does not wait for the one that is being prepared.
    kept.get(("g", Distance.EUCLIDEAN, EXACT), lambda: space(5))
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
        kept.get(("f", Distance.EUCLIDEAN, EXACT), fail)
    assert kept.get(("f", Distance.EUCLIDEAN, EXACT), lambda: space(5)).rows == 5
