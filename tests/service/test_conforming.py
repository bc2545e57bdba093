"""`ordsim conform`: what it prints, what it writes, and the codes it ends with."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer

from ordsim_core.conformance.kinds import Arrays
from ordsim_core.conformance.promises import DEFAULT, Promise
from service.commands.conforming import conform, load
from service.commands.outcome import CommandError, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

MODULE = '''
"""Measures of a stranger."""

import numpy as np


def cka(x, y, epsilon=0.0):
    x, y = (np.ascontiguousarray(side, np.float64) for side in (x, y))
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("not finite")
    if (x == x[0]).all() or (y == y[0]).all():
        raise ValueError("all rows are equal")
    x, y = x - x.mean(0), y - y.mean(0)
    k, l = x @ x.T, y @ y.T
    return min(1.0, np.sum(k * l) / (np.sqrt(np.sum(k * k) * np.sum(l * l)) + epsilon))


def with_epsilon(x, y):
    print("a measure that talks")
    return cka(x, y, 1e-6)


def off_by_rounding(x, y):
    return cka(x, y) * (1 + 2.0**-52)


class Measures:
    @staticmethod
    def apart(x, y):
        return 1 - cka(x, y)


NUMBER = 3
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with modules of a stranger, which is the current one."""
    (tmp_path / "strange_measures.py").write_text(MODULE)
    (tmp_path / "strange_broken.py").write_text("import strange_missing\n")
    (tmp_path / "strange_syntax.py").write_text("def f(:\n")
    (tmp_path / "strange_exit.py").write_text("import sys\nprint('hello')\nsys.exit(3)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in [name for name in sys.modules if name.startswith("strange_")]:
        monkeypatch.delitem(sys.modules, name)
    return tmp_path


Printed = tuple[int, str, str]


@pytest.fixture
def ordsim(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Printed]:
    """Run the command alone, in this process: returns code, output and errors."""
    application = typer.Typer()
    application.callback()(lambda: None)
    application.command("conform")(conform)
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments: str) -> Printed:
        monkeypatch.setattr(sys, "argv", ["ordsim", "conform", *arguments])
        capsys.readouterr()
        code = run(application)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def test_a_right_function_ends_with_0(ordsim: Callable[..., Printed]) -> None:
    code, out, err = ordsim("strange_measures:cka")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "strange_measures:cka: a similarity, called with numpy arrays, returns float64"
    rounded = sum(re.match(r"\S.*?  +rounding ", line) is not None for line in lines[2:-1])
    assert lines[-1] == f"None of 23 checks failed; {rounded} are off by rounding alone."
    assert rounded > 1
    assert max(map(len, lines)) <= 100


def test_a_faulty_function_ends_with_1(ordsim: Callable[..., Printed], folder: Path) -> None:
    code, out, err = ordsim("strange_measures:with_epsilon", "--json", "found.json")
    assert code == 1
    assert "a measure that talks" not in out
    assert "a measure that talks" in err
    rows = {line.split("  ")[0]: line for line in out.splitlines()}
    assert " fail " in rows["identity"]
    assert " fail " in rows["small values"]
    assert " pass " in rows["symmetry"]
    assert " rounding " in rows["rotation"]
    document = json.loads((folder / "found.json").read_text())
    failing = [finding["check"] for finding in document["findings"] if finding["verdict"] == "fail"]
    assert document["failed"] == len(failing) > 0
    rounded = [finding["check"] for finding in document["findings"] if finding["verdict"] == "rounding"]
    assert document["rounding"] == len(rounded) > 1
    counted = f"{len(failing)} of {len(document['findings'])} checks failed"
    assert out.splitlines()[-1] == f"{counted}; {len(rounded)} are off by rounding alone."
    assert {"function", "kind", "arrays", "precision", "promises", "findings", "versions"} <= document.keys()
    assert document["promises"] == [str(promise) for promise in DEFAULT]
    assert {"check", "verdict", "figure", "detail"} == document["findings"][0].keys()


def test_json_alone(ordsim: Callable[..., Printed]) -> None:
    code, out, _ = ordsim("strange_measures:with_epsilon", "--json", "-", "--arrays", "numpy")
    assert code == 1
    assert json.loads(out)["arrays"] == Arrays.NUMPY


def test_a_distance_and_its_promises(ordsim: Callable[..., Printed]) -> None:
    code, out, _ = ordsim(
        "strange_measures:Measures.apart", "--kind", "distance", "--json", "-",
        "--without", "shift", "--without", "rotation", "--also", "zero-if-independent",
    )  # fmt: skip
    document = json.loads(out)
    assert (code, document["kind"]) == (1, "distance")
    left = (Promise.SHIFT, Promise.ROTATION, Promise.EXACT_IDENTITY)
    kept = [promise for promise in Promise if promise not in left]
    assert document["promises"] == kept
    verdicts = {finding["check"]: finding["verdict"] for finding in document["findings"]}
    assert [check for check, verdict in verdicts.items() if verdict == "fail"] == ["independent arrays"]
    assert (verdicts["shift"], verdicts["rotation"]) == ("info", "info")
    assert verdicts["scale"] in ("pass", "rounding")


