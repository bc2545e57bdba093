"""A service starts where nothing of its user can be written, and where what it compiled was cut short."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from reference_counts import check_counts
from test_kills import SHARDS, finished_shards, submit_and_wait_for_shards

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from service_process import ServiceProcess

COMPILING_SECONDS = 900
"""All kernels are compiled, at each start: a minute or two, unless others use the processors."""

PLACES = ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2400)]


def test_no_place_to_write_and_then_a_damaged_cache(
    start_service: Callable[..., ServiceProcess], tmp_path: Path
) -> None:
    in_the_way = tmp_path / "file"  # root is stopped by no permission, but by a file where a directory should be
    in_the_way.write_text("no directory")
    service = start_service(**SHARDS)
    service.environment.pop("NUMBA_CACHE_DIR", None)
    service.environment |= {variable: str(in_the_way / variable) for variable in PLACES}
    with service.start(COMPILING_SECONDS) as client:
        job = submit_and_wait_for_shards(client, 3)
        service.kill()
    before = finished_shards(service.state, job)

    # Of the cache that is used then, in the state directory: what a power cut or a full disk leaves of an index.
    indices = list((service.state / "numba").glob("*/*.nbi"))
    assert len(indices) > 20
    for index in indices:
        index.write_bytes(index.read_bytes()[:20])
    with service.start(COMPILING_SECONDS) as client:
        assert client.wait(job)["status"] == "successful", client.status(job)["message"]
        check_counts(client.results(job).json["results"][0]["counts"], "text_L6_f32 ~ text_L3_f16")
        assert client.status(job)["ordsim"]["attempt"] == 2
    after = finished_shards(service.state, job)
    assert {shard: after[shard] for shard in before} == before
