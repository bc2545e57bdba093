"""The command line: what it prints where, and the codes it ends with."""

from __future__ import annotations

import ast
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
import pytest
import typer
import zarr

import service
from ordsim_core import kernel_cache
from service.answers import ServiceError
from service.commands import comparing, options
from service.commands.outcome import CommandError, problem
from service.commands.watching import require_success
from service.local import locate
from service.private import PrivateService, PrivateServiceError
from tests.service.commands import ORDSIM, Outcome, check_error, environment, process
from workers import groups
from workers.measures import registry
from workers.references import Reference, Root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


UNREACHABLE = "http://127.0.0.1:9"  # the discard port, where nothing listens


# Usage


def test_version_and_help(ordsim: Callable[..., Outcome]) -> None:
    done = process("--version")
    assert (done.returncode, done.stdout) == (0, f"ordsim {version('ordsim')}\n")
    for name in ("serve", "compare", "submit", "watch", "results", "list", "cancel", "import"):
        done = ordsim(name, "--help")
        assert done.returncode == 0
        assert "Usage: ordsim" in done.stdout
    text = " ".join(ordsim("compare", "--help").stdout.replace("│", " ").split())
    assert "tsi:exact and qsi:sampled,epsilon=0.001,delta=0.01" in text
    assert "ordsim measures" in text


def test_measures_are_listed_with_their_options(ordsim: Callable[..., Outcome]) -> None:
    listed = ordsim("measures").stdout
    for measure in registry.all_measures():
        assert f"{measure.measure}:{measure.method}" in listed
    assert "tsi:exact (default)  Triplet Similarity Index over all triplets" in listed
    assert "    units, width, targets=32" in listed
    assert "    anchors (needed), per_anchor=false" in listed
    units = ordsim("measures", "tsi:units").stdout
    assert "targets=32: a whole number, at least 2, at most 1,024" in units
    assert "Number of units drawn." in units
    assert "tsi:exact" not in units
    for entry in json.loads(ordsim("measures", "--json").stdout):
        for option in entry["optionsInWords"]:
            assert option["meaning"], (entry["measure"], entry["method"], option)
            assert option["values"], (entry["measure"], entry["method"], option)
    check_error(ordsim("measures", "tau"), 2, "no measure tau", "tsi:exact")


