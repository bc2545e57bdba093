"""`ordsim doctor`: what it finds on a machine and at a service, and what it says to do."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import namedtuple
from email.utils import formatdate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from ordsim_core import kernel_cache
from service import doctor, lock, visiting
from service.client import Client
from tests.service.commands import check_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.service.commands import Outcome

GIBIBYTE = 1024**3
UNREACHABLE = "http://127.0.0.1:9"


def test_a_machine_that_is_well(ordsim: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "lab").mkdir()
    options = ("--root", f"lab={tmp_path / 'lab'}", "--state-dir", tmp_path / "state", "--workers", "1")
    found = ordsim("doctor", *options, "--worker-memory", "2GiB", "--json")
    checks = {check["name"]: check for check in json.loads(found.stdout)["checks"]}
    names = ["versions", "root lab", "state directory", "disk", "kernel cache", "threads", "memory", "clock"]
    assert list(checks) == names
    assert {checks[name]["verdict"] for name in names if name != "disk"} == {"ok"}, found.stdout
    assert "numba" in checks["versions"]["found"]
    assert checks["memory"]["found"].startswith("2.0 GiB for each of 1 workers")
    assert not (tmp_path / "state").exists()  # nothing was changed
    printed = ordsim("doctor", *options, "--worker-memory", "2GiB")
    assert "root lab" in printed.stdout


def test_what_failed_is_said_with_what_to_do(ordsim: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with lock.own(tmp_path / "state"):
        options = ("--root", f"a={tmp_path / 'none'}", "--state-dir", tmp_path / "state", "--workers", "1000")
        done = ordsim("doctor", *options)
        assert done.returncode == 1
        text = " ".join(done.stdout.split())
        for words in ("No such file", f"service in process {os.getpid()}", "use --workers", "failures"):
            assert words in text
        verdicts = json.loads(ordsim("doctor", *options, "--json").stdout)
        assert verdicts["verdict"] == "failure"
    assert doctor.state_directory(tmp_path / "state").verdict == "ok"
    assert doctor.state_directory(Path("/proc/none")).verdict == "failure"
    assert doctor.root("a", tmp_path / "file").verdict == "failure"
    check_error(ordsim("doctor", "--worker-memory", "much"), 2, "8GiB")


@pytest.mark.parametrize(("free", "verdict"), [(50, "ok"), (5, "warning"), (0.5, "failure")])
def test_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: float, verdict: str) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(0, 0, int(free * GIBIBYTE)))
    assert doctor.disk(tmp_path / "not" / "there").verdict == verdict


def test_a_kernel_cache_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kernel_cache, "directory", lambda: None)
    found = doctor.kernels(tmp_path)
    assert (found.verdict, "NUMBA_CACHE_DIR" in found.advice) == ("warning", True)


def test_threads_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    assert "OMP_NUM_THREADS=8 of the environment" in doctor.threads(2, 2).found
    assert [doctor.threads(workers, 2).verdict for workers in (1, 2, 3)] == ["ok", "ok", "warning"]
    assert "--workers 2" in doctor.threads(3, 2).advice
    sizes = ((0.25, "failure"), (1, "warning"), (4, "ok"), (9, "warning"))
    assert [doctor.memory(2, int(each * GIBIBYTE), 16 * GIBIBYTE).verdict for each, _ in sizes] == [
        verdict for _, verdict in sizes
    ]


def test_clocks() -> None:
    now = time.time()
    assert doctor.clock(now, now - 100).verdict == doctor.clock(now, now + 1).verdict == "ok"
    assert doctor.clock(now, now + 3600).verdict == "failure"
    sent = formatdate(1_800_000_000, usegmt=True)
    assert doctor.clocks(1_800_000_000.5, 1_800_000_001, sent).verdict == "ok"
    assert doctor.clocks(1_799_999_000, 1_800_001_000, sent).verdict == "ok"  # the answer took long
    for before in (1_800_003_600, 1_799_996_390):
        assert "1 h 0 min apart" in doctor.clocks(before, before + 10, sent).found
    assert doctor.clocks(now, now, None).verdict == doctor.clocks(now, now, "yesterday").verdict == "warning"


def test_a_service_that_is_well(ordsim: Callable[..., Outcome], url: str) -> None:
    done = ordsim("doctor", "--json", ORDSIM_URL=url)
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert list(checks) == ["service", "versions", "clock", "readiness", "root lab", "workers"]
    assert {check["verdict"] for name, check in checks.items() if name != "workers"} == {"ok"}, done.stdout
    assert checks["workers"]["found"].startswith("2 tasks at once")
    assert done.returncode == 0


def test_a_service_that_is_not_there(ordsim: Callable[..., Outcome]) -> None:
    done = ordsim("doctor", "--url", UNREACHABLE)
    assert done.returncode == 1
    assert "nothing listens there" in " ".join(done.stdout.split())


def answers(**bodies: tuple[int, Any]) -> Client:
    def answer(request: httpx2.Request) -> httpx2.Response:
        status, body = bodies.get(request.url.path.rpartition("/")[2].partition(".")[0], (200, {}))
        return httpx2.Response(status, json=body, headers={"Date": formatdate(usegmt=True)})

    return Client("http://service", transport=httpx2.MockTransport(answer))


def test_a_service_that_is_not_ready() -> None:
    reasons = ["numba is 0.1 at tls://a but 0.2 here", "1 of 2 workers are not connected"]
    with answers(readyz=(503, {"detail": "Not ready", "reasons": reasons}), roots=(200, {"roots": []})) as client:
        checks = list(visiting.service(client))
    assert [check.found for check in checks if check.name == "readiness"] == reasons
    assert [(check.name, check.verdict) for check in checks[1:2]] == [("versions", "warning")]
    assert checks[-1].verdict == "warning"
    with answers(roots=(401, {"title": "No key"})) as client:
        last = list(visiting.service(client))[-1]
    assert (last.verdict, "ORDSIM_API_KEY" in last.advice) == ("failure", True)
