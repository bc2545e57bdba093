"""RSA and RBF CKA of small cases against values from 80-digit arithmetic."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cosine_cases import CASES, arrays, off
from pair_cases import FOLDER, KNOWN, cka, medians, pairing, ranked, rsa

from ordsim_core.errors import ZeroVectorError

if TYPE_CHECKING:
    from ordsim_core.cosine.cosine_form import Cosine

SCORE, DEFICIT = 1e-14, 1e-13

by_name = pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])


def known(case: dict[str, Any], measure: str) -> list[Decimal] | None:
    values = KNOWN["cases"][case["name"]][measure]
    return None if values is None else [Decimal(value) for value in values]


def check(found: Cosine, expected: list[Decimal] | None) -> None:
    if expected is None:
        assert (found.score, found.deficit) == (None, None)
        assert found.reason
        return
    assert off(found.score, expected[0]) < SCORE
    assert off(found.deficit, expected[1]) < DEFICIT


@by_name
@pytest.mark.parametrize("correlation", ["pearson", "cosine"])
@pytest.mark.parametrize("distance", ["euclidean", "correlation"])
def test_correlations_of_distances(case: dict[str, Any], correlation: str, distance: str) -> None:
    expected = known(case, f"{correlation}-{distance}")
    try:
        found = rsa(*arrays(case), distance, centred=correlation == "pearson")
    except ZeroVectorError:
        assert expected is None
        assert distance == "correlation"
    else:
        check(found, expected)


@by_name
def test_correlation_of_ranks(case: dict[str, Any]) -> None:
    check(ranked(*arrays(case)), known(case, "spearman-euclidean"))


@by_name
def test_radial_kernel_with_median_bandwidth(case: dict[str, Any]) -> None:
    x, y = arrays(case)
    found = pairing(x, y, ("euclidean", "euclidean"), centred=True)
    widths, expected = medians(found), known(case, "rbf")
    if expected is None:
        assert min(widths.x, widths.y) == 0
        return
    stored = (math.ldexp(float(width), -side.exponent) for width, side in ((widths.x, found.x), (widths.y, found.y)))
    assert off(next(stored) / found.relation.scale, expected[2]) < 1e-15
    assert off(next(stored), expected[3]) < 1e-15
    check(cka(x, y, "rbf"), expected)


@pytest.mark.parametrize("pair", KNOWN["real"])
def test_real_embeddings(pair: str) -> None:
    x, y = (np.load(next(FOLDER.glob(f"*/{name}.npy"))) for name in pair.split(" ~ "))
    rows = min(len(x), len(y))
    found = rsa(x[:rows], y[:rows], "euclidean", centred=True)
    assert found.score is not None
    assert found.score == pytest.approx(KNOWN["real"][pair], abs=1e-12)
