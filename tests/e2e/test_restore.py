"""A backup that was made while a job ran takes the place of the state directory, and the job goes on from it."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

from reference_counts import check_counts
from service_process import TEXT, wait_until
from test_kills import SHARDS, finished_shards, submit_and_wait_for_shards

if TYPE_CHECKING:
    from collections.abc import Callable

    from service_process import ServiceProcess


def test_a_job_goes_on_from_a_backup(start_service: Callable[..., ServiceProcess]) -> None:
    service = start_service(**SHARDS)
    copy = service.state.with_name("copy")
    with service.start() as client:
        done = client.submit(**TEXT, measures=[{"measure": "tsi", "method": "anchors", "anchors": 50}])["jobID"]
        client.wait(done)
        expected = client.results(done).json
        job = submit_and_wait_for_shards(client, 5)
        made = subprocess.run(
            [service.command[0], "backup", service.state, copy], capture_output=True, text=True, check=False
        )
        assert made.returncode == 0, made.stderr
        assert made.stdout.startswith("2 jobs")
        workers = service.kill()
    wait_until(lambda: not any(worker.is_running() for worker in workers), 60, "the orphaned workers to end")
    shutil.rmtree(service.state)
    copy.rename(service.state)
    before = finished_shards(service.state, job)
    assert len(before) >= 5

    with service.start() as client:
        assert client.wait(job)["status"] == "successful", client.status(job)["message"]
        check_counts(client.results(job).json["results"][0]["counts"], "text_L6_f32 ~ text_L3_f16")
        assert client.results(done).json == expected
        after = finished_shards(service.state, job)
    assert {shard: after[shard] for shard in before} == before
