"""What a worker finds where it was started by others than the service: its memory, roots and staging directory."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from distributed.system import MEMORY_LIMIT
from pydantic import ValidationError

from workers import preload
from workers.environment import PREFIX, from_environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What one worker says of itself.

    Attributes
    ----------
    memory : int or None
        Bytes of private memory that it was told it may use.
    machine : int
        Bytes of its machine, or of its container.
    faults : tuple of str
        Why it could not do what it is asked for.
    """

    memory: int | None
    machine: int
    faults: tuple[str, ...]


def look_around(roots: Sequence[str]) -> Surroundings:
    """Say what this worker has, and what it lacks to read arrays of these roots and to stage them."""
    faults = tuple(_preload())
    try:
        environment = from_environment()
    except ValidationError as error:
        names = ", ".join(f"{PREFIX}{str(fault['loc'][0]).upper()}" for fault in error.errors() if fault["loc"])
        return Surroundings(None, int(MEMORY_LIMIT), (*faults, f"has settings missing or wrong: {names}"))
    faults += (*_roots(roots, environment.roots), *_staging(environment.staging_directory))
    return Surroundings(environment.worker_memory, int(MEMORY_LIMIT), faults)


def _preload() -> Iterator[str]:
    if not preload.is_set_up():
        yield f"was started without --preload {preload.__name__}: start it again with that"


def _roots(wanted: Sequence[str], known: dict[str, str]) -> Iterator[str]:
    for name in wanted:
        if name not in known:
            yield f"does not know root {name!r}: name its directory there in {PREFIX}ROOTS"
            continue
        try:
            with os.scandir(known[name]) as entries:
                next(entries, None)  # one is enough, of however many
        except OSError as error:
            yield f"cannot read root {name!r} ({error.strerror}): mount the data there too"


def _staging(directory: Path) -> Iterator[str]:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        yield f"cannot write its staging directory ({error.strerror}): see {PREFIX}STAGING_DIRECTORY there"
