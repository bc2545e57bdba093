"""A cluster of others, as far as that can be seen without one."""

from __future__ import annotations

import asyncio
import socket
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from workers import external, preload, surroundings
from workers.cluster import MEMORY_SHARE, NotConnectedError, Resources
from workers.environment import from_environment
from workers.external import ExternalCluster
from workers.surroundings import Surroundings, look_around

if TYPE_CHECKING:
    from pathlib import Path

GIBIBYTE = 1024**3


async def test_a_scheduler_that_is_not_there_is_a_reason_and_no_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
    cluster = ExternalCluster(address, ["lab"], worker_memory=GIBIBYTE)
    async with cluster:
        (reason,) = await cluster.readiness()
        assert reason.startswith(f"no connection to the scheduler at {address}")
        with pytest.raises(NotConnectedError, match="no connection"):
            _ = cluster.client
        assert await cluster.resources() == Resources(0, GIBIBYTE)
    await cluster.close()


@pytest.mark.parametrize("status", ["connecting", "closing", "closed"])
async def test_nothing_is_given_to_a_client_that_may_give_up(status: str) -> None:
    cluster = ExternalCluster("tcp://127.0.0.1:9", [])
    cluster._client = SimpleNamespace(status=status)
    with pytest.raises(NotConnectedError):
        _ = cluster.client
    cluster._client.status = "running"
    assert cluster.client is cluster._client


async def test_why_it_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external, "CONNECT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
    async with ExternalCluster(address, []) as cluster, asyncio.timeout(30):
        while "refused" not in (await cluster.readiness())[0]:
            await asyncio.sleep(0.02)


def test_memory_is_what_every_worker_has() -> None:
    told = {
        "tls://10.0.0.1:1": Surroundings(None, 10 * GIBIBYTE, ()),
        "tls://10.0.0.1:2": Surroundings(None, 10 * GIBIBYTE, ()),
        "tls://10.0.0.2:1": Surroundings(6 * GIBIBYTE, 64 * GIBIBYTE, ()),
    }
    assert external._least(told) == int(MEMORY_SHARE * 10 * GIBIBYTE) // 2  # two on one machine
    del told["tls://10.0.0.1:1"]
    assert external._least(told) == 6 * GIBIBYTE
    assert external._least({}) is None


def test_a_worker_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ORDSIM_ROOTS", f'{{"here": "{tmp_path}", "gone": "{tmp_path}/none"}}')
    monkeypatch.setenv("ORDSIM_STAGING_DIRECTORY", str(tmp_path / "staging"))
    monkeypatch.setenv("ORDSIM_WORKER_MEMORY", "3GiB")
    monkeypatch.setattr(surroundings, "from_environment", from_environment.__wrapped__)
    assert look_around([]).faults == ("was started without --preload workers.preload: start it again with that",)
    monkeypatch.setattr(preload, "is_set_up", lambda: True)
    found = look_around(["here"])
    assert (found.memory, found.faults) == (3 * GIBIBYTE, ())
    assert found.machine > 0
    monkeypatch.delenv("ORDSIM_STAGING_DIRECTORY")
    assert look_around(["here"]).faults == ("has settings missing or wrong: ORDSIM_STAGING_DIRECTORY",)
    monkeypatch.setenv("ORDSIM_STAGING_DIRECTORY", str(tmp_path / "file" / "below"))
    unknown, gone, staging = look_around(["here", "elsewhere", "gone"]).faults
    assert unknown.startswith("does not know root 'elsewhere'")
    assert gone.startswith("cannot read root 'gone' (No such file or directory)")
    assert staging.startswith("cannot write its staging directory (Not a directory)")
    assert not any(str(tmp_path) in fault for fault in (unknown, gone, staging))
