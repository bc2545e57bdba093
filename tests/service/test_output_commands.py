"""`layers`, `matrix`, `artifact`, `report`, `--plot`, and jobs named by how their ids begin."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import httpx2
import numpy as np
import pytest

from service.client import Client
from service.commands import jobs, options
from service.commands.outcome import CommandError
from tests.service.commands import ORDSIM, check_error, environment
from tests.service.conftest import check_problem, compare

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.service.commands import Outcome

UNITS = "tsi:units,units=64,targets=4"


@pytest.fixture(scope="session")
def compared(url: str) -> str:
    """A finished comparison with artifacts."""
    with Client(url, timeout=60) as client:
        measures = [{"measure": "tsi", "method": "exact", "per_anchor": True}]
        return client.compare("lab:x", "lab:y", measures, label="both", calibration={"permutations": 19}).job


def test_a_report_in_every_form(ordsim: Callable[..., Outcome], url: str, compared: str, tmp_path: Path) -> None:
    begin: dict[str, str] = {"html": "<!doctype html>", "csv": "job,x,y,", "json": "{", "md": "# both\n"}
    for suffix, words in begin.items():
        file = tmp_path / f"report.{suffix}"
        done = ordsim("report", compared, "-o", file, ORDSIM_URL=url)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        assert file.read_text().startswith(words)
    assert json.loads((tmp_path / "report.json").read_text())["jobID"] == compared
    text = (tmp_path / "report.html").read_text()
    for part in ("<h1>both</h1>", "The least aligned rows", "Scores of single rows", "permutations"):
        assert part in text
    check_error(ordsim("report", compared, "-o", tmp_path / "a.pdf", ORDSIM_URL=url), 2, ".html, .csv, .json, .md")
    check_error(ordsim("report", "f" * 32, "-o", tmp_path / "a.md", ORDSIM_URL=url), 2, "unknown-job")
    check_error(ordsim("report", compared, "-o", tmp_path / "no" / "a.md", ORDSIM_URL=url), 2, "cannot be written")


def test_the_service_hands_out_the_reports_that_the_command_writes(
    ordsim: Callable[..., Outcome], url: str, client: httpx2.Client, compared: str, tmp_path: Path
) -> None:
    for suffix, media in (("html", "text/html; charset=utf-8"), ("csv", "text/csv; charset=utf-8")):
        file = tmp_path / f"report.{suffix}"
        assert ordsim("report", compared, "-o", file, ORDSIM_URL=url).returncode == 0
        answer = client.get(f"/v1/jobs/{compared}/report.{suffix}")
        assert (answer.status_code, answer.headers["content-type"]) == (200, media)
        assert answer.content == file.read_bytes()
        assert answer.headers["content-disposition"] == f'attachment; filename="ordsim-{compared}.{suffix}"'
        assert answer.headers["x-content-type-options"] == "nosniff"
        policy = [part.strip() for part in answer.headers["content-security-policy"].split(";")]
        # Nothing, scripts least of all, but the styles that stand in the page.
        assert policy[:3] == ["sandbox", "default-src 'none'", "style-src 'unsafe-inline'"]


@pytest.mark.parametrize("process", ["layers", "matrix"])
def test_grids_have_reports_too(client: httpx2.Client, process: str) -> None:
    arrays = [{"root": "lab", "path": path} for path in ("x", "float", "y")]
    sides = {"arrays": arrays} if process == "matrix" else {"x": {"layers": arrays[:2]}, "y": {"layers": arrays}}
    measure = {"measure": "tsi", "method": "units", "units": 64, "targets": 4}
    job = compare(client, {"process": process, **sides, "measure": measure})["jobID"]
    page = client.get(f"/v1/jobs/{job}/report.html").text
    assert f"{'Models' if process == 'matrix' else 'Layers'} compared by TSI" in page
    assert "<svg" in page
    header, *lines = client.get(f"/v1/jobs/{job}/report.csv").text.splitlines()
    assert header.startswith("job,x,y,rows,measure,method,x_position,y_position,score")
    assert len(lines) == (3 if process == "matrix" else 6)


def test_artifacts(ordsim: Callable[..., Outcome], url: str, compared: str, tmp_path: Path) -> None:
    done = ordsim("artifact", compared, "0-per_anchor", ORDSIM_URL=url)
    lines = done.stdout.splitlines()
    assert (done.returncode, lines[0], len(lines)) == (0, "row,per_anchor", 9)
    file = tmp_path / "a.npy"
    assert ordsim("artifact", compared, "0-per_anchor.npy", "-o", file, ORDSIM_URL=url).returncode == 0
    assert np.load(file).tolist() == [float(line.partition(",")[2]) for line in lines[1:]]
    check_error(ordsim("artifact", compared, "0-nothing", ORDSIM_URL=url), 2, "not-found")
    check_error(ordsim("artifact", compared, "0-null", "-o", tmp_path / "a.txt", ORDSIM_URL=url), 2, ".npy or .csv")


def test_a_plot_beside_the_report(ordsim: Callable[..., Outcome], url: str, tmp_path: Path) -> None:
    file = tmp_path / "out.svg"
    command = ("compare", "lab:x", "lab:y", "-m", "tsi:exact,per_anchor=true", "-m", "qsi:sampled,samples=500")
    done = ordsim(*command, "--calibrate", "19", "--plot", file, ORDSIM_URL=url)
    assert done.returncode == 0, done.stderr
    assert "TSI, triplet similarity, exact" in done.stdout
    root = ElementTree.fromstring(file.read_text())
    said = ["".join(one.itertext()) for one in root.iter() if one.tag.endswith("text")]
    assert {"TSI, triplet similarity, exact", "QSI, quadruplet similarity, sampled", "Scores of single rows"} <= set(
        said
    )
    assert said.count("permutations") == 2
    for wrong, words in ((tmp_path / "a.png", ".svg files"), (tmp_path / "no" / "a.svg", "not a directory")):
        check_error(ordsim(*command, "--plot", wrong, ORDSIM_URL=url), 2, words)


def test_layers(ordsim: Callable[..., Outcome], url: str, tmp_path: Path) -> None:
    file = tmp_path / "layers.svg"
    sides = ("-x", "lab:x", "-x", "lab:float", "-y", "lab:group/*")
    done = ordsim("layers", *sides, "-m", UNITS, "--calibrate", "19", "--plot", file, ORDSIM_URL=url)
    assert done.returncode == 0, done.stderr
    assert "TSI units of 8 rows" in done.stdout
    assert "lab:group/inner" in done.stdout
    assert "the best pair framed" in file.read_text()
    document = json.loads(ordsim("layers", *sides, "-m", UNITS, "--json", ORDSIM_URL=url).stdout)
    assert np.shape(document["matrix"]) == (2, 1)
    report = tmp_path / "layers.html"
    assert ordsim("report", document["jobID"], "-o", report, ORDSIM_URL=url).returncode == 0
    assert "Layers compared by TSI" in report.read_text()
    check_error(
        ordsim("layers", "-x", "lab:nothing/*", "-y", "lab:y", ORDSIM_URL=url), 2, "no arrays below lab:nothing/"
    )


def test_grids_of_joined_rows(ordsim: Callable[..., Outcome], url: str) -> None:
    ids = ("--align", "join", "--on-non-finite", "drop", "--confidence", "0.9", "-m", UNITS, "--json")
    sides = ("-x", "lab:x", "-x", "lab:float", "-y", "lab:some")
    done = ordsim("layers", *sides, "--ids", "lab:ids/a", "lab:ids/some", *ids, ORDSIM_URL=url)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["inputs"]["n"] == 6
    shared = ordsim("matrix", "lab:x", "lab:y", "lab:float", "--ids", "lab:ids/a", *ids, ORDSIM_URL=url)
    assert shared.returncode == 0, shared.stderr
    assert json.loads(shared.stdout)["inputs"]["n"] == 8
    each = [word for path in ("a", "some") for word in ("--ids", f"lab:ids/{path}")]
    done = ordsim("matrix", "lab:x", "lab:some", *each, *ids, "--anew", ORDSIM_URL=url)
    assert json.loads(done.stdout)["inputs"]["n"] == 6
    few = ordsim("matrix", "lab:x", "lab:y", "lab:some", *each, *ids, ORDSIM_URL=url)
    assert (few.returncode, json.loads(few.stdout)["status"]) == (2, 422)


def test_matrix(ordsim: Callable[..., Outcome], url: str) -> None:
    arrays = ("lab:x", "lab:y", "lab:float")
    done = ordsim("matrix", *arrays, "-m", UNITS, "--differences", "0,1", "--seed", "3", ORDSIM_URL=url)
    assert done.returncode == 0, done.stderr
    assert "score(0, 2) - score(0, 1)" in done.stdout
    plan = ordsim("matrix", *arrays, "-m", UNITS, "--plan", "--json", ORDSIM_URL=url)
    assert json.loads(plan.stdout)["measures"][0]["measure"] == "tsi"
    assert "In all about" in ordsim("matrix", *arrays, "-m", UNITS, "--plan", ORDSIM_URL=url).stdout
    check_error(ordsim("matrix", *arrays, "--differences", "0", ORDSIM_URL=url), 2, "X,REFERENCE")
    refused = ordsim("matrix", *arrays, "-m", "cka", "--json", ORDSIM_URL=url)
    assert (refused.returncode, json.loads(refused.stdout)["status"]) == (2, 422)


def test_jobs_may_be_named_by_how_they_begin(
    ordsim: Callable[..., Outcome], url: str, compared: str, client: httpx2.Client
) -> None:
    found = ordsim("results", compared[:12], "--json", ORDSIM_URL=url)
    assert json.loads(found.stdout)["jobID"] == compared
    status = json.loads(ordsim("watch", compared[:12], "--json", ORDSIM_URL=url).stdout)
    assert (status["jobID"], status["status"]) == (compared, "successful")
    check_error(ordsim("cancel", compared[:12], ORDSIM_URL=url), 2, "job-final")
    everything = {f"{digit:x}" for digit in range(16)} - {""}
    first = {job["jobID"][0] for job in client.get("/v1/jobs", params={"limit": 200}).json()["jobs"]}
    (absent, *_) = sorted(everything - first) or [None]
    if absent is not None:
        check_error(ordsim("results", absent, ORDSIM_URL=url), 2, "unknown-job")
    listed = client.get("/v1/jobs", params={"prefix": compared[:12]}).json()["jobs"]
    assert [job["jobID"] for job in listed] == [compared]
    check_problem(client.get("/v1/jobs", params={"prefix": "%"}), 422, "invalid-request")


def test_several_jobs_that_begin_so_are_refused() -> None:
    answer = {"jobs": [{"jobID": "ab" * 16}, {"jobID": "ac" * 16}], "links": []}
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=answer))
    with Client("http://service", transport=transport) as client:
        with pytest.raises(CommandError, match=f"several jobs begin with a, e.g. {'ab' * 16} and"):
            jobs.named(client, "a")
        assert jobs.named(client, "no-id") == "no-id"
        assert jobs.named(client, "a" * 32) == "a" * 32


def test_layers_are_sorted_by_their_numbers() -> None:
    names = ["m/layer10", "m/layer9", "m/embedding", "m/layer1/b", "m/layer1"]
    assert sorted(names, key=options.natural) == ["m/embedding", "m/layer1", "m/layer1/b", "m/layer9", "m/layer10"]


def test_submissions_and_cancels_as_json(ordsim: Callable[..., Outcome], url: str) -> None:
    command = ("submit", "lab:x", "lab:y", "-m", "tsi:exact", "--wait", "--json")
    status: dict[str, Any] = json.loads(ordsim(*command, ORDSIM_URL=url).stdout)
    assert status["status"] == "successful"
    refused = json.loads(ordsim("cancel", status["jobID"], "--json", ORDSIM_URL=url).stdout)
    assert refused["type"] == "/problems/job-final"


def test_shells_complete_commands() -> None:
    asked = {"_ORDSIM_COMPLETE": "complete_bash", "COMP_WORDS": "ordsim la", "COMP_CWORD": "1"}
    done = subprocess.run([ORDSIM], capture_output=True, text=True, env={**environment(), **asked}, check=False)
    assert done.stdout.split() == ["layers"]
    assert os.linesep not in done.stderr
