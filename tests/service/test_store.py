"""The job store: transitions, the ledger, idempotency, migrations, threads."""

from __future__ import annotations

import itertools
import os
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ordsim_core.counts import AgreementCounts
from service import database
from service.states import (
    TRANSITIONS,
    IllegalTransitionError,
    JobStatus,
    KeyReuseError,
    Phase,
    UnknownJobError,
)
from service.store import Filters, JobStore
from service.submissions import NewJob
from workers.measures.protocol import Shard
from workers.partials import Partial
from workers.staging import StagedArray

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

STAGED = StagedArray("file", 5, 3, "float32", "sha256:00", "float", 0, 0, 5)
BLOB = Partial(AgreementCounts(concordant=6, discordant=4)).to_bytes()
SHARDS = [Shard(0, 0, 2, 10), Shard(1, 2, 4, 10), Shard(2, 4, 5, 5)]


def clock() -> Callable[[], datetime]:
    """A clock that moves on by a second at every look."""
    seconds = itertools.count()
    return lambda: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=next(seconds))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[JobStore]:
    with closing(JobStore(tmp_path / "jobs.sqlite3", clock())) as store:
        yield store


def new(job: str = "a", **fields: object) -> NewJob:
    return replace(NewJob(id=job, process="compare", request={"process": "compare"}), **fields)  # type: ignore[arg-type]


def bring(store: JobStore, job: str, status: JobStatus) -> None:
    """Submit a job and bring it to a status by the shortest way."""
    store.submit(new(job))
    if status is JobStatus.DISMISSED:
        store.cancel(job)
    elif status is not JobStatus.ACCEPTED:
        assert store.claim().id == job  # type: ignore[union-attr]
        if status is JobStatus.SUCCESSFUL:
            store.succeed(job, "{}")
        elif status is JobStatus.FAILED:
            store.fail(job, {"detail": "why"})
    assert store.get(job).status is status


MOVES: dict[JobStatus, Callable[[JobStore, str], object]] = {
    JobStatus.RUNNING: lambda store, job: store.enter(job, Phase.COUNT),
    JobStatus.SUCCESSFUL: lambda store, job: store.succeed(job, "{}"),
    JobStatus.FAILED: lambda store, job: store.fail(job, {"detail": "why"}),
    JobStatus.DISMISSED: lambda store, job: store.dismiss(job),
}


@pytest.mark.parametrize("before", JobStatus)
@pytest.mark.parametrize("after", [JobStatus.SUCCESSFUL, JobStatus.FAILED, JobStatus.DISMISSED])
def test_every_transition_is_allowed_or_refused_by_the_table(
    store: JobStore, before: JobStatus, after: JobStatus
) -> None:
    bring(store, "a", before)
    record = store.get("a")
    if after in TRANSITIONS[before]:
        MOVES[after](store, "a")
        assert store.get("a").status is after
        assert store.get("a").finished is not None
    else:
        with pytest.raises(IllegalTransitionError) as caught:
            MOVES[after](store, "a")
        assert (caught.value.current, caught.value.wanted) == (before, after)
        assert store.get("a") == record


def test_the_table_of_transitions() -> None:
    assert {(before.value, after.value) for before, following in TRANSITIONS.items() for after in following} == {
        ("accepted", "running"),
        ("accepted", "dismissed"),
        ("accepted", "failed"),
        ("running", "successful"),
        ("running", "failed"),
        ("running", "dismissed"),
        ("running", "accepted"),
    }
    assert [status for status in JobStatus if status.final] == [
        JobStatus.SUCCESSFUL,
        JobStatus.FAILED,
        JobStatus.DISMISSED,
    ]


@pytest.mark.parametrize("final", [status for status in JobStatus if status.final])
def test_nothing_is_written_to_a_final_job(store: JobStore, final: JobStatus) -> None:
    bring(store, "a", final)
    record, events = store.get("a"), store.events("a")
    for write in (
        lambda: store.enter("a", Phase.COUNT),
        lambda: store.record_staged("a", {"x": STAGED}),
        lambda: store.ledger.plan("a", [SHARDS]),
    ):
        with pytest.raises(IllegalTransitionError):
            write()
    assert not store.ledger.record("a", 0, 0, BLOB, 1.0)
    store.recover()
    assert store.claim() is None
    assert store.get("a") == record
    assert store.events("a") == events


def test_jobs_are_claimed_oldest_first_and_once(store: JobStore) -> None:
    for job in "abc":
        store.submit(new(job))
    assert [store.claim().id for _ in "abc"] == ["a", "b", "c"]  # type: ignore[union-attr]
    assert store.claim() is None


