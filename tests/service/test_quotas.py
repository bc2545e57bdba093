"""Quotas: refused in the submission's own transaction, or waited for in the queue."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from service.keys import Limits, Scope
from service.states import JobStatus, QuotaExceededError
from service.store import JobStore
from service.submissions import NewJob
from workers.measures.protocol import Shard
from workers.partials import Partial

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

from ordsim_core.counts import AgreementCounts

BLOB = Partial(AgreementCounts(concordant=6, discordant=4)).to_bytes()


class Clock:
    """A clock that is set by hand."""

    now = datetime(2026, 1, 1, 23, 59, 30, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[JobStore]:
    with closing(JobStore(tmp_path / "jobs.sqlite3", clock)) as store:
        yield store


def new(job: str, owner: str = "me", **fields: object) -> NewJob:
    return replace(NewJob(id=job, process="compare", request={}, owner=owner), **fields)  # type: ignore[arg-type]


def test_concurrent_submissions_do_not_pass_a_quota_together(store: JobStore) -> None:
    def submit(number: int) -> bool:
        try:
            store.submit(new(f"job{number}"), Limits(queued=7))
        except QuotaExceededError:
            return False
        return True

    with ThreadPoolExecutor(10) as pool:
        taken = list(pool.map(submit, range(50)))
    assert sum(taken) == 7


def test_the_queue_of_one_owner_is_not_that_of_another(store: JobStore) -> None:
    store.submit(new("a"), Limits(queued=1))
    store.submit(new("b", "them"), Limits(queued=1))
    with pytest.raises(QuotaExceededError, match="1 jobs of this API key wait") as refused:
        store.submit(new("c"), Limits(queued=1))
    assert refused.value.retry_seconds > 0
    store.cancel("a")
    store.submit(new("c"), Limits(queued=1))


def test_the_queue_of_all_has_an_end(store: JobStore) -> None:
    store.submit(new("a", "me"), queue=2)
    store.submit(new("b", ""), queue=2)
    with pytest.raises(QuotaExceededError, match="The queue is full: 2 jobs wait"):
        store.submit(new("c", "them"), queue=2)
    store.claim()
    store.submit(new("c", "them"), queue=2)


def test_a_known_idempotency_key_passes_any_quota(store: JobStore) -> None:
    store.submit(new("a", key="k", body="1"), Limits(queued=1))
    job, made = store.submit(new("b", key="k", body="1"), Limits(queued=1))
    assert (job.id, made) == ("a", False)


def test_a_job_too_many_to_run_waits_and_lets_others_pass(store: JobStore) -> None:
    key, _ = store.keys.create("", [Scope.JOBS_WRITE], Limits(running=1))
    for job, owner in (("a", key.id), ("b", key.id), ("c", "")):
        store.submit(new(job, owner))
    assert [claimed.id for claimed in (store.claim(), store.claim()) if claimed] == ["a", "c"]
    assert store.claim() is None
    assert store.get("b").status is JobStatus.ACCEPTED
    store.fail("a", {"detail": "why"})
    claimed = store.claim()
    assert claimed is not None
    assert claimed.id == "b"


def test_comparisons_are_counted_from_midnight_on(store: JobStore, clock: Clock) -> None:
    limits = Limits(comparisons=10**20)
    store.submit(new("a", comparisons=6 * 10**19), limits)
    store.submit(new("b", "them", comparisons=10**20), limits)
    with pytest.raises(QuotaExceededError, match="60000000000000000000 of them were made or promised") as refused:
        store.submit(new("c", comparisons=5 * 10**19), limits)
    assert refused.value.retry_seconds == 31
    store.submit(new("d", comparisons=4 * 10**19), limits)
    clock.now = datetime(2026, 1, 2, 0, 0, 1, tzinfo=UTC)
    store.submit(new("c", comparisons=5 * 10**19), limits)


def test_a_job_that_fits_on_no_day_is_told_so(store: JobStore) -> None:
    with pytest.raises(QuotaExceededError, match="too little for this job on any day"):
        store.submit(new("a", comparisons=11), Limits(comparisons=10))


def test_a_final_job_costs_what_it_made(store: JobStore) -> None:
    limits = Limits(comparisons=100)
    store.submit(new("a", comparisons=90), limits)
    store.claim()
    store.ledger.plan("a", [[Shard(0, 0, 1, 40), Shard(1, 1, 2, 50)]])
    store.ledger.record("a", 0, 0, BLOB, 0.1)
    with pytest.raises(QuotaExceededError):
        store.submit(new("b", comparisons=60), limits)
    store.cancel("a")
    store.dismiss("a")
    store.submit(new("b", comparisons=60), limits)
    with pytest.raises(QuotaExceededError, match="100 of them"):
        store.submit(new("c", comparisons=1), limits)