def test_exact_identity_is_a_promise_like_the_others(ordsim: Callable[..., Printed]) -> None:
    code, out, _ = ordsim("strange_measures:off_by_rounding", "--json", "-")
    verdicts = {finding["check"]: finding["verdict"] for finding in json.loads(out)["findings"]}
    assert (code, verdicts["identity"], verdicts["limits"]) == (0, "rounding", "rounding")
    code, out, _ = ordsim("strange_measures:off_by_rounding", "--json", "-", "--also", "exact-identity")
    verdicts = {finding["check"]: finding["verdict"] for finding in json.loads(out)["findings"]}
    assert (code, verdicts["identity"], verdicts["limits"]) == (1, "fail", "fail")


def test_help_lists_every_promise(ordsim: Callable[..., Printed]) -> None:
    code, out, _ = ordsim("--help")
    assert code == 0
    assert [promise for promise in Promise if promise not in " ".join(out.split())] == []


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("strange_measures", "write MODULE:FUNCTION"),
        (":cka", "write MODULE:FUNCTION"),
        ("strange_nothing:cka", "there is no module 'strange_nothing', installed or in "),
        ("strange_measures.more:cka", "there is no module 'strange_measures.more'"),
        ("strange_broken:cka", "importing strange_broken failed: it needs the module 'strange_missing'"),
        ("strange_syntax:cka", "importing strange_syntax failed: SyntaxError"),
        ("strange_exit:cka", "importing strange_exit failed: SystemExit: 3"),
        ("strange_measures:cca", "strange_measures has no 'cca'"),
        ("strange_measures:NUMBER", "strange_measures:NUMBER is of type int; name a function"),
        ("strange_measures:Measures", "strange_measures:Measures is a class; name a function"),
        ("math:sqrt", "math:sqrt cannot be examined: with numpy arrays of 48 x 7 and 48 x 5 it raised TypeError"),
    ],
)
def test_what_cannot_be_examined_ends_with_2(ordsim: Callable[..., Printed], function: str, said: str) -> None:
    code, out, err = ordsim(function)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("ordsim: ")
    assert said in err
    assert "Traceback" not in err


def test_a_file_that_cannot_be_written(ordsim: Callable[..., Printed]) -> None:
    code, _, err = ordsim("strange_measures:cka", "--json", "nowhere/found.json")
    assert code == 2
    assert "--json: nowhere/found.json cannot be written: No such file or directory" in err


def test_the_module_is_found_once(folder: Path) -> None:
    load("strange_measures:cka")
    load("strange_measures:cka")
    assert sys.path.count(str(folder)) == 1
    with pytest.raises(CommandError):
        load("strange_measures:")


def test_in_a_process_of_its_own(folder: Path) -> None:
    program = str(Path(sys.executable).with_name("ordsim"))
    found = subprocess.run(
        [program, "conform", "strange_measures:with_epsilon"],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "COLUMNS": "100"},
        timeout=120,
        check=False,
    )
    assert found.returncode == 1, found.stderr
    assert "of 23 checks failed" in found.stdout


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    """The script that `make audit` runs."""
    spec = importlib.util.spec_from_file_location("ordsim_audit", Path(__file__).parents[2] / "deploy" / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["ordsim_audit"] = module  # data classes look themselves up there
    spec.loader.exec_module(module)
    return module


def test_the_audit_passes_our_own_measures(audit: ModuleType) -> None:
    ours = tuple(one for one in audit.CANDIDATES if one.distribution == "ordsim")
    examined, missing = audit.audit(ours, audit.examine_here)
    assert missing == []
    assert len(examined) == 5
    assert all(Promise.EXACT_IDENTITY in one.report.promises for one in examined)
    assert [(one.candidate.name, one.report.failed) for one in examined if one.report.failed] == []
    text = audit.table(examined, missing, datetime(2027, 1, 2, tzinfo=UTC))
    assert "Made by `make audit` on 2027-01-02" in text
    assert "Nothing." in text
    assert "No other package with a similarity function is installed." in text
    assert text.count("| 0 of 23 | 0 |") == 5


def test_the_audit_survives_the_packages_of_others(
    audit: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(folder)
    candidates = (
        audit.Candidate("faulty", "numpy", "strange_measures", lambda module: module.with_epsilon),
        audit.Candidate("distant", "numpy", "strange_measures", lambda _: lambda *_: math.nan),
        audit.Candidate("broken", "numpy", "strange_broken", lambda module: module.cka),
        audit.Candidate("absent", "no-such-package", "nothing", lambda module: module.cka),
        audit.Candidate("absent too", "no-such-package", "nothing", lambda module: module.cka),
    )
    examined, missing = audit.audit(candidates, audit.examine_here)
    text = audit.table(examined, missing, datetime(2027, 1, 2, tzinfo=UTC))
    rows = [line for line in text.splitlines() if line.startswith("| numpy")]
    assert [row.count("|") for row in rows] == [8, 8, 8]
    assert "**" in rows[0]
    assert "cannot be examined: with numpy arrays" in rows[1]
    assert "No module named 'strange_missing'" in rows[2]
    assert "* numpy, faulty: **small values**: " in text
    assert text.endswith("Not installed, so not examined: no-such-package.\n")
