"""Plans: what a job would cost, and what is refused because it costs too much memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ordsim_core.counts import quadruplet_population, triplet_population
from service import checks, planning
from service.planning import Workplace
from service.schemas import JobRequest
from tests.service.conftest import EXACT, SAMPLED, check_problem, compare, request
from workers import costs
from workers.errors import ProblemError
from workers.measures import registry
from workers.measures.protocol import Budget, PairShape
from workers.references import Root

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2

GIBIBYTE = 2**30


def plan(client: httpx2.Client, body: dict[str, Any]) -> dict[str, Any]:
    response = client.post("/v1/plans", json=body)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def test_a_plan_has_the_figures_of_the_contract(client: httpx2.Client) -> None:
    found = plan(client, request("large", "larger", [EXACT, SAMPLED]))
    assert {"seconds", "peakWorkerBytes", "stageBytes", "measures"} <= found.keys()
    exact, sampled = found["measures"]
    for measure in (exact, sampled):
        assert {"measure", "method", "shards", "comparisons", "bytesToRead", "peakWorkerBytes", "seconds"} <= set(
            measure
        )
        assert measure["bytesToRead"] == found["stageBytes"] == 2 * 600 * 8 * 4
        assert measure["atMost"] is False
    assert (exact["measure"], exact["method"], sampled["measure"]) == ("tsi", "exact", "qsi")
    assert exact["comparisons"] == str(triplet_population(600))
    assert sampled["comparisons"] == "2000"
    assert found["peakWorkerBytes"] == max(exact["peakWorkerBytes"], sampled["peakWorkerBytes"])
    assert 0 < found["peakWorkerBytes"] < found["workerMemoryBytes"]
    assert exact["seconds"] + sampled["seconds"] < found["seconds"] < 60
    assert found["workers"] == 2


def test_a_plan_tells_the_shards_that_the_job_has(client: httpx2.Client) -> None:
    body = request("large", "larger", [EXACT, SAMPLED])
    planned = [measure["shards"] for measure in plan(client, body)["measures"]]
    assert planned[0] > 1
    assert planned == [entry["shards"] for entry in compare(client, body)["provenance"]["plan"]]


def test_a_plan_stores_and_computes_nothing(client: httpx2.Client) -> None:
    before = client.get("/v1/jobs").json()["jobs"][:1]
    # Its values are not finite: nobody looks at them.
    assert plan(client, request("nan"))["measures"][0]["comparisons"] == str(triplet_population(8))
    assert client.get("/v1/jobs").json()["jobs"][:1] == before


def test_what_is_read_and_what_is_staged(client: httpx2.Client) -> None:
    half = plan(client, request("half", "x"))
    assert half["measures"][0]["bytesToRead"] == 8 * 4 * (2 + 4)
    assert half["stageBytes"] == 8 * 4 * (4 + 4)
    once = plan(client, request("x", "x"))
    assert once["stageBytes"] == 8 * 4 * 4
    square = request("distances/both-ways", "x", rows={"start": 2, "stop": 7})
    square["x"]["distance"] = "precomputed"
    assert plan(client, square)["stageBytes"] == 5 * 5 * 4 + 5 * 4 * 4


def test_a_plan_is_refused_as_the_job_would_be(client: httpx2.Client) -> None:
    for body, slug, pointer in (
        (request("nowhere"), "unknown-array", "/x/path"),
        (request("two"), "row-count-mismatch", "/y"),
        (request(measures=[{"measure": "tsj"}]), "invalid-request", "/measures/0/measure"),
    ):
        problem = check_problem(client.post("/v1/plans", json=body), 422, slug)
        assert [error["pointer"] for error in problem["errors"]] == [pointer]


def checked(lab: Path, body: dict[str, Any], place: Workplace) -> tuple[JobRequest, checks.Checked]:
    asked = JobRequest.model_validate(body)
    return asked, checks.check(asked, {"lab": Root("lab", str(lab))}, place)


def test_more_workers_are_faster_and_none_give_worker_seconds(lab: Path) -> None:
    body = request("large", "larger", [EXACT, {**SAMPLED, "samples": 10**8}])
    found = []
    for threads in (0, 1, 2, 8):
        place = Workplace(0.02, GIBIBYTE, threads)
        asked, known = checked(lab, body, place)
        found.append(planning.plan(asked, known.shape, known.arrays, place))
    seconds = [one["seconds"] for one in found]
    assert seconds[0] == seconds[1] > seconds[2] > seconds[3]
    assert [one["workers"] for one in found] == [0, 1, 2, 8]
    worker_seconds = costs.quadruplet_seconds(known.shape) * 10**8
    assert found[0]["measures"][1]["seconds"] == pytest.approx(worker_seconds, abs=1e-3)
    assert found[3]["measures"][1]["seconds"] == pytest.approx(worker_seconds / 8, rel=0.1)


def test_a_measure_that_does_not_fit_into_a_worker_is_refused(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Workplace(0.5, GIBIBYTE, 2)
    body = request(measures=[EXACT, SAMPLED])
    shape = checked(lab, body, place)[1].shape
    room = GIBIBYTE - costs.PROCESS_BYTES - costs.pair_bytes(shape)
    for position, measure in ((1, registry.find("qsi", "sampled")), (0, registry.find("tsi", "exact"))):
        monkeypatch.setattr(measure, "memory", lambda *_: room)
        checked(lab, body, place)
        monkeypatch.setattr(measure, "memory", lambda *_: room + 1)
        with pytest.raises(ProblemError) as caught:
            checked(lab, body, place)
        problem = caught.value
        assert (problem.slug, problem.origin) == ("over-memory-budget", "request")
        assert problem.pointer == f"/measures/{position}"
        for words in (
            f"{measure.measure} ({measure.method})",
            "needs 1.0 GiB",
            "may use 1.0 GiB",
            "fewer rows",
            "ORDSIM_",
        ):
            assert words in problem.detail
        monkeypatch.undo()


def test_what_streams_needs_no_room_for_the_arrays() -> None:
    measure = registry.find("cka", "linear")
    options = measure.options(measure="cka", method="linear")
    shape = PairShape(1_280_000, 512, 512)
    assert costs.pair_bytes(shape) > 5 * GIBIBYTE
    assert planning.worker_bytes(shape, measure, options, Workplace(0.5, 2 * GIBIBYTE, 2)) < 2 * GIBIBYTE


def test_a_submission_that_needs_too_much_is_refused(client: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry.find("qsi", "sampled"), "memory", lambda *_: 2**60)
    before = client.get("/v1/jobs").json()["jobs"][:1]
    for path in ("/v1/jobs", "/v1/plans"):
        problem = check_problem(client.post(path, json=request(measures=[EXACT, SAMPLED])), 422, "over-memory-budget")
        assert [error["pointer"] for error in problem["errors"]] == ["/measures/1"]
    assert client.get("/v1/jobs").json()["jobs"][:1] == before


def test_a_shard_is_given_what_arrays_and_process_leave() -> None:
    shape = PairShape(1000, 10, 20)
    taken = costs.PROCESS_BYTES + costs.pair_bytes(shape)
    assert Workplace(0.5, taken + 7).budget(shape) == Budget(0.5, 7)
    assert Workplace(0.5, taken - 7).budget(shape) == Budget(0.5, 0)


@pytest.mark.parametrize("wrong", [{"seconds": 0, "memory_bytes": 1}, {"seconds": 1, "memory_bytes": -1}])
def test_impossible_budgets_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        Budget(**wrong)


def test_comparisons_beyond_53_bits_are_written_in_full(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, known = checked(lab, request(measures=[EXACT]), Workplace(0.5, GIBIBYTE))
    rows = 2**21
    shape = PairShape(rows, 4, 5)
    found = planning.plan(asked, shape, known.arrays, Workplace(0.5, 2**50))
    assert int(found["measures"][0]["comparisons"]) == triplet_population(rows) > 2**53
    assert quadruplet_population(rows) > 2**64  # what another measure would write
