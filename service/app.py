"""The application: what belongs together for as long as one service runs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

from fastapi import FastAPI

from service import cleaning, clusters, errors, examples, lock, openapi
from service.authentication import Authentication
from service.clock import utc_now
from service.feeds import Feeds
from service.gauges import Gauges
from service.metrics import Metrics
from service.middleware import BodyLimit, HeadAsGet, LoopbackHost, RequestContext
from service.pipeline import JobContext
from service.routes import data, events, health, jobs, pages, plans, processes, reports, results
from service.runner import Runner
from service.services import Services
from service.store import JobStore
from service.turns import Turns

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from datetime import datetime

    from service.settings import Settings

log = logging.getLogger(__name__)


def create_app(settings: Settings, clock: Callable[[], datetime] = utc_now) -> FastAPI:
    """Build the application. Its lifespan owns the state directory, the store, the cluster and the runner."""

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with lock.own(settings.state_dir), contextlib.closing(JobStore(settings.database, clock)) as store:
            async with run_services(settings, store, metrics) as services:
                app.state.services = services
                yield

    metrics = Metrics()

    app = FastAPI(
        title="ordsim",
        version=openapi.VERSION,
        summary="How similar are two representations? Ordinal similarity (TSI, QSI) of embeddings in zarr arrays.",
        lifespan=lifespan,
        # FastAPI's pages load their scripts from elsewhere; see `pages` for ours.
        docs_url=None,
        redoc_url=None,
        # A path with a slash too many is another path, not a reason to be sent around.
        redirect_slashes=False,
    )
    routes = (jobs, results, reports, events, plans, data, processes, health)
    for router in (one.router for one in routes):
        app.include_router(router)
    pages.install(app)
    errors.install(app)
    openapi.install(app, examples.add, settings.keys_required)
    app.add_middleware(HeadAsGet)
    app.add_middleware(BodyLimit)
    app.add_middleware(Authentication if settings.keys_required else LoopbackHost)
    app.add_middleware(RequestContext, metrics=metrics)  # added last, so outermost
    return app


@contextlib.asynccontextmanager
async def run_services(settings: Settings, store: JobStore, metrics: Metrics) -> AsyncIterator[Services]:
    """Run the cluster and the runner on this event loop; the end of both takes a few seconds."""
    roots = settings.known_roots()
    for directory in (settings.staging_directory, settings.artifacts_directory):
        lock.make_private(directory)
    cluster = clusters.make(settings)
    async with cluster:
        turns = Turns(settings.max_running, settings.turn_seconds)
        context = JobContext(
            store, cluster, settings.artifacts_directory, settings.shard_seconds, turns, metrics=metrics
        )
        runner, feeds = Runner(context), Feeds(store)
        metrics.registry.register(Gauges(store, runner, feeds, settings.staging_directory))
        await runner.start()
        cleaner = asyncio.create_task(cleaning.keep_clean(settings, store))
        try:
            yield Services(settings, roots, store, cluster, runner, feeds, metrics)
        finally:
            cleaner.cancel()
            await asyncio.gather(cleaner, return_exceptions=True)
            feeds.close()
            await runner.stop()
