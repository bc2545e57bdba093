"""Pairs of rows in files: the same counts as in memory, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ordsim_core import strips
from ordsim_core.distances import Distance, Precision
from ordsim_core.spaces import prepare
from ordsim_core.strips import StripPlan
from workers import spilling
from workers.spilling import disk_store

if TYPE_CHECKING:
    from pathlib import Path

KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
from workers.spilling import disk_store
with disk_store(Path(sys.argv[1])) as store:
    store.append(0, np.arange(2**24, dtype=np.uint32))
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("precision", [Precision.EXACT, Precision.FLOAT32])
def test_counts_from_files_are_those_from_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: Precision
) -> None:
    monkeypatch.setattr(spilling, "BUFFER_BYTES", 5000)
    rng = np.random.default_rng(0)
    x, y = (prepare(rng.standard_normal((90, 4)).astype("f4"), Distance.EUCLIDEAN, precision) for _ in range(2))
    plan = StripPlan(90, 7, 5)
    with disk_store(tmp_path) as store:
        in_files = strips.x_strips(x, y, plan, 1, 7, store)
        assert all(not any(entry.iterdir()) for entry in tmp_path.iterdir() if entry.is_dir())
    in_memory = strips.x_strips(x, y, plan, 1, 7)
    assert in_files.counts == in_memory.counts
    assert (in_files.cells == in_memory.cells).all()
    with disk_store(tmp_path) as store:
        assert strips.y_strips(x, y, plan, 0, 5, store) == strips.y_strips(x, y, plan, 0, 5)
    with disk_store(tmp_path) as one, disk_store(tmp_path) as other:
        at_once = strips.all_strips(x, y, plan, (one, other))
    assert at_once.counts == strips.all_strips(x, y, plan).counts
    assert list(tmp_path.iterdir()) == []


def test_records_come_back_in_order_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilling, "BUFFER_BYTES", 30)
    words = np.arange(40, dtype=np.uint32)
    with disk_store(tmp_path / "new") as store:
        for start in range(0, 40, 4):
            part = words[start : start + 4].copy()
            store.append(start % 3, part)
            part[:] = 0  # the caller uses its array again
        found = [store.read(strip).tolist() for strip in range(4)]
        assert found[3] == []
        assert sorted(number for numbers in found for number in numbers) == words.tolist()
        assert all(numbers == sorted(numbers) for numbers in found)
        assert store.read(0).tolist() == []


def test_a_store_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with disk_store(tmp_path) as store:
            store.append(0, np.zeros(2**24, np.uint32))
            assert [path.stat().st_size for folder in tmp_path.glob("*.pairs") for path in folder.iterdir()] == [2**26]
            raise InterruptedError

    with pytest.raises(InterruptedError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_goes_when_the_next_store_is_made(tmp_path: Path) -> None:
    """And what a process still uses stays."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False, env=os.environ)
    assert done.returncode == -signal.SIGKILL
    (left,) = tmp_path.glob("*.pairs")
    assert [path.stat().st_size for path in left.iterdir()] == [2**26]
    kept = tmp_path / "other.values"
    kept.touch()
    with disk_store(tmp_path) as store:
        assert not left.exists()
        store.append(0, np.arange(3, dtype=np.uint32))
        with disk_store(tmp_path):
            assert len(list(tmp_path.glob("*.pairs"))) == 2
        assert store.read(0).tolist() == [0, 1, 2]
    assert list(tmp_path.iterdir()) == [kept]
