"""RSA from sampled pairs: moments of blocks, and how often intervals hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from pair_cases import pairing, rdm_plan, rsa
from scipy.stats import rankdata, spearmanr

from ordsim_core import sampling
from ordsim_core.pairwise import correlation_intervals, rdm, sampled_pairs, spearman
from ordsim_core.pairwise.pilot import Pilot

if TYPE_CHECKING:
    from ordsim_core.intervals import Interval

RNG = np.random.default_rng(31)
X = RNG.standard_normal((80, 4))
Y = X[:, :3] + 0.7 * RNG.standard_normal((80, 3))
REPETITIONS, SIZE, CONFIDENCE = 300, 1000, 0.9


def moments_of(x: np.ndarray, y: np.ndarray) -> dict[tuple[int, int], float]:
    m, d = (x + y) / 2, y - x
    return {(a, b): float(np.sum(m**a * d**b)) for a, b in sampled_pairs.POWERS}


def bounded(x: np.ndarray, y: np.ndarray, *, centred: bool) -> tuple[float | None, Interval | None]:
    found = moments_of(x, y)
    sums = rdm.from_moments(sampled_pairs.first_moments(found), len(x), Pilot(), centred, rdm.Sizes())
    fourth = sampled_pairs.about_means(found, len(x)) if centred else found
    cosine = sums.cosine()
    assert cosine.deficit is not None
    return cosine.score, correlation_intervals.of_moments(sums, fourth, len(x), cosine.deficit, CONFIDENCE)


def ranked(x: np.ndarray, y: np.ndarray) -> tuple[float | None, Interval | None]:
    found = spearman.sums(*(np.rint(2 * rankdata(side)).astype(int) - len(side) - 1 for side in (x, y))).cosine()
    assert found.deficit is not None
    return found.score, correlation_intervals.of_ranks(x, y, found.deficit, CONFIDENCE)


def population(tied: bool) -> tuple[np.ndarray, np.ndarray]:
    """Values of heavy tails that depend on each other in no simple way."""
    rng = np.random.default_rng(6)
    x = rng.standard_normal(400_000) ** 3 + 1
    y = 0.4 * x + rng.standard_normal(len(x)) * (1 + 0.3 * np.abs(x))
    return (np.rint(x), np.rint(y)) if tied else (x, y)


@pytest.mark.parametrize("kind", ["pearson", "cosine", "spearman", "spearman of ties"])
def test_intervals_hold_about_as_often_as_they_say(kind: str) -> None:
    x, y = population(kind.endswith("ties"))
    truth = {
        "pearson": np.corrcoef(x, y)[0, 1],
        "cosine": x @ y / np.sqrt((x @ x) * (y @ y)),
    }.get(kind, spearmanr(x, y).statistic if kind.startswith("spearman") else None)
    rng, held = np.random.default_rng(7), 0
    for _ in range(REPETITIONS):
        chosen = rng.integers(0, len(x), SIZE)
        score, interval = (
            ranked(x[chosen], y[chosen])
            if kind.startswith("spearman")
            else bounded(x[chosen], y[chosen], centred=kind == "pearson")
        )
        assert interval is not None
        assert score is not None
        assert -1 <= interval.low < score < interval.high <= 1
        assert (interval.method, interval.confidence, interval.rigorous) == ("fisher-z", CONFIDENCE, False)
        held += interval.low <= truth <= interval.high
    # A binomial share of 0.9 is within 0.85 and 0.94 with 99 % of 300; heavy tails take a little of it.
    assert 0.82 <= held / REPETITIONS <= 0.95


@pytest.mark.parametrize("kind", ["pearson", "cosine"])
def test_the_variance_is_that_of_the_influence_function(kind: str) -> None:
    centred = kind == "pearson"
    x, y = (side[:500] for side in population(False))
    one, other = (side - side.mean() if centred else side for side in (x, y))
    u, v = (side / np.sqrt(np.mean(side**2)) for side in (one, other))
    score = np.mean(u * v)
    influence = u * v - score * (u**2 + v**2) / 2
    deviation = np.sqrt(np.mean(influence**2) / len(x)) / (1 - score**2)
    interval = bounded(x, y, centred=centred)[1]
    assert interval is not None
    width = np.arctanh(interval.high) - np.arctanh(interval.low)
    assert width == pytest.approx(2 * 1.6448536269514722 * deviation, rel=1e-9)


def test_the_interval_of_a_tiny_deficit_keeps_its_digits() -> None:
    x = RNG.standard_normal(2000)
    noise = RNG.standard_normal(2000)
    widths = []
    for delta in (1e-3, 1e-6):
        found = moments_of(x, x + delta * noise)
        exact = {(a, b): float(np.sum((x + delta / 2 * noise) ** a * (delta * noise) ** b)) for a, b in found}
        sums = rdm.from_moments(sampled_pairs.first_moments(exact), 2000, Pilot(), True, rdm.Sizes())
        deficit = sums.cosine().deficit
        assert deficit is not None
        assert deficit == pytest.approx(delta**2 / 2, rel=0.2)
        interval = correlation_intervals.of_moments(
            sums, sampled_pairs.about_means(exact, 2000), 2000, deficit, CONFIDENCE
        )
        assert interval is not None
        widths.append((interval.high - interval.low) / delta**2)
    assert widths[0] == pytest.approx(widths[1], rel=0.01)


def test_without_variance_there_is_no_interval() -> None:
    x = RNG.standard_normal(50)
    assert bounded(x, x, centred=True)[1] is None
    assert ranked(x, np.exp(x))[1] is None
    with pytest.raises(ValueError, match="confidence"):
        correlation_intervals.of_ranks(x, x[::-1], 0.5, 1.0)


@pytest.mark.parametrize("y", [Y, X + 1e-7 * RNG.standard_normal(X.shape)], ids=["separate", "differences"])
@pytest.mark.parametrize("distance", ["euclidean", "correlation", "manhattan", "dot"])
def test_moments_are_those_of_the_pairs_drawn(y: np.ndarray, distance: str) -> None:
    samples, seed = sampled_pairs.BLOCK + 500, 4
    plan = rdm_plan(X, y, (distance, distance), centred=False)
    assert sampled_pairs.blocks(samples) == 2
    found = sampled_pairs.add_up(np.array([sampled_pairs.moments(plan, seed, block, samples) for block in range(2)]))
    drawn = sampling.triplets(seed, 0, samples, len(X))[:, :2]
    sides = pairing(X, y, (distance, distance), centred=False)
    x_distances, y_distances = (
        np.concatenate(part)
        for part in zip(*(sampled_pairs.distances(sides, seed, block, samples) for block in range(2)), strict=True)
    )
    assert x_distances.shape == (samples,)
    assert x_distances[-1] == pytest.approx(one_distance(X, distance, *drawn[-1]))
    assert found[2, 0] == pytest.approx(float(np.sum(((x_distances + plan.pairing.factor * y_distances) / 2) ** 2)))
    score = rdm.from_moments(sampled_pairs.first_moments(found), samples, plan.pilot, False, rdm.Sizes()).cosine().score
    direct = x_distances @ y_distances / np.sqrt((x_distances @ x_distances) * (y_distances @ y_distances))
    assert score == pytest.approx(direct, rel=1e-12)
    assert score == pytest.approx(rsa(X, y, distance, centred=False).score, abs=0.05)


def one_distance(values: np.ndarray, distance: str, i: int, j: int) -> float:
    one, other = values[i], values[j]
    if distance == "dot":
        return -float(one @ other)
    if distance == "manhattan":
        return float(np.abs(one - other).sum())
    if distance == "correlation":
        return float(1 - np.corrcoef(one, other)[0, 1])
    return float(np.linalg.norm(one - other))