def test_unknown_jobs_are_named(store: JobStore) -> None:
    for call in (store.get, store.cancel, store.dismiss, lambda job: store.enter(job, Phase.COUNT)):
        with pytest.raises(UnknownJobError, match="nobody"):
            call("nobody")  # type: ignore[operator]
    with pytest.raises(LookupError):
        store.results("nobody")


def test_cancel_asks_a_running_job_and_is_idempotent(store: JobStore) -> None:
    bring(store, "a", JobStatus.RUNNING)
    assert store.cancelled() == []
    assert store.cancel("a").status is JobStatus.RUNNING
    once = store.events("a")
    assert store.cancel("a").cancel_requested
    assert store.events("a") == once
    assert store.cancelled() == ["a"]
    store.dismiss("a")
    assert store.cancel("a").status is JobStatus.DISMISSED
    assert store.cancelled() == []


def test_a_cancelled_job_that_finishes_first_is_successful(store: JobStore) -> None:
    bring(store, "a", JobStatus.RUNNING)
    store.cancel("a")
    store.succeed("a", '{"score": 1}')
    assert store.get("a").status is JobStatus.SUCCESSFUL
    assert store.results("a") == '{"score": 1}'


def test_recovery_takes_up_running_jobs_and_drops_cancelled_ones(store: JobStore) -> None:
    bring(store, "a", JobStatus.RUNNING)
    bring(store, "b", JobStatus.RUNNING)
    store.cancel("b")
    started = store.get("a").started
    store.recover()
    again = store.claim()
    assert again is not None
    assert (again.id, again.attempt, again.started) == ("a", 2, started)
    assert store.get("b").status is JobStatus.DISMISSED


def test_only_jobs_that_are_named_are_recovered(store: JobStore) -> None:
    for job in "abc":
        bring(store, job, JobStatus.RUNNING)
    store.succeed("c", "{}")
    assert store.running() == ["a", "b"]
    store.recover({"b", "c"})
    assert [store.get(job).status.value for job in "abc"] == ["running", "accepted", "successful"]


def test_recoveries_are_counted_until_the_ledger_grows(store: JobStore) -> None:
    bring(store, "a", JobStatus.RUNNING)
    store.ledger.plan("a", [SHARDS])

    def recover(*, broken_off: bool = True) -> int:
        store.recover(broken_off=broken_off)
        store.claim()
        return store.get("a").recoveries

    assert [recover(), recover(), recover(broken_off=False), recover()] == [1, 2, 2, 3]
    store.ledger.record("a", 0, 0, BLOB, 1.0)
    assert [recover(), recover()] == [1, 2]
    assert store.get("a").attempt == 7


def test_the_pieces_of_a_total_are_not_copied_at_each_step(store: JobStore, monkeypatch: pytest.MonkeyPatch) -> None:
    shards = [Shard(index, index, index + 1, 1) for index in range(50)]
    bring(store, "a", JobStatus.RUNNING)
    store.ledger.plan("a", [shards])
    for shard in shards:
        piece = {"per_anchor": {shard.start: np.array([shard.index])}}
        store.ledger.record("a", 0, shard.index, Partial(AgreementCounts(concordant=1), piece).to_bytes(), 1.0)
    made = 0
    check = Partial.__init__

    def counted(partial: Partial, *arguments: Any, **named: Any) -> None:
        nonlocal made
        made += 1
        check(partial, *arguments, **named)

    monkeypatch.setattr(Partial, "__init__", counted)
    total = store.ledger.total("a", 0)
    assert made == len(shards) + 1  # each as it was read, and the total
    assert total.counts.concordant == 50
    assert total.vector("per_anchor").tolist() == list(range(50))


def test_a_connection_that_is_lent_is_closed_when_it_comes_back(tmp_path: Path) -> None:
    file = database.Database(tmp_path / "jobs.sqlite3")
    with file.write() as connection:
        file.close()
        connection.execute("CREATE TABLE late (a INTEGER) STRICT")
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")
    with closing(sqlite3.connect(tmp_path / "jobs.sqlite3")) as connection:
        assert connection.execute("SELECT COUNT(*) FROM late").fetchone() == (0,)


def test_the_file_is_its_owners_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with closing(JobStore(tmp_path / "jobs.sqlite3")) as store:
            store.submit(new())
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == {f"jobs.sqlite3{suffix}": 0o600 for suffix in ("", "-wal", "-shm")}


