"""What routes work with, and how they get hold of it."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from service.feeds import Feeds
from service.metrics import Metrics
from service.planning import Workplace
from service.runner import Runner
from service.settings import Settings
from service.store import JobStore
from workers.cluster import Cluster
from workers.references import Roots


@dataclass(frozen=True)
class Services:
    """The parts of one running service."""

    settings: Settings
    roots: Roots
    store: JobStore
    cluster: Cluster
    runner: Runner
    feeds: Feeds
    metrics: Metrics

    async def workplace(self) -> Workplace:
        """What there is to compute with now."""
        found = await self.cluster.resources()
        return Workplace(self.settings.shard_seconds, found.worker_memory, found.threads)


def get_services(request: Request) -> Services:
    """Return the services of the application that got the request."""
    services: Services = request.app.state.services
    return services


Injected = Annotated[Services, Depends(get_services)]
