"""The client: error paths against a scripted transport, the rest against the real service."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import httpx2
import numpy as np
import pytest

from service import asking
from service.client import Client, ServiceError, ServiceUnreachable, reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EXACT = {"measure": "tsi", "method": "exact", "per_anchor": True}
PROBLEM = {
    "type": "/problems/unknown-array",
    "title": "There is no such array",
    "status": 422,
    "detail": "x: lab:nothing is not an array",
    "instance": "/v1/jobs",
    "requestID": "r-1",
    "origin": "request",
    "errors": [{"pointer": "/x/path", "detail": "not an array"}],
}


def scripted(*answers: httpx2.Response | Exception) -> tuple[Client, list[httpx2.Request]]:
    """A client that is given these answers one after another, the last one for ever; and what it asked.

    There is no stream of events.
    """
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/events"):
            return httpx2.Response(404, json=PROBLEM)
        asked.append(request)
        found = answers[min(len(asked), len(answers)) - 1]
        if isinstance(found, Exception):
            raise found
        return found

    return Client("http://service", transport=httpx2.MockTransport(answer)), asked


def status(state: str, pause: str | None = None, **details: Any) -> httpx2.Response:
    headers = {} if pause is None else {"Retry-After": pause}
    return httpx2.Response(200, json={"jobID": "j", "status": state, "ordsim": details}, headers=headers)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client waited each time, without waiting."""
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    return waited


def test_importing_the_client_brings_no_heavy_library() -> None:
    heavy = (
        "numpy",
        "dask",
        "distributed",
        "zarr",
        "numba",
        "scipy",
        "fastapi",
        "uvicorn",
        "pydantic",
        "rich",
        "typer",
    )
    program = f"import service.client, sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("lab:a/b", {"root": "lab", "path": "a/b"}),
        ("lab:a:b", {"root": "lab", "path": "a:b"}),
        ({"root": "lab", "path": "a", "rows": {"start": 0, "stop": 3}}, None),
    ],
)
def test_references(given: Any, expected: Any) -> None:
    assert reference(given) == (expected or given)


@pytest.mark.parametrize("rows", [(2, 5), slice(2, 5), (np.int64(2), 5.0), {"start": 2, "stop": 5}])
def test_rows_are_ranges_in_any_form(rows: Any) -> None:
    body = asking.comparison({"root": "lab", "path": "a", "rows": rows}, "lab:b", [EXACT], {"rows": rows})
    assert body["x"]["rows"] == body["rows"] == {"start": 2, "stop": 5}
    json.dumps(body)


@pytest.mark.parametrize("rows", ["0:50", [0, 1, 2], slice(0, 9, 2), slice(3, None), (1, 2, 3), 4])
def test_rows_that_are_no_range_are_refused(rows: Any) -> None:
    with pytest.raises(TypeError, match=r"rows are a range, such as \(0, 1000\)"):
        asking.comparison("lab:a", "lab:b", [EXACT], {"rows": rows})


def test_numbers_may_be_those_of_numpy_or_whole_floats() -> None:
    measure = {"measure": "tsi", "method": "sampled", "samples": 1e4, "epsilon": np.float32(0.5)}
    body = asking.comparison("lab:a", "lab:b", [measure], {"seed": np.int64(3), "calibration": {"alpha": 0.05}})
    (sent,) = body["measures"]
    assert (sent["samples"], type(sent["samples"]), sent["epsilon"]) == (10_000, int, 0.5)
    assert (body["seed"], type(body["seed"])) == (3, int)
    assert json.loads(json.dumps(body))["calibration"] == {"alpha": 0.05}


@pytest.mark.parametrize("given", ["lab", ":a", "lab:", ""])
def test_a_string_that_names_no_array_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match="root:path"):
        reference(given)
    with pytest.raises(ValueError, match="ordsim import FILE"):
        reference(f"{given.replace(':', '')}.npy")


