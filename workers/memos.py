"""What was computed once for whole arrays, kept between the shards that one process runs."""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

LIMIT = 64
"""Most values that are kept: those of few jobs at a time, such as means of columns."""


class MemoCache:
    """The values that were used last; one thread computes a value, others wait for it."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._values: OrderedDict[Hashable, Any] = OrderedDict()
        self._computing: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Return the value of a key, calling `compute` unless it is kept; what that raises is not kept."""
        with self._lock:
            computing = self._computing.setdefault(key, threading.Lock())
        with computing:
            with self._lock:
                if key in self._values:
                    self._values.move_to_end(key)
                    return self._values[key]
            value = compute()
            with self._lock:
                self._values[key] = value
                while len(self._values) > self._limit:
                    forgotten, _ = self._values.popitem(last=False)
                    self._computing.pop(forgotten, None)
            return value


@cache
def memo_cache() -> MemoCache:
    """Return this process's cache."""
    return MemoCache()
