"""A service with keys, as its operator and its users have it; and that the secret of a key is nowhere afterwards."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import psutil
import pytest
import zarr
from reference_counts import EXACT
from service_process import TEXT

from service.client import Client, ServiceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from service_process import ServiceProcess


def ordsim(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command; its key is in the environment alone."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ORDSIM_")}
    return subprocess.run(
        [str(Path(sys.executable).with_name("ordsim")), *words],
        env=environment | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def use(service: ServiceProcess, lab: Path, token: str, wrong: str, caplog: pytest.LogCaptureFixture) -> str:
    """Do with a key what goes well and what does not; return all that was answered, printed and logged."""
    zarr.create_array(lab / "absent", shape=(40, 3), dtype="f4", chunks=(40, 3))  # nothing is stored
    said = ""
    with Client(service.url, token) as client:
        results = client.compare(**TEXT, measures=[EXACT])
        failed = client.wait(client.submit("lab:absent", "lab:absent", [EXACT])["jobID"])
        assert failed["status"] == "failed"
        for action in (
            lambda: client.results(failed["jobID"]),
            lambda: client.submit("lab:nothing", "lab:nothing", [EXACT]),
            lambda: client.cancel(failed["jobID"]),
        ):
            with pytest.raises(ServiceError) as refused:
                action()
            said += f"{refused.value!r} {refused.value.problem}"
        said += json.dumps([results.json, failed, client.jobs()])
    with Client(service.url, wrong) as client, pytest.raises(ServiceError, match="unauthenticated") as refused:
        client.jobs()
    said += f"{refused.value!r} {refused.value.problem}"
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    said += httpx2.post(f"{service.url}/v1/jobs", content=b'{"x": 1, "x": 2}', headers=headers).text
    listed = ordsim("list", "--url", service.url, ORDSIM_API_KEY=token)
    assert (listed.returncode, "lab:absent" in listed.stdout) == (0, True), listed.stderr
    refusal = ordsim("list", "--url", service.url, ORDSIM_API_KEY=wrong)
    assert (refusal.returncode, "not known here" in refusal.stderr) == (2, True), refusal.stderr
    return said + "".join((listed.stdout, listed.stderr, refusal.stdout, refusal.stderr, caplog.text))


def test_a_secret_stays_with_its_owner(
    start_service: Callable[..., ServiceProcess], lab: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    service = start_service(keys="on", workers="1")
    service.start().close()
    assert "asked for, and there are none" in service.log.read_text()
    with Client(service.url) as anonymous, pytest.raises(ServiceError, match="unauthenticated"):
        anonymous.jobs()

    state = ("--state-dir", str(service.state))
    made = json.loads(ordsim("keys", "create", "--json", *state).stdout)  # while the service runs
    token, secret = made["key"], made["key"].rpartition(made["id"] + "_")[2]
    assert len(secret) == 43
    wrong = token[:-4] + ("AAAA" if token[-4:] != "AAAA" else "BBBB")
    assert httpx2.get(f"{service.url}/v1/jobs", params={"key": token}).status_code == 401
    caplog.clear()  # the client's own log has the address that it was told to ask
    said = use(service, lab, token, wrong, caplog)

    assert service.process is not None
    family = [psutil.Process(service.process.pid), *service.workers()]
    said += "".join(" ".join(process.cmdline()) + json.dumps(process.environ()) for process in family)
    assert ordsim("keys", "revoke", made["id"], *state).returncode == 0
    with Client(service.url, token) as late, pytest.raises(ServiceError, match="revoked") as refused:
        late.jobs()
    said += str(refused.value)
    kept = {path.name: path.read_bytes() for path in service.state.rglob("*") if path.is_file()}
    assert service.stop() == 0
    kept |= {f"later {path.name}": path.read_bytes() for path in service.state.rglob("*") if path.is_file()}

    half = secret[: len(secret) // 2]
    assert half not in said
    assert {name for name, content in kept.items() if half.encode() in content} == set()
    # What should be there is: the search would have found the secret.
    assert any(made["id"].encode() in content for content in kept.values())
    assert b"missing-chunks" in kept["service.log"]
