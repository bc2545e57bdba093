"""Examine public similarity functions that are installed, and ours, and write what was found as a Markdown table.

Run by ``make audit``, or ``python deploy/audit.py TABLE.md``. None of the public packages is a dependency of ordsim:
install those of interest beside it. A package that is not there is named below the table. Each function is examined in
a process of its own, which may crash or hang.
"""

# More than 300 lines, most of them a list: one file, so that it can be run by itself.

from __future__ import annotations

import argparse
import importlib
import pickle
import platform
import signal
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ordsim_core import lattice, quadruplets, triplets
from ordsim_core.conformance.findings import Verdict
from ordsim_core.conformance.kinds import Arrays, Kind
from ordsim_core.conformance.nearness import CHECKS
from ordsim_core.conformance.promises import DEFAULT, Promise
from ordsim_core.conformance.subjects import UnusableError
from ordsim_core.conformance.suite import examine
from ordsim_core.cosine.gram_sums import Statistic
from ordsim_core.cosine.linear import linear_cka
from ordsim_core.cosine.procrustes import procrustes
from ordsim_core.distances import Distance
from ordsim_core.spaces import prepare

if TYPE_CHECKING:
    from collections.abc import Callable

    from ordsim_core.conformance.findings import Report

    Measure = Callable[[Any, Any], Any]


LONGEST_SECONDS = 600
"""Time for one function."""


@dataclass(frozen=True)
class Candidate:
    """A function to examine.

    `make` gets the module that was imported by name, and returns the function.
    """

    name: str
    distribution: str
    module: str
    make: Callable[[Any], Measure]
    kind: Kind = Kind.SIMILARITY
    without: tuple[Promise, ...] = ()
    also: tuple[Promise, ...] = ()
    arrays: Arrays = Arrays.NUMPY


# Ours. What the service refuses before it computes is refused here too.


def _checked(x: np.ndarray, y: np.ndarray, fewest: int) -> None:
    if len(x) < fewest:
        raise ValueError(f"{len(x)} rows are too few: at least {fewest} are needed")
    for values in (x, y):
        lattice.scan(values)


def _defined(deficit: float | None, reason: str | None) -> float:
    if deficit is None:
        raise ValueError(reason)
    return deficit


def _linear_cka(statistic: Statistic) -> Measure:
    def deficit(x: np.ndarray, y: np.ndarray) -> float:
        _checked(x, y, statistic.minimum_rows)
        found = linear_cka(x, y, statistic)
        return _defined(found.deficit, found.reason)

    return deficit


def _procrustes(x: np.ndarray, y: np.ndarray) -> float:
    _checked(x, y, 2)
    found = procrustes(x, y)
    return _defined(found.deficit, found.reason)


def _tsi(x: np.ndarray, y: np.ndarray) -> float:
    _checked(x, y, 3)
    sides = [prepare(side, Distance.EUCLIDEAN) for side in (x, y)]
    return triplets.exact_block(*sides, 0, len(x)).counts.deficit


def _qsi(x: np.ndarray, y: np.ndarray) -> float:
    _checked(x, y, 4)
    return quadruplets.exact_counts(*(prepare(side, Distance.EUCLIDEAN) for side in (x, y))).counts.deficit


# Others, each called as its documentation says.


def _rsatoolbox(method: str) -> Callable[[Any], Measure]:
    def make(rsatoolbox: Any) -> Measure:
        def similarity(x: np.ndarray, y: np.ndarray) -> float:
            rdms = [
                rsatoolbox.rdm.calc_rdm(rsatoolbox.data.Dataset(np.array(side)), method="euclidean") for side in (x, y)
            ]
            return float(rsatoolbox.rdm.compare(*rdms, method=method)[0, 0])

        return similarity

    return make


def _repsim(name: str, **options: str) -> Callable[[Any], Measure]:
    return lambda repsim: lambda x, y: float(np.asarray(getattr(repsim, name)([x, y], **options))[0, 1])


def _calibrated(package: Any) -> Measure:
    torch = importlib.import_module("torch")

    def cka(x: Any, y: Any) -> Any:
        x, y = x - x.mean(0), y - y.mean(0)
        return (x.T @ y).norm() ** 2 / (x.T @ x).norm() / (y.T @ y).norm()

    return lambda x, y: package.calibrate(x, y, cka, K=19, generator=torch.Generator().manual_seed(0))[0]


DEBIASED = {"also": (Promise.ZERO_IF_INDEPENDENT,), "arrays": Arrays.TORCH}
EXACT = {"kind": Kind.DISTANCE, "also": (Promise.EXACT_IDENTITY,)}
ORDINAL = EXACT | {"without": (Promise.NO_VARIANCE,)}

