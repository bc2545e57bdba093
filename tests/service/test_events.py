"""The stream of a job's events, over HTTP."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.service.conftest import check_problem, finish, request, submit, wait_until
from tests.service.test_jobs import LONG

if TYPE_CHECKING:
    from collections.abc import Iterable

    import httpx2


def parse(lines: Iterable[str]) -> list[dict[str, Any]]:
    """Read a stream as a browser does; comments are left out."""
    found: list[dict[str, Any]] = []
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        if name:
            fields[name] = value.removeprefix(" ")
        elif not line:
            if "data" in fields:
                found.append({**fields, "data": json.loads(fields["data"]), "id": int(fields["id"])})
            fields = {}
    return found


def events(client: httpx2.Client, job: str, **headers: str) -> list[dict[str, Any]]:
    """All events of a job up to its end."""
    response = client.get(f"/v1/jobs/{job}/events", headers={name.replace("_", "-"): headers[name] for name in headers})
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["cache-control"] == "no-cache"
    return parse(response.text.split("\n"))


def test_a_job_is_told_from_its_beginning_to_its_end(client: httpx2.Client) -> None:
    job = submit(client, request("large", "larger", [{**LONG, "samples": 2 * 10**6}]))
    told = events(client, job)  # while it runs
    assert [event["id"] for event in told] == list(range(1, len(told) + 1))
    kinds = [event["event"] for event in told]
    assert kinds[:2] == ["accepted", "running"]
    assert kinds[-1] == "successful"
    assert [event["data"]["phase"] for event in told if event["event"] == "phase"] == ["count", "finish"]
    assert all(event["data"]["time"].endswith("Z") for event in told)
    progress = [event["data"] for event in told if event["event"] == "progress"]
    assert progress
    done = [entry["comparisonsDone"] for entry in progress]
    assert done == sorted(done)
    assert {entry["comparisonsTotal"] for entry in progress} == {2 * 10**6}
    assert all(0 <= entry["progress"] <= 99 for entry in progress)
    assert events(client, job) == told  # and the same again, when all is over


def test_a_listener_goes_on_where_it_left_off(client: httpx2.Client) -> None:
    job = finish(client, request())["jobID"]
    told = events(client, job)
    assert events(client, job, Last_Event_ID="2") == told[2:]
    response = client.get(f"/v1/jobs/{job}/events", params={"lastEventId": "2"})
    assert parse(response.text.split("\n")) == told[2:]
    for beyond in (str(len(told)), "999999"):
        response = client.get(f"/v1/jobs/{job}/events", headers={"Last-Event-ID": beyond})
        assert (response.status_code, response.content) == (204, b"")


@pytest.mark.parametrize(("path", "end"), [("x", "successful"), ("nan", "failed")])
def test_the_last_event_says_how_it_ended(client: httpx2.Client, path: str, end: str) -> None:
    assert events(client, finish(client, request(path))["jobID"])[-1]["event"] == end


def test_listeners_hear_a_cancellation_and_leave_no_trace(client: httpx2.Client) -> None:
    job = submit(client, request("large", "larger", [LONG]))
    wait_until(lambda: client.get(f"/v1/jobs/{job}").json()["ordsim"]["shardsDone"] > 0, 60, "a shard")
    with client.stream("GET", f"/v1/jobs/{job}/events") as gone, client.stream("GET", f"/v1/jobs/{job}/events") as kept:
        assert next(gone.iter_lines()).startswith("retry:")
        gone.close()
        client.delete(f"/v1/jobs/{job}")
        told = parse(kept.iter_lines())
    kinds = [event["event"] for event in told if event["event"] != "progress"]  # shards that were done already count
    assert kinds[-2:] == ["cancel-requested", "dismissed"]
    assert [event["event"] for event in events(client, job)] == [event["event"] for event in told]


def test_what_cannot_be_followed(client: httpx2.Client) -> None:
    check_problem(client.get("/v1/jobs/nobody/events"), 404, "unknown-job")
    job = finish(client, request())["jobID"]
    for sent in ("x", "-1", "1.5", "9" * 16):
        problem = check_problem(
            client.get(f"/v1/jobs/{job}/events", headers={"Last-Event-ID": sent}), 422, "invalid-request"
        )
        assert [error["parameter"].lower() for error in problem["errors"]] == ["last-event-id"]


def test_a_short_job_ends_while_a_long_one_has_hardly_begun(client: httpx2.Client) -> None:
    long = submit(client, request("large", "larger", [{**LONG, "samples": 2 * 10**8}]))
    wait_until(lambda: client.get(f"/v1/jobs/{long}").json()["ordsim"]["shardsDone"] > 0, 60, "a shard")
    before = client.get(f"/v1/jobs/{long}").json()["ordsim"]["shardsDone"]
    short = submit(client, request("large", "larger", [{**LONG, "samples": 10**6}]))
    assert events(client, short)[-1]["event"] == "successful"
    beside = client.get(f"/v1/jobs/{long}").json()
    shards = client.get(f"/v1/jobs/{short}").json()["ordsim"]["shardsTotal"]
    assert beside["status"] == "running"
    # What was in flight when the short one came, what ran while its arrays were read, and its own share.
    assert beside["ordsim"]["shardsDone"] - before < beside["ordsim"]["shardsTotal"] / 2
    assert shards * 10 < beside["ordsim"]["shardsTotal"]
    client.delete(f"/v1/jobs/{long}")
    assert events(client, long)[-1]["event"] == "dismissed"
