"""A service that ends leaves its jobs to the next one, which goes on from the ledger."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from service import lock
from tests.service.conftest import (
    SAMPLED,
    check_problem,
    finish,
    make_lab,
    request,
    serve,
    store_array,
    submit,
    wait_until,
)

if TYPE_CHECKING:
    import httpx2

    from service.settings import Settings

LONG = {**SAMPLED, "samples": 2 * 10**9}


def shards(settings: Settings, job: str) -> dict[int, float]:
    """Seconds of the finished shards of a job, as the file has them."""
    with closing(sqlite3.connect(settings.database)) as connection:
        rows = connection.execute("SELECT shard, seconds FROM shards WHERE job = ? AND seconds IS NOT NULL", (job,))
        return dict(rows.fetchall())


def shards_done(client: httpx2.Client, job: str) -> int:
    done: int = client.get(f"/v1/jobs/{job}").json()["ordsim"]["shardsDone"]
    return done


@pytest.fixture
def own(tmp_path: Path, settings: Settings, client: httpx2.Client) -> Settings:
    """Settings of a service of its own."""
    root, state = tmp_path / "lab", tmp_path / "state"
    make_lab(root)
    return settings.model_copy(update={"state_dir": state, "roots": {"lab": str(root)}, "workers": 1})


def test_jobs_go_on_after_a_restart(own: Settings) -> None:
    some = {**SAMPLED, "samples": 3_000_000}
    body = request("large", "larger", [some])
    with serve(own) as client:
        going = submit(client, body)
        wait_until(lambda: shards_done(client, going) >= 3, 60, "shards")
        status = client.get(f"/v1/jobs/{going}").json()
        assert status["status"] == "running"
        with pytest.raises(lock.StateDirectoryInUseError), lock.own(own.state_dir):
            pytest.fail("the state directory was not held")
    before = shards(own, going)
    assert len(before) >= 3

    with serve(own) as client:
        wait_until(lambda: client.get(f"/v1/jobs/{going}").json()["status"] == "successful", 60, "the end")
        again = client.get(f"/v1/jobs/{going}").json()
        assert (again["ordsim"]["attempt"], again["started"]) == (2, status["started"])
        assert again["progress"] == 100 > status["progress"]
        after = shards(own, going)
        assert {shard: after[shard] for shard in before} == before
        assert len(after) == again["ordsim"]["shardsTotal"] > len(before)
        (resumed,) = client.get(f"/v1/jobs/{going}/results").json()["results"]
        whole = finish(client, {**body, "reuse": False})
        assert client.get(f"/v1/jobs/{whole['jobID']}/results").json()["results"] == [resumed]


def test_a_job_whose_array_changed_meanwhile_fails(own: Settings) -> None:
    with serve(own) as client:
        job = submit(client, request("large", "larger", [LONG]))
        cancelled = submit(client, request("large", "large", [LONG]))
        wait_until(lambda: min(shards_done(client, job), shards_done(client, cancelled)) >= 1, 60, "shards")
    root = Path(own.roots["lab"])
    shutil.rmtree(root / "larger")
    store_array(root, "larger", np.random.default_rng(1).standard_normal((600, 8)).astype("f4"))
    # As if the service had been killed between the request to cancel and the end of the workers.
    with closing(sqlite3.connect(own.database)) as connection, connection:
        connection.execute("UPDATE jobs SET cancel_requested = 1, status = 'running' WHERE job = ?", (cancelled,))

    with serve(own) as client:
        assert client.get(f"/v1/jobs/{cancelled}").json()["status"] == "dismissed"
        wait_until(lambda: client.get(f"/v1/jobs/{job}").json()["status"] == "failed", 60, "the failure")
        problem = check_problem(client.get(f"/v1/jobs/{job}/results"), 422, "corrupt-data")
        assert "y changed" in problem["detail"]