def test_the_ledger_takes_each_shard_once(store: JobStore) -> None:
    bring(store, "a", JobStatus.RUNNING)
    store.ledger.plan("a", [SHARDS, SHARDS[:1]])
    other = Partial(AgreementCounts(tied_both=10)).to_bytes()
    assert store.ledger.record("a", 0, 1, BLOB, 2.0)
    assert not store.ledger.record("a", 0, 1, other, 9.0)
    assert not store.ledger.record("a", 7, 1, other, 9.0)
    assert store.ledger.missing("a") == [(0, SHARDS[0]), (0, SHARDS[2]), (1, SHARDS[0])]
    with pytest.raises(RuntimeError, match="shard 0 of measure 0"):
        store.ledger.total("a", 0)
    assert store.ledger.record("a", 0, 0, BLOB, 1.0)
    assert store.ledger.record("a", 0, 2, other, 1.0)
    assert store.ledger.total("a", 0).counts == AgreementCounts(12, 8, 0, 0, 10)
    assert [(entry["shards"], entry["seconds"]) for entry in store.ledger.summary("a")] == [(3, 4.0), (1, 0.0)]


def test_a_plan_is_written_once(store: JobStore) -> None:
    bring(store, "a", JobStatus.RUNNING)
    store.ledger.plan("a", [SHARDS])
    store.ledger.plan("a", [[Shard(0, 0, 5, 25)]])
    assert [shard for _, shard in store.ledger.missing("a")] == SHARDS


def test_progress_counts_comparisons_and_ends_at_success(store: JobStore) -> None:
    bring(store, "a", JobStatus.RUNNING)
    assert store.get("a").percent == 0
    store.ledger.plan("a", [SHARDS])
    assert store.get("a").progress.remaining_seconds is None
    seen = []
    for shard, seconds in ((2, 1.0), (0, 2.0), (1, 3.0)):
        store.ledger.record("a", 0, shard, BLOB, seconds)
        seen.append((store.get("a").percent, store.get("a").progress.remaining_seconds))
    assert seen == [(20, pytest.approx(4.0)), (60, pytest.approx(2.0)), (99, pytest.approx(0.0))]
    store.recover()
    assert store.get("a").percent == 99
    store.claim()
    store.succeed("a", "{}")
    assert store.get("a").percent == 100


def test_a_measure_without_finished_shards_is_estimated_by_their_number(store: JobStore) -> None:
    bring(store, "a", JobStatus.RUNNING)
    store.ledger.plan("a", [SHARDS[:1], SHARDS])
    store.ledger.record("a", 0, 0, BLOB, 2.0)
    assert store.get("a").progress.remaining_seconds == pytest.approx(6.0)


def test_comparisons_beyond_64_bits_add_up(store: JobStore) -> None:
    bring(store, "a", JobStatus.RUNNING)
    store.ledger.plan("a", [[Shard(index, index, index + 1, 2**63 - 1) for index in range(5)]])
    store.ledger.record("a", 0, 3, BLOB, 1.0)
    progress = store.get("a").progress
    assert (progress.comparisons_done, progress.comparisons_total) == (2**63 - 1, 5 * (2**63 - 1))


def test_what_was_staged_is_kept_from_the_first_time(store: JobStore) -> None:
    bring(store, "a", JobStatus.RUNNING)
    store.record_staged("a", {"x": STAGED, "y": STAGED})
    store.record_staged("a", {"x": replace(STAGED, fingerprint="sha256:11"), "y": STAGED})
    staged = (store.get("a").staged or {})["x"]
    assert staged is not None
    assert StagedArray(**staged) == STAGED


def test_history_is_numbered_and_complete(store: JobStore) -> None:
    bring(store, "a", JobStatus.RUNNING)
    store.enter("a", Phase.COUNT)
    store.ledger.plan("a", [SHARDS])
    store.ledger.record("a", 0, 0, BLOB, 1.0, tell=True)
    store.ledger.record("a", 0, 1, BLOB, 1.0)
    store.succeed("a", "{}")
    events = store.events("a")
    assert [event.kind for event in events] == ["accepted", "running", "phase", "progress", "successful"]
    assert [event.number for event in events] == [1, 2, 3, 4, 5]
    assert events[3].data == {
        "progress": 40,
        "shardsDone": 1,
        "shardsTotal": 3,
        "comparisonsDone": 10,
        "comparisonsTotal": 25,
    }
    assert [event.time for event in events] == sorted(event.time for event in events)
    assert store.events("a", after=3) == events[3:]


