"""The job store against a model of it, under any order of calls."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from ordsim_core.counts import AgreementCounts
from service.states import TRANSITIONS, IllegalTransitionError, JobStatus, KeyReuseError, Phase
from service.store import Filters, JobStore
from service.submissions import NewJob
from workers.measures.protocol import Shard
from workers.partials import Partial

FINAL = {"successful", "failed", "dismissed"}


class JobMachine(RuleBasedStateMachine):
    """Calls the store, and a dictionary that does the same in the plainest way."""

    jobs = Bundle("jobs")

    @initialize()
    def open(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.now = datetime(2030, 1, 1, tzinfo=UTC)
        self.open_store()
        self.model: dict[str, dict[str, Any]] = {}
        self.keys: dict[tuple[str, str], tuple[str, str]] = {}
        self.told: dict[str, list[tuple[int, str]]] = {}
        self.shown: dict[str, int] = {}

    def open_store(self) -> None:
        self.store = JobStore(Path(self.directory.name) / "jobs.sqlite3", lambda: self.now)

    def teardown(self) -> None:
        self.store.close()
        self.directory.cleanup()

    def expect(self, job: str, allowed: set[str], to: str, call: Any) -> None:
        """Make a call that moves a job: it works from the statuses `allowed`, and is refused from all others."""
        model = self.model[job]
        try:
            call()
        except IllegalTransitionError:
            assert model["status"] not in allowed
        else:
            assert model["status"] in allowed
            model["status"] = to

    @rule(target=jobs)
    def submit(self) -> str:
        job = f"job{len(self.model)}"
        self.store.submit(NewJob(id=job, process="compare", request={}))
        self.model[job] = {"status": "accepted", "attempt": 1, "cancel": False, "shards": None, "done": set()}
        return job

    @rule(key=st.sampled_from("ab"), body=st.sampled_from("xy"), owner=st.sampled_from(["", "o"]))
    def submit_under_a_key(self, key: str, body: str, owner: str) -> None:
        name = f"job{len(self.model)}"
        new = NewJob(id=name, process="compare", request={}, key=key, body=body, owner=owner)
        known = self.keys.get((owner, key))
        try:
            job, made = self.store.submit(new)
        except KeyReuseError:
            assert known is not None
            assert known[1] != body
            return
        assert made == (known is None)
        if known is None:
            self.keys[owner, key] = (name, body)
            self.model[name] = {"status": "accepted", "attempt": 1, "cancel": False, "shards": None, "done": set()}
        else:
            assert (job.id, body) == known

    @rule(days=st.sampled_from([1, 3]))
    def expire(self, days: int) -> None:
        """Let days pass: what is over by then is let go of, and nothing else."""
        self.now += timedelta(days=days)
        over = {job for job, model in self.model.items() if model["status"] in FINAL and not model.get("expired")}
        due = {job for job in over if (self.now - self.model[job]["ended"]) > timedelta(days=2)}
        assert set(self.store.retention.expire(2)) == due
        for job in due:
            self.model[job]["expired"] = True
        for key, (job, _) in list(self.keys.items()):
            if self.model[job].get("expired"):
                del self.keys[key]

    @rule()
    def claim(self) -> None:
        claimed = self.store.claim()
        waiting = [job for job, model in self.model.items() if model["status"] == "accepted"]
        assert (claimed is None) == (not waiting)
        if claimed:
            # Owners take turns; of each one's jobs the oldest comes first.
            assert claimed.id == next(job for job in waiting if self.store.get(job).owner == claimed.owner)
            self.model[claimed.id]["status"] = "running"

    @rule(job=jobs)
    def cancel(self, job: str) -> None:
        model = self.model[job]
        try:
            found = self.store.cancel(job)
        except IllegalTransitionError:
            assert model["status"] in {"successful", "failed"}
            return
        if model["status"] == "accepted":
            model["status"] = "dismissed"
        if model["status"] == "running":
            model["cancel"] = True
        assert found.status == model["status"]

    @rule(job=jobs)
    def succeed(self, job: str) -> None:
        self.expect(job, {"running"}, "successful", lambda: self.store.succeed(job, "{}"))

    @rule(job=jobs)
    def fail(self, job: str) -> None:
        self.expect(job, {"running", "accepted"}, "failed", lambda: self.store.fail(job, {"detail": ""}))

    @rule(job=jobs)
    def dismiss(self, job: str) -> None:
        self.expect(job, {"running", "accepted"}, "dismissed", lambda: self.store.dismiss(job))

    @rule(job=jobs, phase=st.sampled_from(Phase))
    def enter(self, job: str, phase: Phase) -> None:
        self.expect(job, {"running"}, "running", lambda: self.store.enter(job, phase))

    @rule(job=jobs, number=st.integers(1, 4))
    def plan(self, job: str, number: int) -> None:
        shards = [Shard(index, index, index + 1, 10 + index) for index in range(number)]
        self.expect(job, {"running"}, "running", lambda: self.store.ledger.plan(job, [shards]))
        if self.model[job]["status"] == "running" and self.model[job]["shards"] is None:
            self.model[job]["shards"] = shards

    @rule(job=jobs, shard=st.integers(0, 4))
    def record(self, job: str, shard: int) -> None:
        model = self.model[job]
        planned = shard in [planned.index for planned in model["shards"] or ()]
        taken = self.store.ledger.record(job, 0, shard, Partial(AgreementCounts(concordant=10 + shard)).to_bytes(), 1.0)
        assert taken == (planned and model["status"] == "running" and shard not in model["done"])
        if taken:
            model["done"].add(shard)

    @rule(job=jobs, length=st.integers(1, 4))
    def settle(self, job: str, length: int) -> None:
        model = self.model[job]
        if model["shards"] is None or length > len(model["shards"]) or self.store.ledger.settled(job):
            return
        self.expect(job, {"running"}, "running", lambda: self.store.ledger.settle(job, 0, length))
        if model["status"] == "running":
            model["shards"] = [
                shard for shard in model["shards"] if shard.index < length or shard.index in model["done"]
            ]
            assert self.store.ledger.settled(job) == {0: length}

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.open_store()
        self.store.recover()
        for model in self.model.values():
            if model["status"] == "running":
                model["status"] = "dismissed" if model["cancel"] else "accepted"
                model["attempt"] += 0 if model["cancel"] else 1

    @invariant()
    def agrees_with_the_model(self) -> None:
        if not hasattr(self, "model"):
            return
        found, _ = self.store.list(Filters(), 1000)
        assert [job.id for job in found] == list(reversed(self.model))
        for job in found:
            model = self.model[job.id]
            assert (job.status, job.attempt) == (model["status"], model["attempt"])
            assert (job.finished is not None) == (job.status in FINAL)
            assert bool(job.expired) == bool(model.get("expired"))
            assert job.progress.shards_done == len(model["done"])
            assert job.progress.comparisons_done == sum(10 + shard for shard in model["done"])
            assert job.percent >= self.shown.get(job.id, 0)
            assert (job.percent == 100) == (job.status is JobStatus.SUCCESSFUL)
            self.shown[job.id] = job.percent

    @invariant()
    def remembers_when_jobs_ended(self) -> None:
        for model in getattr(self, "model", {}).values():
            if model["status"] in FINAL:
                model.setdefault("ended", self.now)

    @invariant()
    def tells_what_happened_in_order(self) -> None:
        """Events are numbered without a gap, are only ever added to, and walk along allowed transitions."""
        for job, model in getattr(self, "model", {}).items():
            events = [(event.number, event.kind) for event in self.store.events(job)]
            told = self.told.get(job, [])
            if model.get("expired"):
                assert events == told[-1:]
                continue
            assert events[: len(told)] == told
            assert [number for number, _ in events] == list(range(1, len(events) + 1))
            walked = [JobStatus(kind) for _, kind in events if kind in set(JobStatus)]
            assert walked[0] == "accepted"
            assert walked[-1] == model["status"]
            assert all(after in TRANSITIONS[before] for before, after in pairwise(walked))
            self.told[job] = events


JobMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None, derandomize=True)
TestJobMachine = JobMachine.TestCase
