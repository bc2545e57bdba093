"""Results that are there already: of a finished job that asked the same of the same data.

What was asked is the whole specification, defaults included. What the data were is known when they have been staged,
which reads nothing of arrays whose files are as they were: the fingerprints are those of the values that this job would
count. Results are never taken over from another version of what computes them.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from service import artifacts
from workers.measures import registry

if TYPE_CHECKING:
    from pathlib import Path

    from service.preparing import Prepared
    from service.records import Job
    from service.schemas import Request
    from service.store import JobStore

UNASKED = {"label", "tags", "reuse", "confidence"}
"""Fields that change no result; of the confidence, what it comes to for each measure counts."""

OURS = "workers."
COMPUTING = ("ordsim", "numpy", "scipy", "numba")


def key(job: Job, request: Request, prepared: Prepared) -> str | None:
    """Digest of all that results follow from; None where a measure is from a package whose version nobody knows."""
    versions = _versions(request)
    if versions is None:
        return None
    known = {
        "asked": request.model_dump(mode="json", by_alias=True, exclude=UNASKED),
        "confidence": [request.confidence_of(options) for _, options in request.works()],
        "stored": job.arrays,
        "staged": {name: asdict(array) | {"file": None} for name, array in prepared.arrays.items()},
        "groups": None if prepared.groups is None else prepared.groups.digest,
        "rows": None if prepared.choice is None else asdict(prepared.choice.findings),
        "versions": versions,
    }
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


def take_over(store: JobStore, directory: Path, job: str, key: str) -> bool:
    """Finish a running job with the results of an earlier one that has this key; False if there is none.

    The earlier job's artifacts become this one's too, so that either may be removed.
    """
    earlier = store.reusable.find(job, key)
    if earlier is None:
        return False
    try:
        found: dict[str, Any] = json.loads(store.results(earlier))
        names = [name for entry in (found, *found.get("results", ())) for name in entry.get("artifacts", ())]
        artifacts.share(directory, earlier, job, names)
    except (LookupError, FileNotFoundError):
        return False  # removed a moment ago
    found |= {"jobID": job, "provenance": {**found["provenance"], "reusedFrom": earlier}}
    store.succeed(job, json.dumps(found, allow_nan=False), earlier)
    return True


def _versions(request: Request) -> dict[str, str] | None:
    """Versions of what computes: ordsim, what it computes with, and packages that measures come from."""
    found = {name: version(name) for name in COMPUTING}
    for _, options in request.works():
        plugin = registry.plugin_of(options.innermost.measure)
        if plugin is not None:
            found[plugin.distribution] = plugin.version
        elif not type(registry.find(*options.innermost.label)).__module__.startswith(OURS):
            return None
    return found
