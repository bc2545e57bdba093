"""What test processes of their own do with the staging directory."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workers import arrays, staging, writing
from workers.references import Reference, Root

if TYPE_CHECKING:
    from multiprocessing.synchronize import Barrier, Event

    from workers.staging import StagedArray


def run(directory: str, path: str, staging_directory: str, checkpoint: Any) -> StagedArray:
    roots = {"lab": Root("lab", directory)}
    return staging.stage(roots, Reference("lab", path), Path(staging_directory), "x", "error", checkpoint)


def stage_and_count(arguments: tuple[str, str, str], barrier: Barrier, other_waits: Event, answers: Any) -> None:
    """Stage together with another process, and say how often this one wrote a copy."""
    written = 0
    write = writing.write

    def counting(*everything: Any) -> None:
        nonlocal written
        written += 1
        assert other_waits.wait(60)
        write(*everything)

    writing.write = counting
    barrier.wait(60)
    staged = run(*arguments, other_waits.set)  # called while waiting for the lock
    answers.put((staged, written))


def stage_and_hang(*arguments: str) -> None:
    """Stage up to the second block, say so, and wait to be killed."""
    arrays.BLOCK_BYTES = 1
    seen = 0

    def checkpoint() -> None:
        nonlocal seen
        seen += 1
        if seen == 3:
            print("in the middle", flush=True)
            sys.stdin.read()

    run(*arguments, checkpoint)


if __name__ == "__main__":
    stage_and_hang(*sys.argv[1:])
