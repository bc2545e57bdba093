"""Nothing is lost, whatever is killed: real processes, real signals."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from reference_counts import EXACT, check_counts
from service_process import TEXT, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from service_process import ServiceProcess

    from service.client import Client

# Long enough to be caught in the middle, short enough for a test: some seconds on two cores.
LONG = [EXACT, {"measure": "qsi", "method": "sampled", "samples": 4_000_000}]
SHARDS = {"workers": "2", "shard_seconds": "0.05"}


def submit_and_wait_for_shards(client: Client, shards: int) -> str:
    job: str = client.submit(**TEXT, measures=LONG)["jobID"]
    wait_until(lambda: client.status(job)["ordsim"]["shardsDone"] >= shards, 60, f"{shards} finished shards")
    assert client.status(job)["status"] == "running"
    return job


def finished_shards(state: Path, job: str) -> dict[tuple[int, int], float]:
    """Seconds of every shard of a job that is in the ledger, by measure and number."""
    with closing(sqlite3.connect(state / "jobs.sqlite3")) as connection:
        rows = connection.execute(
            "SELECT measure, shard, seconds FROM shards WHERE job = ? AND partial IS NOT NULL", [job]
        )
        return {(measure, shard): seconds for measure, shard, seconds in rows}


def test_a_killed_service_goes_on_from_its_ledger(start_service: Callable[..., ServiceProcess]) -> None:
    service = start_service(**SHARDS)
    with service.start() as client:
        job = submit_and_wait_for_shards(client, 5)
        workers = service.kill()
    assert len(workers) == 2
    wait_until(lambda: not any(worker.is_running() for worker in workers), 30, "the orphaned workers to end")
    before = finished_shards(service.state, job)
    assert len(before) >= 5

    with service.start() as client:
        assert client.wait(job)["status"] == "successful"
        status = client.status(job)
        assert status["ordsim"]["attempt"] == 2
        check_counts(client.results(job).json["results"][0]["counts"], "text_L6_f32 ~ text_L3_f16")
        assert client.results(job).json["results"][1]["counts"]["comparisons"] == "4000000"
        after = finished_shards(service.state, job)
    assert len(after) == status["ordsim"]["shardsTotal"] > len(before)
    assert {shard: after[shard] for shard in before} == before  # what was finished was not computed again


def test_a_killed_worker_costs_no_comparison(start_service: Callable[..., ServiceProcess]) -> None:
    service = start_service(**SHARDS)
    with service.start() as client:
        job = submit_and_wait_for_shards(client, 3)
        victim = service.workers()[0]
        victim.kill()
        assert client.wait(job)["status"] == "successful"
        check_counts(client.results(job).json["results"][0]["counts"], "text_L6_f32 ~ text_L3_f16")
        assert not victim.is_running()
        wait_until(lambda: len(service.workers()) == 2, 60, "the worker's replacement")


def test_cancel_while_shards_run(start_service: Callable[..., ServiceProcess]) -> None:
    service = start_service(workers="2", shard_seconds="1")
    with service.start() as client:
        endless = [{"measure": "qsi", "method": "sampled", "samples": 500_000_000}]
        job = client.submit(**TEXT, measures=endless)["jobID"]
        wait_until(lambda: client.status(job)["ordsim"]["shardsDone"] >= 2, 60, "two finished shards")
        assert client.cancel(job)["jobID"] == job
        wait_until(lambda: client.status(job)["status"] == "dismissed", 30, "the dismissal")
        done = finished_shards(service.state, job)
        assert len(done) >= 2
        # The workers are free for others, and nothing is written for a dismissed job any more.
        later = client.submit(**TEXT, measures=[EXACT])["jobID"]
        assert client.wait(later)["status"] == "successful"
        assert finished_shards(service.state, job) == done
        assert client.status(job)["status"] == "dismissed"
        assert client.cancel(job)["status"] == "dismissed"


def test_a_stopped_service_ends_with_its_workers(start_service: Callable[..., ServiceProcess]) -> None:
    service = start_service(**SHARDS)
    with service.start() as client:
        submit_and_wait_for_shards(client, 1)
        workers = service.workers()
        assert service.stop() == 0
    wait_until(lambda: not any(worker.is_running() for worker in workers), 30, "the workers to end")


def test_a_second_service_leaves_the_state_directory_alone(start_service: Callable[..., ServiceProcess]) -> None:
    first = start_service(workers="1")
    with first.start():
        second = start_service(workers="1")
        second.state = first.state
        second.command[second.command.index("--state-dir") + 1] = str(first.state)
        second.log = first.state / "second.log"
        with pytest.raises(pytest.fail.Exception, match=r"(?i)already|another|in use"):
            second.start()
        assert first.process is not None
        os.kill(first.process.pid, 0)
