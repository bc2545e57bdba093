"""Public packages that are installed against ours: the same measure of the same real embeddings, on one thread.

Each figure says how many times as long the package takes. None of them is a dependency: install those of interest into
the same environment; what is missing is left out. They build N x N matrices, so there are few rows. Where a package
defines a measure otherwise than ours (a fixed bandwidth, another estimator), the work is of the same kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import data
import numpy as np
import pairwise
from figures import Figure
from timing import in_turns

from ordsim_core.correlations import canonical, factors, pilots
from ordsim_core.cosine.gram_sums import Statistic
from ordsim_core.cosine.linear import linear_cka
from ordsim_core.distances import Distance
from ordsim_core.neighbours.lists import nearest
from ordsim_core.neighbours.overlaps import overlaps
from ordsim_core.spaces import prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from figures import Options
    from numpy.typing import NDArray

    Array = NDArray[np.float32]
    Measure = Callable[[Array, Array], object]

ROWS, QUICK_ROWS = 2_000, 300
PLACES = 10


@dataclass(frozen=True)
class Package:
    """A function of a public package, and the measure of ours that it is set against.

    `make` imports it, and gives it as a function of two float32 arrays.
    """

    distribution: str
    name: str
    ours: str
    make: Callable[[], Measure]


def measure(options: Options) -> Iterator[Figure]:
    """Measure every function that is installed beside ours of the same name."""
    rows = QUICK_ROWS if options.quick else ROWS
    x, y = (np.load(data.FOLDER / f"sample/{name}.npy")[:rows].astype("f4") for name in ("text_L6_f32", "text_L3_f16"))
    case = f"real, {data.size(rows)} x {x.shape[1]}"
    for package in PACKAGES:
        try:
            installed = version(package.distribution)
        except PackageNotFoundError:
            continue
        contenders = {"ordsim": OURS[package.ours], "package": package.make()}
        calls = {name: (lambda _, call=call: partial(call, x, y)) for name, call in contenders.items()}
        seconds = in_turns(calls, min(options.repetitions, 3))
        measured = {name: series.median for name, series in seconds.items()}
        name = f"{package.distribution} {installed} {package.name} / {package.ours}"
        yield Figure(case, name, seconds["package"] / seconds["ordsim"], "", None, measured, "s")


def _neighbours(x: Array, y: Array) -> object:
    spaces = (prepare(values, Distance.EUCLIDEAN) for values in (x, y))
    return overlaps(*(nearest(space, np.arange(len(x)), PLACES) for space in spaces))


def _canonical(compare: Any) -> Measure:
    def ours(x: Array, y: Array) -> object:
        pilot = pilots.survey(x, y)
        return compare(factors.factor(x, y, pilot), pilot.layout)

    return ours


OURS: dict[str, Measure] = {
    "linear CKA": linear_cka,
    "debiased CKA": lambda x, y: linear_cka(x, y, Statistic.DEBIASED),
    "RBF CKA": lambda x, y: pairwise.rbf_with_medians((x, y)),
    "RSA, Pearson": lambda x, y: pairwise.pearson((x, y)),
    "RSA, Spearman": lambda x, y: pairwise.spearman_of((x, y)),
    "SVCCA": _canonical(canonical.svcca),
    "PWCCA": _canonical(canonical.pwcca),
    "mutual kNN": _neighbours,
}


def _of_tensors(module: str, find: Callable[[Any], Callable[[Any, Any], object]]) -> Callable[[], Measure]:
    def make() -> Measure:
        torch = import_module("torch")
        torch.set_num_threads(1)
        function = find(import_module(module))
        return lambda x, y: function(torch.from_numpy(x), torch.from_numpy(y))

    return make


def _netrep() -> Measure:
    score: Measure = import_module("netrep.metrics.cka").LinearCKA().score
    return score


def _rsatoolbox(method: str) -> Measure:
    toolbox = import_module("rsatoolbox")

    def compare(x: Array, y: Array) -> object:
        distances = [toolbox.rdm.calc_rdm(toolbox.data.Dataset(side), method="euclidean") for side in (x, y)]
        return toolbox.rdm.compare(*distances, method=method)

    return compare


def _repsim(name: str, **options: str) -> Measure:
    function = getattr(import_module("repsim"), name)
    return lambda x, y: function([x, y], **options)


def _scikit_learn() -> Measure:
    neighbours = import_module("sklearn.neighbors")

    def shared(x: Array, y: Array) -> float:
        found = [
            neighbours.NearestNeighbors(n_neighbors=PLACES, algorithm="brute", n_jobs=1).fit(side).kneighbors()[1]
            for side in (x, y)
        ]
        return float(np.mean([len(np.intersect1d(*both)) for both in zip(*found, strict=True)])) / PLACES

    return shared


PACKAGES = (
    Package("ckatorch", "cka_base", "linear CKA", _of_tensors("ckatorch.core", lambda core: core.cka_base)),
    Package("netrep", "LinearCKA", "linear CKA", _netrep),
    Package("repsim", "cka", "linear CKA", partial(_repsim, "cka", kernel_type="linear")),
    Package(
        "ckatorch", "cka_base, unbiased", "debiased CKA",
        _of_tensors("ckatorch.core", lambda core: partial(core.cka_base, unbiased=True)),
    ),
    Package(
        "pytorch-cka", "cka_from_features", "debiased CKA",
        _of_tensors("cka.cka", lambda module: module.cka_from_features),
    ),
    Package(
        "ckatorch", "cka_base, rbf", "RBF CKA",
        _of_tensors("ckatorch.core", lambda core: partial(core.cka_base, kernel="rbf")),
    ),
    Package("rsatoolbox", "corr", "RSA, Pearson", partial(_rsatoolbox, "corr")),
    Package("rsatoolbox", "spearman", "RSA, Spearman", partial(_rsatoolbox, "spearman")),
    Package("repsim", "svcca", "SVCCA", partial(_repsim, "svcca")),
    Package("repsim", "pwcca", "PWCCA", partial(_repsim, "pwcca")),
    Package("scikit-learn", "NearestNeighbors", "mutual kNN", _scikit_learn),
)  # fmt: skip
