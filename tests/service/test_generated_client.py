"""A client that a public generator makes of the committed OpenAPI document submits, polls and reads results."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.service.conftest import EXACT, request, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx2

DOCUMENT = Path(__file__).parents[2] / "deploy" / "docs" / "openapi.json"
PACKAGE = "generated_ordsim_client"


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of the generated package, importable while the module's tests run."""
    place = tmp_path_factory.mktemp("generated")
    programs = Path(sys.executable).parent
    done = subprocess.run(
        [
            *(programs / "openapi-python-client", "generate", "--path", DOCUMENT, "--meta", "none"),
            *("--output-path", place / PACKAGE, "--fail-on-warning"),
        ],
        env={**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},  # it formats with ruff
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(place))
    yield PACKAGE
    sys.path.remove(str(place))


def test_submit_poll_results(generated: str, client: httpx2.Client) -> None:
    def operation(name: str) -> Any:
        return importlib.import_module(f"{generated}.api.jobs.{name}")

    models: Any = importlib.import_module(f"{generated}.models")
    body = models.JobRequest.from_dict(request("large", "larger", [{**EXACT, "per_anchor": True}], label="generated"))
    with importlib.import_module(generated).Client(base_url=str(client.base_url)) as service:
        plan = operation("plan_job").sync(client=service, body=body)
        assert plan.measures[0].comparisons == str(600 * 599 * 598 // 2)
        job = operation("submit_job").sync(client=service, body=body)
        assert job.status in ("accepted", "running")
        get_job = operation("get_job")
        wait_until(lambda: get_job.sync(job.job_id, client=service).status == "successful", 60, "the job to succeed")
        (result,) = operation("get_results").sync(job.job_id, client=service).results
        expected = client.get(f"/v1/jobs/{job.job_id}/results").json()["results"][0]
        assert result.to_dict() == expected
        assert result.counts.comparisons == plan.measures[0].comparisons
        listed = operation("list_jobs").sync(client=service, label="generated")
        assert [one.job_id for one in listed.jobs] == [job.job_id]
        missing = operation("get_job").sync("none", client=service)
        assert (missing.type_, missing.status) == ("/problems/unknown-job", 404)
