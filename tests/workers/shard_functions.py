"""Task functions for the tests: workers import them from here by name."""

from __future__ import annotations

import errno
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workers import cancellation
from workers.errors import ProblemError
from workers.tasks import ShardResult, ShardTask, count_shard

if TYPE_CHECKING:
    from collections.abc import Callable

DEADLINE = 60.0


@dataclass(frozen=True)
class Probe:
    """A task that behaves as told on each of its invocations; after the last one told it succeeds."""

    job: str
    index: int
    directory: str
    plan: tuple[str, ...] = ()
    attempt: int = 1
    request_id: str = ""


def count_invocation(directory: str, index: int) -> int:
    """Count this invocation in files, since each may run in another process, and return its number from 1."""
    number = 1
    while True:
        try:
            (Path(directory) / f"{index}-{number}").touch(exist_ok=False)
        except FileExistsError:
            number += 1
        else:
            return number


def invocations(directory: str | Path, index: int) -> int:
    """How often the task of this index was begun."""
    return len(list(Path(directory).glob(f"{index}-*")))


def wait_until(condition: Callable[[], bool], checkpoint: Callable[[], None] = lambda: None) -> None:
    """Poll a condition on a worker."""
    deadline = time.monotonic() + DEADLINE
    while not condition():
        checkpoint()
        if time.monotonic() > deadline:
            raise TimeoutError("the test never fulfilled the condition")
        time.sleep(0.01)


def release(directory: str | Path) -> None:
    """Let held tasks end."""
    (Path(directory) / "released").touch()


def run_probe(task: Probe) -> int:
    """Do what the plan says for this invocation."""
    number = count_invocation(task.directory, task.index)
    action = task.plan[number - 1] if number <= len(task.plan) else "succeed"
    checkpoint = cancellation.checkpoint(task.job, task.attempt)
    released = Path(task.directory) / "released"
    if action == "hold":
        wait_until(released.exists, checkpoint)
    elif action == "deaf":  # a kernel that is long in reaching its checkpoint
        wait_until(released.exists)
    elif action == "busy":  # one long step of a library, which does not look at all
        while True:
            pass
    elif action == "storage":
        raise OSError(errno.EIO, "Input/output error", "/secret/place")
    elif action == "full":
        raise OSError(errno.ENOSPC, "No space left on device", "/secret/place")
    elif action == "forbidden":
        raise PermissionError(errno.EACCES, "Permission denied", "/secret/place")
    elif action == "problem":
        raise ProblemError("zero-vector", "Row 7 of array y is a zero vector.", "data", "/y/path")
    elif action == "value":
        raise ValueError("a defect")
    elif action == "exhaust":
        raise MemoryError
    elif action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    return task.index


@dataclass(frozen=True)
class KillingShard:
    """A shard that may lose its worker process at its first invocation."""

    shard: ShardTask
    directory: str
    kills: bool

    @property
    def job(self) -> str:
        return self.shard.job

    @property
    def attempt(self) -> int:
        return self.shard.attempt

    @property
    def request_id(self) -> str:
        return self.shard.request_id


def count_shard_after_kill(task: KillingShard) -> ShardResult:
    """Count; the shard that kills does so on its second invocation only."""
    if task.kills and count_invocation(task.directory, task.shard.shard.index) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return count_shard(task.shard)