@pytest.mark.parametrize("given", [3, ("lab", "a"), None, np.zeros(3)])
def test_what_names_no_array_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match=f"root:path, or by a mapping, not by a value of type {type(given).__name__}"):
        reference(given)


@pytest.mark.parametrize(
    ("call", "arguments", "wanted"),
    [
        ("submit", ("lab:x", "lab:y", EXACT), "measures must be a list, e.g. [{"),
        ("submit", ("lab:x", "lab:y", "tsi:exact"), "measures must be a list"),
        ("plan", ("lab:x", "lab:y", None), "not a value of type NoneType"),
        ("compare", ("lab:x", "lab:y", [EXACT, "tsi"]), "measures[1] must be a mapping, e.g. {"),
        ("layers", ("lab:x", ["lab:y"], EXACT), "x must be a list, e.g. ['lab:minilm/layer6'], not 'lab:x'"),
        ("layers", (["lab:x"], {"root": "lab", "path": "y"}, EXACT), "y must be a list"),
        ("layers", (["lab:x"], ["lab:y"], [EXACT]), "measure must be a mapping, e.g. {"),
        ("matrix", ("lab:x", EXACT), "arrays must be a list"),
        ("matrix", (["lab:x", "lab:y"], "tsi"), "measure must be a mapping"),
    ],
)
def test_arguments_of_another_kind_are_refused_before_anything_is_asked(
    call: str, arguments: tuple[Any, ...], wanted: str
) -> None:
    client, asked = scripted(status("accepted"))
    with pytest.raises(TypeError, match=re.escape(wanted)):
        getattr(client, call)(*arguments)
    assert asked == []


@pytest.mark.parametrize("groups", ["lab:labels/words", {"root": "lab", "path": "labels/words"}])
def test_groups_are_named_as_arrays_are(groups: Any) -> None:
    client, asked = scripted(httpx2.Response(422, json=PROBLEM))
    for call, arguments in (
        ("compare", ("lab:x", "lab:y", [EXACT])),
        ("submit", ("lab:x", "lab:y", [EXACT])),
        ("plan", ("lab:x", "lab:y", [EXACT])),
        ("layers", (["lab:x"], ["lab:y"], EXACT)),
        ("matrix", (["lab:x", "lab:y"], EXACT)),
    ):
        with pytest.raises(ServiceError):
            getattr(client, call)(*arguments, groups=groups)
    bodies = [json.loads(request.content) for request in asked]
    assert [body["process"] for body in bodies] == ["compare", "compare", "compare", "layers", "matrix"]
    assert [body["groups"] for body in bodies] == [{"root": "lab", "path": "labels/words"}] * 5
    with pytest.raises(ValueError, match="root:path"):
        client.submit("lab:x", "lab:y", [EXACT], groups="labels")


def test_a_problem_becomes_an_error_with_its_members() -> None:
    client, asked = scripted(httpx2.Response(422, json=PROBLEM))
    with pytest.raises(ServiceError) as caught:
        client.submit("lab:nothing", "lab:y", [EXACT], seed=3)
    error = caught.value
    assert (error.slug, error.status, error.title) == ("unknown-array", 422, "There is no such array")
    assert (error.origin, error.request_id, error.errors) == ("request", "r-1", PROBLEM["errors"])
    assert error.problem == PROBLEM
    assert "/x/path" in str(error)
    body = json.loads(asked[0].content)
    assert body == {
        "process": "compare",
        "x": {"root": "lab", "path": "nothing"},
        "y": {"root": "lab", "path": "y"},
        "measures": [EXACT],
        "seed": 3,
    }


@pytest.mark.parametrize("call", ["status", "results", "cancel"])
def test_every_call_raises_problems(call: str) -> None:
    client, asked = scripted(httpx2.Response(404, json={**PROBLEM, "type": "/problems/unknown-job", "status": 404}))
    with pytest.raises(ServiceError) as caught:
        getattr(client, call)("../roots")
    assert (caught.value.slug, caught.value.status) == ("unknown-job", 404)
    assert b"%2F" in asked[0].url.raw_path  # a job's name never leads to another address