def test_an_idempotency_key_makes_one_job(store: JobStore) -> None:
    first, made = store.submit(new("a", key="k", body="1"))
    again, made_again = store.submit(new("b", key="k", body="1"))
    assert (made, made_again, first.id, again.id) == (True, False, "a", "a")
    with pytest.raises(KeyReuseError):
        store.submit(new("c", key="k", body="2"))
    with pytest.raises(KeyReuseError):
        store.find_known(new(key="k", body="2"))
    assert store.find_known(new(key="other", body="1")) is None
    assert [job.id for job in store.list(Filters(), 10)[0]] == ["a"]


def test_concurrent_submissions_under_one_key_make_one_job(store: JobStore) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda number: store.submit(new(f"job{number}", key="k", body="1")), range(40)))
    assert len({job.id for job, _ in made}) == 1
    assert sum(first for _, first in made) == 1


def test_owners_share_neither_jobs_nor_idempotency_keys(store: JobStore) -> None:
    mine, _ = store.submit(new("mine", owner="me", key="k", body="1"))
    theirs, made = store.submit(new("theirs", owner="them", key="k", body="2"))
    assert made
    assert (mine.owner, theirs.owner) == ("me", "them")
    assert store.find_known(new(owner="", key="k", body="1")) is None
    assert store.get("mine", "me") == mine == store.get("mine")
    with pytest.raises(UnknownJobError):
        store.get("theirs", "me")
    with pytest.raises(UnknownJobError):
        store.get("theirs", "")
    with pytest.raises(UnknownJobError):
        store.cancel("theirs", "me")
    assert store.get("theirs").status is JobStatus.ACCEPTED
    for owner, expected in (("me", ["mine"]), ("them", ["theirs"]), ("", []), (None, ["theirs", "mine"])):
        assert [job.id for job in store.list(Filters(owner=owner), 10)[0]] == expected, owner
    assert store.cancel("mine", "me").status is JobStatus.DISMISSED


def test_concurrent_writers_lose_nothing(store: JobStore) -> None:
    shards = [Shard(index, index, index + 1, 1) for index in range(60)]
    bring(store, "a", JobStatus.RUNNING)
    store.ledger.plan("a", [shards])
    with ThreadPoolExecutor(8) as pool:
        # Each shard twice, from different threads: one of the two is taken.
        taken = list(pool.map(lambda shard: store.ledger.record("a", 0, shard.index, BLOB, 0.1, tell=True), shards * 2))
    assert sum(taken) == 60
    assert store.ledger.missing("a") == []
    assert store.ledger.total("a", 0).counts.concordant == 360
    progress = [event.number for event in store.events("a")]
    assert progress == list(range(1, 63))


