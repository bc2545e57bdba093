"""Keys at the door: what is answered to whom, over every operation that the service has."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from service import access
from service.keys import Limits, Scope
from tests.service.conftest import check_problem, finish, request, submit, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.service.conftest import Doors

    MakeClient = Callable[..., httpx2.Client]

LONG = {"measure": "qsi", "method": "sampled", "samples": 2 * 10**9}
METHODS = ("get", "post", "delete", "put", "patch")


@pytest.fixture(scope="session")
def anonymous(doors: Doors) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=doors.addresses[1], timeout=60) as client:
        yield client


@pytest.fixture(scope="session")
def operations(doors: Doors) -> list[tuple[str, str, dict[str, Any]]]:
    """Method, path and description of every operation."""
    paths = doors.keyed.openapi()["paths"]
    return [(method, path, paths[path][method]) for path in paths for method in METHODS if method in paths[path]]


def address(path: str, job: str = "a") -> str:
    """Fill in a path; what does not exist is unknown only to who may ask."""
    values = {"jobID": job, "name": "0-null", "root": "lab", "process": "compare", "slug": "forbidden"}
    for name, value in values.items():
        path = path.replace(f"{{{name}}}", value)
    assert "{" not in path, f"say in this test what stands in {path}"
    return path


def test_every_operation_but_the_open_ones_needs_a_key(
    anonymous: httpx2.Client, operations: list[tuple[str, str, dict[str, Any]]]
) -> None:
    opened = set()
    for method, path, operation in operations:
        response = anonymous.request(method, address(path))
        if operation["security"]:
            problem = check_problem(response, 401, "unauthenticated")
            assert "Authorization: Bearer" in problem["detail"]
            assert response.headers["www-authenticate"] == 'Bearer realm="ordsim"'
            assert {"401", "403"} <= operation["responses"].keys()
        else:
            assert response.status_code != 401, path
            opened.add(path)
    assert opened <= {*access.OPEN_PATHS, "/problems/{slug}"}
    assert {"/livez", "/readyz"} <= opened
    for path in ("/v1", "/v1/jobs/", "/nothing", "/v1/jobs/..%2f..%2flivez"):
        check_problem(anonymous.get(path), 401, "unauthenticated")


def test_a_key_without_the_scope_is_told_which(
    operations: list[tuple[str, str, dict[str, Any]]], with_key: MakeClient
) -> None:
    powerless = with_key(Scope.METRICS)
    reader = with_key(Scope.JOBS_READ)
    for method, path, operation in operations:
        if operation["security"] == [{"apiKey": ["jobs:read"]}]:
            response = powerless.request(method, address(path))
            assert "jobs:read" in check_problem(response, 403, "forbidden")["detail"]
        elif operation["security"] == [{"apiKey": ["jobs:write"]}]:
            response = reader.request(method, address(path))
            assert "jobs:write" in check_problem(response, 403, "forbidden")["detail"]
            assert 'scope="jobs:write"' in response.headers["www-authenticate"]
    check_problem(reader.get("/metrics"), 403, "forbidden")
    assert powerless.get("/metrics").status_code != 403


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Basic b3Jkc2ltOmE=",
        "Bearer ordsim_00000000_" + "A" * 43,
        "ordsim_00000000_" + "A" * 43,
        "Bearer \xff",
        "",
    ],
)
def test_what_is_not_a_key_is_refused(anonymous: httpx2.Client, header: str) -> None:
    response = anonymous.get("/v1/jobs", headers=[(b"authorization", header.encode("latin-1"))])
    problem = check_problem(response, 401, "unauthenticated")
    assert "A" * 43 not in problem["detail"]


def test_a_key_is_taken_from_the_header_alone_and_once(anonymous: httpx2.Client, doors: Doors) -> None:
    made, token = doors.store.keys.create("", [Scope.ADMIN])
    for name in ("key", "api_key", "access_token", "token"):
        check_problem(anonymous.get("/v1/jobs", params={name: token}), 401, "unauthenticated")
    check_problem(anonymous.get("/v1/jobs", headers={"Cookie": f"key={token}"}), 401, "unauthenticated")
    header = (b"authorization", f"Bearer {token}".encode())
    assert anonymous.get("/v1/jobs", headers=[header]).status_code == 200
    assert anonymous.get("/v1/jobs", headers=[(header[0], header[1].replace(b"Bearer", b"bearer"))]).status_code == 200
    check_problem(anonymous.get("/v1/jobs", headers=[header, header]), 401, "unauthenticated")
    doors.store.keys.revoke(made.id)  # at once, without a restart
    problem = check_problem(anonymous.get("/v1/jobs", headers=[header]), 401, "unauthenticated")
    assert "revoked" in problem["detail"]


def test_a_body_is_not_read_from_who_may_not_send_it(anonymous: httpx2.Client) -> None:
    check_problem(anonymous.post("/v1/jobs", content=b"{" * 500_000), 401, "unauthenticated")


def test_another_keys_job_is_not_there(operations: list[tuple[str, str, dict[str, Any]]], with_key: MakeClient) -> None:
    mine, theirs, admin = with_key(), with_key(), with_key(Scope.ADMIN)
    job = finish(mine, request(label="of one key"))["jobID"]
    below = [(method, path) for method, path, _ in operations if "{jobID}" in path]
    assert len(below) >= 5
    for method, path in below:
        check_problem(theirs.request(method, address(path, job)), 404, "unknown-job")
    assert mine.get(f"/v1/jobs/{job}").status_code == admin.get(f"/v1/jobs/{job}").status_code == 200
    assert admin.get(f"/v1/jobs/{job}/results").status_code == 200
    listed = [client.get("/v1/jobs", params={"label": "of one key"}).json()["jobs"] for client in (mine, theirs, admin)]
    assert [[status["jobID"] for status in jobs] for jobs in listed] == [[job], [], [job]]
    check_problem(admin.delete(f"/v1/jobs/{job}"), 409, "job-final")


def test_a_revoked_key_hears_no_more(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.routes.events.TRUSTED_SECONDS", 0.0)
    monkeypatch.setattr("service.feeds.KEEP_ALIVE_SECONDS", 0.05)
    key, token = doors.store.keys.create("test", (Scope.JOBS_READ, Scope.JOBS_WRITE))
    headers = {"Authorization": f"Bearer {token}"}
    with httpx2.Client(base_url=doors.addresses[1], timeout=60, headers=headers) as client:
        job = client.post("/v1/jobs", json=request("large", "larger", [LONG])).json()["jobID"]
        with client.stream("GET", f"/v1/jobs/{job}/events") as stream:
            lines = stream.iter_lines()
            assert any(line == "event: accepted" for line in lines)
            doors.store.keys.revoke(key.id)
            deadline = time.monotonic() + 60
            for _ in lines:  # it ends, although the job does not
                assert time.monotonic() < deadline, "the stream of a revoked key goes on"
        assert client.get(f"/v1/jobs/{job}").status_code == 401
    with httpx2.Client(base_url=doors.addresses[0], timeout=60) as anyone:
        assert anyone.delete(f"/v1/jobs/{job}").status_code in (200, 202)


def test_idempotency_keys_are_each_keys_own(with_key: MakeClient) -> None:
    mine, theirs = with_key(), with_key()
    headers = {"Idempotency-Key": "the-same"}
    first = mine.post("/v1/jobs", json=request(seed=1), headers=headers).json()["jobID"]
    other = theirs.post("/v1/jobs", json=request(seed=2), headers=headers)
    assert other.status_code == 202
    assert other.json()["jobID"] != first
    assert mine.post("/v1/jobs", json=request(seed=1), headers=headers).json()["jobID"] == first


def test_fifty_submissions_at_once_keep_to_the_quota(with_key: MakeClient) -> None:
    client = with_key(limits=Limits(comparisons=4 * 168))  # TSI of eight rows has 8 * 7 * 6 / 2 comparisons
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: client.post("/v1/jobs", json=request()), range(50)))
    refused = [answer for answer in answers if answer.status_code == 429]
    assert len(answers) - len(refused) == 4
    for answer in refused:
        check_problem(answer, 429, "quota-exceeded")
        assert 0 < int(answer.headers["retry-after"]) <= 86401


def test_a_key_has_no_more_than_its_quota_running(with_key: MakeClient, doors: Doors) -> None:
    client = with_key(limits=Limits(running=1, queued=20))
    jobs = [submit(client, request("large", "larger", seed=seed)) for seed in range(4)]

    def ended() -> bool:
        return all(client.get(f"/v1/jobs/{job}").json()["status"] == "successful" for job in jobs)

    wait_until(ended, 120, "four jobs, one after the other")
    starts = sorted(str(doors.store.get(job).started) for job in jobs)
    ends = sorted(str(doors.store.get(job).finished) for job in jobs)
    assert all(end <= start for end, start in zip(ends[:-1], starts[1:], strict=True))


def test_an_open_service_has_optional_keys_in_its_document(doors: Doors) -> None:
    documents = [application.openapi() for application in (doors.open, doors.keyed)]
    for document in documents:
        assert document["components"]["securitySchemes"]["apiKey"]["scheme"] == "bearer"
    wanted = [document["paths"]["/v1/jobs"]["post"]["security"] for document in documents]
    assert wanted == [[{"apiKey": ["jobs:write"]}, {}], [{"apiKey": ["jobs:write"]}]]