def test_an_error_that_is_no_problem_document() -> None:
    client, _ = scripted(httpx2.Response(502, text="<html>", headers={"Content-Type": "text/html"}))
    with pytest.raises(ServiceError) as caught:
        client.status("j")
    assert (caught.value.slug, caught.value.status, caught.value.title) == ("http-502", 502, "Bad Gateway")
    assert "text/html" in caught.value.detail


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (httpx2.ConnectError("[Errno 111] Connection refused"), "nothing listens there"),
        (httpx2.ConnectTimeout("timed out"), "no answer in time"),
        (httpx2.Response(200, text="<html>hello</html>"), "not ordsim"),
        (httpx2.Response(200, json=[1, 2]), "not ordsim"),
    ],
)
def test_nothing_that_answers_as_ordsim_is_unreachable(answer: httpx2.Response | Exception, reason: str) -> None:
    client, _ = scripted(answer)
    with pytest.raises(ServiceUnreachable, match=reason) as caught:
        client.roots()
    assert caught.value.url == "http://service"
    assert not scripted(httpx2.ConnectError("refused"))[0].ready()


@pytest.mark.parametrize("url", ["nonsense", "ftp://service", "http://service:port"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(ServiceUnreachable):
        Client(url).roots()


def test_a_lost_answer_is_asked_for_once_more_with_the_same_key() -> None:
    accepted = httpx2.Response(202, json={"jobID": "j", "status": "accepted"})
    client, asked = scripted(httpx2.RemoteProtocolError("Server disconnected"), accepted)
    assert client.submit("lab:x", "lab:y", [EXACT])["jobID"] == "j"
    first, second = (request.headers["Idempotency-Key"] for request in asked)
    assert first == second
    client.submit("lab:x", "lab:y", [EXACT])
    assert asked[2].headers["Idempotency-Key"] != first
    client.submit("lab:x", "lab:y", [EXACT], idempotency_key="mine")
    assert asked[3].headers["Idempotency-Key"] == "mine"


def test_the_key_is_sent_as_a_bearer_token() -> None:
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(200, json={"roots": []})

    for key in ("ordsim_a_b", None):
        Client("http://service", key=key, transport=httpx2.MockTransport(answer)).roots()
    assert [request.headers.get("Authorization") for request in asked] == ["Bearer ordsim_a_b", None]


@pytest.mark.parametrize(
    ("sent", "pause"),
    [
        ("1", 1.0),
        ("0.25", 0.25),
        ("60", 5.0),
        ("0", 0.05),
        ("-1", 0.05),
        ("nan", 0.5),
        ("Mon, 1 Jan", 0.5),
        (None, 0.5),
    ],
)
def test_waiting_pauses_as_the_service_asks(pauses: list[float], sent: str | None, pause: float) -> None:
    client, _ = scripted(status("running", sent), status("successful"))
    seen: list[str] = []
    assert client.wait("j", progress=lambda told: seen.append(told["status"]))["status"] == "successful"
    assert seen == ["running", "successful"]
    assert pauses == [pause]


def test_waiting_outlives_a_short_outage_only(pauses: list[float]) -> None:
    gone = httpx2.ConnectError("refused")
    client, _ = scripted(status("running"), gone, gone, status("failed"))
    assert client.wait("j")["status"] == "failed"
    client, asked = scripted(gone)
    with pytest.raises(ServiceUnreachable):
        client.wait("j")
    assert len(asked) == 1
    client, _ = scripted(status("running"), gone)
    with pytest.raises(ServiceUnreachable):
        client.wait("j", outage=0)


class Stream(httpx2.SyncByteStream):
    """Events of a service, after each of which something happens."""

    def __init__(self, *events: tuple[bytes, Callable[[], object]]) -> None:
        self.events = events
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        for text, then in self.events:
            yield text
            then()

    def close(self) -> None:
        self.closed = True


def broken() -> None:
    raise httpx2.ReadError("connection reset")


@pytest.mark.parametrize("end", [lambda: None, broken])
def test_waiting_hears_events_and_polls_when_they_break_off(pauses: list[float], end: Callable[[], object]) -> None:
    events = Stream(
        (b"retry: 1000\n\nid: 3\nevent: progress\ndata: {}\n\n", lambda: None),
        (b": nothing new\n\n", end),
    )
    told = iter([("accepted", "a"), ("running", "b"), ("running", "b"), ("running", "b"), ("successful", "c")])
    asked: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.path)
        if request.url.path == "/v1/jobs/j/events":
            assert int(request.headers["Last-Event-ID"]) > 10**12  # what was is not told again
            return httpx2.Response(200, headers={"Content-Type": "text/event-stream; charset=utf-8"}, stream=events)
        state, tag = next(told)
        if request.headers.get("If-None-Match") == tag:
            return httpx2.Response(304, headers={"ETag": tag, "Retry-After": "1"})
        return httpx2.Response(200, json={"jobID": "j", "status": state}, headers={"ETag": tag})

    client = Client("http://service", transport=httpx2.MockTransport(answer))
    seen: list[str] = []
    assert client.wait("j", progress=lambda status: seen.append(status["status"]))["status"] == "successful"
    # It listened before it asked; one question for the event, one for the word that there was none; then it polled.
    assert asked == ["/v1/jobs/j/events", *["/v1/jobs/j"] * 5]
    assert seen == ["accepted", "running", "successful"]
    assert pauses == [1.0, 1.0]
    assert events.closed


def test_waiting_listens_to_the_real_service(real: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(seconds: float) -> None:
        raise AssertionError("polled although there is a stream")

    monkeypatch.setattr("service.listening.time.sleep", never)
    job = real.submit("lab:large", "lab:larger", [{"measure": "qsi", "method": "sampled", "samples": 2_000_000}])
    assert real.wait(job["jobID"])["status"] == "successful"


def test_waiting_ends_in_time() -> None:
    client, _ = scripted(status("running", "0.05"))
    begin = time.monotonic()
    with pytest.raises(TimeoutError, match="it goes on"):
        client.wait("j", timeout=0.2)
    assert 0.2 <= time.monotonic() - begin < 5


def test_jobs_follow_the_pages_up_to_the_limit() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        first = "cursor" not in request.url.params
        assert request.url.params["status"] == "failed"
        names = ["a", "b"] if first else ["c", "d"]
        following = [{"rel": "next", "href": "/v1/jobs?status=failed&limit=2&cursor=xyz"}] if first else []
        return httpx2.Response(200, json={"jobs": [{"jobID": name} for name in names], "links": following})

    client = Client("http://service", transport=httpx2.MockTransport(answer))
    assert [job["jobID"] for job in client.jobs(status="failed")] == ["a", "b", "c", "d"]
    assert [job["jobID"] for job in client.jobs(limit=3, status="failed")] == ["a", "b", "c"]
    document = client.jobs_document(limit=2, status="failed")
    assert [job["jobID"] for job in document["jobs"]] == ["a", "b"]
    assert [link["rel"] for link in document["links"]] == ["next"]
    assert client.jobs_document(limit=4, status="failed")["links"] == []  # the last page has none


# Against the real service


@pytest.fixture
def real(client: httpx2.Client) -> Iterator[Client]:
    with Client(str(client.base_url), timeout=60) as real:
        yield real


def test_compare_end_to_end(real: Client) -> None:
    seen: list[dict[str, Any]] = []
    begin = time.monotonic()
    times: list[float] = []

    def note(told: dict[str, Any]) -> None:
        seen.append(told)
        times.append(time.monotonic() - begin)

    results = real.compare(
        x="lab:x",
        y={"root": "lab", "path": "y"},
        measures=[EXACT, {"measure": "qsi", "method": "sampled", "samples": 1000}],
        confidence=0.9,
        seed=5,
        progress=note,
    )
    assert seen[0]["status"] == "accepted"
    assert seen[-1]["status"] == "successful"
    assert [told["progress"] for told in seen] == sorted(told["progress"] for told in seen)

    assert len(results) == 2
    assert [result.measure for result in results] == ["tsi", "qsi"]
    exact, sampled = results
    assert results[0] is exact
    assert results.json["results"][0]["score"] == exact.score == exact["score"]
    assert exact.counts["comparisons"] == 8 * 7 * 6 // 2 == exact.counts["population"]
    assert exact.score == exact.counts["agreeing"] / exact.counts["comparisons"]
    assert exact.deficit == (168 - exact.counts["agreeing"]) / 168
    assert sampled.counts["comparisons"] == 1000
    low, high = sampled.interval("hoeffding")
    assert low < sampled.score < high
    assert sampled.interval("of-no-kind") is None
    assert results.scores == [exact.score, sampled.score]
    assert {"code", "detail"} == set(results.warnings[0])

    per_anchor = real.artifact(results.job, exact["artifacts"][0])
    assert isinstance(per_anchor, np.ndarray)
    assert per_anchor.mean() == pytest.approx(exact.score, abs=1e-12)
    np.testing.assert_array_equal(real.artifact(results.job, f"{exact['artifacts'][0]}.npy"), per_anchor)
    submitted = real.submit("lab:x", "lab:y", [EXACT])
    assert real.wait(submitted)["status"] == "successful"
    assert real.results(submitted).job == submitted["jobID"]
    planned = real.plan("lab:x", "lab:y", [EXACT], seed=5)
    assert planned["measures"][0]["comparisons"] == "168"
    assert planned["peakWorkerBytes"] <= planned["workerMemoryBytes"]
    measure = {"measure": "tsi", "method": "units", "units": 64, "targets": 4}
    body = {"process": "matrix", "arrays": [reference("lab:x"), reference("lab:y")], "measure": measure}
    assert real.plan_request(body)["measures"][0]["method"] == "units"

    assert results.job in [job["jobID"] for job in real.jobs(limit=200, status="successful")]
    assert real.jobs(limit=1)[0]["created"] >= real.status(results.job)["created"]


def test_a_failed_job_raises_its_own_problem(real: Client) -> None:
    with pytest.raises(ServiceError) as caught:
        real.compare("lab:nan", "lab:y", [EXACT])
    assert (caught.value.slug, caught.value.origin) == ("non-finite-input", "data")
    assert "row 3" in caught.value.detail


def test_a_refused_request_says_where(real: Client) -> None:
    with pytest.raises(ServiceError) as caught:
        real.compare("lab:x", "lab:missing", [EXACT])
    assert (caught.value.slug, caught.value.status) == ("unknown-array", 422)
    assert caught.value.errors[0]["pointer"].startswith("/y")


def test_what_the_service_offers(real: Client) -> None:
    assert real.ready()
    assert "lab" in [root["name"] for root in real.roots()]
    assert {"x", "y"} <= {array["path"] for array in real.arrays("lab")}
    assert [array["path"] for array in real.arrays("lab", prefix="group")] == ["group/inner"]
    assert "compare" in [process["id"] for process in real.processes()]
    assert real.process("compare")["id"] == "compare"
    with pytest.raises(ServiceError, match="unknown-root"):
        real.arrays("elsewhere")


def test_cancel(real: Client) -> None:
    job = real.submit("lab:large", "lab:larger", [{"measure": "qsi", "method": "sampled", "samples": 500_000_000}])[
        "jobID"
    ]
    assert real.cancel(job)["jobID"] == job
    assert real.wait(job, timeout=60)["status"] == "dismissed"
    with pytest.raises(ServiceError, match="gone") as caught:
        real.results(job)
    assert caught.value.status == 410
    done = real.compare("lab:x", "lab:y", [EXACT]).job
    with pytest.raises(ServiceError, match="job-final"):
        real.cancel(done)