def test_list_pages_newest_first_and_filters(store: JobStore) -> None:
    for number in range(7):
        store.submit(new(f"j{number}", label="odd" if number % 2 else "even", tags={"of": str(number // 2)}))
    store.cancel("j3")
    seen: list[str] = []
    before: int | None = None
    while True:
        page, before = store.list(Filters(), 3, before)
        seen += [job.id for job in page]
        if before is None:
            break
        store.submit(new(f"late{before}"))  # what comes later does not move the pages
    assert seen == [f"j{number}" for number in reversed(range(7))]

    def ids(filters: Filters) -> list[str]:
        return [job.id for job in store.list(filters, 50)[0]]

    assert ids(Filters(label="odd")) == ["j5", "j3", "j1"]
    assert ids(Filters(label="odd", status=JobStatus.ACCEPTED)) == ["j5", "j1"]
    assert ids(Filters(tags=(("of", "1"),))) == ["j3", "j2"]
    assert ids(Filters(tags=(("of", "1"),), label="even")) == ["j2"]
    assert ids(Filters(process="other")) == ids(Filters(tags=(("of", "1"), ("of", "2")))) == []
    assert ids(Filters(label="' OR 1 --")) == []


def test_everything_is_there_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "jobs.sqlite3"
    with closing(JobStore(path)) as store:
        bring(store, "a", JobStatus.RUNNING)
        store.ledger.plan("a", [SHARDS])
        store.ledger.record("a", 0, 0, BLOB, 1.5)
        job, events = store.get("a"), store.events("a")
    with closing(JobStore(path)) as store:
        assert store.get("a") == job
        assert store.events("a") == events
        assert len(store.ledger.missing("a")) == 2
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        store.get("a")


def test_a_new_file_gets_every_migration(tmp_path: Path) -> None:
    path = tmp_path / "jobs.sqlite3"
    JobStore(path).close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(database.migrations()),)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        strict = connection.execute("SELECT name, strict FROM pragma_table_list WHERE schema = 'main'").fetchall()
    tables = {name: bool(flag) for name, flag in strict if not name.startswith("sqlite_")}
    assert tables == {
        "jobs": True,
        "shards": True,
        "events": True,
        "idempotency": True,
        "prefixes": True,
        "progress": True,
        "keys": True,
    }


def test_a_file_from_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "jobs.sqlite3"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(RuntimeError, match="newer ordsim"):
        JobStore(path)


def test_a_failing_migration_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "jobs.sqlite3"
    JobStore(path).close()
    scripts = [*database.migrations(), "CREATE TABLE extra (a INTEGER) STRICT;\nINSERT INTO nowhere VALUES (1);\n"]
    monkeypatch.setattr(database, "migrations", lambda: scripts)
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        JobStore(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(scripts) - 1,)
        assert not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'extra'").fetchall()


def test_jobs_from_before_there_were_owners_keep_their_idempotency_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "jobs.sqlite3"
    scripts = database.migrations()
    before = next(number for number, script in enumerate(scripts) if "COLUMN owner" in script)
    monkeypatch.setattr(database, "migrations", lambda: scripts[:before])
    with closing(database.Database(path)) as file, file.write() as connection:
        connection.execute(
            "INSERT INTO jobs (job, process, status, tags, request, arrays, request_id, created, updated)"
            " VALUES ('a', 'compare', 'accepted', '{}', '{}', '{}', '', '', '')"
        )
        connection.execute("INSERT INTO idempotency VALUES ('k', '1', 'a', '')")
    monkeypatch.setattr(database, "migrations", lambda: scripts)
    with closing(JobStore(path)) as store:
        job, made = store.submit(new("b", key="k", body="1"))
        assert (job.id, job.owner, made) == ("a", "", False)


def test_the_progress_of_earlier_jobs_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "jobs.sqlite3"
    scripts = database.migrations()
    before = next(number for number, script in enumerate(scripts) if "CREATE TABLE progress" in script)
    monkeypatch.setattr(database, "migrations", lambda: scripts[:before])
    with closing(database.Database(path)) as file, file.write() as connection:
        connection.execute(
            "INSERT INTO jobs (job, process, status, tags, request, arrays, request_id, created, updated)"
            " VALUES ('a', 'compare', 'running', '{}', '{}', '{}', '', '', '')"
        )
        connection.executemany(
            "INSERT INTO shards VALUES ('a', ?, ?, '{\"start\": 0, \"stop\": 1}', ?, ?, ?)",
            [(0, 0, 2**62, BLOB, 4.0), (0, 1, 2**62, None, None), (0, 2, 2**62, None, None), (1, 0, 7, None, None)],
        )
    monkeypatch.setattr(database, "migrations", lambda: scripts)
    with closing(JobStore(path)) as store:
        progress = store.get("a").progress
        assert (progress.shards_done, progress.shards_total) == (1, 4)
        assert (progress.comparisons_done, progress.comparisons_total) == (2**62, 3 * 2**62 + 7)
        assert progress.remaining_seconds == pytest.approx(8.0 + 4.0)
        assert store.ledger.record("a", 1, 0, BLOB, 1.0)
        assert store.get("a").progress.comparisons_done == 2**62 + 7


def test_a_script_that_ends_too_early_is_found() -> None:
    assert list(database.statements("-- one\nSELECT 1;\n-- two\n")) == ["-- one\nSELECT 1;\n"]
    with pytest.raises(RuntimeError, match="middle of a statement"):
        list(database.statements("SELECT 1;\nSELECT 2"))


def test_a_write_that_fails_changes_nothing(store: JobStore) -> None:
    bring(store, "a", JobStatus.RUNNING)
    with pytest.raises(sqlite3.IntegrityError):
        store.ledger.plan("a", [[Shard(0, 0, 1, 1), Shard(0, 1, 2, 1)]])
    assert store.ledger.missing("a") == []
    store.ledger.plan("a", [SHARDS])
    assert len(store.ledger.missing("a")) == 3


def test_the_store_says_when_it_cannot_be_written(tmp_path: Path) -> None:
    with closing(JobStore(tmp_path / "jobs.sqlite3")) as store:
        store.check()
    with pytest.raises(sqlite3.Error):
        store.check()


def test_the_queue_is_shared_among_owners(store: JobStore) -> None:
    for job, owner in (("a1", "ann"), ("a2", "ann"), ("a3", "ann"), ("b1", "bob"), ("b2", "bob"), ("c1", "cid")):
        store.submit(NewJob(id=job, process="compare", request={}, owner=owner))
    claimed = [job.id for job in iter(store.claim, None) if job is not None]
    assert claimed == ["a1", "b1", "c1", "a2", "b2", "a3"]
