"""Prepared arrays, kept between the shards that one process runs."""

from __future__ import annotations

import mmap
import threading
from collections import OrderedDict
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from workers.environment import from_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from ordsim_core.distances import Distance, Precision
    from ordsim_core.spaces import Space

Key = tuple[str, "Distance", "Precision"]
"""Fingerprint of the stored values, and the distance and precision that they were prepared for."""

PAIR = 2
"""Kept whatever the budget says: a shard needs both sides, and would else prepare them again and again."""


class SpaceCache:
    """Least recently used spaces within a budget of bytes; one thread prepares a space, others wait."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._entries: OrderedDict[Key, tuple[Space, int]] = OrderedDict()
        self._preparing: dict[Key, threading.Lock] = {}
        self._lock = threading.Lock()

    @property
    def held_bytes(self) -> int:
        """Bytes of all spaces that are kept now."""
        with self._lock:
            return self._held()

    def get(self, key: Key, prepare: Callable[[], Space]) -> Space:
        """Return the space of this key, calling `prepare` unless it is kept."""
        found = self._look_up(key)
        if found is not None:
            return found
        with self._lock:
            preparing = self._preparing.setdefault(key, threading.Lock())
        with preparing:
            found = self._look_up(key)
            if found is not None:
                return found
            space = prepare()
            self._keep(key, space)
            return space

    def make_room(self, budget: int) -> None:
        """Drop spaces, the longest unused first, until the others fit into `budget` bytes; the last two stay."""
        with self._lock:
            self._drop(budget)

    def _look_up(self, key: Key) -> Space | None:
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key][0]

    def _keep(self, key: Key, space: Space) -> None:
        with self._lock:
            self._entries[key] = (space, weight(space))
            # Threads that still wait hold the lock itself, and will find the entry.
            self._preparing.pop(key, None)
            self._drop(self._budget)

    def _held(self) -> int:
        return sum(size for _, size in self._entries.values())

    def _drop(self, budget: int) -> None:
        while self._held() > budget and len(self._entries) > PAIR:
            self._entries.popitem(last=False)


def weight(space: Space) -> int:
    """Private bytes of a space: those of all its arrays, but for the pages that are mapped from a staged file."""
    arrays = {id(array): array for array in _arrays(space)}
    return sum(array.nbytes for array in arrays.values() if not is_mapped(array))


def is_mapped(array: NDArray[Any]) -> bool:
    """Whether an array is a view of a mapped file, whose pages can be had again at any time."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, mmap.mmap)


def _arrays(holder: Any) -> Iterator[NDArray[Any]]:
    """All arrays in a data class or a tuple, and in those that they hold."""
    if isinstance(holder, np.ndarray):
        yield holder
    elif isinstance(holder, tuple):
        for value in holder:
            yield from _arrays(value)
    elif is_dataclass(holder):
        for field in fields(holder):
            yield from _arrays(getattr(holder, field.name))


@cache
def space_cache() -> SpaceCache:
    """Return this process's cache."""
    return SpaceCache(from_environment().space_cache_bytes)
