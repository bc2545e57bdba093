"""A full disk gives an error that says so, and takes nothing away: on a small file system of the test's own."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import httpx2
import pytest
from reference_counts import EXACT, check_counts
from service_process import TEXT, wait_until
from test_kills import SHARDS

from service.answers import ServiceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from service_process import ServiceProcess

    from service.client import Client

LONG = [{**EXACT, "per_anchor": True}]
QUICK = [{"measure": "tsi", "method": "anchors", "anchors": 20}]
PAIR = "text_L6_f32 ~ text_L3_f16"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "none", place], capture_output=True, check=False
    )
    assert not mounted.returncode, f"this test needs the right to mount a small file system: {mounted.stderr!r}"
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def fill(disk: Path, leave: int = 0) -> Path:
    """Take all room but some, and return the file that does."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        while (room := os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize - leave) > 0:
            file.write(bytes(min(room, 1 << 20)))
    return filler


def reasons(service: ServiceProcess) -> str:
    return str(httpx2.get(f"{service.url}/readyz").json().get("reasons"))


def test_nothing_is_lost_on_a_full_disk(
    start_service: Callable[..., ServiceProcess], disk: Path, tmp_path: Path
) -> None:
    service = start_service(**SHARDS)
    service.command[service.command.index("--state-dir") + 1] = str(disk / "state")
    service.state = disk / "state"
    service.log = tmp_path / "service.log"
    with service.start() as client:
        first = client.submit(**TEXT, measures=QUICK)["jobID"]
        assert client.wait(first)["status"] == "successful"
        kept = client.results(first).json

        job = client.submit(**TEXT, measures=LONG)["jobID"]
        wait_until(lambda: client.status(job)["ordsim"]["shardsDone"] >= 3, 120, "three finished shards")
        filler = fill(disk)
        # The ledger cannot grow, or else the artifact at the end: the job waits.
        wait_until(lambda: "full" in reasons(service), 200, "readiness to tell of the full disk")
        assert client.status(job)["status"] in ("running", "accepted")
        assert client.results(first).json == kept
        refuse_submissions(client)

        filler.unlink()
        assert client.wait(job)["status"] == "successful", client.status(job)["message"]
        check_counts(client.results(job).json["results"][0]["counts"], PAIR)
        assert client.artifact(job, "0-per_anchor").shape == (2000,)

        stage_without_room(client, disk)
        assert client.results(first).json == kept


def refuse_submissions(client: Client) -> None:
    """Submit until there is no room for one more: the store may have some of its own."""
    tags = {f"{number}": "t" * 256 for number in range(32)}

    def submit_many() -> None:
        for _ in range(2000):
            client.submit(**TEXT, measures=QUICK, tags=tags)

    with pytest.raises(ServiceError) as refused:
        submit_many()
    assert (refused.value.slug, refused.value.status) == ("out-of-space", 507)
    assert "Free space" in refused.value.detail


def stage_without_room(client: Client, disk: Path) -> None:
    """See that a copy which has no room fails its job by name, and that the same request succeeds afterwards."""
    body = {"x": "lab:text_para_f16", "y": "lab:text_para_f16", "measures": QUICK}
    for waiting in client.jobs(2000, status="accepted"):
        client.cancel(waiting["jobID"])
    wait_until(lambda: not client.jobs(1, status="running") + client.jobs(1, status="accepted"), 200, "an empty queue")
    filler = fill(disk, leave=1 << 20)
    failed = client.wait(client.submit(**body)["jobID"])
    assert failed["status"] == "failed"
    assert failed["exception"]["type"] == "/problems/out-of-space"
    assert "Free space" in failed["exception"]["detail"]
    filler.unlink()
    again = client.wait(client.submit(**body)["jobID"])
    assert again["status"] == "successful", again["message"]