def test_measures_are_those_of_a_service_where_one_is_named(ordsim: Callable[..., Outcome], url: str) -> None:
    assert ordsim("measures", "--url", url).stdout == ordsim("measures").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense"], ["nonsense"]),
        (["compare", "a:b"], ["Y"]),
        (["list", "--foo"], ["--foo", "ordsim list --help"]),
        (["submit", "a", "b:c"], ["root:path"]),
        (["submit", "a:b", "b:c", "--measure", "tsi:"], ["NAME:METHOD"]),
        (["submit", "a:b", "b:c", "--measure", "tsi:sampled,samples"], ["OPTION=VALUE"]),
        (["submit", "a:b", "b:c", "--rows", "5"], ["START:STOP"]),
        (["submit", "a:b", "b:c", "--rows", "0:5", "--x-rows", "0:5"], ["--rows", "--x-rows and --y-rows instead"]),
        (["compare", "a:b", "b:c", "--rows", "0:5", "--y-rows", "0:5"], ["--rows", "--x-rows and --y-rows instead"]),
        (["submit", "a:b", "b:c", "--y-rows", "5"], ["--y-rows", "START:STOP"]),
        (["compare", "missing.npy", "b.npy"], ["missing.npy", "no such file"]),
        (["compare", "lab:a", "lab:b"], ["lab:a", "no such file", "--url http://127.0.0.1:8000", "--root lab=DIR"]),
        (["compare", "a:b", "c:d", "--root", "a"], ["NAME=DIR"]),
        (["import", "missing.npy", "lab:x"], ["missing.npy"]),
        (["serve", "--port", "99999"], ["port"]),
        (["serve", "--host", "0.0.0.0", "--keys", "off"], ["--keys", "whoever reaches"]),
        (["serve", "--root", "lab=/nowhere/at/all"], ["--roots", "not a directory"]),
    ],
)
def test_wrong_usage_ends_with_2(
    ordsim: Callable[..., Outcome],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: list[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    check_error(ordsim(*arguments), 2, *words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["list", "watch j", "results j", "cancel j", "submit a:b c:d", "compare a:b c:d"])
def test_no_service_ends_with_3(ordsim: Callable[..., Outcome], command: str) -> None:
    check_error(ordsim(*command.split(), ORDSIM_URL=UNREACHABLE), 3, UNREACHABLE, "nothing listens there")


def test_errors_are_lines_in_a_process_of_its_own_too(tmp_path: Path) -> None:
    check_error(process("list", ORDSIM_URL=UNREACHABLE), 3, UNREACHABLE, "nothing listens there")
    check_error(process("submit", "a", "b:c", cwd=tmp_path), 2, "root:path")


def test_nothing_but_the_entry_of_the_command_knows_the_commands() -> None:
    folder = Path(service.__file__).parent
    files = [file for file in folder.rglob("*.py") if "commands" not in file.parts and file.name != "cli.py"]
    assert len(files) > 20
    knowing = {}
    for file in files:
        nodes = list(ast.walk(ast.parse(file.read_text())))
        names = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
        names += [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        knowing[file.name] = [name for name in names if name.startswith("service.commands")]
    assert {name: names for name, names in knowing.items() if names} == {}


def test_a_taken_port_ends_serve_with_1(ordsim: Callable[..., Outcome], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = ordsim("serve", "--port", str(port), "--state-dir", tmp_path / "state")
    check_error(done, 1, f"cannot listen on 127.0.0.1 port {port}", "--port")


def test_starting_is_quick_because_heavy_libraries_wait() -> None:
    heavy = ("numpy", "dask", "distributed", "zarr", "numba", "fastapi", "uvicorn", "pydantic")
    program = f"import service.commands.application, sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    program = "import service.cli, sys; print([name for name in ('typer', 'httpx2', 'rich') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"  # what every worker imports


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("tsi:exact", {"measure": "tsi", "method": "exact"}),
        ("cka", {"measure": "cka"}),
        ("qsi:sampled, samples=1e6", {"measure": "qsi", "method": "sampled", "samples": 1_000_000}),
        ("qsi:sampled,samples=1_000", {"measure": "qsi", "method": "sampled", "samples": 1000}),
        (
            "tsi:sampled,epsilon=1e-3,delta=0.01",
            {"measure": "tsi", "method": "sampled", "epsilon": 0.001, "delta": 0.01},
        ),
        ("tsi:exact,per_anchor=true", {"measure": "tsi", "method": "exact", "per_anchor": True}),
        ("cka,kernel=rbf,bandwidth=1.0", {"measure": "cka", "kernel": "rbf", "bandwidth": 1.0}),
        ("a:b,c=null,d=nan1", {"measure": "a", "method": "b", "c": None, "d": "nan1"}),
    ],
)
def test_measures(text: str, entry: dict[str, Any]) -> None:
    read = options.measure(text)
    assert read == entry
    assert {name: type(value) for name, value in read.items()} == {name: type(value) for name, value in entry.items()}


@pytest.mark.parametrize("text", ["", ":exact", "tsi:exact,", "tsi:exact,=1", "x=1", "tsi:exact,a=1,a=2"])
def test_measures_that_are_none(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        options.measure(text)


def test_roots_come_from_options_else_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORDSIM_ROOTS", '{"lab": "/data"}')
    assert options.roots(["a=/x=y", "b=z"]) == {"a": Path("/x=y"), "b": Path("z")}
    assert options.roots(None) == {"lab": Path("/data")}
    monkeypatch.setenv("ORDSIM_ROOTS", "lab=/data")
    with pytest.raises(typer.BadParameter, match="JSON"):
        options.roots(None)


def test_a_problem_in_lines() -> None:
    faults = [{"pointer": f"/measures/{number}", "detail": f"fault {number}"} for number in range(7)]
    members = {"type": "/problems/invalid-request", "title": "Not valid", "detail": "It has faults."}
    lines = problem(ServiceError({**members, "errors": faults, "requestID": "r"}, 422)).splitlines()
    assert lines[0] == "Not valid: It has faults. (invalid-request)"
    assert lines[1] == "  /measures/0: fault 0"
    assert lines[-1] == "  and 2 more"
    assert problem(ServiceError({**members, "requestID": "r"}, 500)).endswith("[request r]")


@pytest.mark.parametrize(
    ("title", "detail", "line"),
    [
        ("There is no such job", "There is no such job here.", "There is no such job here. (s)"),
        ("There is no such data root", "There is no data root 'a'.", "There is no data root 'a'. (s)"),
        ("The results are gone", "The job was dismissed.", "The results are gone: The job was dismissed. (s)"),
        ("Not valid", "Not valid at all.", "Not valid: Not valid at all. (s)"),
        ("Not valid", "", "Not valid (s)"),
    ],
)
def test_a_problem_is_said_once(title: str, detail: str, line: str) -> None:
    assert problem(ServiceError({"type": "/problems/s", "title": title, "detail": detail}, 404)) == line


def test_hints_name_the_service_unless_it_is_found_anyway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ORDSIM_URL", raising=False)
    assert options.at("http://127.0.0.1:8000") == ""
    assert options.at("http://lab:1") == " --url http://lab:1"
    monkeypatch.setenv("ORDSIM_URL", "http://lab:1")
    assert options.at("http://127.0.0.1:8000") == " --url http://127.0.0.1:8000"


def test_a_failure_is_json_too_where_json_was_asked_for(ordsim: Callable[..., Outcome], tmp_path: Path) -> None:
    done = ordsim("list", "--json", "--url", UNREACHABLE)
    assert done.returncode == 3
    assert "nothing listens there" in json.loads(done.stdout)["detail"]
    assert "nothing listens there" in done.stderr
    done = ordsim("compare", tmp_path / "a.npy", tmp_path / "b.npy", "--json")
    assert done.returncode == 2
    assert "no such file" in json.loads(done.stdout)["detail"]
    with pytest.raises(CommandError) as failed:
        require_success({"jobID": "j", "status": "failed", "exception": {"type": "/problems/corrupt-data"}})
    assert failed.value.problem == {"type": "/problems/corrupt-data"}


# Against the session's service


def test_compare_prints_a_report(url: str) -> None:
    done = process("compare", "lab:x", "lab:y", "--url", url, "-m", "tsi:exact", "-m", "qsi:sampled,samples=500")
    assert done.returncode == 0, done.stderr
    for word in ("lab:x", "lab:y", "TSI, triplet similarity, exact", "QSI", "500 drawn of 210", "Worth knowing"):
        assert word in done.stdout
    assert "done: 100%" in done.stderr  # progress never mixes with the report
    assert "done: 100%" not in done.stdout


def test_compare_passes_every_option_on(ordsim: Callable[..., Outcome], url: str) -> None:
    done = ordsim(
        *("compare", "lab:large", "lab:larger", "--url", url, "--json", "--measure", "qsi:sampled,samples=300"),
        *("--distance", "cosine", "--confidence", "0.9", "--seed", "4", "--rows", "10:500", "--label", "mine"),
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert results["inputs"]["x"]["distance"] == results["inputs"]["y"]["distance"] == "cosine"
    assert results["inputs"]["n"] == 490
    assert results["provenance"]["seed"] == 4
    assert results["results"][0]["counts"]["comparisons"] == "300"
    assert results["results"][0]["intervals"]["sampling"]["confidence"] == 0.9
    listed = json.loads(ordsim("list", "--url", url, "--label", "mine", "--json").stdout)["jobs"]
    assert [job["jobID"] for job in listed] == [results["jobID"]]


def test_compare_can_tell_what_it_would_cost(ordsim: Callable[..., Outcome], url: str) -> None:
    before = ordsim("list", "--url", url, "--json").stdout
    command = (
        "compare",
        "lab:large",
        "lab:larger",
        "--url",
        url,
        "--plan",
        "-m",
        "tsi:exact",
        "-m",
        "qsi:sampled,width=0.2",
    )
    done = ordsim(*command)
    assert (done.returncode, done.stderr) == (0, "")
    for words in ("tsi exact", "107.5 million", "qsi sampled", "at most", "In all about", "of the ", "of disk."):
        assert words in done.stdout
    plan = json.loads(ordsim(*command, "--json").stdout)
    assert [measure["atMost"] for measure in plan["measures"]] == [False, True]
    assert ordsim("list", "--url", url, "--json").stdout == before
    check_error(ordsim(*command, "--distance", "precomputed"), 2, "square", "invalid-request")


def test_compare_passes_precision_and_groups_on(ordsim: Callable[..., Outcome], url: str) -> None:
    done = ordsim(
        *("compare", "lab:large", "lab:larger", "--url", url, "--json", "-m", "tsi:sampled,samples=300"),
        *("--precision", "float32"),
    )
    assert json.loads(done.stdout)["results"][0]["precision"]["used"] == "float32", done.stderr
    grouped = ordsim("compare", "lab:x", "lab:y", "--url", url, "-m", "tsi:exact", "--groups", "lab:labels/words")
    assert "They fall into 3 groups." in grouped.stdout, grouped.stderr


def test_rows_of_one_array_go_into_its_reference(ordsim: Callable[..., Outcome], url: str) -> None:
    rows = ("-m", "tsi:exact", "--x-rows", "1:5", "--y-rows", ":4", "--distance", "cosine")
    done = ordsim("compare", "lab:x", "lab:y", "--url", url, "--json", *rows)
    assert done.returncode == 0, done.stderr
    job = ordsim("submit", "lab:x", "lab:seven", *rows, "--label", "own rows", ORDSIM_URL=url).stdout.strip()
    for name, y in ((json.loads(done.stdout)["jobID"], "y"), (job, "seven")):
        listed = json.loads(ordsim("list", "--limit", "200", "--json", ORDSIM_URL=url).stdout)["jobs"]
        (asked,) = (status["request"] for status in listed if status["jobID"] == name)
        assert asked["x"] == {"root": "lab", "path": "x", "distance": "cosine", "rows": {"start": 1, "stop": 5}}
        assert asked["y"] == {"root": "lab", "path": y, "distance": "cosine", "rows": {"start": 0, "stop": 4}}
        assert "rows" not in asked


def test_submit_watch_results_list_cancel(ordsim: Callable[..., Outcome], url: str) -> None:
    submitted = ordsim("submit", "lab:x", "lab:y", "-m", "tsi:exact", ORDSIM_URL=url)
    assert (submitted.returncode, submitted.stderr) == (0, "")
    job = submitted.stdout.strip()
    watched = ordsim("watch", job, ORDSIM_URL=url)
    assert (watched.returncode, watched.stdout) == (0, "")
    assert f"ordsim results {job}" in watched.stderr
    report = ordsim("results", job, ORDSIM_URL=url)
    assert report.returncode == 0
    assert "TSI, triplet similarity, exact" in report.stdout
    assert json.loads(ordsim("results", job, "--json", ORDSIM_URL=url).stdout)["jobID"] == job
    listed = ordsim("list", "--limit", "200", ORDSIM_URL=url)
    assert job in listed.stdout
    assert "successful" in listed.stdout
    check_error(ordsim("cancel", job, ORDSIM_URL=url), 2, "job-final")

    long = ordsim("submit", "lab:large", "lab:larger", "-m", "qsi:sampled,samples=5e8", ORDSIM_URL=url).stdout.strip()
    check_error(ordsim("results", long, ORDSIM_URL=url), 2, "result-not-ready")
    cancelled = ordsim("cancel", long, ORDSIM_URL=url)
    assert cancelled.returncode == 0
    assert long in cancelled.stdout
    assert ordsim("watch", long, ORDSIM_URL=url).returncode == 1
    check_error(ordsim("results", long, ORDSIM_URL=url), 1, "dismissed")


def test_a_failed_job_ends_with_1_and_its_reason(ordsim: Callable[..., Outcome], url: str) -> None:
    done = ordsim("submit", "lab:nan", "lab:y", "--wait", ORDSIM_URL=url)
    assert done.returncode == 1
    job = done.stdout.strip()
    assert "Traceback" not in done.stderr
    assert "non-finite-input" in done.stderr
    check_error(ordsim("results", job, ORDSIM_URL=url), 1, "non-finite-input", "row 3")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compare", "lab:x", "lab:missing"], ["unknown-array", "/y"]),
        (["compare", "lab:x", "lab:seven"], ["row-count-mismatch"]),
        (["compare", "lab:x", "lab:y", "-m", "tsi:guess"], ["-m tsi:guess: method: 'guess' is not supported"]),
        (
            ["compare", "lab:x", "lab:y", "-m", "tsi:anchors,foo=1,anchors=4"],
            ["-m tsi:anchors,foo=1,anchors=4: foo: there is no such option; tsi anchors has: anchors, per_anchor"],
        ),
        (
            ["submit", "lab:x", "lab:y", "-m", "qsi:exact", "-m", "tsi:batched"],
            ["-m tsi:batched: batches: is missing", "-m tsi:batched: batch_size: is missing"],
        ),
        (["compare", __file__, "lab:y"], ["is a file here", "unset ORDSIM_URL", "ordsim import"]),
        (["compare", "lab:x", "lab:y", "--distance", "taxicab"], ["taxicab"]),
        (["watch", "nothing"], ["unknown-job"]),
        (["results", "../roots"], ["not-found"]),
        (["list", "--status", "happy"], ["status"]),
    ],
)
def test_refused_requests_end_with_2(
    ordsim: Callable[..., Outcome], url: str, arguments: list[str], words: list[str]
) -> None:
    done = ordsim(*arguments, ORDSIM_URL=url)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


def test_an_interrupted_watch_leaves_the_job_alone(ordsim: Callable[..., Outcome], url: str) -> None:
    job = ordsim("submit", "lab:large", "lab:larger", "-m", "qsi:sampled,samples=5e8", ORDSIM_URL=url).stdout.strip()
    watching = subprocess.Popen(
        [ORDSIM, "watch", job, "--url", url], stderr=subprocess.PIPE, text=True, env=environment()
    )
    assert watching.stderr is not None
    watching.stderr.readline()  # it shows something, so it waits
    watching.send_signal(signal.SIGINT)
    _, rest = watching.communicate(timeout=30)
    assert watching.returncode == 130
    assert f"ordsim watch {job} --url {url} " in rest
    assert "Traceback" not in rest
    document = json.loads(ordsim("list", "--json", ORDSIM_URL=url).stdout)
    assert {link["rel"] for link in document["links"]} >= {"self"}
    (status,) = (told for told in document["jobs"] if told["jobID"] == job)
    assert status["status"] in ("accepted", "running")
    assert ordsim("cancel", job, ORDSIM_URL=url).returncode == 0


class Broken(BaseHTTPRequestHandler):
    """Something that is not ordsim."""

    def do_GET(self) -> None:
        self.send_response(500)
        self.end_headers()
        self.wfile.write(b"<html>")

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def broken() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Broken) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_service_in_trouble_ends_with_3(ordsim: Callable[..., Outcome], broken: str) -> None:
    check_error(ordsim("list", "--url", broken), 3, "500")


# Local files


def save(path: Path, values: np.ndarray) -> Path:
    np.save(path, values)
    return path


def test_import(ordsim: Callable[..., Outcome], tmp_path: Path) -> None:
    values = np.random.default_rng(3).standard_normal((50, 4)).astype("f2")
    file = save(tmp_path / "values.npy", values)
    root = tmp_path / "root"
    root.mkdir()
    done = ordsim("import", file, "lab:deep/array", "--root", f"lab={root}")
    assert (done.returncode, done.stdout) == (0, "lab:deep/array: 50 x 4 float16\n"), done.stderr
    np.testing.assert_array_equal(zarr.open_array(root / "deep" / "array", mode="r")[...], values)
    variables = {"ORDSIM_ROOTS": json.dumps({"lab": str(root)})}
    check_error(ordsim("import", file, "lab:deep/array", **variables), 2, "taken")
    assert ordsim("import", file, "lab:deep/array", "--overwrite", **variables).returncode == 0
    check_error(ordsim("import", file, "other:a", **variables), 2, "other")
    check_error(ordsim("import", file, "lab:a", "--root", f"lab={root / 'typo'}"), 2, "not a directory")
    assert not (root / "typo").exists()
    check_error(ordsim("import", file, "lab:../a", **variables), 2, "path-outside-root")
    labels = save(tmp_path / "labels.npy", np.array(["cat", "cat", "dog"]))
    assert ordsim("import", labels, "lab:labels", **variables).stdout == "lab:labels: 3 bytes24\n"
    bad = save(tmp_path / "bad.npy", np.array([[1.0, np.nan]]))
    check_error(ordsim("import", bad, "lab:bad", **variables), 2, "non-finite", "--allow-non-finite")
    assert ordsim("import", bad, "lab:bad", "--allow-non-finite", **variables).returncode == 0
    np.testing.assert_array_equal(zarr.open_array(root / "bad", mode="r")[...], [[1.0, np.nan]])
    several = tmp_path / "several.npz"
    np.savez(several, a=values, b=values[:9])
    check_error(ordsim("import", several, "lab:several", **variables), 2, "as FILE::NAME", "a (50 x 4 float16)")
    done = ordsim("import", f"{several}::b", "lab:several", **variables)
    assert done.stdout == "lab:several: 9 x 4 float16\n", done.stderr
    check_error(ordsim("import", f"{several}::b", "lab:other", "--key", "a", **variables), 2, "not both")
    check_error(ordsim("import", tmp_path / "absent.npy", "lab:other", **variables), 2, "does not exist")


def test_what_local_arguments_mean(tmp_path: Path) -> None:
    file = save(tmp_path / "a.npy", np.eye(3))
    directory = tmp_path / "b.zarr"
    zarr.create_array(directory, shape=(3, 3), dtype="f4")
    link = tmp_path / "link"
    link.symlink_to(directory)
    imports = tmp_path / "imports"
    found = locate(str(file), "x", {}, imports)
    assert found.file == file
    assert found.root == ("local-x", imports / "local-x")
    for given in (directory, link):
        found = locate(str(given), "y", {}, imports)
        assert (found.reference, found.root) == ({"root": "local-y", "path": "b.zarr"}, ("local-y", tmp_path))
    assert locate("lab:a/b", "x", {"lab": tmp_path}, imports).reference == {"root": "lab", "path": "a/b"}
    for wrong, reason in (
        ("lab:a/b", "no such file"),
        (str(tmp_path), "not a zarr array"),
        (str(directory / "zarr.json"), "of no known format"),
    ):
        with pytest.raises(ValueError, match=reason):
            locate(wrong, "x", {}, imports)


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """Exit codes of the private services that were stopped."""
    codes: list[int | None] = []
    stop = PrivateService.stop

    def noted(service: PrivateService) -> int | None:
        codes.append(stop(service))
        return codes[-1]

    monkeypatch.setattr(PrivateService, "stop", noted)
    return codes


@pytest.mark.parametrize(
    ("arguments", "pointer", "words"),
    [
        (["--measure", "tsy:exact"], "/measures/0/measure", "'tsy' is not supported; supported: "),
        (["--measure", "qsi:sampled"], "/measures/0", "samples"),
        (["--distance", "taxicab", "--measure", "tsi:exact"], None, "2 things are wrong"),
    ],
)
def test_a_wrong_request_is_refused_before_a_private_service_starts(
    ordsim: Callable[..., Outcome],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: list[str],
    pointer: str | None,
    words: str,
) -> None:
    started: list[object] = []
    monkeypatch.setattr(PrivateService, "start", started.append)
    files = [save(tmp_path / name, np.eye(3)) for name in ("a.npy", "b.npy")]
    check_error(ordsim("compare", *files, *arguments), 2, words, "invalid-request")
    refused = ordsim("compare", *files, *arguments, "--json")
    assert refused.returncode == 2
    assert words in refused.stderr
    document = json.loads(refused.stdout)
    assert (document["type"], document["status"]) == ("/problems/invalid-request", 422)
    assert words in document["detail"]
    if pointer is not None:
        assert [fault["pointer"] for fault in document["errors"]] == [pointer]
    assert started == []


class Answering:
    """A client whose job is done at once."""

    def __enter__(self) -> Answering:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, **_: Any) -> dict[str, Any]:
        return {"jobID": "j", "status": "accepted"}

    def wait(self, job: str, **_: Any) -> dict[str, Any]:
        return {"jobID": job, "status": "successful"}

    def document(self, job: str) -> dict[str, Any]:
        return {"jobID": job, "process": "compare", "results": []}


@pytest.mark.parametrize(
    ("x", "y", "arguments", "words"),
    [
        (np.arange(3.0), np.eye(3), [], "x must be 2-D, rows by features, but its shape is (3,)"),
        (np.eye(3), np.eye(4), [], "has 3 rows and b.npy has 4: row i of x and row i of y"),
        (np.eye(3), np.eye(3) * 1j, [], "b.npy: y must hold real numbers, not complex128"),
    ],
)
def test_what_a_glance_shows_is_refused_before_a_private_service_starts(
    ordsim: Callable[..., Outcome],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    x: np.ndarray,
    y: np.ndarray,
    arguments: list[str],
    words: str,
) -> None:
    started: list[object] = []
    monkeypatch.setattr(PrivateService, "start", started.append)
    files = [save(tmp_path / name, values) for name, values in (("a.npy", x), ("b.npy", y))]
    check_error(ordsim("compare", *files, *arguments), 2, words)
    zarr.create_array(tmp_path / "c.zarr", shape=(5,), dtype="f4")
    check_error(ordsim("compare", tmp_path / "c.zarr", tmp_path / "b.npy"), 2, "c.zarr: x must be 2-D")
    assert started == []


def test_a_private_service_plans_too(
    ordsim: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[dict[str, Any]] = []

    class Planning(Answering):
        def plan(self, **request: Any) -> dict[str, Any]:
            asked.append(request)
            measure = {"measure": "tsi", "method": "exact", "comparisons": "3", "shards": 1, "seconds": 0.5}
            figures = {"peakWorkerBytes": 2**28, "stageBytes": 72, "seconds": 1.5, "workers": 0}
            return {**figures, "measures": [{**measure, "peakWorkerBytes": 2**28}]}

    monkeypatch.setattr(PrivateService, "start", lambda _: None)
    monkeypatch.setattr(PrivateService, "connect", lambda _: Planning())
    monkeypatch.setattr(PrivateService, "stop", lambda _: None)
    files = [save(tmp_path / name, np.eye(3)) for name in ("a.npy", "b.npy")]
    done = ordsim("compare", *files, "--plan", "--precision", "float32", "--y-distance", "cosine")
    assert done.returncode == 0, done.stderr
    assert "starting a service with its workers\n" in done.stderr, "kernels are kept: this process has compiled them"
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(kernel_cache, "directory", lambda: tmp_path)
        assert "compiles" in ordsim("compare", *files, "--plan").stderr
    asked.pop()
    assert "In all about 1.5 s on one worker of an idle machine; none is connected now." in done.stdout
    assert "A worker needs up to 256.0 MiB; local copies of the arrays take 72 bytes of disk." in " ".join(
        done.stdout.split()
    )
    ((request),) = asked
    assert (request["precision"], request["x"]["root"]) == ("float32", "local-x")
    assert [request[name].get("distance") for name in "xy"] == [None, "cosine"]


def save_labels(tmp_path: Path, kind: str) -> Path:
    """Labels of 40 rows in 4 groups, as a file or as a zarr array."""
    labels = np.repeat(["cat", "dog", "größe", ""], 10)
    if kind == "npy":
        return save(tmp_path / "labels.npy", labels)
    array = zarr.create_array(tmp_path / "labels.zarr", shape=(40,), dtype="S7", zarr_format=2)
    array[...] = np.char.encode(labels, "utf-8")
    return tmp_path / "labels.zarr"


@pytest.mark.parametrize("kind", ["npy", "zarr"])
def test_labels_may_be_local_too(
    ordsim: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    asked: list[tuple[dict[str, Any], list[str]]] = []

    class Reading(Answering):
        def submit(self, **request: Any) -> dict[str, Any]:
            roots = {name: Root(name, str(directory)) for name, directory in known.items()}
            found = groups.read(roots, groups.Labels(Reference(**request["groups"])), "fill")
            asked.append((request, [str(found.count), request["x"]["root"]]))
            return super().submit()

    known: dict[str, Path] = {}
    start = PrivateService.__init__

    def noted(service: PrivateService, state: Path, roots: dict[str, Path], workers: int | None) -> None:
        known.update(roots)
        start(service, state, roots, workers)

    monkeypatch.setattr(PrivateService, "__init__", noted)
    monkeypatch.setattr(PrivateService, "start", lambda _: None)
    monkeypatch.setattr(PrivateService, "connect", lambda _: Reading())
    monkeypatch.setattr(PrivateService, "stop", lambda _: None)
    files = [save(tmp_path / name, np.eye(40)) for name in ("a.npy", "b.npy")]
    labels = save_labels(tmp_path, kind)
    done = ordsim("compare", *files, "--json", "--groups", labels, "--x-rows", "0:40")
    assert done.returncode == 0, done.stderr
    ((request, found),) = asked
    assert found == ["4", "local-x"]
    assert request["groups"]["root"] == "local-groups"
    assert (request["x"]["rows"], "rows" in request["y"]) == ({"start": 0, "stop": 40}, False)
    wrong = ordsim("compare", *files, "--groups", tmp_path / "absent.npy")
    assert (wrong.returncode, "absent.npy: there is no such file" in wrong.stderr) == (2, True)
    wrong = ordsim("compare", *files, "--groups", files[0])
    assert (wrong.returncode, "a.npy: groups must be 1-D, a label for each row" in wrong.stderr) == (2, True)
    wrong = ordsim("compare", files[0], save(tmp_path / "c.npy", np.arange(40)))
    assert (wrong.returncode, "c.npy: y must be 2-D, rows by features" in wrong.stderr) == (2, True)
    assert len(asked) == 1
    holed = save(tmp_path / "holed.npy", np.where(np.eye(40) > 0, np.nan, 1.0))
    wrong = ordsim("compare", files[0], holed)
    assert (wrong.returncode, "non-finite value, nan, in row 0, column 0" in wrong.stderr) == (2, True)
    dropping = ("--on-non-finite", "drop-columns", "--groups", labels)
    assert ordsim("compare", files[0], holed, "--json", *dropping).returncode == 0
    assert len(asked) == 2


def test_the_results_are_printed_before_the_private_service_ends(
    ordsim: Callable[..., Outcome],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    printed: list[str] = []

    def connect(_: PrivateService) -> Answering:
        said = capsys.readouterr()
        printed.extend((said.out, said.err))
        return Answering()

    monkeypatch.setattr(PrivateService, "start", lambda _: None)
    monkeypatch.setattr(PrivateService, "connect", connect)
    monkeypatch.setattr(PrivateService, "stop", lambda _: printed.append(capsys.readouterr().out))
    files = [save(tmp_path / name, np.eye(3)) for name in ("a.npy", "b.npy")]
    assert ordsim("compare", *files, "--json").returncode == 0
    before, said, report = printed
    assert before == ""
    assert said.startswith("starting a service with its workers")
    assert json.loads(report)["jobID"] == "j"


def test_compare_on_a_private_service_leaves_nothing_behind(
    ordsim: Callable[..., Outcome], ends: list[int | None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    generator = np.random.default_rng(5)
    x = generator.integers(-9, 9, (40, 3)).astype("i1")
    save(tmp_path / "first.npy", x)
    array = zarr.create_array(tmp_path / "second.zarr", shape=x.shape, dtype="f4", config={"write_empty_chunks": True})
    array[...] = -2.0 * x
    (tmp_path / "service").mkdir()  # a name of ours in the caller's directory changes nothing
    (tmp_path / "service" / "__init__.py").write_text("raise SystemExit('wrong package')")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    save_labels(tmp_path, "npy")
    command = ("compare", "first.npy", "second.zarr", "--workers", "1", "-m", "tsi:exact", "--groups", "labels.npy")
    done = ordsim(*command, TMPDIR=str(scratch))
    assert done.returncode == 0, done.stderr
    assert ends == [0]  # in order: neither killed nor aborted
    assert "first.npy" in done.stdout
    assert "second.zarr" in done.stdout
    assert "In every one of the 29,640 triplets" in done.stdout
    assert "They fall into 4 groups." in done.stdout
    assert [path for path in scratch.iterdir() if path.name.startswith("ordsim-")] == []


def test_a_private_service_that_cannot_start_says_why(tmp_path: Path) -> None:
    service = PrivateService(tmp_path / "state", {"lab": tmp_path / "missing"})
    with service, pytest.raises(PrivateServiceError, match=r"ended with code 2: .*not a directory"):
        service.connect(60)
    assert service.stop() is None  # it is stopped already


def wait_until(gone: list[psutil.Process], seconds: float) -> None:
    _, alive = psutil.wait_procs(gone, timeout=seconds)
    assert alive == []


def family(process: psutil.Process) -> list[psutil.Process]:
    return [process, *process.children(recursive=True)]


def test_serve_ends_with_0_at_an_interrupt_and_workers_stay_silent(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as output:
        serving = subprocess.Popen(
            [ORDSIM, "serve", "--port", "0", "--workers", "1", "--state-dir", str(tmp_path / "state")],
            stdout=output,
            stderr=output,
            env=environment(),
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + 60
        while "http://127.0.0.1:" not in log.read_text():
            assert serving.poll() is None, log.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        second = process("serve", "--port", "0", "--state-dir", tmp_path / "state")
        check_error(second, 1, "already in use")
        members = family(psutil.Process(serving.pid))
        os.killpg(serving.pid, signal.SIGINT)  # as the terminal does: the workers get it too
        assert serving.wait(60) == 0
        wait_until(members[1:], 30)
        assert "Traceback" not in log.read_text()
    finally:
        if serving.poll() is None:
            os.killpg(serving.pid, signal.SIGKILL)
            serving.wait()


def test_a_private_service_ends_when_its_caller_is_killed(tmp_path: Path) -> None:
    program = f"""
import sys
from pathlib import Path
from service.private import PrivateService
service = PrivateService(Path({str(tmp_path / "state")!r}), {{}}, workers=1)
service.start()
with service.connect():
    print(service._process.pid, flush=True)
    sys.stdin.read()
"""
    caller = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    )
    assert caller.stdout is not None
    members = family(psutil.Process(int(caller.stdout.readline())))
    assert len(members) > 1
    caller.kill()
    caller.communicate()
    wait_until(members, 60)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_comparison_that_is_ended_takes_its_files_along(tmp_path: Path, number: signal.Signals) -> None:
    files = [save(tmp_path / name, np.eye(40)) for name in ("a.npy", "b.npy")]
    variables = {**environment(), "TMPDIR": str(tmp_path)}
    command = [ORDSIM, "compare", *map(str, files), "--measure", "qsi:sampled,samples=1000000000"]
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert b"starting a service" in process.stderr.readline()
        assert list(tmp_path.glob("ordsim-*"))
        process.send_signal(number)
        process.communicate(timeout=120)
    assert process.returncode == 128 + number
    assert not list(tmp_path.glob("ordsim-*"))


def test_a_hangup_that_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with comparing._termination_as_exit():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) not in (signal.SIG_IGN, signal.SIG_DFL)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_arguments_that_are_no_text_are_refused(ordsim: Callable[..., Outcome], url: str) -> None:
    check_error(ordsim("results", "\udcff", ORDSIM_URL=url), 2, "UTF-8")
