"""What must be as it should for a service to run well, on a machine before one is started, or in one that runs."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from distributed.system import MEMORY_LIMIT

from ordsim_core import kernel_cache
from service import lock, numerals
from service.settings import LEAST_WORKER_MEMORY
from workers.cluster import share_of_machine
from workers.preload import PROCESS_VARIABLES
from workers.versions import PACKAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

GIBIBYTE = 1024**3
LITTLE_DISK, LITTLE_MORE_DISK = GIBIBYTE, 10 * GIBIBYTE
LITTLE_MEMORY = 2 * GIBIBYTE
CLOCK_SECONDS = 5.0
"""How far two clocks may be apart: limits of keys and ages of jobs are told by them."""

Verdict = Literal["ok", "warning", "failure"]


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: what was found, and what to do if that is not well."""

    name: str
    verdict: Verdict
    found: str
    advice: str = ""


def worst(checks: list[Check]) -> Verdict:
    """The verdict of all together."""
    order: tuple[Verdict, ...] = ("ok", "warning", "failure")
    return max((check.verdict for check in checks), key=order.index, default="ok")


def machine(roots: Mapping[str, Path], state: Path, workers: int, worker_memory: int | None) -> Iterator[Check]:
    """Look at this machine, as `ordsim serve` with these options would use it."""
    yield versions()
    yield from (root(name, directory) for name, directory in roots.items())
    if not roots:
        yield Check("roots", "warning", "none", "A service without roots has no data: add --root NAME=DIR.")
    yield state_directory(state)
    yield disk(state)
    yield kernels(state)
    yield threads(workers, cores())
    yield memory(workers, worker_memory or share_of_machine(workers), int(MEMORY_LIMIT))
    yield clock(time.time(), newest([Path(__file__), *roots.values(), state]))


def versions() -> Check:
    """Packages that the service and its workers share."""
    said = []
    for name in PACKAGES:
        try:
            said.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            advice = "Install ordsim with its dependencies: pip install ordsim."
            return Check("versions", "failure", f"{name} is not installed", advice)
    return Check("versions", "ok", ", ".join(said))


def root(name: str, directory: Path) -> Check:
    """Whether a data root can be read."""
    try:
        entries = sum(1 for _ in os.scandir(directory))
    except OSError as error:
        advice = "Name a directory that the user of the service may read."
        return Check(f"root {name}", "failure", f"{directory}: {error.strerror}", advice)
    if not os.access(directory, os.X_OK):
        return Check(f"root {name}", "failure", f"{directory}: may not be entered", f"chmod u+rx {directory}")
    return Check(f"root {name}", "ok", f"{directory}, {numerals.grouped(entries)} entries")


def state_directory(state: Path) -> Check:
    """Whether the state directory can be written, and no other service works on it."""
    place = existing(state)
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        advice = "Choose another with --state-dir, or let the user of the service write there."
        return Check("state directory", "failure", f"{place}: {error.strerror}", advice)
    holder = lock.holder(state)
    if holder is not None:
        advice = "That one can be examined by --url; for a second, choose another directory with --state-dir."
        return Check("state directory", "failure", f"{state} is used by the service in process {holder}", advice)
    return Check("state directory", "ok", f"{state} {'can be made' if place != state else 'can be written'}")


def disk(state: Path) -> Check:
    """Room for the job store, staged copies and artifacts."""
    free = shutil.disk_usage(existing(state)).free
    found = f"{numerals.size(free)} free for job store and staged copies"
    advice = "Staged copies take as much as the arrays compared: free space, or put --state-dir on a larger disk."
    verdict: Verdict = "failure" if free < LITTLE_DISK else "warning" if free < LITTLE_MORE_DISK else "ok"
    return Check("disk", verdict, found, "" if verdict == "ok" else advice)


def kernels(state: Path) -> Check:
    """Where compiled kernels are kept."""
    place = kernel_cache.directory()
    if place is not None:
        return Check("kernel cache", "ok", str(place))
    advice = "Set NUMBA_CACHE_DIR to a directory that can be written."
    found = f"the user's cache cannot be written; a service keeps kernels in {state / 'numba'}, other uses compile anew"
    return Check("kernel cache", "warning", found, advice)


def threads(workers: int, available: int) -> Check:
    """Whether workers and the threads of their libraries have a core each."""
    each = max(int(PROCESS_VARIABLES[name]) for name in PROCESS_VARIABLES if name.endswith("_NUM_THREADS"))
    found = f"{workers} workers of {each} thread on {available} {'core' if available == 1 else 'cores'}"
    other = [
        f"{name}={os.environ[name]}"
        for name in PROCESS_VARIABLES
        if name in os.environ and os.environ[name] != PROCESS_VARIABLES[name]
    ]
    if other:
        found += f"; {', '.join(other)} of the environment does not reach them"
    if workers * each > available:
        return Check("threads", "warning", found, f"They would wait for each other: use --workers {available // each}.")
    return Check("threads", "ok", found)


def memory(workers: int, each: int, whole: int) -> Check:
    """Whether workers have the memory that jobs need, and the machine has as much."""
    found = f"{numerals.size(each)} for each of {workers} workers, of {numerals.size(whole)}"
    if each < LEAST_WORKER_MEMORY:
        return Check("memory", "failure", found, "Use fewer --workers, or give them more by --worker-memory.")
    if workers * each > whole:
        return Check("memory", "warning", found, "Together they may use more than there is: lower --worker-memory.")
    if each < LITTLE_MEMORY:
        return Check("memory", "warning", found, "Larger jobs will be refused: fewer --workers have more each.")
    return Check("memory", "ok", found)


def clock(now: float, written: float) -> Check:
    """Whether the clock is behind what was written before."""
    shown = f"{datetime.fromtimestamp(now, UTC):%Y-%m-%d %H:%M:%S} UTC"
    if now < written - CLOCK_SECONDS:
        later = f"{datetime.fromtimestamp(written, UTC):%Y-%m-%d %H:%M:%S}"
        return Check("clock", "failure", f"{shown}, but files are from {later}", "Set the clock, e.g. by NTP.")
    return Check("clock", "ok", shown)


def clocks(before: float, after: float, date: str | None) -> Check:
    """Whether a service's clock is that of this machine, by the date of an answer and the times around it here."""
    try:
        theirs = parsedate_to_datetime(date or "").timestamp()
    except ValueError:
        return Check("clock", "warning", "the service does not tell the time", "")
    apart = max(before - theirs, theirs - after)
    if apart > CLOCK_SECONDS:
        found = f"the service's is {numerals.duration(apart)} apart from this machine's"
        return Check("clock", "warning", found, "Set both, e.g. by NTP: ages of jobs are told by them.")
    return Check("clock", "ok", "equal to this machine's")


def newest(places: list[Path]) -> float:
    """When the newest of these was written, of those that are there."""
    return max((place.stat().st_mtime for place in places if place.exists()), default=0.0)


def existing(place: Path) -> Path:
    """A directory, or the nearest above it that is there."""
    return next((one for one in (place, *place.absolute().parents) if one.is_dir()), Path("/"))


def cores() -> int:
    """Cores that this process may use."""
    available: Callable[[], int] | None = getattr(os, "process_cpu_count", None)  # from Python 3.13 on
    return available() if available else len(os.sched_getaffinity(0))
