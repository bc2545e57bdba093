"""The main job on real embeddings: the integers are those of the reference, whatever the cluster looks like."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from reference_counts import EXACT, REFERENCE, check_counts
from service_process import TEXT, ServiceProcess, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from service.client import Client


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, lab: Any) -> Iterator[Client]:
    service = ServiceProcess(tmp_path_factory.mktemp("shared") / "state", lab, workers="2")
    with service.start() as client:
        yield client
    assert service.stop() == 0


@pytest.mark.parametrize("pair", [name for name in REFERENCE if name != "text_L6_f32 ~ text_L6_f32"])
def test_exact_counts_are_the_references(client: Client, pair: str) -> None:
    x, y = pair.split(" ~ ")
    rows = {"start": 0, "stop": REFERENCE[pair]["n"]}
    results = client.compare(
        x={"root": "lab", "path": x, "rows": rows},
        y={"root": "lab", "path": y, "rows": rows},
        measures=[EXACT],
    )
    (result,) = results.json["results"]
    check_counts(result["counts"], pair)
    agreeing, population = REFERENCE[pair]["tsi_counts_cdist64"]
    assert result["score"] == agreeing / population
    assert result["deficit"] == (population - agreeing) / population


def test_a_bitwise_copy_scores_one_with_no_deficit(client: Client) -> None:
    results = client.compare(
        x="lab:text_L6_f32",
        y="lab:text_L6_f32",
        measures=[EXACT, {"measure": "qsi", "method": "sampled", "samples": 100_000}],
    )
    for result in results.json["results"]:
        assert (result["score"], result["deficit"], result["counts"]["discordant"]) == (1.0, 0.0, "0")


def test_the_per_anchor_artifact_averages_to_the_score(client: Client) -> None:
    job = client.submit(**TEXT, measures=[{**EXACT, "per_anchor": True}])["jobID"]
    client.wait(job)
    result = client.results(job).json["results"][0]
    per_anchor = client.artifact(job, result["artifacts"][0])
    assert per_anchor.shape == (2000,)
    assert per_anchor.mean() == pytest.approx(result["score"], abs=1e-12)
    assert per_anchor.std() > 0.01


def test_sampled_scores_lie_within_their_bounds(client: Client) -> None:
    results = client.compare(
        **TEXT,
        measures=[
            {"measure": "tsi", "method": "sampled", "epsilon": 0.002, "delta": 1e-9},
            {"measure": "qsi", "method": "sampled", "epsilon": 0.002, "delta": 1e-9},
        ],
    )
    for result, exact in zip(results.json["results"], ("tsi_counts_cdist64", "qsi_counts_cdist64"), strict=True):
        agreeing, population = REFERENCE["text_L6_f32 ~ text_L3_f16"][exact]
        hoeffding, sampling = result["intervals"]["hoeffding"], result["intervals"]["sampling"]
        assert hoeffding["low"] <= sampling["low"] <= agreeing / population <= sampling["high"] <= hoeffding["high"]
        assert hoeffding["high"] - hoeffding["low"] == pytest.approx(0.004, rel=0.01)
        assert hoeffding["confidence"] == pytest.approx(1 - 1e-9)


def test_progress_shows_within_a_second_and_never_goes_back(client: Client) -> None:
    submitted = time.monotonic()
    job = client.submit(**TEXT, measures=[EXACT, {"measure": "tsi", "method": "sampled", "samples": 1_000_000}])
    seen = [client.status(job["jobID"])]
    wait_until(
        lambda: bool(seen.append(client.status(job["jobID"])) or seen[-1]["ordsim"]["comparisonsDone"]), 30, "progress"
    )
    assert time.monotonic() - submitted < 10  # generous on a busy machine; an idle one shows it within a second
    wait_until(
        lambda: bool(seen.append(client.status(job["jobID"])) or seen[-1]["status"] == "successful"), 120, "the end"
    )
    progress = [status["progress"] for status in seen]
    done = [status["ordsim"]["comparisonsDone"] for status in seen]
    assert progress == sorted(progress)
    assert progress[-1] == 100
    assert max(share for status, share in zip(seen, progress, strict=True) if status["status"] != "successful") < 100
    assert done == sorted(done)
    assert len(set(done)) > 3


@pytest.mark.parametrize(("workers", "shard_seconds"), [("1", "0.05"), ("2", "0.1"), ("3", "0.02")])
def test_the_cluster_does_not_change_the_counts(
    start_service: Callable[..., ServiceProcess], workers: str, shard_seconds: str
) -> None:
    service = start_service(workers=workers, shard_seconds=shard_seconds)
    with service.start() as client:
        assert len(service.workers()) == int(workers)
        job = client.submit(**TEXT, measures=[EXACT])["jobID"]
        client.wait(job)
        check_counts(client.results(job).json["results"][0]["counts"], "text_L6_f32 ~ text_L3_f16")
        assert client.status(job)["ordsim"]["shardsTotal"] >= 2
