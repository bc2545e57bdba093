"""Many kills at moments drawn from a fixed seed: the counts stay those of an undisturbed run."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from reference_counts import EXACT, check_counts
from service_process import TEXT, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from service_process import ServiceProcess

    from service.client import Client

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

KILLS = 6
MEASURES = [{**EXACT, "per_anchor": True}, {"measure": "qsi", "method": "sampled", "samples": 3_000_000}]


def shards_done(client: Client, job: str) -> int:
    done: int = client.status(job)["ordsim"]["shardsDone"]
    return done


def check(client: Client, job: str, undisturbed: list[dict[str, object]]) -> None:
    results = client.results(job).json["results"]
    check_counts(results[0]["counts"], "text_L6_f32 ~ text_L3_f16")
    assert [result["counts"] for result in results] == [result["counts"] for result in undisturbed]


@pytest.mark.parametrize("seed", [1, 2])
def test_kills_at_any_moment_lose_and_invent_nothing(start_service: Callable[..., ServiceProcess], seed: int) -> None:
    moments = random.Random(seed)
    service = start_service(workers="2", shard_seconds="0.05")
    client = service.start()
    calm = client.submit(**TEXT, measures=MEASURES)["jobID"]
    assert client.wait(calm)["status"] == "successful"
    undisturbed = client.results(calm).json["results"]
    job = client.submit(**TEXT, measures=MEASURES, reuse=False)["jobID"]
    kills = 0
    while kills < KILLS and client.status(job)["status"] in ("accepted", "running"):
        wanted = shards_done(client, job) + moments.randrange(1, 12)
        wait_until(
            lambda: shards_done(client, job) >= wanted or client.status(job)["status"] == "successful",  # noqa: B023
            120,
            "more shards",
        )
        kills += 1
        if moments.random() < 0.5 and service.workers():
            moments.choice(service.workers()).kill()
        else:
            client.close()
            service.kill()
            client = service.start()
    assert client.wait(job)["status"] == "successful"
    assert kills >= 3
    check(client, job, undisturbed)
    client.close()
