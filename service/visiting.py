"""What a client can see of how a running service is."""

from __future__ import annotations

import time
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from service import numerals
from service.answers import ServiceError, ServiceUnreachable
from service.doctor import LITTLE_MEMORY, Check, clocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.client import Client

SMALLEST: dict[str, Any] = {"measure": "tsi", "method": "sampled", "samples": 1}
ROWS = {"start": 0, "stop": 3}
MOST_TRIED = 10
MATRIX = 2
"""Dimensions of an array that can be compared."""


def service(client: Client) -> Iterator[Check]:
    """Look at a running service as a client sees it; what cannot be reached ends the visit."""
    try:
        before = time.time()
        alive = client.probe("/livez")
        clock = clocks(before, time.time(), alive.headers.get("Date"))
        document = client.probe("/openapi.json")
    except (ServiceError, ServiceUnreachable) as error:
        advice = "Start it with `ordsim serve`, or say where it is: --url or ORDSIM_URL."
        yield Check("service", "failure", str(error), advice)
        return
    yield Check("service", "ok", f"{client.url} answers")
    yield _versions(document.json().get("info", {}).get("version"))
    yield clock
    yield from _ready(client)
    yield from _data(client)


def _versions(theirs: str | None) -> Check:
    own = version("ordsim")
    if theirs == own:
        return Check("versions", "ok", f"ordsim {own} here and there")
    return Check(
        "versions", "warning", f"ordsim {theirs} there, {own} here", "Use equal versions of client and service."
    )


def _ready(client: Client) -> Iterator[Check]:
    """Job store, cluster, workers and their versions, as the service judges them."""
    try:
        client.probe("/readyz")
    except ServiceError as error:
        for reason in error.problem.get("reasons") or [error.detail]:
            yield Check("readiness", "failure", reason, "Look at the service's log; jobs wait meanwhile.")
        return
    except ServiceUnreachable as error:
        yield Check("readiness", "failure", str(error), "Look at the service's log.")
        return
    yield Check("readiness", "ok", "job store, cluster and workers; their versions are equal")


def _data(client: Client) -> Iterator[Check]:
    """Whether roots can be read, and what workers have, by a plan for one of their arrays."""
    matrices: list[dict[str, Any]] = []
    try:
        roots = [str(one["name"]) for one in client.roots()]
        if not roots:
            yield Check("roots", "warning", "none", "A service without roots has no data: start it with --root.")
        for root in roots:
            arrays = client.arrays(root)
            yield Check(f"root {root}", "ok", f"{numerals.grouped(len(arrays))} arrays")
            found = [one for one in arrays if len(one["shape"]) == MATRIX and one["shape"][0] >= ROWS["stop"]]
            matrices += [{"root": root, "path": one["path"], "rows": ROWS} for one in found]
        yield from _workers(client, matrices[:MOST_TRIED])
    except ServiceError as error:
        advice = "Set ORDSIM_API_KEY to a key of this service." if error.status in (401, 403) else "See its log."
        yield Check("roots", "failure", error.detail or error.title, advice)


def _workers(client: Client, arrays: list[dict[str, Any]]) -> Iterator[Check]:
    """What workers have, by a plan for the first of these arrays that can be compared."""
    for array in arrays:
        try:
            plan = client.plan(array, array, [SMALLEST])
        except ServiceError:  # this array cannot be compared, which says nothing of the workers
            continue
        yield _resources(int(plan.get("workers") or 0), int(plan["workerMemoryBytes"]))
        return


def _resources(number: int, each: int) -> Check:
    found = f"{number} tasks at once, {numerals.size(each)} each"
    if number == 0:
        return Check("workers", "failure", "none is connected", "Look at the service's log.")
    if each < LITTLE_MEMORY:
        return Check("workers", "warning", found, "Larger jobs are refused: fewer --workers have more each.")
    return Check("workers", "ok", found)
