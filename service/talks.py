"""What clients and a service say to each other, whoever carries it.

`service.carrying` does what talks ask for, by blocking or on an event loop; the clients hand out the talks as methods,
so what stands here is also their documentation.
"""

from __future__ import annotations

import io
import math
import time
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlsplit

from service import asking
from service.answers import Results, ServiceUnreachable
from service.steps import (
    DEFAULT_PAUSE,
    NOT_MODIFIED,
    Ask,
    Attend,
    Await,
    ask_object,
    parsed,
    suggested_pause,
    tell,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from service.asking import Reference
    from service.grid_answers import LayersResults, MatrixResults
    from service.steps import Progress, Talk

Job = str | Mapping[str, Any]
"""A job's identifier, or its status as `submit` returns it."""

FINAL = frozenset({"successful", "failed", "dismissed"})
PAGE = 200

LISTENING_SECONDS = 45.0
"""A stream that says nothing for so long is broken: the service tells every 15 seconds that it is there. With less
time left, a job is polled."""


def compare(
    x: Reference,
    y: Reference,
    measures: Sequence[Mapping[str, Any]],
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Talk[Results]:
    """Submit a comparison, wait for it, and return its results.

    Parameters
    ----------
    x, y : str or mapping
        Arrays to compare: ``"lab:layer6"``, or with a distance and rows of its own
        ``{"root": "lab", "path": "layer6", "distance": "cosine", "rows": (0, 1000)}``.
    measures : sequence of mapping
        E.g. ``[{"measure": "tsi", "method": "sampled", "samples": 1e6}]``; `process` lists all with their options.
    progress : callable or None
        Called with the job's status at once, and then whenever it has changed.
    **options
        Further fields of the request: ``rows`` of both, (start, stop) or a slice, ``groups`` (named like x),
        ``confidence``, ``seed``, ``label``, ...

    Raises
    ------
    ServiceError
        Also when the job failed or was dismissed: with the job's own problem.
    """
    return Results((yield from _run(asking.comparison(x, y, measures, options), progress)))


def layers(
    x: Sequence[Reference],
    y: Sequence[Reference],
    measure: Mapping[str, Any],
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Talk[LayersResults]:
    """Compare every layer of one model with every layer of another; arguments and errors as `compare`.

    Parameters
    ----------
    x, y : sequence of str or mapping
        Arrays of the layers.
    measure : mapping
    **options
        Further fields of the request: ``aggregate``, ``calibration``, ``rows``, ...
    """
    document = yield from _run(asking.layers(x, y, measure, options), progress)
    from service.grid_answers import LayersResults  # noqa: PLC0415 - brings numpy, see `artifact`

    return LayersResults(document)


def matrix(
    arrays: Sequence[Reference],
    measure: Mapping[str, Any],
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Talk[MatrixResults]:
    """Compare all of several arrays with one another; arguments and errors as `compare`.

    Parameters
    ----------
    arrays : sequence of str or mapping
    measure : mapping
        TSI or QSI, sampled or by units.
    **options
        Further fields of the request: ``differences``, ``calibration``, ``rows``, ...
    """
    document = yield from _run(asking.matrix(arrays, measure, options), progress)
    from service.grid_answers import MatrixResults  # noqa: PLC0415 - brings numpy, see `artifact`

    return MatrixResults(document)


def submit(
    x: Reference,
    y: Reference,
    measures: Sequence[Mapping[str, Any]],
    *,
    idempotency_key: str | None = None,
    **options: Any,
) -> Talk[dict[str, Any]]:
    """Submit a comparison and return the new job's status, without waiting.

    The same `idempotency_key` with the same request gives the same job, so a submission whose answer was
    lost can be repeated; without one, each call is a job of its own.
    """
    body = asking.comparison(x, y, measures, options)
    return (yield from submit_request(body, idempotency_key=idempotency_key))


def submit_request(body: Mapping[str, Any], *, idempotency_key: str | None = None) -> Talk[dict[str, Any]]:
    """Submit a whole request of any process, as the contract has it; otherwise as `submit`."""
    headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
    return (yield from ask_object("POST", "/v1/jobs", json=dict(body), headers=headers))


def plan(x: Reference, y: Reference, measures: Sequence[Mapping[str, Any]], **options: Any) -> Talk[dict[str, Any]]:
    """Return what a comparison would cost, without submitting it: seconds, memory, and so on for each measure."""
    return (yield from plan_request(asking.comparison(x, y, measures, options)))


def plan_request(body: Mapping[str, Any]) -> Talk[dict[str, Any]]:
    """Return what a whole request of any process would cost, as the contract has it; otherwise as `plan`."""
    return (yield from ask_object("POST", "/v1/plans", json=dict(body)))


def status(job: Job) -> Talk[dict[str, Any]]:
    """Return the status of a job."""
    return (yield from ask_object("GET", _address(job)))


def wait(
    job: Job,
    *,
    progress: Progress | None = None,
    timeout: float | None = None,
    outage: float = 30.0,
) -> Talk[dict[str, Any]]:
    """Wait until a job is final and return its last status, whatever that is.

    Parameters
    ----------
    job : str
    progress : callable or None
        Called with the status at once, and then whenever it has changed.
    timeout : float or None
        Seconds to wait at most.
    outage : float
        Seconds that the service may be away, e.g. while it is restarted: jobs outlive that.

    Raises
    ------
    TimeoutError
        If the job was not final in time; it goes on.
    """
    end = math.inf if timeout is None else time.monotonic() + timeout
    answered, known = -math.inf, dict[str, str]()
    while True:
        # Before asking: what happens after the answer is heard.
        yield Attend(_address(job) if end - time.monotonic() > LISTENING_SECONDS else None)
        pause = DEFAULT_PAUSE
        try:
            response = yield Ask("GET", _address(job), {"headers": known})
        except ServiceUnreachable:
            if time.monotonic() - answered > outage:
                raise
        else:
            answered, pause = time.monotonic(), suggested_pause(response)
            if response.status_code != NOT_MODIFIED:
                known = {"If-None-Match": response.headers["ETag"]} if "ETag" in response.headers else {}
                found = parsed(response)
                yield from tell(progress, found)
                if found["status"] in FINAL:
                    return found
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"job {job} was not final after {timeout} s; it goes on")
        yield Await(min(pause, left))


def document(job: Job) -> Talk[dict[str, Any]]:
    """Return the results of a successful job of any process as JSON; errors as `results`."""
    return (yield from ask_object("GET", f"{_address(job)}/results"))


def results(job: Job) -> Talk[Results]:
    """Return the results of a successful comparison.

    Raises
    ------
    ServiceError
        ``result-not-ready`` while it runs, ``gone`` after dismissal; a failed job's own problem.
    """
    return Results((yield from document(job)))


def jobs(limit: int = 50, **filters: str) -> Talk[list[dict[str, Any]]]:
    """Return the newest jobs, newest first: `limit` at most, of all pages.

    `filters` are those of the contract: ``status``, ``process``, ``label``, ``tag`` (``"key:value"``), and
    ``prefix``: how the id begins.
    """
    found: list[dict[str, Any]] = (yield from jobs_document(limit, **filters))["jobs"]
    return found


def jobs_document(limit: int = 50, **filters: str) -> Talk[dict[str, Any]]:
    """Return the same as the service's document, ``jobs`` and ``links``; pages are put together as one."""
    found: list[dict[str, Any]] = []
    links: list[dict[str, Any]] = []
    parameters: dict[str, Any] = dict(filters)
    while len(found) < limit:
        page = yield from ask_object("GET", "/v1/jobs", params={**parameters, "limit": min(limit - len(found), PAGE)})
        found += page["jobs"]
        after = [link for link in page["links"] if link["rel"] == "next"]
        links = [link for link in links or page["links"] if link["rel"] != "next"] + after
        if not after or not page["jobs"]:
            break
        parameters = dict(parse_qsl(urlsplit(after[0]["href"]).query))
    return {"jobs": found[:limit], "links": links}


def cancel(job: Job) -> Talk[dict[str, Any]]:
    """Ask a job to stop and return its status; harmless when done twice.

    Raises
    ------
    ServiceError
        ``job-final`` when it was already successful or failed.
    """
    return (yield from ask_object("DELETE", _address(job)))


def artifact(job: Job, name: str) -> Talk[NDArray[Any]]:
    """Return a large output of a job as an array, e.g. ``"0-per_anchor"``."""
    import numpy as np  # noqa: PLC0415 - asking and polling must not cost the import

    content = yield from artifact_file(job, f"{name.removesuffix('.npy')}.npy")
    array: NDArray[Any] = np.load(io.BytesIO(content), allow_pickle=False)
    return array


def artifact_file(job: Job, name: str) -> Talk[bytes]:
    """Return a large output of a job as a file, e.g. ``"0-per_anchor.npy"`` or ``"0-per_anchor.csv"``."""
    response = yield Ask("GET", f"{_address(job)}/artifacts/{quote(name, safe='')}")
    content: bytes = response.content
    return content


def _run(body: Mapping[str, Any], progress: Progress | None) -> Talk[dict[str, Any]]:
    """Submit a request, wait for the job, and return its results."""
    submitted = yield from submit_request(body)
    yield from tell(progress, submitted)
    yield from wait(submitted["jobID"], progress=progress)
    return (yield from document(submitted["jobID"]))


def _address(job: Job) -> str:
    identifier = job if isinstance(job, str) else str(job["jobID"])
    return f"/v1/jobs/{quote(identifier, safe='')}"
