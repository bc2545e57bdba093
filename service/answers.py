"""What the client hands out: results, and the errors that stand for problems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from service import flattened
from service.named import Calibration, Named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import httpx2


class ServiceUnreachable(Exception):  # noqa: N818 - the service made no error; it was not there
    """Nothing answered at the address, or something that is not ordsim."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(url, reason)
        self.url = url
        self.reason = reason

    def __str__(self) -> str:
        return f"no ordsim service at {self.url}: {self.reason}"


class ServiceError(Exception):
    """The service answered with a problem (RFC 9457).

    Attributes
    ----------
    problem : dict
        The problem as it was sent.
    slug, title, detail : str
        Its name in the contract, the same in words, and what happened this time.
    status : int
        HTTP status.
    origin : str or None
        Who must act: ``request``, ``data`` or ``system``.
    errors : list of dict
        ``pointer`` into the request and ``detail`` of each fault.
    request_id : str or None
        What the service's log calls the request.
    """

    def __init__(self, problem: Mapping[str, Any], status: int) -> None:
        super().__init__(problem, status)
        self.problem = dict(problem)
        self.status = status
        self.slug = str(problem.get("type", "")).rpartition("/")[2] or f"http-{status}"
        self.title = str(problem.get("title", ""))
        self.detail = str(problem.get("detail", ""))
        self.origin: str | None = problem.get("origin")
        self.errors: list[dict[str, str]] = list(problem.get("errors") or [])
        self.request_id: str | None = problem.get("requestID")

    def __str__(self) -> str:
        where = " ".join(error["pointer"] for error in self.errors if error.get("pointer"))
        return f"{self.slug} ({self.status}): {self.detail or self.title}{f' [{where}]' if where else ''}"

    @classmethod
    def from_response(cls, response: httpx2.Response) -> ServiceError:
        """Read a problem; what is none, e.g. a proxy's page, is given the same form."""
        try:
            problem = response.json()
        except ValueError:
            problem = None
        if not isinstance(problem, dict):
            what = response.headers.get("Content-Type", "nothing")
            problem = {
                "title": response.reason_phrase or "No problem document",
                "detail": f"{response.request.url} answered {response.status_code} with {what}",
            }
        return cls(problem, response.status_code)


class Result(Named):
    """What one measure found: a mapping, the JSON of the contract, with names for what is used most."""

    def __repr__(self) -> str:
        return f"<{' '.join(part for part in (self.measure, self.method) if part)}: {self.score}>"

    @property
    def measure(self) -> str:
        """Name of the measure, e.g. ``"tsi"``."""
        return str(self.json["measure"])

    @property
    def method(self) -> str | None:
        """How it was computed, e.g. ``"exact"``."""
        return self.json.get("method")

    @property
    def score(self) -> float | None:
        """The score; None where it is undefined, and `reason` says why."""
        score: float | None = self.json["score"]
        return score

    @property
    def deficit(self) -> float | None:
        """What is missing to 1, with all its digits."""
        return self.json.get("deficit")

    @property
    def reason(self) -> str | None:
        """Why there is no score."""
        return self.json.get("reason")

    @property
    def counts(self) -> dict[str, int]:
        """The counts as integers."""
        return {name: int(count) for name, count in (self.json.get("counts") or {}).items()}

    @property
    def intervals(self) -> dict[str, dict[str, Any]]:
        """The intervals that exist, by kind; where one does not, ``self["intervals"]["reasons"]`` says why."""
        found = (self.json.get("intervals") or {}).items()
        return {kind: interval for kind, interval in found if isinstance(interval, dict) and "low" in interval}

    def interval(self, kind: str = "sampling") -> tuple[float, float] | None:
        """Low and high end of an interval; None where there is none."""
        interval = self.intervals.get(kind)
        return (interval["low"], interval["high"]) if interval else None

    @property
    def calibration(self) -> Calibration | None:
        """How the score stands against permutations; None if that was not asked for."""
        found = self.json.get("calibration")
        return None if found is None else Calibration(found)


class Results:
    """Results of a job in the order of its measures.

    Attributes
    ----------
    json : dict
        The answer of the service, untouched.
    results : tuple of Result
    """

    def __init__(self, json: dict[str, Any]) -> None:
        self.json = json
        self.results = tuple(Result(result) for result in json["results"])

    def __getitem__(self, position: int) -> Result:
        return self.results[position]

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __repr__(self) -> str:
        return f"<Results of {self.job}: {', '.join(map(repr, self.results))}>"

    @property
    def job(self) -> str:
        """Id of the job."""
        return str(self.json["jobID"])

    @property
    def scores(self) -> list[float | None]:
        """Score of each measure."""
        return [result.score for result in self.results]

    @property
    def warnings(self) -> list[dict[str, str]]:
        """What a reader should know: ``code`` and ``detail``."""
        return list(self.json.get("warnings") or [])

    def records(self) -> list[dict[str, Any]]:
        """A flat dictionary for each measure, all with the same keys: what ``pandas.DataFrame`` takes."""
        return flattened.comparison(self.json)

    def to_csv(self) -> str:
        """The records as CSV, with a line of headings."""
        return flattened.to_csv(self.records())
