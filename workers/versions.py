"""What must be equal on the service, the scheduler and every worker.

Tasks travel as pickles, and counts must not depend on who computed them. Dask compares some versions itself, and only
warns.
"""

from __future__ import annotations

import functools
import platform
from importlib import metadata
from typing import TYPE_CHECKING

from workers.errors import ProblemError

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGES = ("ordsim", "numpy", "numba", "scipy", "zarr", "dask", "distributed")


@functools.cache
def installed() -> Mapping[str, str]:
    """Versions of Python and of the packages, in this process."""
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in PACKAGES}}


def differences(own: Mapping[str, str], others: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Describe how others, named by their places, differ from this process; no versions stand for no ordsim."""
    return [f"ordsim is not installed at {place}" for place, theirs in others.items() if not theirs] + [
        f"{name} is {theirs.get(name, 'missing')} at {place} but {version} here"
        for place, theirs in others.items()
        for name, version in own.items()
        if theirs and theirs.get(name) != version
    ]


def require(expected: Mapping[str, str], place: str) -> None:
    """Refuse work from a service that runs other versions than this worker.

    Raises
    ------
    ProblemError
        cluster-unavailable, naming the versions.
    """
    if installed() != expected:
        found = "; ".join(differences(expected, {place: installed()}))
        raise ProblemError(
            "cluster-unavailable",
            f"A worker runs other versions than the service, and computes nothing for it: {found}. Give both the same.",
            "system",
        )
