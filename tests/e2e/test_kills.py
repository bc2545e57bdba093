"""Nothing is lost, whatever is killed: real processes, real signals."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from collections import deque
from contextlib import closing
from typing import TYPE_CHECKING

import httpx2
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


class Idle:
    """Whether the workers used next to no processor time during the last second that they could have had."""

    def __init__(self, service: ServiceProcess) -> None:
        self.workers = service.workers()
        self.seen: deque[tuple[float, float]] = deque()

    def __call__(self) -> bool:
        used = sum(sum(worker.cpu_times()[:2]) for worker in self.workers)
        now = time.monotonic()
        self.seen.append((now, used))
        while len(self.seen) > 1 and now - self.seen[1][0] > 1:
            self.seen.popleft()
        return now - self.seen[0][0] > 1 and used - self.seen[0][1] < 0.3


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
        idle = Idle(service)
        wait_until(idle, 60, "the workers' processors to be idle")
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


def test_a_listener_does_not_hold_up_the_end_of_the_service(start_service: Callable[..., ServiceProcess]) -> None:
    service = start_service(**SHARDS)
    with service.start() as client:
        job = submit_and_wait_for_shards(client, 1)
        with httpx2.stream("GET", f"{service.url}/v1/jobs/{job}/events", timeout=60) as told:
            lines = told.iter_lines()
            while not next(lines).startswith("event: progress"):
                pass
            assert service.process is not None
            service.process.send_signal(signal.SIGTERM)
            # A stream that the server had to cancel would break off instead of ending.
            assert not any(line.startswith("event: successful") for line in lines)
        assert service.stop() == 0


def test_a_request_is_found_again_in_the_logs_of_service_and_workers(
    start_service: Callable[..., ServiceProcess], lab: Path
) -> None:
    service = start_service(workers="1", log_format="json", log_level="info")
    body = {
        "process": "compare",
        **{side: {"root": "lab", "path": name.partition(":")[2]} for side, name in TEXT.items()},
        "measures": [{"measure": "qsi", "method": "sampled", "samples": 1000}],
    }
    with service.start() as client:
        sent = {"X-Request-ID": "from-the-client-1"}
        job = httpx2.post(f"{service.url}/v1/jobs", json=body, headers=sent).json()["jobID"]
        assert client.wait(job)["status"] == "successful"
        assert service.stop() == 0
    text = service.log.read_text()
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    mine = [line for line in lines if line.get("request_id") == "from-the-client-1"]
    (answered,) = [line for line in mine if line["message"] == "answered"]
    assert (answered["method"], answered["template"], answered["status"]) == ("POST", "/v1/jobs", 202)
    assert answered["ms"] > 0
    messages = [(line["logger"], line["message"]) for line in mine]
    assert ("service.runner", f"job {job} starts") in messages
    assert ("workers.tasks", "staged") in messages
    (counted,) = [line for line in mine if line["message"] == "counted"]
    assert (counted["job"], counted["attempt"], counted["shard"], counted["measure"]) == (job, 1, 0, "qsi sampled")
    # Where the data are is the operator's business; the welcome on standard output tells him alone.
    assert not [line for line in lines if str(lab) in json.dumps(line) or str(service.state) in json.dumps(line)]
