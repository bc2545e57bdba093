"""A service on a cluster that others started: what is killed there, restarted, or does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2
import pytest
from dask_processes import DaskProcesses
from reference_counts import EXACT, check_counts
from service_process import TEXT, wait_until

from service import certificates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from service_process import ServiceProcess

    from service.client import Client

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # many processes start here one after another

SAMPLES = 6_000_000
LONG = [EXACT, {"measure": "qsi", "method": "sampled", "samples": SAMPLES}]
PAIR = "text_L6_f32 ~ text_L3_f16"

OTHER_VERSION = """
import importlib.metadata
real = importlib.metadata.version
importlib.metadata.version = lambda name: "0.1" if name == "numba" else real(name)
"""


@pytest.fixture
def start_cluster(tmp_path: Path, lab: Path) -> Iterator[Callable[..., DaskProcesses]]:
    """Make a scheduler with workers, over TLS where certificates are given; all of it ends with the test."""
    made: list[DaskProcesses] = []

    def make(workers: int, certified: Path | None = None, roots: dict[str, Path] | None = None) -> DaskProcesses:
        directory = tmp_path / f"dask{len(made)}"
        directory.mkdir()
        made.append(DaskProcesses(directory, {"lab": lab} if roots is None else roots, certified))
        made[-1].start_scheduler()
        for _ in range(workers):
            made[-1].start_worker()
        return made[-1]

    yield make
    for cluster in made:
        cluster.stop()


def reasons(url: str) -> list[str]:
    found: list[str] = httpx2.get(f"{url}/readyz", timeout=30).json().get("reasons", [])
    return found


def submit_and_wait_for_shards(client: Client, shards: int) -> str:
    job: str = client.submit(**TEXT, measures=LONG, reuse=False)["jobID"]
    wait_until(lambda: client.status(job)["ordsim"]["shardsDone"] >= shards, 120, f"{shards} finished shards")
    assert client.status(job)["status"] == "running"
    return job


def check_results(client: Client, job: str) -> None:
    assert client.wait(job)["status"] == "successful"
    exact, sampled = client.results(job).json["results"]
    check_counts(exact["counts"], PAIR)
    assert sampled["counts"]["comparisons"] == str(SAMPLES)


def test_over_tls_a_worker_and_the_scheduler_are_killed_in_the_middle(
    start_service: Callable[..., ServiceProcess], start_cluster: Callable[..., DaskProcesses], tmp_path: Path
) -> None:
    place = tmp_path / "certificates"
    certificates.write(place, certificates.make(days=2))
    cluster = start_cluster(2, place)
    files = {"tls_ca": place / "ca.pem", "tls_cert": place / "client.pem", "tls_key": place / "client-key.pem"}
    settings = {"scheduler": cluster.address, "shard_seconds": "0.02", **{name: str(f) for name, f in files.items()}}
    service = start_service(**settings)
    with service.start() as client:
        job = submit_and_wait_for_shards(client, 3)
        victim = cluster.computing(cluster.workers[0])
        victim.kill()
        check_results(client, job)

        job = submit_and_wait_for_shards(client, 3)
        assert cluster.scheduler is not None
        cluster.scheduler.kill()
        cluster.scheduler.wait()
        wait_until(lambda: all(worker.poll() is not None for worker in cluster.workers), 60, "the workers to end")
        assert [worker.returncode for worker in cluster.workers] == [0, 0]
        wait_until(lambda: any("scheduler" in one for one in reasons(service.url)), 30, "the loss to be told")
        assert client.status(job)["status"] == "running"
        cluster.start_scheduler()
        cluster.restart_ended_workers()
        check_results(client, job)
        assert client.status(job)["ordsim"]["attempt"] == 1
        wait_until(client.ready, 60, "the service to be ready again")
    assert service.stop() == 0
    assert cluster.scheduler.poll() is None  # it belongs to others
    assert all(worker.poll() is None for worker in cluster.workers)


def test_a_service_waits_for_its_scheduler_and_says_what_workers_lack(
    start_service: Callable[..., ServiceProcess], lab: Path, tmp_path: Path
) -> None:
    cluster = DaskProcesses(tmp_path, {"other": lab})
    service = start_service(scheduler=cluster.address, shard_seconds="0.1")
    try:
        with service.listen() as client:
            (reason,) = reasons(service.url)
            assert reason.startswith(f"no connection to the scheduler at {cluster.address}")
            job = client.submit(**TEXT, measures=[EXACT])["jobID"]
            cluster.start_scheduler()
            wait_until(lambda: "--preload workers.preload" in "".join(reasons(service.url)), 60, "the scheduler")
            (tmp_path / "other").mkdir()
            (tmp_path / "elsewhere").write_text("not a directory")
            blind = cluster.start_worker(ORDSIM_STAGING_DIRECTORY=str(tmp_path / "elsewhere"))
            wait_until(lambda: "does not know root 'lab'" in " ".join(reasons(service.url)), 120, "the missing root")
            assert "cannot write its staging directory" in " ".join(reasons(service.url))
            assert str(lab) not in " ".join(reasons(service.url))
            wait_until(lambda: "no job is started: worker" in service.log.read_text(), 30, "the log")
            assert client.status(job)["status"] == "accepted"
            blind.terminate()
            blind.wait(60)
            cluster.environment["ORDSIM_ROOTS"] = f'{{"lab": "{lab}"}}'
            cluster.start_worker()
            wait_until(client.ready, 120, "the service to be ready")
            assert client.wait(job)["status"] == "successful"
            check_counts(client.results(job).json["results"][0]["counts"], PAIR)
    finally:
        cluster.stop()


def test_a_worker_of_another_version_is_refused_by_name(
    start_service: Callable[..., ServiceProcess], start_cluster: Callable[..., DaskProcesses], tmp_path: Path
) -> None:
    (tmp_path / "changed").mkdir()
    (tmp_path / "changed" / "sitecustomize.py").write_text(OTHER_VERSION)
    cluster = start_cluster(0)
    odd = cluster.start_worker(PYTHONPATH=str(tmp_path / "changed"))
    service = start_service(scheduler=cluster.address, shard_seconds="0.1")
    with service.listen() as client:
        wait_until(lambda: any("numba is 0.1 at worker" in one for one in reasons(service.url)), 120, "the refusal")
        job = client.submit(**TEXT, measures=[EXACT])["jobID"]
        cluster.start_worker()
        wait_until(lambda: "no job is started: numba is 0.1 at worker" in service.log.read_text(), 30, "the log")
        assert client.status(job)["status"] == "accepted"
        odd.terminate()
        assert client.wait(job)["status"] == "successful"
        check_counts(client.results(job).json["results"][0]["counts"], PAIR)


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"scheduler": "tls://127.0.0.1:8786"}, "--tls-ca, --tls-cert, --tls-key"),
        ({"scheduler": "127.0.0.1:8786"}, "no address of a scheduler"),
        ({"scheduler": "tcp://127.0.0.1:8786", "tls_ca": "ca.pem"}, "certificates are for tls://"),
    ],
)
def test_a_service_does_not_start_without_the_certificates_it_needs(
    start_service: Callable[..., ServiceProcess], variables: dict[str, str], words: str
) -> None:
    with pytest.raises(pytest.fail.Exception, match=words):
        start_service(**variables).listen()
