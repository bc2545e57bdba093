"""What Prometheus is told. Labels have few values, whatever clients send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from workers import versions

if TYPE_CHECKING:
    from workers.measures.protocol import MeasureOptions
    from workers.tasks import ShardResult

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
NO_ROUTE = "none"
REQUEST_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SHARD_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


class Metrics:
    """The figures of one service; `registry` has them all."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self._requests = Counter("ordsim_http_requests", "Requests answered.", labels, registry=self.registry)
        self._request_seconds = Histogram(
            "ordsim_http_request_seconds",
            "Seconds until the answer to a request began.",
            ("method", "route"),
            buckets=REQUEST_SECONDS,
            registry=self.registry,
        )
        self._shards = Counter("ordsim_shards", "Shards written to the ledger.", ("measure",), registry=self.registry)
        self._comparisons = Counter(
            "ordsim_comparisons", "Comparisons made by those shards.", ("measure",), registry=self.registry
        )
        self._seconds = Histogram(
            "ordsim_shard_seconds",
            "Worker seconds of a shard, preparing its arrays and counting; seconds that a job's arrays took to stage.",
            ("phase", "measure"),
            buckets=SHARD_SECONDS,
            registry=self.registry,
        )
        found = dict(versions.installed())
        build = {"version": found.pop("ordsim"), **found}
        Gauge("ordsim_build_info", "1; what this service is made of.", build, registry=self.registry).labels(
            **build
        ).set(1)

    def request(self, method: str, route: str | None, status: int, seconds: float) -> None:
        """Count a request; `route` is its template, None if there is none for its path."""
        method, route = method if method in METHODS else "other", route or NO_ROUTE
        self._requests.labels(method, route, str(status)).inc()
        self._request_seconds.labels(method, route).observe(seconds)

    def shard(self, options: MeasureOptions, comparisons: int, answer: ShardResult) -> None:
        """Count a shard that was written to the ledger."""
        measure = " ".join(part for part in options.label if part)
        self._shards.labels(measure).inc()
        self._comparisons.labels(measure).inc(comparisons)
        self._seconds.labels("prepare", measure).observe(answer.preparing)
        self._seconds.labels("count", measure).observe(answer.seconds - answer.preparing)

    def staged(self, seconds: float) -> None:
        """Note how long the arrays of a job took to be staged, or to be found staged."""
        self._seconds.labels("stage", "").observe(seconds)
