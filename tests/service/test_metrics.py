"""What Prometheus is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.parser import text_string_to_metric_families

from service.metrics import Metrics
from service.states import JobStatus
from tests.service.conftest import EXACT, SAMPLED, compare, request

if TYPE_CHECKING:
    import httpx2

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(client: httpx2.Client) -> Samples:
    response = client.get("/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


def value(found: Samples, name: str, **labels: str) -> float:
    return found.get((name, frozenset(labels.items())), 0.0)


def test_work_and_requests_are_counted(client: httpx2.Client) -> None:
    before = samples(client)
    results = compare(client, request("large", "larger", [EXACT, SAMPLED], reuse=False))
    client.get("/v1/jobs/nobody")
    client.head("/v1/jobs/nobody")
    after = samples(client)

    def grown(name: str, **labels: str) -> float:
        return value(after, name, **labels) - value(before, name, **labels)

    exact, sampled = "tsi exact", "qsi sampled"
    plan = {entry["measure"]: entry["shards"] for entry in results["provenance"]["plan"]}
    assert grown("ordsim_shards_total", measure=exact) == plan["tsi"]
    assert grown("ordsim_comparisons_total", measure=exact) == 600 * 599 * 598 // 2
    assert grown("ordsim_comparisons_total", measure=sampled) == 2000
    for phase in ("prepare", "count"):
        assert grown("ordsim_shard_seconds_count", phase=phase, measure=exact) == plan["tsi"]
    assert grown("ordsim_shard_seconds_sum", phase="count", measure=exact) > 0
    assert grown("ordsim_shard_seconds_count", phase="stage", measure="") == 1
    assert grown("ordsim_jobs", status="successful", process="compare") == 1

    job = "/v1/jobs/{jobID}"
    assert grown("ordsim_http_requests_total", method="GET", route=job, status="404") == 1
    assert grown("ordsim_http_requests_total", method="HEAD", route=job, status="404") == 1
    assert grown("ordsim_http_requests_total", method="POST", route="/v1/jobs", status="202") == 1
    assert grown("ordsim_http_request_seconds_count", method="GET", route=job) >= 2
    assert value(after, "ordsim_workers") == value(after, "ordsim_threads") == 2
    assert value(after, "ordsim_staging_bytes") > 600 * 8 * 4
    assert value(after, "ordsim_queue_length") == 0
    (build,) = [dict(labels) for name, labels in after if name == "ordsim_build_info"]
    assert {"version", "python", "numpy", "scipy", "numba", "zarr", "dask", "distributed"} == build.keys()


def test_listeners_are_counted_while_they_listen(client: httpx2.Client) -> None:
    job = client.post("/v1/jobs", json=request("large", "larger", [{**SAMPLED, "samples": 10**9}])).json()["jobID"]
    before = value(samples(client), "ordsim_event_listeners")
    with client.stream("GET", f"/v1/jobs/{job}/events") as stream:
        lines = stream.iter_lines()  # kept: the stream is closed with it
        assert any(line == "event: accepted" for line in lines)
        assert value(samples(client), "ordsim_event_listeners") == before + 1
    client.delete(f"/v1/jobs/{job}")


def test_labels_do_not_grow_with_what_clients_send(client: httpx2.Client) -> None:
    def requested() -> set[tuple[str, frozenset[tuple[str, str]]]]:
        return {key for key in samples(client) if key[0].startswith("ordsim_http")}

    def ask(number: int) -> None:
        client.request(f"METHOD{number}", "/livez")
        client.get(f"/nonsense/{number}")
        client.get(f"/v1/jobs/job{number}")
        client.get(f"/v1/roots/root{number}/arrays")
        client.get(f"/problems/{number}")

    ask(0)
    before = requested()
    for number in range(1, 20):
        ask(number)
    assert requested() == before
    assert not any("nonsense" in label or "METHOD" in label for _, labels in before for _, label in labels)


def test_every_status_has_a_figure(client: httpx2.Client) -> None:
    found = samples(client)
    for status in JobStatus:
        for process in ("compare", "layers", "matrix"):
            assert ("ordsim_jobs", frozenset({("status", status.value), ("process", process)})) in found


def test_two_services_of_one_process_count_apart() -> None:
    one, other = Metrics(), Metrics()
    one.request("GET", "/livez", 200, 0.1)
    labels = {"method": "GET", "route": "/livez", "status": "200"}
    assert one.registry.get_sample_value("ordsim_http_requests_total", labels) == 1
    assert other.registry.get_sample_value("ordsim_http_requests_total", labels) is None
