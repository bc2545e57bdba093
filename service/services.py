"""What routes work with, and how they get hold of it."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Path, Request

from service.access import ANYONE, Caller
from service.planning import Workplace
from service.records import Job
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

    async def workplace(self) -> Workplace:
        """What there is to compute with now."""
        found = await self.cluster.resources()
        return Workplace(self.settings.shard_seconds, found.worker_memory, found.threads)


async def get_services(request: Request) -> Services:
    """Return the services of the application that got the request."""
    services: Services = request.app.state.services
    return services


Injected = Annotated[Services, Depends(get_services)]


async def get_caller(services: Injected, request: Request) -> Caller:
    """Return who sent the request: where keys are asked for, whom the middleware let in."""
    if not services.settings.keys_required:
        return ANYONE
    caller: Caller = request.state.caller
    return caller


Asking = Annotated[Caller, Depends(get_caller)]

JobName = Annotated[str, Path(alias="jobID", max_length=64, description="As the submission answered it.")]


def get_seen(services: Injected, asking: Asking, job_id: JobName) -> Job:
    """Return the job that the address names, if it is there for whoever asks."""
    return services.store.get(job_id, asking.sees)


Seen = Annotated[Job, Depends(get_seen)]
"""The job of the address. Every route below one takes it from here: another owner's job is unknown."""
