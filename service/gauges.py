"""Figures that Prometheus is told as they are when it asks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from service.pipeline import BUILDERS
from service.states import JobStatus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prometheus_client import Metric

    from service.feeds import Feeds
    from service.runner import Runner
    from service.store import JobStore


@dataclass(frozen=True)
class Gauges(Collector):
    """Looks at the parts of a running service."""

    store: JobStore
    runner: Runner
    feeds: Feeds
    staging_directory: Path

    def collect(self) -> Iterator[Metric]:
        """Yield the figures of now."""
        counted = self.store.count()
        jobs = GaugeMetricFamily("ordsim_jobs", "Jobs in the store.", labels=("status", "process"))
        for status in JobStatus:
            for process in BUILDERS:
                jobs.add_metric((status, process), counted.get((status, process), 0))
        yield jobs
        waiting = sum(number for (status, _), number in counted.items() if status == JobStatus.ACCEPTED)
        crew = self.runner.crew
        for name, help_, value in (
            ("queue_length", "Jobs that wait to be started.", waiting),
            ("workers", "Workers that are connected.", crew.workers),
            ("threads", "Shards that can run at once.", crew.threads),
            ("work_seconds", "Worker seconds that running jobs still take.", sum(crew.workload.values())),
            ("event_listeners", "Open streams of events.", self.feeds.listeners),
            ("staging_bytes", "Size of the staged copies of arrays.", _size(self.staging_directory)),
        ):
            yield GaugeMetricFamily(f"ordsim_{name}", help_, value)


def _size(directory: Path) -> int:
    """Bytes below a directory; files may come and go meanwhile."""
    total = 0
    for place, _, files in os.walk(directory):
        for file in files:
            try:
                total += os.stat(os.path.join(place, file)).st_size  # noqa: PTH116, PTH118 - there may be many
            except FileNotFoundError:
                continue
    return total
