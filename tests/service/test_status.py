"""What a job's status says, and what it leaves out once the job is final."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from ordsim_core.counts import AgreementCounts
from service.states import Phase
from service.status import Crew, eta_seconds, status_document
from service.store import JobStore
from service.submissions import NewJob
from workers.measures.protocol import Shard
from workers.partials import Partial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NOBODY, TWO = Crew(), Crew(2, 2)
BLOB = Partial(AgreementCounts(concordant=1)).to_bytes()
END: dict[str, Callable[[JobStore], object]] = {
    "successful": lambda store: store.succeed("a", "{}"),
    "failed": lambda store: store.fail("a", {"detail": "why"}),
    "dismissed": lambda store: store.dismiss("a"),
}


@pytest.mark.parametrize("end", END)
def test_a_final_status_does_not_depend_on_the_moment(tmp_path: Path, end: str) -> None:
    with closing(JobStore(tmp_path / "jobs.sqlite3")) as store:
        store.submit(NewJob(id="a", process="compare", request={}))
        store.claim()
        assert [status_document(store.get("a"), crew)["ordsim"]["workers"] for crew in (NOBODY, TWO)] == [0, 2]
        END[end](store)
        job = store.get("a")
    assert status_document(job, NOBODY) == status_document(job, TWO)
    assert status_document(job, TWO)["ordsim"]["workers"] == 0


def test_no_answer_is_taken_from_another_job_yet(tmp_path: Path) -> None:
    with closing(JobStore(tmp_path / "jobs.sqlite3")) as store:
        job, _ = store.submit(NewJob(id="a", process="compare", request={}))
    assert status_document(job, TWO)["ordsim"]["reusedFrom"] is None


# The time left: measures whose comparisons cost very different amounts of time, on workers that are shared.


@dataclass(frozen=True)
class Planned:
    """A measure in a simulated ledger: what its shards really take, and what the model of costs expects in all."""

    shards: int
    comparisons: int
    seconds: float
    expected: float


CHEAP = Planned(shards=40, comparisons=10**9, seconds=0.5, expected=40 * 0.25)
DEAR = Planned(shards=100, comparisons=10, seconds=3.0, expected=100 * 1.5)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[JobStore]:
    with closing(JobStore(tmp_path / "jobs.sqlite3")) as made:
        yield made


def begin(store: JobStore, job: str, *measures: Planned) -> None:
    store.submit(NewJob(id=job, process="compare", request={}))
    store.claim()
    shards = [[Shard(index, index, index + 1, one.comparisons) for index in range(one.shards)] for one in measures]
    store.ledger.plan(job, shards, [one.expected for one in measures])


def work(store: JobStore, job: str, measure: int, shards: range, seconds: float, preparing: float = 0.0) -> None:
    for shard in shards:
        assert store.ledger.record(job, measure, shard, BLOB, seconds + preparing, preparing=preparing)


def eta(store: JobStore, job: str, threads: int) -> float | None:
    return eta_seconds(store.get(job), Crew(threads, threads, store.workload()))


def test_the_time_left_is_that_of_the_work_and_not_of_the_comparisons(store: JobStore) -> None:
    begin(store, "a", CHEAP, DEAR)
    assert eta(store, "a", 2) is None  # nothing is known of this machine yet
    work(store, "a", 0, range(20), CHEAP.seconds)
    # Nearly half of all comparisons are done; of the work, which is 20 s and 300 s, it is a thirtieth. Both measures
    # turned out to take twice what the model says.
    assert store.get("a").percent == 49
    assert eta(store, "a", 2) == pytest.approx((10 + 300) / 2)
    work(store, "a", 0, range(20, 40), CHEAP.seconds)
    assert store.get("a").percent == 99
    assert eta(store, "a", 2) == pytest.approx(300 / 2)
    seen = []
    for shard in range(99):
        work(store, "a", 1, range(shard, shard + 1), DEAR.seconds)
        seen.append(eta(store, "a", 2))
    # Second for second; and the last shard takes as long as it takes, however many workers there are.
    assert seen == [pytest.approx(max((99 - shard) * 3 / 2, 3)) for shard in range(99)]
    store.enter("a", Phase.FINISH)
    assert eta(store, "a", 2) is None


def test_arrays_are_prepared_once_and_not_for_every_shard(store: JobStore) -> None:
    begin(store, "a", DEAR)
    work(store, "a", 0, range(2), DEAR.seconds, preparing=60.0)
    assert eta(store, "a", 2) == pytest.approx(98 * 3 / 2)
    assert store.ledger.summary("a")[0]["seconds"] == pytest.approx(126)


def test_jobs_that_run_beside_it_take_time_from_it(store: JobStore) -> None:
    begin(store, "a", DEAR)
    work(store, "a", 0, range(50), 3.0)
    assert eta(store, "a", 2) == pytest.approx(75)
    begin(store, "b", CHEAP)
    work(store, "b", 0, range(20), 0.5)
    # b has 10 s of work left and gets half of two workers; a has 150 s, of which b delays 10.
    assert eta(store, "b", 2) == pytest.approx(10)
    assert eta(store, "a", 2) == pytest.approx(80)
    begin(store, "waiting for its first shard", CHEAP)
    assert eta(store, "a", 2) == pytest.approx(80)


def test_progress_and_time_left_go_on_after_a_restart(store: JobStore) -> None:
    begin(store, "a", CHEAP, DEAR)
    seen: list[tuple[int, int]] = []
    for shard in range(40):
        work(store, "a", 0, range(shard, shard + 1), CHEAP.seconds)
        # Done twice, by a worker that was thought to be lost: it counts once.
        assert not store.ledger.record("a", 0, shard, BLOB, 99.0)
        if shard % 7 == 0:
            store.recover()
            assert eta(store, "a", 2) is None
            store.claim()
            store.ledger.plan("a", [[Shard(0, 0, 1, 1)]], [1.0])
        job = store.get("a")
        seen.append((job.percent, job.progress.comparisons_done))
        assert eta(store, "a", 1) == pytest.approx((39 - shard) * 0.5 + 300, abs=0.06)
    assert seen == sorted(seen)
    assert len(set(seen)) == 40
    told = [event.data["comparisonsDone"] for event in store.events("a") if event.kind == "progress"]
    assert told == sorted(told)


def test_what_a_settled_measure_leaves_out_is_no_longer_waited_for(store: JobStore) -> None:
    begin(store, "a", DEAR)
    work(store, "a", 0, range(10), 3.0)
    work(store, "a", 0, range(20, 25), 3.0)
    before = store.get("a").percent
    store.ledger.settle("a", 0, 12)
    progress = store.get("a").progress
    assert (progress.shards_done, progress.shards_total) == (15, 17)
    assert (progress.comparisons_done, progress.comparisons_total) == (150, 170)
    assert store.get("a").percent >= before
    assert eta(store, "a", 1) == pytest.approx(6)