CANDIDATES = (
    Candidate("linear CKA, deficit", "ordsim", "ordsim_core", lambda _: _linear_cka(Statistic.BIASED), **EXACT),
    Candidate(
        "debiased linear CKA, deficit", "ordsim", "ordsim_core", lambda _: _linear_cka(Statistic.DEBIASED),
        Kind.DISTANCE, also=(Promise.EXACT_IDENTITY, Promise.ZERO_IF_INDEPENDENT),
    ),
    Candidate("orthogonal Procrustes, deficit", "ordsim", "ordsim_core", lambda _: _procrustes, **EXACT),
    Candidate("TSI, deficit", "ordsim", "ordsim_core", lambda _: _tsi, **ORDINAL),
    Candidate("QSI, deficit", "ordsim", "ordsim_core", lambda _: _qsi, **ORDINAL),
    Candidate(
        "spatial.procrustes, disparity", "scipy", "scipy.spatial",
        lambda spatial: lambda x, y: spatial.procrustes(x, y)[2], Kind.DISTANCE,
    ),
    Candidate("cka_base", "ckatorch", "ckatorch.core", lambda core: core.cka_base, arrays=Arrays.TORCH),
    Candidate(
        "cka_base, unbiased", "ckatorch", "ckatorch.core",
        lambda core: lambda x, y: core.cka_base(x, y, unbiased=True), **DEBIASED,
    ),
    Candidate(
        "cka_base, rbf", "ckatorch", "ckatorch.core",
        lambda core: lambda x, y: core.cka_base(x, y, kernel="rbf"), arrays=Arrays.TORCH,
    ),
    Candidate(
        "cka_batch, one batch", "ckatorch", "ckatorch.core",
        lambda core: lambda x, y: core.cka_batch(x[None], y[None]), **DEBIASED,
    ),
    Candidate("cka_from_features", "pytorch-cka", "cka.cka", lambda module: module.cka_from_features, **DEBIASED),
    Candidate(
        "LinearCKA().score", "netrep", "netrep.metrics.cka", lambda cka: cka.LinearCKA().score, Kind.DISTANCE
    ),
    Candidate(
        "LinearMetric(alpha=1), angular", "netrep", "netrep.metrics",
        lambda metrics: metrics.LinearMetric(alpha=1.0, score_method="angular").fit_score, Kind.DISTANCE,
    ),
    Candidate("compare, corr of euclidean", "rsatoolbox", "rsatoolbox", _rsatoolbox("corr")),
    Candidate("compare, spearman of euclidean", "rsatoolbox", "rsatoolbox", _rsatoolbox("spearman")),
    Candidate("compare, cosine of euclidean", "rsatoolbox", "rsatoolbox", _rsatoolbox("cosine")),
    Candidate("cka, linear", "repsim", "repsim", _repsim("cka", kernel_type="linear")),
    Candidate("svcca", "repsim", "repsim", _repsim("svcca")),
    Candidate("pwcca", "repsim", "repsim", _repsim("pwcca"), without=(Promise.SYMMETRY, Promise.ROTATION)),
    Candidate(
        "functional.shape.procrustes_disparity", "torchmetrics", "torchmetrics.functional.shape",
        lambda shape: lambda x, y: shape.procrustes_disparity(x[None], y[None]), Kind.DISTANCE, arrays=Arrays.TORCH,
    ),
    Candidate(
        "calibrate of linear CKA", "calibrated-similarity", "calibrated_similarity", _calibrated, arrays=Arrays.TORCH
    ),
    Candidate(
        "AlignmentMetrics.cka", "platonic", "metrics",
        lambda metrics: lambda x, y: metrics.AlignmentMetrics.cka(x, y), arrays=Arrays.TORCH,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Examined:
    """What became of a candidate: a report, or why there is none."""

    candidate: Candidate
    version: str
    report: Report | None
    trouble: str = ""


def audit(
    candidates: tuple[Candidate, ...], examined_by: Callable[[Candidate, str], Examined]
) -> tuple[list[Examined], list[str]]:
    """Examine the candidates that are installed; returns what was found, and the packages that are not there."""
    examined, missing = [], []
    for candidate in candidates:
        try:
            installed = version(candidate.distribution)
        except PackageNotFoundError:
            if candidate.distribution not in missing:
                missing.append(candidate.distribution)
            continue
        print(f"{candidate.distribution} {installed}: {candidate.name}", file=sys.stderr, flush=True)
        examined.append(examined_by(candidate, installed))
    return examined, missing


def apart(candidate: Candidate, installed: str) -> Examined:
    """Examine one of `CANDIDATES` in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "found"
        command = [sys.executable, __file__, str(found), "--only", str(CANDIDATES.index(candidate))]
        try:
            code = subprocess.run(command, timeout=LONGEST_SECONDS, check=False).returncode
        except subprocess.TimeoutExpired:
            return Examined(candidate, installed, None, f"did not end within {LONGEST_SECONDS} s")
        if code:
            how = signal.Signals(-code).name if code < 0 else f"code {code}"
            return Examined(candidate, installed, None, f"ended the process that called it ({how})")
        report, trouble = pickle.loads(found.read_bytes())
        return Examined(candidate, installed, report, trouble)


def examine_here(candidate: Candidate, installed: str) -> Examined:
    """Examine a candidate in this process."""
    promised = tuple(
        promise for promise in Promise if promise in (*DEFAULT, *candidate.also) and promise not in candidate.without
    )
    try:
        function = candidate.make(importlib.import_module(candidate.module))
        report = examine(function, candidate.kind, promised=promised, arrays=candidate.arrays, name=candidate.name)
    except UnusableError as error:
        return Examined(candidate, installed, None, f"cannot be examined: {error}")
    except Exception as error:  # a stranger's package must not end the audit
        return Examined(candidate, installed, None, traceback.format_exception_only(error)[-1].strip())
    return Examined(candidate, installed, report)


def table(examined: list[Examined], missing: list[str], made: datetime) -> str:
    """Write the audit as Markdown."""
    versions = f"ordsim {version('ordsim')}, numpy {np.__version__}, Python {platform.python_version()}"
    lines = [
        "# Similarity functions on arrays that are hard for them",
        "",
        f"Made by `make audit` on {made:%Y-%m-%d} with {versions}. Each function ran through the checks of",
        "`ordsim conform`. *Equal arrays* is the largest deficit, or distance, of an array from itself or a copy, in",
        "bold where it failed: beyond rounding (ordsim: beyond 0); *apart*, of arrays that differ by that share.",
        "",
        "| package | function | checks failed | equal arrays | 1e-4 apart | 1e-8 apart | what 1e-8 says |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [_row(one) for one in examined]
    lines += ["", "## What failed", ""]
    failures = [line for one in examined for line in _failures(one)]
    lines += failures or ["Nothing."]
    others = [one for one in examined if one.candidate.distribution not in ("ordsim", "scipy")]
    if not others:
        lines += ["", "No other package with a similarity function is installed."]
    if missing:
        lines += ["", f"Not installed, so not examined: {', '.join(missing)}."]
    return "\n".join(lines) + "\n"


def _row(one: Examined) -> str:
    head = f"| {one.candidate.distribution} {one.version} | {one.candidate.name} "
    if one.report is None:
        return head + f"| {_plain(one.trouble)} | | | | |"
    report = one.report
    cells = [f"{len(report.failed)} of {len(report.findings)}"]
    worst = [report.find(check) for check in ("identity", "identity, other layout")]
    figure = max((finding.figure for finding in worst if finding.figure is not None), key=abs, default=None)
    failed = any(finding.verdict is Verdict.FAIL for finding in worst)
    cells.append(_figure(figure, bold=failed))
    near = {finding.check: finding for finding in report.findings if finding.check in CHECKS}
    cells += [_figure(near[check].figure if check in near else None) for check in CHECKS]
    cells.append(_plain(near[CHECKS[1]].detail) if CHECKS[1] in near else "")
    return head + "".join(f"| {cell} " for cell in cells) + "|"


def _failures(one: Examined) -> list[str]:
    if one.report is None:
        return []
    name = f"{one.candidate.distribution}, {one.candidate.name}"
    return [f"* {name}: **{finding.check}**: {_plain(finding.detail)}" for finding in one.report.failed]


def _figure(figure: float | None, *, bold: bool = False) -> str:
    text = "" if figure is None else f"{figure:.2g}"
    return f"**{text}**" if bold and text else text


def _plain(text: str) -> str:
    return " ".join(text.replace("|", "/").split())


def main() -> int:
    """Write the table; the exit code is 1 if one of our own measures failed a check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="the Markdown file to write")
    parser.add_argument("--only", type=int, metavar="PLACE", help=argparse.SUPPRESS)
    given = parser.parse_args()
    path: Path = given.file
    if given.only is not None:
        found = examine_here(CANDIDATES[given.only], "")
        path.write_bytes(pickle.dumps((found.report, found.trouble)))
        return 0
    examined, missing = audit(CANDIDATES, apart)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(table(examined, missing, datetime.now(UTC)), encoding="utf-8")
    print(f"{path}: {len(examined)} functions" + (f"; not installed: {', '.join(missing)}" if missing else ""))
    ours = [one for one in examined if one.candidate.distribution == "ordsim"]
    return int(any(one.report is None or one.report.failed for one in ours))


if __name__ == "__main__":
    sys.exit(main())
