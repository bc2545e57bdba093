"""The cluster of deploy/docker-compose.yml on a real engine: whatever happens to its containers, counts are the same.

Run by `make test-compose`. Tests build on one another: they share one cluster, which the last leaves without a trace.
"""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from stack import IMAGE, Stack, docker

from service.client import Client
from tests.e2e.reference_counts import check_counts
from workers.importing import import_file
from workers.references import Root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.compose, pytest.mark.timeout(1200)]

SAMPLES = Path(__file__).parents[1] / "data" / "sample"
NAMES = {"x": "text_L6_f32", "y": "text_L3_f16"}
PAIR = " ~ ".join(NAMES.values())
# The measures of `make demo`, and enough samples to be caught in the middle.
MEASURES = [
    {"measure": "tsi", "method": "exact", "per_anchor": True},
    {"measure": "qsi", "method": "sampled", "epsilon": 0.001, "delta": 0.01},
    {"measure": "qsi", "method": "sampled", "samples": 20_000_000},
]
START_SECONDS = 300.0


def wait_until(condition: Callable[[], Any], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"waited {seconds} s in vain for {what}")
        time.sleep(0.2)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The cluster, built and up; nothing of it is left afterwards."""
    data = tmp_path_factory.mktemp("data")
    for name in NAMES.values():
        import_file(SAMPLES / f"{name}.npy", {"lab": Root("lab", str(data))}, "lab", name)
    # Containers run as another user.
    for path in (*data.parents[:2], data, *data.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    stack = Stack(data, free_port())
    stack.compose("down", "--volumes", "--remove-orphans")  # of a run that was killed
    begin = time.monotonic()
    stack.compose("build", "service")
    print(f"\nbuilt in {time.monotonic() - begin:.0f} s")
    try:
        stack.compose("up", "--detach", "--no-build")
        yield stack
    finally:
        if stack.left():
            print(stack.compose("logs", "--tail", "40"))
        stack.compose("down", "--volumes", "--remove-orphans")


@pytest.fixture(scope="session")
def client(stack: Stack) -> Iterator[Client]:
    """A client with a key of its own, as soon as the cluster is ready."""
    begin = time.monotonic()

    def answers() -> bool:
        with Client(stack.url) as anybody:
            return anybody.ready()

    wait_until(answers, START_SECONDS, "the cluster to be ready")
    print(f"ready after {time.monotonic() - begin:.0f} s")
    key = stack.compose("exec", "-T", "service", "ordsim", "keys", "create").split()[-1]
    with Client(stack.url, key) as found:
        yield found


def submit(client: Client) -> str:
    job: str = client.submit(
        **{side: f"lab:{name}" for side, name in NAMES.items()}, measures=MEASURES, reuse=False, confidence=0.99
    )["jobID"]
    return job


def submit_and_wait_for_shards(client: Client, shards: int = 10) -> str:
    job = submit(client)
    wait_until(lambda: client.status(job)["ordsim"]["shardsDone"] >= shards, 120, f"{shards} finished shards")
    assert client.status(job)["status"] == "running"
    return job


def counts(client: Client, job: str) -> list[dict[str, str]]:
    status = client.wait(job)
    assert status["status"] == "successful", status
    assert status["ordsim"]["attempt"] == 1
    found = [one["counts"] for one in client.results(job).json["results"]]
    check_counts(found[0], PAIR)
    return found


@pytest.fixture(scope="session")
def expected(client: Client) -> list[dict[str, str]]:
    """What a job counts when nothing happens."""
    return counts(client, submit(client))


def test_all_parts_become_healthy_and_only_the_service_is_published(stack: Stack, client: Client) -> None:
    parts = ("scheduler", "worker", "service")
    assert [len(stack.containers(part)) for part in parts] == [1, 2, 1]

    def healthy() -> bool:
        found = [one["State"]["Health"]["Status"] for part in parts for one in stack.containers(part)]
        return set(found) == {"healthy"}

    wait_until(healthy, 180, "all containers to be healthy")
    published = {part: stack.containers(part)[0]["HostConfig"]["PortBindings"] or {} for part in parts}
    assert [part for part in parts if published[part]] == ["service"]
    (bindings,) = published["service"].values()
    assert [one["HostIp"] for one in bindings] == ["127.0.0.1"]
    for part in parts:
        (one, *_) = stack.containers(part)
        assert one["HostConfig"]["Memory"] > 0
        assert one["HostConfig"]["RestartPolicy"]["Name"] == "unless-stopped"
        assert docker("exec", one["Id"], "id", "--user") == "10001"


def test_data_cannot_be_written_and_the_cluster_not_entered_without_a_certificate(stack: Stack, client: Client) -> None:
    (worker, *_) = stack.containers("worker")
    for part in ("worker", "service"):
        docker("exec", stack.containers(part)[0]["Id"], "test", "-r", "/data/text_L6_f32/zarr.json")
        assert "ended with" in _refusal("exec", stack.containers(part)[0]["Id"], "touch", "/data/new")
    alive = ("python", "-m", "workers.alive")
    docker("exec", worker["Id"], *alive, "tls://scheduler:8786", "--worker")
    plain = ("--env", "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION=false", worker["Id"], *alive)
    assert "ended with 1" in _refusal("exec", *plain, "tcp://scheduler:8786")
    nobody = ("--env", "DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT=", worker["Id"], *alive)
    assert "ended with" in _refusal("exec", *nobody, "tls://scheduler:8786")
    with Client(stack.url) as anybody, pytest.raises(Exception, match=r"(?i)key"):
        anybody.roots()


def _refusal(*arguments: str) -> str:
    with pytest.raises(AssertionError) as caught:
        docker(*arguments)
    return str(caught.value)


def test_a_worker_is_killed_in_the_middle(stack: Stack, client: Client, expected: list[dict[str, str]]) -> None:
    job = submit_and_wait_for_shards(client)
    victim = stack.containers("worker")[0]["Id"]
    docker("kill", victim)
    assert counts(client, job) == expected
    docker("start", victim)
    wait_until(client.ready, START_SECONDS, "the cluster to be ready again")


def test_the_scheduler_is_restarted_in_the_middle(stack: Stack, client: Client, expected: list[dict[str, str]]) -> None:
    job = submit_and_wait_for_shards(client)
    before = [one["RestartCount"] for one in stack.containers("worker")]
    stack.compose("restart", "scheduler")
    assert counts(client, job) == expected
    # Workers ended with it, and were started again by their policy.
    wait_until(
        lambda: all(one["RestartCount"] > count for one, count in zip(stack.containers("worker"), before, strict=True)),
        120,
        "both workers to be started again",
    )
    wait_until(client.ready, START_SECONDS, "the cluster to be ready again")


def test_the_scheduler_is_away_for_a_while(stack: Stack, client: Client, expected: list[dict[str, str]]) -> None:
    job = submit_and_wait_for_shards(client)
    before = _times_sought(stack)
    stack.compose("stop", "scheduler")
    wait_until(lambda: not client.ready(), 60, "the loss to be noticed")
    # Longer than a client of Dask waits for it, after which it gives up.
    wait_until(lambda: _times_sought(stack) > before, 60, "the client to be replaced")
    assert client.status(job)["status"] == "running"
    stack.compose("start", "scheduler")
    assert counts(client, job) == expected
    wait_until(client.ready, START_SECONDS, "the cluster to be ready again")


def _times_sought(stack: Stack) -> int:
    return stack.compose("logs", "--no-color", "service").count("no connection to the scheduler at")


def test_a_worker_is_added_in_the_middle(stack: Stack, client: Client, expected: list[dict[str, str]]) -> None:
    job = submit_and_wait_for_shards(client)
    stack.compose("up", "--detach", "--no-build", "--no-recreate", "--scale", "worker=3")
    assert counts(client, job) == expected
    assert len(stack.containers("worker")) == 3
    (service, *_) = stack.containers("service")
    assert service["RestartCount"] == 0


def test_any_user_may_run_the_image_and_nothing_need_be_written(stack: Stack) -> None:
    count = "import numpy, ordsim_core; x = numpy.eye(9); print(ordsim_core.tsi(x, x).score)"
    usual = ("run", "--rm", "--network", "none", "--user")
    assert docker(*usual, "12345", IMAGE, "python", "-c", count) == "1.0"
    closed = ("12345:12345", "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", IMAGE)
    assert docker(*usual, *closed, "python", "-c", count) == "1.0"


def test_nothing_is_left(stack: Stack) -> None:
    stack.compose("down", "--volumes", "--remove-orphans")
    assert stack.left() == []
