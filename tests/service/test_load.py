"""Many clients at once: every job is accepted once and ends, and nothing answers with an error of the service."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any

from ordsim_core.counts import AgreementCounts
from service.store import JobStore
from service.submissions import NewJob
from tests.service.conftest import EXACT, SAMPLED, request, submit, wait_until
from workers.measures.protocol import Shard
from workers.partials import Partial

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2


CLIENTS = 20
JOBS = 60


def test_many_small_jobs_at_once_all_end(client: httpx2.Client) -> None:
    def send(number: int) -> str:
        response = client.post("/v1/jobs", json=request(seed=number, label="at once"))
        assert response.status_code == 202, response.text
        return str(response.json()["jobID"])

    with ThreadPoolExecutor(CLIENTS) as pool:
        jobs = list(pool.map(send, range(JOBS)))
    assert len(set(jobs)) == JOBS

    def ended() -> bool:
        listed = client.get("/v1/jobs?label=at once&status=successful&limit=200").json()["jobs"]
        return {job["jobID"] for job in listed} == set(jobs)

    wait_until(ended, 240, f"{JOBS} jobs to succeed")


def test_fifty_equal_keys_at_once_make_one_job(client: httpx2.Client) -> None:
    together = threading.Barrier(50)

    def send(_: int) -> Any:
        together.wait(60)
        return client.post("/v1/jobs", json=request(label="fifty"), headers={"Idempotency-Key": "fifty"})

    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(send, range(50)))
    assert {answer.status_code for answer in answers} == {202}
    (job,) = {answer.json()["jobID"] for answer in answers}
    assert [one["jobID"] for one in client.get("/v1/jobs?label=fifty").json()["jobs"]] == [job]


def test_nothing_fails_while_progress_is_written(client: httpx2.Client) -> None:
    # Short shards: hundreds of them are written down while others ask.
    busy = submit(client, request("large", "larger", [{**SAMPLED, "samples": 10**9}]))
    wait_until(lambda: client.get(f"/v1/jobs/{busy}").json()["ordsim"]["shardsDone"] >= 3, 120, "progress")

    def ask(number: int) -> list[int]:
        sent = client.post("/v1/jobs", json=request(measures=[EXACT], seed=number))
        asked = [client.get(f"/v1/jobs/{busy}"), client.get("/v1/jobs?limit=5"), client.get("/readyz")]
        return [sent.status_code, *(answer.status_code for answer in asked)]

    with ThreadPoolExecutor(CLIENTS) as pool:
        found = list(pool.map(ask, range(40)))
    assert found == [[202, 200, 200, 200]] * 40
    assert client.get(f"/v1/jobs/{busy}").json()["status"] == "running"
    assert client.delete(f"/v1/jobs/{busy}").status_code in (200, 202)
    wait_until(lambda: client.get(f"/v1/jobs/{busy}").json()["status"] == "dismissed", 60, "the dismissal")


def test_no_lock_is_met_however_many_write_and_read(tmp_path: Path) -> None:
    """Ten jobs report progress, from two processes' worth of connections, while fifty readers look."""
    shards = [Shard(index, index, index + 1, 10) for index in range(40)]
    partial = Partial(AgreementCounts(concordant=10)).to_bytes()
    with closing(JobStore(tmp_path / "jobs")) as store, closing(JobStore(tmp_path / "jobs")) as other:
        names = [f"job{number}" for number in range(10)]
        for name in names:
            store.submit(NewJob(id=name, process="compare", request={}))
            store.claim()
            store.ledger.plan(name, [shards])

        def write(name: str) -> int:
            several = (store, other)
            return sum(several[shard.index % 2].ledger.record(name, 0, shard.index, partial, 0.1) for shard in shards)

        def read(number: int) -> bool:
            name = names[number % len(names)]
            seen = [other.get(name).progress.shards_done for _ in range(20)]
            return seen == sorted(seen)

        with ThreadPoolExecutor(60) as pool:
            writing = [pool.submit(write, name) for name in names]
            reading = [pool.submit(read, number) for number in range(50)]
            assert [one.result() for one in writing] == [len(shards)] * 10
            assert all(one.result() for one in reading)
        assert all(store.get(name).progress.shards_done == len(shards) for name in names)
    with closing(sqlite3.connect(tmp_path / "jobs")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
