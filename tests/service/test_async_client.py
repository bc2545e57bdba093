"""The client on an event loop: it is the other client, awaited."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

import httpx2
import numpy as np
import pytest

from service import offered, talks
from service.client import AsyncClient, Client, ServiceError, ServiceUnreachable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

EXACT = {"measure": "tsi", "method": "exact", "per_anchor": True}


def methods(of: type) -> dict[str, Callable[..., Any]]:
    return {
        name: member
        for name, member in vars(of).items()
        if inspect.isfunction(member) and not name.startswith("_") and name != "close"
    }


def scripted(*answers: httpx2.Response | Exception) -> tuple[AsyncClient, list[httpx2.Request]]:
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        found = answers[min(len(asked), len(answers)) - 1]
        if isinstance(found, Exception):
            raise found
        return found

    return AsyncClient("http://service", transport=httpx2.MockTransport(answer)), asked


def status(state: str, tag: str | None = None) -> httpx2.Response:
    headers = {"Retry-After": "0"} | ({} if tag is None else {"ETag": tag})
    return httpx2.Response(200, json={"jobID": "j", "status": state}, headers=headers)


@pytest.fixture
async def real(url: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(url, timeout=60) as real:
        yield real


def test_both_clients_have_the_same_methods_with_their_documentation() -> None:
    blocking, awaited = methods(Client), methods(AsyncClient)
    assert list(blocking) == list(awaited)
    assert len(blocking) > 20
    for name, method in blocking.items():
        talk = getattr(talks, name, None) or getattr(offered, name)
        assert method.__doc__ == awaited[name].__doc__ == talk.__doc__
        for one in (method, awaited[name]):
            assert list(inspect.signature(one).parameters) == ["self", *inspect.signature(talk).parameters]
        assert inspect.iscoroutinefunction(awaited[name])
        assert not inspect.iscoroutinefunction(method)
    own = inspect.signature(Client("http://service").compare)
    assert list(own.parameters) == ["x", "y", "measures", "progress", "options"]


async def test_a_comparison_from_request_to_artifact(real: AsyncClient) -> None:
    seen: list[str] = []

    async def note(told: dict[str, Any]) -> None:
        seen.append(told["status"])

    results = await real.compare("lab:x", "lab:y", [EXACT], progress=note)
    assert (seen[0], seen[-1]) == ("accepted", "successful")
    assert (await real.results(results.job)).json == results.json
    per_anchor = await real.artifact(results.job, "0-per_anchor")
    assert per_anchor.mean() == pytest.approx(results[0].score, abs=1e-12)
    assert await real.ready()
    assert "lab" in [root["name"] for root in await real.roots()]
    assert [job["jobID"] for job in await real.jobs(prefix=results.job)] == [results.job]
    with pytest.raises(ServiceError, match="job-final"):
        await real.cancel(results.job)


async def test_layers_and_matrices(real: AsyncClient) -> None:
    measure = {"measure": "tsi", "method": "units", "units": 32, "targets": 4}
    layers, matrix = await asyncio.gather(
        real.layers(["lab:x", "lab:float"], ["lab:y"], measure), real.matrix(["lab:x", "lab:y"], measure)
    )
    assert layers.scores.shape == (2, 1)
    assert matrix.labels == ["lab:x", "lab:y"]
    np.testing.assert_array_equal(matrix.scores, matrix.scores.T)


async def test_a_failed_job_raises_its_own_problem(real: AsyncClient) -> None:
    with pytest.raises(ServiceError) as caught:
        await real.compare("lab:nan", "lab:y", [EXACT])
    assert (caught.value.slug, caught.value.origin) == ("non-finite-input", "data")


async def test_waiting_asks_only_for_what_has_changed() -> None:
    unchanged = httpx2.Response(304, headers={"ETag": '"1"', "Retry-After": "0"})
    client, asked = scripted(status("running", '"1"'), unchanged, status("successful", '"2"'))
    seen: list[str] = []
    assert (await client.wait("j", progress=lambda told: seen.append(told["status"])))["status"] == "successful"
    assert seen == ["running", "successful"]
    assert [request.headers.get("If-None-Match") for request in asked] == [None, '"1"', '"1"']


async def test_waiting_outlives_a_short_outage_and_ends_in_time() -> None:
    gone = httpx2.ConnectError("Connection refused")
    client, _ = scripted(status("running"), gone, status("failed"))
    assert (await client.wait("j"))["status"] == "failed"
    client, asked = scripted(gone)
    with pytest.raises(ServiceUnreachable, match="nothing listens there"):
        await client.wait("j")
    assert len(asked) == 1
    client, _ = scripted(status("running"))
    with pytest.raises(TimeoutError, match="it goes on"):
        await client.wait("j", timeout=0.1)


async def test_a_lost_answer_is_asked_for_once_more_with_the_same_key() -> None:
    client, asked = scripted(httpx2.RemoteProtocolError("gone"), httpx2.Response(202, json={"jobID": "j"}))
    assert (await client.submit("lab:x", "lab:y", [EXACT]))["jobID"] == "j"
    first, second = (request.headers["Idempotency-Key"] for request in asked)
    assert first == second


async def test_what_a_progress_raises_reaches_the_caller() -> None:
    client, _ = scripted(status("running"))

    def stop(told: dict[str, Any]) -> None:
        raise StopIteration(told)

    with pytest.raises(RuntimeError, match="StopIteration"):
        await client.wait("j", progress=stop)
    with pytest.raises(ServiceUnreachable):
        await AsyncClient("ftp://service").roots()


async def test_the_loop_is_free_while_a_job_is_waited_for() -> None:
    client, _ = scripted(status("running"))
    waiting = asyncio.create_task(client.wait("j"))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await client.close()
