"""The embedded cluster: that it is closed to others, quiet, and never outlives its process."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import dask
import psutil
import pytest
import pytest_asyncio
from shard_functions import Probe, invocations, run_probe

from workers import versions
from workers.cluster import Resources, share_of_machine
from workers.embedded import EmbeddedCluster
from workers.environment import from_environment
from workers.errors import ProblemError
from workers.execute import execute
from workers.preload import is_warm
from workers.references import Root

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")

SCRIPT = Path(__file__).with_name("run_cluster.py")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EmbeddedCluster]:
    directory = tmp_path_factory.mktemp("cluster")
    roots = {"lab": Root("lab", str(directory / "data"))}
    async with EmbeddedCluster(2, roots, directory / "staging", directory / "state") as embedded:
        await embedded.wait_for_workers()
        yield embedded


async def test_all_workers_are_ready_warm_and_have_one_thread(cluster: EmbeddedCluster) -> None:
    assert await cluster.readiness() == []
    assert await cluster.readiness() == []  # and from what it remembers
    assert await cluster.worker_count() == 2
    assert await cluster.threads() == 2
    assert set((await cluster.client.run(is_warm)).values()) == {True}


async def test_workers_know_roots_and_staging_directory(cluster: EmbeddedCluster) -> None:
    for environment in (await cluster.client.run(from_environment)).values():
        assert Path(environment.roots["lab"]).name == "data"
        assert environment.staging_directory.name == "staging"
        assert environment.known_roots() == {"lab": Root("lab", environment.roots["lab"])}


def process_facts() -> dict[str, Any]:
    """What a worker process can say of its libraries."""
    import numba  # noqa: PLC0415 - read inside the worker
    import zarr  # noqa: PLC0415

    return {
        "numba threads": numba.config.NUMBA_NUM_THREADS,
        "numba cache": Path(numba.config.CACHE_DIR).is_dir(),
        "blas threads": os.environ["OPENBLAS_NUM_THREADS"],
        "zarr concurrency": zarr.config.get("async.concurrency"),
        "zarr threads": zarr.config.get("threading.max_workers"),
    }


async def test_workers_are_single_threaded_inside_too(cluster: EmbeddedCluster) -> None:
    for facts in (await cluster.client.run(process_facts)).values():
        assert facts == {
            "numba threads": 1,
            "numba cache": True,
            "blas threads": "1",
            "zarr concurrency": 4,
            "zarr threads": 4,
        }


async def test_only_encrypted_connections_on_the_loopback_interface(cluster: EmbeddedCluster) -> None:
    address = cluster.client.scheduler.address
    assert address.startswith("tls://127.0.0.1:")
    assert all(worker.startswith("tls://127.0.0.1:") for worker in await cluster.worker_threads())
    port = int(address.rpartition(":")[2])
    with pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"):
        await hear(port, without_certificate())
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await hear(port, None)


def without_certificate() -> ssl.SSLContext:
    """Trust anyone and show nothing: what another user of the machine could do."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def hear(port: int, context: ssl.SSLContext | None) -> None:
    """Say something to the scheduler and wait for a byte of an answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    try:
        writer.write(b"\0" * 100)
        async with asyncio.timeout(10):
            await reader.readexactly(1)
    finally:
        writer.close()


async def test_no_port_is_open_to_other_machines_and_no_page_to_anyone(cluster: EmbeddedCluster) -> None:
    here = psutil.Process()
    sockets = [
        connection
        for process in (here, *here.children(recursive=True))
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert len(sockets) >= 3
    assert {socket.laddr.ip for socket in sockets} == {"127.0.0.1"}
    services = await cluster.client.run_on_scheduler(web_ports)
    assert len(services) == 3
    for port in services:
        for page in ("health", "metrics", "info/main/workers.html", "json/identity.json", "status"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                await asyncio.to_thread(urllib.request.urlopen, f"http://127.0.0.1:{port}/{page}", timeout=10)


def web_ports(dask_scheduler: Any) -> list[int]:
    """Ports of the web servers that Dask starts in scheduler and workers."""
    workers = dask_scheduler.workers.values()
    return [dask_scheduler.http_server.port, *(worker.services["dashboard"] for worker in workers)]


async def test_nothing_is_written_outside_the_state_directory(cluster: EmbeddedCluster) -> None:
    assert not Path("dask-scratch-space").exists()
    assert not Path("dask-worker-space").exists()


async def test_workers_pause_for_no_memory_that_is_only_mapped(cluster: EmbeddedCluster) -> None:
    for limit in (await cluster.client.run(memory_limit)).values():
        assert limit is None


def memory_limit(dask_worker: Any) -> Any:
    return dask_worker.memory_manager.memory_limit


async def test_workers_know_how_much_memory_they_may_use(cluster: EmbeddedCluster) -> None:
    found = await cluster.resources()
    assert found == Resources(2, share_of_machine(2))
    assert 2 * found.worker_memory <= psutil.virtual_memory().total
    for environment in (await cluster.client.run(from_environment)).values():
        assert environment.worker_memory == found.worker_memory
        assert environment.space_cache_bytes <= found.worker_memory // 4


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ([], Resources(0, 7000)),
        ([(1, 0), (2, None)], Resources(3, 7000)),
        ([(1, 5000), (4, 8000), (1, 0)], Resources(6, 2000)),
    ],
)
async def test_limits_of_the_workers_count_where_they_have_any(
    tmp_path: Path, limits: list[tuple[int, int | None]], expected: Resources
) -> None:
    async def identity(n_workers: int) -> dict[str, Any]:
        workers = [{"nthreads": threads, "memory_limit": limit} for threads, limit in limits]
        return {"workers": dict(enumerate(workers))}

    cluster = EmbeddedCluster(1, {}, tmp_path / "staging", tmp_path / "state", worker_memory=7000)
    assert await cluster.resources() == Resources(0, 7000)  # it does not run yet
    cluster._client = SimpleNamespace(scheduler=SimpleNamespace(identity=identity))
    assert await cluster.resources() == expected


async def test_a_scheduler_that_is_busy_does_not_hold_up_a_submission(
    cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never_answering(n_workers: int) -> dict[str, int]:
        await asyncio.Event().wait()
        return {}

    monkeypatch.setattr("workers.cluster.ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(cluster, "_client", SimpleNamespace(scheduler=SimpleNamespace(identity=never_answering)))
    async with asyncio.timeout(20):
        assert await cluster.resources() == Resources(0, share_of_machine(2))


async def test_readiness_tells_why_not(tmp_path: Path) -> None:
    cluster = EmbeddedCluster(1, {}, tmp_path / "staging", tmp_path / "state")
    assert await cluster.readiness() == ["the cluster is not running"]
    with pytest.raises(RuntimeError, match="not running"):
        _ = cluster.client
    async with cluster:
        (reason,) = await cluster.readiness()
        assert reason.startswith("no worker is connected yet")
        await cluster.wait_for_workers()
        await cluster.client.run(pretend_to_compile)
        assert await cluster.readiness() == ["1 of 1 workers are still compiling their kernels"]
        cluster.scale(3)
        assert (await cluster.readiness())[-1] == "2 of 3 workers are not connected"
    await cluster.close()
    assert await cluster.readiness() == ["the cluster is not running"]


async def test_a_stopped_worker_is_a_reason_and_not_a_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with EmbeddedCluster(1, {}, tmp_path / "staging", tmp_path / "state") as cluster:
        await cluster.wait_for_workers()
        monkeypatch.setattr("workers.cluster.ANSWER_SECONDS", 0.3)
        (pid,) = (await cluster.client.run(os.getpid)).values()
        os.kill(pid, signal.SIGSTOP)
        try:
            async with asyncio.timeout(20):
                assert await cluster.readiness() == ["not all of 1 workers answered within 0.3 s"]
        finally:
            os.kill(pid, signal.SIGCONT)
        monkeypatch.setattr("workers.cluster.ANSWER_SECONDS", 30.0)
        assert await cluster.readiness() == []

        monkeypatch.setattr("workers.cluster.SILENT_SECONDS", 3.0)
        os.kill(pid, signal.SIGSTOP)  # although it has answered all questions once
        try:
            async with asyncio.timeout(60):
                while not (reasons := await cluster.readiness()):
                    await asyncio.sleep(0.05)
        finally:
            os.kill(pid, signal.SIGCONT)
        assert "was not heard from for" in reasons[0]


async def test_a_cluster_does_not_wait_for_workers_that_start(tmp_path: Path) -> None:
    cluster = EmbeddedCluster(1, {}, tmp_path / "staging", tmp_path / "state")
    await cluster.start()

    def process() -> Any:
        return next((nanny.process and nanny.process.process for nanny in cluster._local._created), None)

    async with asyncio.timeout(60):
        while not process() or process().pid is None:
            await asyncio.sleep(0.01)
        pid = process().pid
        os.kill(pid, signal.SIGSTOP)  # it will never have started
        await cluster.close()
    assert not psutil.pid_exists(pid)


async def test_a_scheduler_that_is_busy_is_a_reason_too(
    cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never_answering() -> dict[str, int]:
        await asyncio.Event().wait()
        return {}

    monkeypatch.setattr("workers.cluster.ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(cluster, "_heard", never_answering)
    async with asyncio.timeout(20):
        assert await cluster.readiness() == ["the scheduler does not answer (TimeoutError)"]


async def test_a_worker_that_is_long_in_coming_back_is_not_given_up(tmp_path: Path) -> None:
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "1ms"}):  # less than any worker takes
        async with EmbeddedCluster(1, {}, tmp_path / "staging", tmp_path / "state") as cluster:
            await cluster.wait_for_workers()
            ((address, pid),) = (await cluster.client.run(os.getpid)).items()
            os.kill(pid, signal.SIGKILL)
            async with asyncio.timeout(60):
                while address in await cluster.worker_threads() or not await cluster.worker_count():
                    await asyncio.sleep(0.02)
            assert set((await cluster.client.run(os.getpid)).values()) != {pid}


def pretend_to_compile() -> None:
    from workers import preload  # noqa: PLC0415 - the worker's own module, not a pickled copy

    preload._warm.clear()


def pretend_to_have(name: str, number: str) -> None:
    """Let this process claim another version of a package, from now on."""
    from importlib import metadata  # noqa: PLC0415 - the worker's own modules, not pickled copies

    from workers import versions  # noqa: PLC0415

    claimed = SimpleNamespace(version=lambda package: number if package == name else metadata.version(package))
    versions.metadata = claimed  # type: ignore[assignment]
    versions.installed.cache_clear()


async def run_one(cluster: EmbeddedCluster, directory: Path) -> list[Any]:
    running = execute(cluster, run_probe, [Probe("a", 0, str(directory))], key=str, limit=1, stop=asyncio.Event())
    return [answer async for answer in running]


async def test_a_worker_of_another_version_is_found_and_refused(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    assert await cluster.differences() == []
    await cluster.client.run(pretend_to_have, "numba", "0.1")
    try:
        with pytest.raises(ProblemError, match=r"numba is 0\.1 at tls://.* but") as caught:
            await run_one(cluster, tmp_path)
        assert invocations(tmp_path, 0) == 0
        assert (caught.value.slug, caught.value.origin) == ("cluster-unavailable", "system")
        # Workers are asked when they come; this one came before it changed.
        cluster._compared = (frozenset(), [])
        reasons = await cluster.differences()
        assert len(reasons) == await cluster.worker_count()
        for reason in reasons:
            assert re.fullmatch(r"numba is 0\.1 at worker tls://\S+ but \S+ here", reason)
        cluster._checked = {}
        assert set(reasons) <= set(await cluster.readiness())
    finally:
        await cluster.client.run(pretend_to_have, "nothing", "")
        cluster._compared = (frozenset(), [])
    assert await cluster.differences() == []
    assert len(await run_one(cluster, tmp_path)) == 1


async def test_versions_of_all_that_matters_are_compared() -> None:
    own = versions.installed()
    assert {"python", "ordsim", "numpy", "scipy", "numba", "zarr", "dask", "distributed"} == own.keys()
    assert versions.differences(own, {"the scheduler": own, "worker a": dict(own)}) == []
    without = versions.differences(own, {"worker a": {}, "worker b": own})
    assert without == ["ordsim is not installed at worker a"]
    for name in own:
        (difference,) = versions.differences(own, {"worker a": own, "worker b": {**own, name: "0.0"}})
        assert difference == f"{name} is 0.0 at worker b but {own[name]} here"


def run_script(mode: str, directory: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", str(SCRIPT), mode, str(directory)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=directory,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


def alive(process: psutil.Process) -> bool:
    """Whether it still runs: who is dead but not yet collected by init does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def test_no_process_survives_the_death_of_the_one_that_started_it(tmp_path: Path) -> None:
    with run_script("hold", tmp_path) as process:
        assert process.stdout is not None
        line = await asyncio.to_thread(process.stdout.readline)
        pids = json.loads(line)["pids"].values()
        family = psutil.Process(process.pid).children(recursive=True)
        assert len(pids) == 2
        assert {child.pid for child in family} >= set(pids)
        process.send_signal(signal.SIGKILL)
        process.wait(30)
    deadline = time.monotonic() + 30
    while any(alive(child) for child in family):
        assert time.monotonic() < deadline, "worker processes outlived the process that started them"
        await asyncio.sleep(0.05)


async def test_start_and_stop_are_silent(tmp_path: Path) -> None:
    with run_script("stop", tmp_path) as process:
        output, errors = await asyncio.to_thread(process.communicate, timeout=120)
    assert process.returncode == 0
    assert json.loads(output)["reasons"] == []
    assert errors == ""
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["state"]
