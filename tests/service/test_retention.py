"""What finished jobs leave is kept for a time, and the jobs themselves for ever."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ordsim_core.counts import AgreementCounts
from service import artifacts, cleaning
from service.settings import Settings
from service.store import JobStore
from service.submissions import NewJob
from tests.service.conftest import EXACT, check_problem, finish, request, submit, wait_until
from workers.measures.protocol import Shard
from workers.partials import Partial
from workers.staging import StagedArray

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx2

LONG_AGO = "2001-01-01T00:00:00.000Z"
YEAR = 365.0
COPY = StagedArray("", 8, 4, "float32", "sha256:0", "float", 0, 0, 8)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = datetime(2030, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def days_pass(self, days: float) -> None:
        self.now += timedelta(days=days)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def settings_here(tmp_path: Path) -> Settings:
    return Settings(state_dir=tmp_path, retain_days=10)


@pytest.fixture
def store(settings_here: Settings, clock: Clock) -> Iterator[JobStore]:
    with closing(JobStore(settings_here.database, clock)) as store:
        yield store


def succeed(store: JobStore, settings: Settings, job: str, *copies: str, key: str | None = None) -> None:
    """Let a job run to its end, with a shard, an artifact and staged copies."""
    store.submit(NewJob(id=job, process="compare", request={}, key=key, body="b"))
    claimed = store.claim()
    assert claimed is not None
    assert claimed.id == job
    store.record_staged(job, {name: replace(COPY, file=f"{name}.values") for name in copies})
    for name in copies:
        settings.staging_directory.mkdir(exist_ok=True)
        (settings.staging_directory / f"{name}.values").write_bytes(b"v" * 100)
        (settings.staging_directory / f"{name}.json").write_text("{}")
    store.ledger.plan(job, [[Shard(0, 0, 1, 10)]])
    store.ledger.record(job, 0, 0, Partial(AgreementCounts(concordant=10)).to_bytes(), 1.0)
    artifacts.write(settings.artifacts_directory, job, "0-null", np.arange(3))
    store.succeed(job, json.dumps({"jobID": job}))


def rows(settings: Settings, table: str, job: str) -> int:
    with closing(sqlite3.connect(settings.database)) as connection:
        return int(connection.execute(f"SELECT COUNT(*) FROM {table} WHERE job = ?", (job,)).fetchone()[0])


def staged(settings: Settings) -> set[str]:
    return {path.name for path in settings.staging_directory.iterdir()}


def test_jobs_expire_after_their_days_and_not_before(store: JobStore, settings_here: Settings, clock: Clock) -> None:
    succeed(store, settings_here, "old")
    clock.days_pass(6)
    succeed(store, settings_here, "young")
    store.submit(NewJob(id="waiting", process="compare", request={}))
    assert store.retention.expire(10) == []
    clock.days_pass(5)
    assert [due.job for due in store.retention.due(10)] == ["old"]
    assert store.retention.due(10)[0].stored_bytes > 10
    assert store.retention.expire(10) == ["old"]
    assert store.retention.expire(10) == []
    assert (store.get("old").status, store.get("old").percent) == ("successful", 100)
    assert store.get("old").expired is not None
    with pytest.raises(LookupError):
        store.results("old")
    assert (rows(settings_here, "shards", "old"), rows(settings_here, "shards", "young")) == (0, 1)
    assert [event.kind for event in store.events("old")] == ["successful"]
    assert len(store.events("young")) > 1
    clock.days_pass(1000)
    assert store.retention.expire(10) == ["young"]
    assert store.get("waiting").expired is None


def test_a_key_answers_for_a_day_even_if_the_results_do_not(
    store: JobStore, settings_here: Settings, clock: Clock
) -> None:
    succeed(store, settings_here, "first", key="k")
    clock.days_pass(0.1)
    assert store.retention.expire(0.05) == ["first"]
    again, new = store.submit(NewJob(id="second", process="compare", request={}, key="k", body="b"))
    assert (again.id, new) == ("first", False)
    clock.days_pass(1)
    store.retention.expire(0.05)
    again, new = store.submit(NewJob(id="second", process="compare", request={}, key="k", body="b"))
    assert (again.id, new) == ("second", True)


async def test_a_running_service_removes_the_files_of_expired_jobs(
    store: JobStore, settings_here: Settings, clock: Clock
) -> None:
    succeed(store, settings_here, "old", "shared", "own")
    clock.days_pass(9)
    succeed(store, settings_here, "young", "shared")
    (settings_here.artifacts_directory / "nobody").mkdir()
    clock.days_pass(2)
    task = asyncio.create_task(cleaning.keep_clean(settings_here, store))
    folder = settings_here.artifacts_directory
    try:
        async with asyncio.timeout(30):
            while {path.name for path in folder.iterdir()} != {"young"}:
                await asyncio.sleep(0.02)
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    assert staged(settings_here) == {"shared.values", "shared.json"}
    assert artifacts.find(folder, "young", "0-null") is not None


def test_nothing_is_taken_from_jobs_that_stage(store: JobStore, settings_here: Settings, clock: Clock) -> None:
    succeed(store, settings_here, "old", "own")
    clock.days_pass(11)
    store.submit(NewJob(id="new", process="compare", request={}))
    store.claim()
    cleaning._tidy(settings_here, store)
    assert staged(settings_here) == {"own.values", "own.json"}  # which the new job may be about to use
    store.record_staged("new", {"x": replace(COPY, file="other.values")})
    cleaning._tidy(settings_here, store)
    assert staged(settings_here) == set()


def test_nothing_expires_where_nobody_said_so(store: JobStore, settings_here: Settings, clock: Clock) -> None:
    succeed(store, settings_here, "old", "copy")
    clock.days_pass(20000)
    cleaning._tidy(Settings(state_dir=settings_here.state_dir), store)
    assert store.results("old") == '{"jobID": "old"}'
    assert artifacts.find(settings_here.artifacts_directory, "old", "0-null") is not None


def test_clean_says_what_it_frees_and_a_dry_run_frees_nothing(
    store: JobStore, settings_here: Settings, clock: Clock
) -> None:
    succeed(store, settings_here, "old", "own")
    clock.days_pass(11)
    store.submit(NewJob(id="running", process="compare", request={}))
    store.claim()
    store.record_staged("running", {"x": replace(COPY, file="needed.values")})
    for file in ("needed.values", "needed.json", "left.incomplete"):
        (settings_here.staging_directory / file).write_bytes(b"v" * 50)
    scratch = settings_here.scratch_directory / "worker-1" / "store"
    scratch.mkdir(parents=True)
    (scratch / "strip").write_bytes(b"s" * 1000)
    orphan = settings_here.artifacts_directory / "nobody"
    orphan.mkdir()
    (orphan / "0-null.npy").write_bytes(b"a" * 70)
    (settings_here.artifacts_directory / "old" / "1-null.part").write_bytes(b"p" * 30)

    would = cleaning.clean(settings_here, store, dry_run=True)
    found = {one.what: (one.number, one.size) for one in would}
    assert found["staged copies and profiles"] == (3, 152)
    assert found["temporary files"] == (2, 1030)
    assert found["orphaned artifacts"] == (1, 70)
    assert found["expired jobs"][0] == 1
    assert store.results("old")
    assert orphan.exists()
    assert scratch.exists()

    freed = cleaning.clean(settings_here, store)
    assert [one.what for one in freed] == [one.what for one in would]
    assert staged(settings_here) == {"needed.values", "needed.json"}
    assert not any(settings_here.scratch_directory.iterdir())
    assert not any(settings_here.artifacts_directory.iterdir())
    assert store.get("old").expired is not None
    assert cleaning.clean(settings_here, store) == []


def test_expired_results_are_gone_and_the_job_is_not(client: httpx2.Client, settings: Settings) -> None:
    body = request(measures=[{**EXACT, "per_anchor": True}], label="expiring")
    job = finish(client, body)["jobID"]
    failed = finish(client, request("nan"))["jobID"]
    with closing(sqlite3.connect(settings.database, timeout=30)) as connection, connection:
        connection.execute("UPDATE jobs SET finished = ? WHERE job IN (?, ?)", (LONG_AGO, job, failed))
    with closing(JobStore(settings.database)) as store:
        assert set(store.retention.expire(YEAR)) == {job, failed}
    for path in ("results", "report.html", "report.csv", "artifacts/0-per_anchor.npy", "artifacts/0-per_anchor.csv"):
        problem = check_problem(client.get(f"/v1/jobs/{job}/{path}"), 410, "gone")
        assert "again" in problem["detail"]
    status = client.get(f"/v1/jobs/{job}").json()
    assert (status["status"], status["progress"]) == ("successful", 100)
    assert "removed" in status["message"]
    assert [link["rel"] for link in status["links"]] == ["self"]
    assert job in [one["jobID"] for one in client.get("/v1/jobs?label=expiring").json()["jobs"]]
    check_problem(client.delete(f"/v1/jobs/{job}"), 409, "job-final")
    check_problem(client.get(f"/v1/jobs/{failed}/results"), 422, "non-finite-input")
    anew = submit(client, body)
    wait_until(lambda: client.get(f"/v1/jobs/{anew}/results").status_code == 200, 60, "the results to be computed anew")
