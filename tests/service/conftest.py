"""The real application on its embedded cluster, and small arrays to compare."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx2
import numpy as np
import pytest
import uvicorn
import zarr

from service.app import create_app
from service.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

EXACT = {"measure": "tsi", "method": "exact"}
SAMPLED = {"measure": "qsi", "method": "sampled", "samples": 2000}


def store_array(directory: Path, path: str, values: np.ndarray, **options: Any) -> None:
    """Write an array with every chunk stored."""
    array = zarr.create_array(
        directory / path,
        shape=values.shape,
        dtype=values.dtype,
        chunks=options.pop("chunks", tuple(max(1, length) for length in values.shape)),
        config={"write_empty_chunks": True},
        **options,
    )
    array[...] = values


def make_lab(directory: Path) -> None:
    """Arrays of 8 rows, and what is wrong with an array one at a time."""
    generator = np.random.default_rng(7)
    x = generator.integers(-20, 20, (8, 4)).astype("f4")
    y = generator.integers(-20, 20, (8, 5)).astype("f4")
    store_array(directory, "x", x, chunks=(4, 4))
    store_array(directory, "y", y)
    store_array(directory, "float", generator.standard_normal((8, 4)))
    store_array(directory, "group/inner", y)
    store_array(directory, "ids/a", np.arange(8))
    store_array(directory, "ids/b", np.arange(8)[::-1].copy())
    store_array(directory, "ids/short", np.arange(7))
    store_array(directory, "seven", y[:7])
    store_array(directory, "transposed", y.T.copy())
    store_array(directory, "two", x[:2])
    store_array(directory, "three", x[:3])
    store_array(directory, "none", x[:0], chunks=(1, 4))
    store_array(directory, "featureless", x[:, :0], chunks=(8, 1))
    store_array(directory, "line", x[:, 0].copy())
    store_array(directory, "cube", generator.standard_normal((8, 2, 2)))
    store_array(directory, "complex", x.astype("c8"))
    nan, zero, twins = x.copy(), x.copy(), x.copy()
    nan[3, 2], zero[4], twins[:, 1] = np.nan, 0, 1
    twins[4:] = twins[0]
    store_array(directory, "nan", nan)
    store_array(directory, "zero", zero)
    store_array(directory, "twins", twins)
    store_array(directory, "holes", x, chunks=(4, 4))
    (directory / "holes" / "c" / "1" / "0").unlink()
    between = np.abs(x[:, None] - x[None]).sum(axis=2).astype("f4")
    one_way = between.copy()
    one_way[2, 5] += 1
    store_array(directory, "distances/both-ways", between, chunks=(3, 5))
    store_array(directory, "distances/one-way", one_way)
    store_array(directory, "labels/numbers", np.array([5, 5, 9, 9, 2, 2, 2, 5]))
    words = np.array([b"cat", b"cat", b"dog", b"dog", b"a", b"a", b"a", b"cat"])
    store_array(directory, "labels/words", words, zarr_format=2)
    store_array(directory, "labels/short", np.array([1, 2]))
    store_array(directory, "labels/floats", np.linspace(0, 1, 8))
    store_array(directory, "labels/table", np.zeros((8, 2), "i8"))
    store_array(directory, "half", x.astype("f2"))
    large = generator.standard_normal((600, 8)).astype("f4")
    store_array(directory, "large", large)
    store_array(directory, "larger", large + generator.standard_normal((600, 8)).astype("f4") / 4)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the data root ``lab``."""
    directory = tmp_path_factory.mktemp("lab")
    make_lab(directory)
    return directory


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory, lab: Path) -> Settings:
    """Settings of the session's service."""
    state = tmp_path_factory.mktemp("state")
    return Settings(
        state_dir=state, roots={"lab": str(lab)}, workers=2, shard_seconds=0.004, max_running=2, turn_seconds=3600
    )


@contextmanager
def serve(settings: Settings) -> Iterator[httpx2.Client]:
    """Run the application under the real server, in a thread, and wait until it is ready for work."""
    config = uvicorn.Config(create_app(settings), port=0, log_config=None, lifespan="on", timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive(), 60, "the server to start")
        port = server.servers[0].sockets[0].getsockname()[1]
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            wait_until(lambda: client.get("/readyz").status_code == 200, 300, "the service to be ready")
            yield client
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


@pytest.fixture(scope="session")
def client(settings: Settings) -> Iterator[httpx2.Client]:
    """A client of the session's service."""
    with serve(settings) as client:
        yield client


@pytest.fixture
def read(lab: Any) -> Callable[[str], np.ndarray]:
    """Read an array of the lab."""
    return lambda name: np.asarray(zarr.open_array(lab / name, mode="r")[...])


def wait_until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Look until a condition holds; fail, saying what was waited for, when it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"waited {seconds} s in vain for {what}")
        time.sleep(0.02)


def request(x: str = "x", y: str = "y", measures: Any = (EXACT,), **fields: Any) -> dict[str, Any]:
    """A body for POST /v1/jobs."""
    return {
        "process": "compare",
        "x": {"root": "lab", "path": x},
        "y": {"root": "lab", "path": y},
        "measures": list(measures),
        **fields,
    }


def submit(client: httpx2.Client, body: dict[str, Any]) -> str:
    """Submit a job that must be accepted, and return its name."""
    response = client.post("/v1/jobs", json=body)
    assert response.status_code == 202, response.text
    return str(response.json()["jobID"])


def finish(client: httpx2.Client, body: dict[str, Any]) -> dict[str, Any]:
    """Submit a job and return its final status."""
    job = submit(client, body)
    wait_until(
        lambda: client.get(f"/v1/jobs/{job}").json()["status"] in ("successful", "failed", "dismissed"),
        60,
        "the job to end",
    )
    status: dict[str, Any] = client.get(f"/v1/jobs/{job}").json()
    return status


def compare(client: httpx2.Client, body: dict[str, Any]) -> dict[str, Any]:
    """Submit a job that must succeed, and return its results."""
    status = finish(client, body)
    assert status["status"] == "successful", status["message"]
    results: dict[str, Any] = client.get(f"/v1/jobs/{status['jobID']}/results").json()
    return results


def check_problem(response: Any, status: int, slug: str) -> dict[str, Any]:
    """See that a response is a complete problem document, and return it."""
    assert response.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = response.json()
    assert (response.status_code, problem["type"]) == (status, f"/problems/{slug}"), problem
    assert problem["status"] == status
    assert problem["requestID"] == response.headers["x-request-id"]
    assert problem["origin"] in ("request", "data", "system")
    for member in ("title", "detail", "instance"):
        assert problem[member], member
    for error in problem["errors"]:
        assert error["detail"]
        assert error["pointer"] == "" or error["pointer"].startswith("/")
    return problem
