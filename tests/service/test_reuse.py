"""Results that are there already, and what they are never taken for."""

from __future__ import annotations

import io
import os
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import zarr

from service import reuse
from service.states import JobStatus
from service.store import JobStore
from service.submissions import NewJob
from tests.service import conftest
from tests.service.conftest import EXACT, SAMPLED, compare, finish, store_array
from workers.measures.protocol import Shard
from workers.partials import Partial

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2
    import pytest

ANCHORS = {**EXACT, "per_anchor": True}
request = partial(conftest.request, reuse=True)


def results(client: httpx2.Client, status: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/v1/jobs/{status['jobID']}/results").json()
    return found


def reused(client: httpx2.Client, body: dict[str, Any]) -> str | None:
    status = finish(client, body)
    assert status["status"] == "successful", status["message"]
    source: str | None = status["ordsim"]["reusedFrom"]
    return source


def test_the_same_of_the_same_is_answered_with_what_was_found(client: httpx2.Client) -> None:
    body = request("large", "larger", [ANCHORS, SAMPLED], seed=81, label="first")
    del body["reuse"]  # it is the default
    first = finish(client, body)
    assert first["ordsim"]["reusedFrom"] is None
    # Defaults that are written out, a label and tags ask for nothing else.
    again = finish(client, {**body, "label": "second", "tags": {"a": "b"}, "precision": "exact"})
    assert again["ordsim"]["reusedFrom"] == first["jobID"]
    assert first["jobID"] in again["message"]
    assert (again["status"], again["progress"], again["label"]) == ("successful", 100, "second")
    assert again["ordsim"]["shardsTotal"] == 0
    one, other = results(client, first), results(client, again)
    assert other["results"] == one["results"]
    assert other["jobID"] == again["jobID"]
    assert other["provenance"] == {**one["provenance"], "reusedFrom": first["jobID"]}
    files = [client.get(f"/v1/jobs/{status['jobID']}/artifacts/0-per_anchor.npy").content for status in (first, again)]
    assert np.array_equal(*(np.load(io.BytesIO(file)) for file in files))
    assert reused(client, {**body, "reuse": False}) is None


def test_anything_else_that_is_asked_is_computed(client: httpx2.Client) -> None:
    body = request("large", "larger", [SAMPLED], seed=82)
    first = finish(client, body)["jobID"]
    assert reused(client, body) == first
    for other in (
        {"seed": 83},
        {"confidence": 0.9},
        {"precision": "float32"},
        {"rows": {"start": 0, "stop": 599}},
        {"measures": [{**SAMPLED, "samples": 1999}]},
        {"calibration": {"permutations": 3}},
        {"missing_chunks": "fill"},
    ):
        assert reused(client, {**body, **other}) is None, other
    # What is not sent stands for 1 - delta, so that saying it changes nothing.
    delta = request("large", "larger", [{"measure": "tsi", "method": "sampled", "epsilon": 0.1, "delta": 0.05}])
    computed = finish(client, delta)["jobID"]
    assert reused(client, {**delta, "confidence": 0.95}) == computed


def test_an_array_that_changed_in_place_is_read_again(client: httpx2.Client, lab: Path) -> None:
    values = np.random.default_rng(1).standard_normal((40, 3)).astype("f4")
    store_array(lab, "reuse/changing", values, compressors=None)
    body = request("reuse/changing", "reuse/changing", [EXACT])
    body["y"]["distance"] = "manhattan"
    first = finish(client, body)["jobID"]
    assert reused(client, body) == first
    chunk = lab / "reuse/changing/c/0/0"
    before, size = chunk.stat().st_mtime_ns, chunk.stat().st_size
    changed = values.copy()
    changed[7] += 1
    with chunk.open("r+b") as file:
        file.write(changed.tobytes())
    os.utime(chunk, ns=(before, before))  # as tools do that restore times
    assert chunk.stat().st_size == size
    status = finish(client, body)
    assert status["ordsim"]["reusedFrom"] is None
    found = results(client, status)["inputs"]["x"]["fingerprint"]
    assert found != results(client, {"jobID": first})["inputs"]["x"]["fingerprint"]
    with chunk.open("r+b") as file:
        file.write(values.tobytes())
    assert reused(client, body) == first


def test_identifiers_and_groups_count_too(client: httpx2.Client, lab: Path) -> None:
    for name, labels in (("ids", np.arange(50, 90)), ("groups", np.repeat([1, 2], 20))):
        store_array(lab, f"reuse/{name}", labels)
    store_array(lab, "reuse/x", np.random.default_rng(2).standard_normal((40, 3)))
    named = {name: {"root": "lab", "path": f"reuse/{name}"} for name in ("ids", "groups")}
    body = request("reuse/x", "reuse/x", ids={"x": named["ids"], "y": named["ids"]}, groups=named["groups"])
    first = finish(client, body)["jobID"]
    assert reused(client, body) == first
    zarr.open_array(lab / "reuse/groups", mode="r+")[:] = np.repeat([1, 2, 3, 4], 10)
    second = finish(client, body)
    assert second["ordsim"]["reusedFrom"] is None
    zarr.open_array(lab / "reuse/ids", mode="r+")[:] = np.arange(40)
    assert reused(client, body) is None


def test_joined_and_dropped_rows_are_reused(client: httpx2.Client) -> None:
    ids = {"x": {"root": "lab", "path": "ids/a"}, "y": {"root": "lab", "path": "ids/some"}}
    body = request(y="some", ids=ids, align="join", seed=84)
    first = finish(client, body)["jobID"]
    assert reused(client, body) == first
    dropping = {**body, "x": {"root": "lab", "path": "nan"}, "on_non_finite": "drop"}
    assert compare(client, dropping)["inputs"]["n"] == 5
    assert reused(client, dropping) is not None


def test_grids_are_reused(client: httpx2.Client) -> None:
    body = {
        "process": "layers",
        "x": {"layers": [{"root": "lab", "path": "x"}]},
        "y": {"layers": [{"root": "lab", "path": "y"}]},
        "measure": {"measure": "tsi", "method": "exact"},
        "calibration": {"permutations": 9},
        "seed": 85,
    }
    first = finish(client, body)
    again = finish(client, body)
    assert again["ordsim"]["reusedFrom"] == first["jobID"]
    one, other = results(client, first), results(client, again)
    assert one["artifacts"]
    assert other["artifacts"] == one["artifacts"]
    assert client.get(f"/v1/jobs/{again['jobID']}/artifacts/{one['artifacts'][0]}.npy").status_code == 200


def test_another_confidence_is_another_question_of_grids_too(client: httpx2.Client) -> None:
    body = {
        "process": "matrix",
        "arrays": [{"root": "lab", "path": path} for path in ("large", "larger")],
        "measure": {"measure": "tsi", "method": "sampled", "epsilon": 0.1, "delta": 0.05},
        "calibration": {"permutations": 9},
        "seed": 89,
    }
    first = results(client, finish(client, body))
    wider = finish(client, {**body, "confidence": 0.99})
    assert wider["ordsim"]["reusedFrom"] is None
    second = results(client, wider)
    assert second["low"][0][1] < first["low"][0][1]
    for found, confidence in ((first, 0.95), (second, 0.99)):
        assert found["calibration"]["pValueInterval"]["confidence"] == confidence


def test_failed_jobs_answer_for_nobody(client: httpx2.Client) -> None:
    body = request("nan", seed=86)
    for _ in range(2):
        status = finish(client, body)
        assert (status["status"], status["ordsim"]["reusedFrom"]) == ("failed", None)


def test_other_versions_have_other_keys(client: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    body = request(seed=87)
    first = finish(client, body)["jobID"]
    assert reused(client, body) == first
    known = reuse.version
    monkeypatch.setattr(reuse, "version", lambda name: "0.0.1" if name == "ordsim" else known(name))
    assert reused(client, body) is None
    monkeypatch.undo()
    assert reused(client, body) == first


def bring(store: JobStore, job: str, key: str | None, **fields: Any) -> None:
    """A job that was successful with this key."""
    store.submit(NewJob(id=job, process="compare", request=request(), **fields))
    assert store.claim() is not None
    store.reusable.record(job, key)
    store.succeed(job, "{}")


def test_results_are_of_the_same_owner_alone(tmp_path: Path) -> None:
    with closing(JobStore(tmp_path / "jobs.sqlite3")) as store:
        bring(store, "a", "key", owner="ada")
        bring(store, "b", "other key", owner="bob")
        for job, owner in (("c", "ada"), ("d", "bob")):
            store.submit(NewJob(id=job, process="compare", request=request(), owner=owner))
        assert store.reusable.find("c", "key") == "a"
        assert store.reusable.find("d", "key") is None
        assert store.reusable.find("c", "other key") is None


def test_a_job_that_two_versions_computed_answers_for_nobody(tmp_path: Path) -> None:
    with closing(JobStore(tmp_path / "jobs.sqlite3")) as store:
        store.submit(NewJob(id="a", process="compare", request=request()))
        for key in ("of this version", "of the next"):
            assert store.claim() is not None
            store.reusable.record("a", key)
            store.ledger.plan("a", [[Shard(0, 0, 1, 5), Shard(1, 1, 2, 5)]])
            store.ledger.record("a", 0, 0, Partial().to_bytes(), 1.0)
            store.recover()
        assert store.claim() is not None
        store.reusable.record("a", "of the next")
        store.succeed("a", "{}")
        assert store.get("a").status is JobStatus.SUCCESSFUL
        store.submit(NewJob(id="b", process="compare", request=request()))
        for key in ("of this version", "of the next"):
            assert store.reusable.find("b", key) is None


def test_artifacts_that_are_gone_are_computed_again(client: httpx2.Client, settings: Any) -> None:
    body = request("large", "larger", [ANCHORS], seed=88)
    first = finish(client, body)["jobID"]
    (settings.artifacts_directory / first / "0-per_anchor.npy").unlink()
    assert reused(client, body) is None
