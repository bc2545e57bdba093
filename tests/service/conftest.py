"""The real application on its embedded cluster, and small arrays to compare."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import httpx2
import numpy as np
import pytest
import uvicorn
import zarr

from service.app import create_app
from service.keys import UNLIMITED, Limits, Scope
from service.settings import Settings
from tests.service import commands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from service.store import JobStore

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
    make_incomplete(directory, x, y)
    large = generator.standard_normal((600, 8)).astype("f4")
    store_array(directory, "large", large)
    store_array(directory, "larger", large + generator.standard_normal((600, 8)).astype("f4") / 4)


def make_incomplete(directory: Path, x: np.ndarray, y: np.ndarray) -> None:
    """Arrays whose rows are not in order, or not whole: `some` has six of the rows of y, in another order."""
    order = np.array([6, 2, 7, 0, 3, 5])
    store_array(directory, "some", y[order], chunks=(4, 2))
    store_array(directory, "ids/some", order)
    words = np.array(["a", "b", "c", "d", "e", "f", "g", "h"])
    for name, rows in (("words", np.arange(8)), ("some-words", order)):
        store_array(directory, f"ids/{name}", np.char.encode(words[rows]), zarr_format=2)
    store_array(directory, "ids/twice", np.array([0, 1, 2, 3, 4, 1, 6, 7]))
    store_array(directory, "chosen", np.array([7, 0, 3, 4, 2]))
    inf = y.copy()
    inf[6, 0] = np.inf
    store_array(directory, "inf", inf, chunks=(3, 2))


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
    with run(create_app(settings)) as (address,), httpx2.Client(base_url=address, timeout=60) as client:
        wait_until(lambda: client.get("/readyz").status_code == 200, 300, "the service to be ready")
        yield client


@contextmanager
def run(application: Any, ports: int = 1) -> Iterator[list[str]]:
    """Run an application under the real server, in a thread, and give its addresses."""
    config = uvicorn.Config(application, log_config=None, lifespan="on", timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(ports)]
    thread = threading.Thread(target=server.run, args=(sockets,))
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive(), 60, "the server to start")
        yield [f"http://127.0.0.1:{listener.getsockname()[1]}" for listener in sockets]
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


class Doors:
    """One service behind two addresses: the first is open, the second asks for API keys."""

    def __init__(self, settings: Settings) -> None:
        self.keyed_settings = settings.model_copy(update={"keys": "on"})
        self.open, self.keyed = create_app(settings), create_app(self.keyed_settings)
        self.addresses: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and self.addresses[1].endswith(f":{scope['server'][1]}"):
            await self.keyed(scope, receive, send)
        else:
            await self.open(scope, receive, send)

    @property
    def store(self) -> JobStore:
        """The job store of both."""
        store: JobStore = self.open.state.services.store
        return store


@pytest.fixture(scope="session")
def doors(settings: Settings) -> Iterator[Doors]:
    """The session's service, ready for work."""
    doors = Doors(settings)
    with run(doors, 2) as doors.addresses:
        doors.keyed.state.services = replace(doors.open.state.services, settings=doors.keyed_settings)
        with httpx2.Client(base_url=doors.addresses[0], timeout=60) as client:
            wait_until(lambda: client.get("/readyz").status_code == 200, 300, "the service to be ready")
        yield doors


@pytest.fixture(scope="session")
def client(doors: Doors) -> Iterator[httpx2.Client]:
    """A client of the session's service."""
    with httpx2.Client(base_url=doors.addresses[0], timeout=60) as client:
        yield client


@pytest.fixture(scope="session")
def url(client: httpx2.Client) -> str:
    """Address of the session's service."""
    return str(client.base_url)


@pytest.fixture
def ordsim(capsys: pytest.CaptureFixture[str]) -> Callable[..., commands.Outcome]:
    """Run a command in this process."""
    return commands.runner(capsys)


@pytest.fixture
def with_key(doors: Doors) -> Iterator[Callable[..., httpx2.Client]]:
    """Make clients of the session's service that send a new API key with these scopes and limits."""
    with ExitStack() as stack:

        def make(*scopes: Scope, limits: Limits = UNLIMITED) -> httpx2.Client:
            _, token = doors.store.keys.create("test", scopes or (Scope.JOBS_READ, Scope.JOBS_WRITE), limits)
            headers = {"Authorization": f"Bearer {token}"}
            return stack.enter_context(httpx2.Client(base_url=doors.addresses[1], timeout=60, headers=headers))

        yield make


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
    """A body for POST /v1/jobs, of a job that is computed whatever other tests have asked."""
    return {
        "process": "compare",
        "x": {"root": "lab", "path": x},
        "y": {"root": "lab", "path": y},
        "measures": list(measures),
        "reuse": False,
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
