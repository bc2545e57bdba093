"""Measures that stop when they know enough: one answer, whatever the cluster does meanwhile."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from service_process import TEXT, ServiceProcess, wait_until
from tiny_numbers import EACH, MODULUS, SHARDS, number, stops_after

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.client import Client

HERE = Path(__file__).parent
WIDTH = 0.01
NARROW = [
    {"measure": "tsi", "method": "sampled", "width": WIDTH},
    {"measure": "qsi", "method": "units", "width": WIDTH},
]


def tiny(remainder: int, **options: Any) -> dict[str, Any]:
    return {"measure": "tiny", "method": "sequential", "remainder": remainder, **options}


SEED = next(
    seed
    for seed in range(1000)
    if any(12 <= stops_after(seed, remainder) <= 20 for remainder in range(3)) and number(seed, 0) % MODULUS > 2
)
REMAINDER = next(remainder for remainder in range(3) if 12 <= stops_after(SEED, remainder) <= 20)


@pytest.fixture
def start_tiny(start_service: Callable[..., ServiceProcess]) -> Callable[..., ServiceProcess]:
    """Make services that know the measure for tests."""

    def make(**settings: str) -> ServiceProcess:
        service = start_service(**settings)
        service.command[0:1] = [sys.executable, str(HERE / "tiny_service.py")]
        return service

    return make


def check(client: Client, job: str) -> None:
    """See that the result is made of the shortest prefix that is enough."""
    assert client.wait(job)["status"] == "successful", client.status(job)["message"]
    results = client.results(job)
    length = stops_after(SEED, REMAINDER)
    (result,) = results
    assert result.counts["agreeing"] == sum(number(SEED, shard) for shard in range(length))
    assert result.counts["comparisons"] == EACH * length
    assert "width-not-reached" not in [warning["code"] for warning in results.warnings]
    assert results.json["provenance"]["plan"][0]["shards"] == length
    workings = client.status(job)["ordsim"]
    assert workings["shardsDone"] == workings["shardsTotal"] < SHARDS


def test_the_answer_is_the_same_with_any_number_of_workers(start_tiny: Callable[..., ServiceProcess]) -> None:
    found: list[Any] = []
    for workers, shard_seconds in (("1", "0.5"), ("2", "0.02")):
        service = start_tiny(workers=workers, shard_seconds=shard_seconds)
        with service.start() as client:
            assert len(service.workers()) == int(workers)
            check_the_way(client)
            exhausted = client.compare(**TEXT, measures=[tiny(MODULUS, shards=3)], seed=SEED)
            assert "width-not-reached" in [warning["code"] for warning in exhausted.warnings]
            assert exhausted[0].counts["comparisons"] == 3 * EACH
            found.append(narrow(client))
        assert service.stop() == 0
    assert found[0] == found[1]


def check_the_way(client: Client) -> None:
    """See that progress never goes back on the way to the shortest prefix that is enough."""
    job = client.submit(**TEXT, measures=[tiny(REMAINDER)], seed=SEED)["jobID"]
    seen: list[dict[str, Any]] = []

    def final() -> bool:
        seen.append(client.status(job))
        return seen[-1]["status"] == "successful"

    wait_until(final, 120, "the end")
    check(client, job)
    for figure in ([status["progress"] for status in seen], [s["ordsim"]["comparisonsDone"] for s in seen]):
        assert figure == sorted(figure)


def narrow(client: Client) -> Any:
    """Give what real measures find that stop at a width, and see that they do."""
    most = [int(measure["comparisons"]) for measure in client.plan(**TEXT, measures=NARROW)["measures"]]
    results = client.compare(**TEXT, measures=NARROW, seed=3)
    assert "width-not-reached" not in [warning["code"] for warning in results.warnings]
    for result, limit in zip(results, most, strict=True):
        low, high = result.interval() or (0, 1)
        assert high - low <= WIDTH
        assert 0 < result.counts["comparisons"] < limit
    return results.json["results"]


def test_the_prefix_is_the_same_after_kills(start_tiny: Callable[..., ServiceProcess]) -> None:
    service = start_tiny(workers="2")
    with service.start() as client:
        job = client.submit(**TEXT, measures=[tiny(REMAINDER)], seed=SEED)["jobID"]
        wait_until(lambda: client.status(job)["ordsim"]["shardsDone"] >= 5, 60, "some shards")
        assert client.status(job)["status"] == "running"
        service.kill()
    with service.start() as client:
        service.workers()[0].kill()
        check(client, job)
        assert client.status(job)["ordsim"]["attempt"] == 2
