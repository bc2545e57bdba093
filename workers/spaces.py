"""Prepared arrays, kept between the shards that one process runs."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from workers.environment import from_environment

if TYPE_CHECKING:
    from collections.abc import Callable

    from ordsim_core.distances import Distance, Space

Key = tuple[str, "Distance"]
"""Fingerprint of the stored values, and the distance they were prepared for."""

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
            return sum(size for _, size in self._entries.values())

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
            held = sum(entry for _, entry in self._entries.values())
            while held > self._budget and len(self._entries) > PAIR:
                _, (_, freed) = self._entries.popitem(last=False)
                held -= freed


def weight(space: Space) -> int:
    """Bytes of all arrays that a space holds."""
    values = (getattr(space, field.name) for field in fields(space))
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray))


@cache
def space_cache() -> SpaceCache:
    """Return this process's cache."""
    return SpaceCache(from_environment().space_cache_bytes)
