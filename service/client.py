"""The Python client: what an experiment's own code talks to.

Needs httpx2 and nothing of the service; numpy is imported when an artifact is asked for.
"""

from __future__ import annotations

import io
import math
import time
import uuid
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from service import asking, paging
from service.answers import Results, ServiceError, ServiceUnreachable
from service.asking import Reference, reference
from service.connection import Connection
from service.listening import statuses

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    import httpx2
    from numpy.typing import NDArray

    from service.grid_answers import GridResults

__all__ = ["Client", "Reference", "Results", "ServiceError", "ServiceUnreachable", "reference"]

DEFAULT_URL = "http://127.0.0.1:8000"
FINAL = frozenset({"successful", "failed", "dismissed"})
PAGE = 200


class Client:
    """A synchronous client of one ordsim service. Use as a context manager, or `close` it.

    Parameters
    ----------
    url : str
        Address of the service, e.g. ``"http://127.0.0.1:8000"``.
    key : str or None
        API key, sent as a bearer token.
    timeout : float
        Seconds that one request may take.
    transport : httpx2.BaseTransport or None
        For tests: what answers instead of the network.

    Raises
    ------
    ServiceError
        From any method: the service answered with a problem.
    ServiceUnreachable
        From any method: nothing answered, or something that is not ordsim.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        key: str | None = None,
        timeout: float = 30.0,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self._service = Connection(url, key, timeout, transport)

    @property
    def url(self) -> str:
        """Address of the service."""
        return self._service.url

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._service.close()

    # Jobs

    def compare(
        self,
        x: Reference,
        y: Reference,
        measures: Sequence[Mapping[str, Any]],
        *,
        progress: Callable[[dict[str, Any]], object] | None = None,
        **options: Any,
    ) -> Results:
        """Submit a comparison, wait for it, and return its results.

        Parameters
        ----------
        x, y : str or mapping
            Arrays to compare, see `reference`.
        measures : sequence of mapping
            E.g. ``[{"measure": "tsi", "method": "exact"}]``.
        progress : callable or None
            Called with the job's status at once and then each time it was asked for.
        **options
            Further fields of the request: ``rows``, ``groups`` (named like x), ``confidence``, ``seed``, ``label``, ...

        Raises
        ------
        ServiceError
            Also when the job failed or was dismissed: with the job's own problem.
        """
        submitted = self.submit(x, y, measures, **options)
        if progress is not None:
            progress(submitted)
        job = submitted["jobID"]
        self.wait(job, progress=progress)
        return self.results(job)

    def submit(
        self,
        x: Reference,
        y: Reference,
        measures: Sequence[Mapping[str, Any]],
        *,
        idempotency_key: str | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """Submit a comparison and return the new job's status, without waiting.

        The same `idempotency_key` with the same request gives the same job, so a submission whose answer was
        lost can be repeated; without one, each call is a job of its own.
        """
        return self.submit_request(asking.comparison(x, y, measures, options), idempotency_key=idempotency_key)

    def plan(self, x: Reference, y: Reference, measures: Sequence[Mapping[str, Any]], **options: Any) -> dict[str, Any]:
        """Return what a comparison would cost, without submitting it: seconds, memory, and so on for each measure."""
        return self.plan_request(asking.comparison(x, y, measures, options))

    def plan_request(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a whole request of any process would cost, as the contract has it; otherwise as `plan`."""
        return self._service.object("POST", "/v1/plans", json=dict(body))

    def status(self, job: str) -> dict[str, Any]:
        """Return the status of a job."""
        return self._service.object("GET", _address(job))

    def wait(
        self,
        job: str,
        *,
        progress: Callable[[dict[str, Any]], object] | None = None,
        timeout: float | None = None,
        outage: float = 30.0,
    ) -> dict[str, Any]:
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
        with closing(statuses(self._service, _address(job), end, outage)) as found:
            for status in found:
                if progress is not None:
                    progress(status)
                if status["status"] in FINAL:
                    return status
        raise TimeoutError(f"job {job} was not final after {timeout} s; it goes on")

    def layers(
        self,
        x: Sequence[Reference],
        y: Sequence[Reference],
        measure: Mapping[str, Any],
        *,
        progress: Callable[[dict[str, Any]], object] | None = None,
        **options: Any,
    ) -> GridResults:
        """Compare every layer of one model with every layer of another; arguments and errors as `compare`.

        Parameters
        ----------
        x, y : sequence of str or mapping
            Arrays of the layers.
        measure : mapping
        **options
            Further fields of the request: ``aggregate``, ``calibration``, ``rows``, ...
        """
        return self._run(asking.layers(x, y, measure, options), progress)

    def matrix(
        self,
        arrays: Sequence[Reference],
        measure: Mapping[str, Any],
        *,
        progress: Callable[[dict[str, Any]], object] | None = None,
        **options: Any,
    ) -> GridResults:
        """Compare all of several arrays with one another; arguments and errors as `compare`.

        Parameters
        ----------
        arrays : sequence of str or mapping
        measure : mapping
            TSI or QSI, sampled or by units.
        **options
            Further fields of the request: ``differences``, ``calibration``, ``rows``, ...
        """
        return self._run(asking.matrix(arrays, measure, options), progress)

    def submit_request(self, body: Mapping[str, Any], *, idempotency_key: str | None = None) -> dict[str, Any]:
        """Submit a whole request of any process, as the contract has it; otherwise as `submit`."""
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        return self._service.object("POST", "/v1/jobs", json=dict(body), headers=headers)

    def _run(self, body: Mapping[str, Any], progress: Callable[[dict[str, Any]], object] | None) -> GridResults:
        submitted = self.submit_request(body)
        if progress is not None:
            progress(submitted)
        self.wait(submitted["jobID"], progress=progress)
        from service.grid_answers import GridResults  # noqa: PLC0415 - brings numpy, see `artifact`

        return GridResults(self.document(submitted["jobID"]))

    def document(self, job: str) -> dict[str, Any]:
        """Return the results of a successful job of any process as JSON; errors as `results`."""
        return self._service.object("GET", f"{_address(job)}/results")

    def results(self, job: str) -> Results:
        """Return the results of a successful comparison.

        Raises
        ------
        ServiceError
            ``result-not-ready`` while it runs, ``gone`` after dismissal; a failed job's own problem.
        """
        return Results(self.document(job))

    def jobs(self, limit: int = 50, **filters: str) -> list[dict[str, Any]]:
        """Return the newest jobs, newest first: `limit` at most, of all pages.

        `filters` are those of the contract: ``status``, ``process``, ``label``, ``tag`` (``"key:value"``).
        """
        jobs: list[dict[str, Any]] = self.jobs_document(limit, **filters)["jobs"]
        return jobs

    def jobs_document(self, limit: int = 50, **filters: str) -> dict[str, Any]:
        """Return the same as the service's document, ``jobs`` and ``links``; pages are put together as one."""
        return paging.jobs(self._service, limit, filters)

    def cancel(self, job: str) -> dict[str, Any]:
        """Ask a job to stop and return its status; harmless when done twice.

        Raises
        ------
        ServiceError
            ``job-final`` when it was already successful or failed.
        """
        return self._service.object("DELETE", _address(job))

    def artifact(self, job: str, name: str) -> NDArray[Any]:
        """Return a large output of a job as an array, e.g. ``"0-per_anchor"``."""
        import numpy as np  # noqa: PLC0415 - asking and polling must not cost the import

        name = name.removesuffix(".npy")
        response = self._service.request("GET", f"{_address(job)}/artifacts/{quote(name, safe='')}.npy")
        array: NDArray[Any] = np.load(io.BytesIO(response.content), allow_pickle=False)
        return array

    # What the service offers

    def roots(self) -> list[dict[str, Any]]:
        """Return the service's data roots."""
        return self._service.list("/v1/roots", "roots")

    def arrays(self, root: str, prefix: str | None = None) -> list[dict[str, Any]]:
        """Return the arrays below a root, or below a prefix of its paths."""
        parameters = {} if prefix is None else {"prefix": prefix}
        return self._service.list(f"/v1/roots/{quote(root, safe='')}/arrays", "arrays", params=parameters)

    def processes(self) -> list[dict[str, Any]]:
        """Return the catalogue of processes."""
        return self._service.list("/v1/processes", "processes")

    def process(self, name: str) -> dict[str, Any]:
        """Return one process: its measures, their options, limits and the schema of its inputs."""
        return self._service.object("GET", f"/v1/processes/{quote(name, safe='')}")

    def ready(self) -> bool:
        """Whether the service answers and says that it is ready to compute."""
        try:
            self._service.request("GET", "/readyz")
        except (ServiceError, ServiceUnreachable):
            return False
        return True


def _address(job: str) -> str:
    return f"/v1/jobs/{quote(job, safe='')}"
