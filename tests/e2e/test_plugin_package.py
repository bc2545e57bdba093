"""The example of a measure of one's own, built and installed as its users do: listed, and counted by the workers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import numpy as np
import zarr
from service_process import TEXT

if TYPE_CHECKING:
    from collections.abc import Callable

    from service_process import ServiceProcess

EXAMPLE = Path(__file__).parents[2] / "deploy" / "examples" / "same-nearest"
BROKEN = {
    "METADATA": "Metadata-Version: 2.1\nName: broken\nVersion: 0.1\n",
    "entry_points.txt": "[ordsim.measures]\nbroken = broken:Broken\n",
}


def install(target: Path) -> None:
    """Build the example and install it, and beside it a package that cannot be imported."""
    copy = target.parent / "source"
    copy.mkdir()
    for file in EXAMPLE.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"),
            *("--disable-pip-version-check", "--target", target, copy),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (target / "broken.py").write_text("raise RuntimeError('not today')\n")
    (target / "broken-0.1.dist-info").mkdir()
    for name, text in BROKEN.items():
        (target / "broken-0.1.dist-info" / name).write_text(text)


def nearest(values: Any) -> Any:
    values = np.asarray(values, np.float64)
    squares = (values**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * values @ values.T
    np.fill_diagonal(distances, np.inf)
    return distances.argmin(axis=1)


def test_a_measure_of_another_package(start_service: Callable[..., ServiceProcess], tmp_path: Path, lab: Path) -> None:
    assert len((EXAMPLE / "ordsim_same_nearest.py").read_text().splitlines()) <= 60
    install(tmp_path / "installed")
    service = start_service(workers="2", shard_seconds="0.05")
    service.environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(tmp_path / "installed"), os.environ.get("PYTHONPATH")])
    )
    rows = {"start": 0, "stop": 500}
    with service.start() as client:
        process = httpx2.get(f"{service.url}/v1/processes/compare").json()
        assert [(one["distribution"], one["measures"]) for one in process["plugins"]] == [
            ("broken", []),
            ("ordsim-same-nearest", ["same_nearest exact"]),
        ]
        assert "not today" in process["plugins"][0]["refused"]
        assert ("same_nearest", "exact") in [(one["measure"], one["method"]) for one in process["measures"]]
        results = client.compare(
            **TEXT, rows=rows, measures=[{"measure": "same_nearest"}, {"measure": "tsi", "method": "exact"}]
        )
    x, y = (np.asarray(zarr.open_array(lab / name.partition(":")[2], mode="r")[:500]) for name in TEXT.values())
    same = int((nearest(x) == nearest(y)).sum())
    assert results[0].counts["agreeing"] == same
    assert results[0].counts["comparisons"] == 500
    assert 0 < same < 500
    assert results[0].score == same / 500
    assert results[1].score is not None
    assert results.json["provenance"]["plan"][0]["shards"] == 8
    assert results.json["provenance"]["versions"]["ordsim-same-nearest"] == "1.0.0"
