"""Calibration of callables: which arrays they see, when drawing ends, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from statistic_samples import exact_tsi, linear_cka

from ordsim_core.calibration import aggregates, schemes
from ordsim_core.calibration.callables import calibrate, calibrate_layers
from ordsim_core.calibration.conclusions import conclude
from ordsim_core.calibration.errors import NonFiniteStatisticError, UndefinedPermutationError
from ordsim_core.calibration.layers import conclude_layers

if TYPE_CHECKING:
    from collections.abc import Callable


def pair(seed: int = 0, rows: int = 12) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, 3))
    return x, x[:, :2] + 0.7 * random.normal(size=(rows, 2))


def matches(x: np.ndarray, y: np.ndarray) -> int:
    """Rows that are equal, of arrays of row numbers."""
    return int((x == y).sum())


@pytest.mark.parametrize("seed", [0, 1])
def test_draws_are_those_of_the_scheme(seed: int) -> None:
    x, y = pair()
    found = calibrate(linear_cka, x, y, permutations=30, seed=seed, alpha=0.1)
    scheme = schemes.scheme("rows", 12)
    null = [linear_cka(x, y[scheme.drawn(seed, number)]) for number in range(1, 31)]
    assert found.null.tolist() == null
    assert found.permuted == "y"
    truth = conclude(linear_cka(x, y), null, alpha=0.1)
    assert {name: getattr(found, name) for name in vars(truth)} == vars(truth)


def test_the_same_seed_gives_the_same_and_another_does_not() -> None:
    x, y = pair()
    found = [calibrate(linear_cka, x, y, permutations=50, seed=seed) for seed in (4, 4, 5)]
    assert found[0] == found[1]
    assert found[0].null.tolist() == found[1].null.tolist()
    assert found[0].null.tolist() != found[2].null.tolist()
    # A longer null begins with the shorter.
    assert calibrate(linear_cka, x, y, permutations=60, seed=4).null[:50].tolist() == found[0].null.tolist()


def test_a_perfect_match_has_the_smallest_p_value_and_a_constant_side_the_largest() -> None:
    x, y = pair()
    found = calibrate(exact_tsi, x, x, permutations=99, seed=1)
    assert (found.p_value, found.observed, found.score) == (0.01, 1.0, 1.0)
    found = calibrate(exact_tsi, np.ones((8, 3)), y[:8], permutations=99, seed=1)
    assert (found.p_value, found.score) == (1.0, 0.0)


def test_few_permutations_are_all_used() -> None:
    x, y = pair(3, 5)
    found = calibrate(exact_tsi, x, y, permutations=120, early_stop=2)
    scores = [exact_tsi(x, y[list(order)]) for order in permutations(range(5))]
    reached = sum(score >= scores[0] for score in scores)
    assert (found.permutations, found.exceedances, found.enumerated) == (120, reached, True)
    assert found.p_value == reached / 120
    assert found.null.tolist() == [float(score) for score in scores[1:]]
    assert not calibrate(exact_tsi, x, y, permutations=119).enumerated


@pytest.mark.parametrize("kind", ["within-groups", "between-groups"])
def test_groups_are_permuted_as_the_scheme_says(kind: schemes.Kind) -> None:
    groups = np.array([0, 1, 2, 3] * 5)
    found = calibrate(matches, np.arange(20), np.arange(20), permutations=200, scheme=kind, groups=groups, smax=20)
    assert found.observed == 20
    assert found.enumerated == (kind == "between-groups")
    if (
        kind == "between-groups"
    ):  # 24 permutations of 4 groups, each with 5 rows; D_n: 9, 8, 6, 0 of them fix 0, 1, 2, 3
        assert (found.permutations, found.exceedances) == (24, 1)
        assert sorted(found.null) == [0] * 9 + [5] * 8 + [10] * 6
    inside = calibrate(
        lambda x, y: int((groups[x] == groups[y]).sum()),
        np.arange(20),
        np.arange(20),
        permutations=20,
        scheme=kind,
        groups=groups,
        smax=20,
    )
    assert (inside.null == 20).all() == (kind == "within-groups")


def test_groups_of_unequal_size_permute_the_side_that_is_constant() -> None:
    groups = np.array([0, 0, 1, 1, 1, 2, 3, 3, 3, 3])
    random = np.random.default_rng(2)
    constant, varying = random.normal(size=(4, 2))[groups], random.normal(size=(10, 2))
    scheme = {side: schemes.scheme("between-groups", 10, groups, constant=side) for side in ("x", "y")}  # type: ignore[arg-type]
    for x, y, side in ((varying, constant, "y"), (constant, varying, "x"), (constant, constant, "y")):
        found = calibrate(linear_cka, x, y, permutations=10, scheme="between-groups", groups=groups)
        index = [scheme[side].drawn(0, number) for number in range(1, 11)]
        expected = [linear_cka(x[rows], y) if side == "x" else linear_cka(x, y[rows]) for rows in index]
        assert found.permuted == side
        assert found.null.tolist() == expected
        assert len(set(expected)) > 5
        assert all(schemes.constant_within(constant[rows], groups) for rows in index)
    with pytest.raises(UndefinedPermutationError, match="constant within every group"):
        calibrate(linear_cka, varying, varying, scheme="between-groups", groups=groups)


def test_permutations_of_the_caller() -> None:
    x, y = pair()
    asked = []

    def turned(number: int) -> np.ndarray:
        asked.append(number)
        return np.roll(np.arange(12), number)

    found = calibrate(linear_cka, x, y, permutations=11, permute=turned)
    assert asked == list(range(1, 12))
    assert found.null.tolist() == [linear_cka(x, np.roll(y, number, axis=0)) for number in asked]
    assert found.enumerated is False
    random = np.random.default_rng(0)
    found = calibrate(linear_cka, x, y, permutations=7, permute=lambda _number: random.permutation(12))
    assert len(set(found.null)) == 7


@pytest.mark.parametrize("exceedances", [1, 3, 10])
@pytest.mark.parametrize("statistic", [linear_cka, exact_tsi])
def test_drawing_ends_with_the_sequence(statistic: Callable[..., Any], exceedances: int) -> None:
    x, _ = pair(1)
    _, y = pair(2)
    calls = 0

    def counted(left: np.ndarray, right: np.ndarray) -> Any:
        nonlocal calls
        calls += 1
        return statistic(left, right)

    whole = calibrate(statistic, x, y, permutations=400)
    reached = np.flatnonzero(whole.null >= whole.observed * (1 - 1e-14))
    assert len(reached) > exceedances
    found = calibrate(counted, x, y, permutations=400, early_stop=exceedances)
    stop = int(reached[exceedances - 1]) + 1
    assert calls == stop + 1
    assert (found.permutations, found.exceedances, found.stopped_early) == (stop, exceedances, True)
    assert found.p_value == exceedances / stop
    assert found.null.tolist() == whole.null[:stop].tolist()


def test_a_sequence_that_does_not_stop_is_whole() -> None:
    x, _ = pair()
    found = calibrate(exact_tsi, x, x, permutations=99, early_stop=2)
    assert (found.p_value, found.stopped_early, found.permutations) == (0.01, False, 99)


def test_numbers_of_different_types_do_not_end_the_sequence_too_soon() -> None:
    # The second draw is a tie in single precision only, which the first is not in.
    values = iter([0.5, 0.1, np.float32(0.5 - 1e-7), 0.2, 0.6, 0.7])
    found = calibrate(lambda _x, _y: next(values), np.arange(9), np.arange(9), permutations=5, early_stop=2)
    assert (found.permutations, found.exceedances, found.stopped_early) == (5, 2, True)


# Layers


def layers() -> tuple[list[np.ndarray], list[np.ndarray]]:
    random = np.random.default_rng(5)
    x = random.normal(size=(15, 3))
    xs = [x, x + random.normal(size=x.shape), random.normal(size=(15, 2))]
    return xs, [random.normal(size=(15, 4)), x + 0.5 * random.normal(size=x.shape)]


@pytest.mark.parametrize("statistic", [linear_cka, exact_tsi])
@pytest.mark.parametrize("aggregate", ["max", "mean", "row-max-mean", "column-max-mean", np.median])
def test_layers_share_one_permutation(statistic: Callable[..., Any], aggregate: Any) -> None:
    xs, ys = layers()
    found = calibrate_layers(statistic, xs, ys, aggregate=aggregate, permutations=25, seed=3)
    scheme = schemes.scheme("rows", 15)
    grids = np.array(
        [[[float(statistic(x, y[scheme.drawn(3, number)])) for y in ys] for x in xs] for number in range(26)]
    )
    assert found.matrix.tolist() == grids[0].tolist()
    assert found.best == (0, 1)
    totals = {
        "max": lambda grid: grid.max(),
        "mean": lambda grid: grid.mean(),
        "row-max-mean": lambda grid: grid.max(axis=1).mean(),
        "column-max-mean": lambda grid: grid.max(axis=0).mean(),
    }.get(aggregate, aggregate)
    assert found.null == pytest.approx([totals(grid) for grid in grids[1:]], rel=1e-13)
    assert found.observed == pytest.approx(totals(grids[0]), rel=1e-13)
    assert found.exceedances == sum(totals(grid) >= totals(grids[0]) for grid in grids[1:])
    assert found.pairs is not None
    assert found.pairs.corrected is False
    for i, j in np.ndindex(3, 2):
        single = calibrate(statistic, xs[i], ys[j], permutations=25, seed=3)
        assert found.pairs.p_values[i, j] == single.p_value
        assert found.pairs.scores[i, j] == single.score
        assert found.pairs.thresholds[i, j] == single.threshold


def test_one_layer_on_each_side_is_a_pair() -> None:
    x, y = pair()
    single = calibrate(exact_tsi, x, y, permutations=40)
    for aggregate in ("max", "mean", "row-max-mean", "column-max-mean"):
        found = calibrate_layers(exact_tsi, [x], [y], aggregate=aggregate, permutations=40)  # type: ignore[arg-type]
        shared = {name: value for name, value in vars(single).items() if name != "null"}
        assert {name: getattr(found, name) for name in shared} == shared
        assert found.null.tolist() == single.null.tolist()


def test_layers_stop_for_the_aggregate() -> None:
    xs, ys = layers()
    xs = [np.random.default_rng(8).normal(size=(15, 3)), xs[2]]
    whole = calibrate_layers(exact_tsi, xs, ys, permutations=300)
    reached = np.flatnonzero(whole.null >= whole.observed)
    found = calibrate_layers(exact_tsi, xs, ys, permutations=300, early_stop=4)
    assert (found.permutations, found.stopped_early) == (int(reached[3]) + 1, True)
    assert found.null.tolist() == whole.null[: found.permutations].tolist()
    assert found.pairs is None  # they have no valid p-values then
    assert found.matrix.tolist() == whole.matrix.tolist()


def test_layers_of_few_rows_use_all_permutations() -> None:
    xs, ys = layers()
    found = calibrate_layers(exact_tsi, [x[:4] for x in xs], [y[:4] for y in ys], permutations=24, early_stop=1)
    assert (found.enumerated, found.permutations) == (True, 24)
    assert found.pairs is not None
    assert (found.pairs.p_values * 24 % 1 == 0).all()


def test_layers_are_permuted_where_all_of_a_side_are_constant() -> None:
    groups = np.array([0, 0, 1, 1, 1, 2, 3, 3, 3, 3])
    random = np.random.default_rng(2)
    constant = [random.normal(size=(4, 2))[groups] for _ in range(2)]
    varying = [random.normal(size=(10, 2)), constant[0]]
    options: Any = {"permutations": 10, "scheme": "between-groups", "groups": groups}
    assert calibrate_layers(linear_cka, varying, constant, **options).permuted == "y"
    assert calibrate_layers(linear_cka, constant, varying, **options).permuted == "x"
    with pytest.raises(UndefinedPermutationError):
        calibrate_layers(linear_cka, varying, varying, **options)


def test_counts_of_layers_stay_exact() -> None:
    # 2^62 six times over is beyond 64 bits, and floats would not tell the last digits apart.
    observed = np.full((2, 3), 2**62)
    null = np.stack([observed, observed - 1, observed])
    null[2, 1, 1] -= 1
    for kind, exceedances in (("mean", 1), ("max", 2), ("row-max-mean", 2), ("column-max-mean", 2)):
        found = conclude_layers(observed, null, aggregate=kind, denominator=2**63)  # type: ignore[arg-type]
        assert (found.exceedances, found.observed) == (exceedances, 0.5)
        assert found.best == (0, 0)
    beyond = conclude_layers(observed.astype(object) * 4, null.astype(object) * 4, aggregate="mean", denominator=2**65)
    assert beyond == conclude_layers(observed, null, aggregate="mean", denominator=2**63)
    assert beyond.pairs is not None
    assert beyond.pairs.p_values.tolist() == [[3 / 4] * 3, [3 / 4, 2 / 4, 3 / 4]]
    unsigned = conclude_layers(observed.astype(np.uint64), null, aggregate="mean", denominator=2**63)
    fractions = [np.vectorize(lambda count: Fraction(count, 2**63), otypes=[object])(part) for part in (observed, null)]
    for other in (unsigned, conclude_layers(*fractions, aggregate="mean")):
        assert other == conclude_layers(observed, null, aggregate="mean", denominator=2**63)


def test_aggregates_of_many_matrices_at_once() -> None:
    counts = np.random.default_rng(9).integers(-(2**40), 2**40, (2, 5, 3, 4))
    by_hand = {
        "max": lambda matrix: Fraction(max(map(max, matrix))),
        "mean": lambda matrix: Fraction(sum(map(sum, matrix)), 12),
        "row-max-mean": lambda matrix: Fraction(sum(map(max, matrix)), 3),
        "column-max-mean": lambda matrix: Fraction(sum(map(max, zip(*matrix, strict=True))), 4),
    }
    for kind in aggregates.KINDS:
        for scale in (1, 2**22, 2**40):  # within 64 bits, sums beyond them, and all beyond them
            scaled = counts * scale if scale < 2**40 else counts.astype(object) * scale
            totals, denominator = aggregates.aggregate(kind, scaled)
            assert totals.shape == (2, 5)
            rounded, one = aggregates.aggregate(kind, counts.astype(np.float64) * scale)
            assert one == 1
            for place in np.ndindex(2, 5):
                truth = by_hand[kind](counts[place].tolist()) * scale
                assert Fraction(int(totals[place]), denominator) == truth
                assert rounded[place] == pytest.approx(float(truth), rel=1e-12)


# What is refused


def test_statistics_that_are_not_finite_name_draw_and_layers() -> None:
    values = iter([0.5, 0.1, math.nan])
    with pytest.raises(NonFiniteStatisticError, match="the statistic of permutation 2 is nan"):
        calibrate(lambda _x, _y: next(values), np.arange(9), np.arange(9))
    with pytest.raises(NonFiniteStatisticError, match="the observed statistic is inf"):
        calibrate(lambda _x, _y: math.inf, np.arange(9), np.arange(9))
    grid = iter([0.5, 0.1, 0.2, 0.3, 0.5, 0.1, math.nan])
    with pytest.raises(NonFiniteStatisticError, match="permutation 1 of layer 1 of x and layer 0 of y is nan"):
        calibrate_layers(lambda _x, _y: next(grid), [np.arange(9)] * 2, [np.arange(9)] * 2)
    null = np.full((4, 2, 2), 0.5)
    null[2, 0, 1] = -math.inf
    with pytest.raises(NonFiniteStatisticError, match="permutation 3 of layer 0 of x and layer 1 of y is -inf"):
        conclude_layers(null[0], null)


def test_wrong_arguments_are_named() -> None:
    x, y = pair()
    with pytest.raises(ValueError, match="some have 11, some 12"):
        calibrate(linear_cka, x, y[:11])
    with pytest.raises(ValueError, match="must have rows"):
        calibrate(linear_cka, np.array(1.0), y)
    with pytest.raises(ValueError, match="at least 1 permutation, not 0"):
        calibrate(linear_cka, x, y, permutations=0)
    with pytest.raises(ValueError, match="one or the other"):
        calibrate(linear_cka, x, y, scheme="within-groups", groups=np.arange(12) // 2, permute=np.arange)
    with pytest.raises(ValueError, match="needs groups"):
        calibrate(linear_cka, x, y, scheme="between-groups")
    with pytest.raises(ValueError, match="at least 1 exceedance"):
        calibrate(linear_cka, x, y, early_stop=0)
    with pytest.raises(ValueError, match="alpha"):
        calibrate(linear_cka, x, y, alpha=2.0)
    with pytest.raises(ValueError, match="seed"):
        calibrate(linear_cka, x, y, seed=-1)
    for wrong in (np.arange(11), np.arange(12) + 1, np.arange(12) - 1, np.arange(12) / 1, None):
        with pytest.raises(ValueError, match=r"permute\(1\) must give 12 row numbers from 0 to 11"):
            calibrate(linear_cka, x, y, permute=lambda _number, given=wrong: given)
    with pytest.raises(TypeError, match="a statistic must be a real number, not 'high'"):
        calibrate(lambda _x, _y: "high", x, y)
    with pytest.raises(ValueError, match="at least one array on each side"):
        calibrate_layers(linear_cka, [x], [])
    with pytest.raises(ValueError, match="max, mean, row-max-mean, column-max-mean or a function, not 'best'"):
        calibrate_layers(linear_cka, [x], [y], aggregate="best")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"\(LA, LB\) and \(K, LA, LB\), not \(2, 2\) and \(5, 2, 3\)"):
        conclude_layers(np.zeros((2, 2)), np.zeros((5, 2, 3)))
    with pytest.raises(ValueError, match="divide floats by it before"):
        conclude_layers(np.zeros((2, 2)), np.zeros((5, 2, 2)), denominator=3)
    with pytest.raises(ValueError, match="at least one layer on each side"):
        conclude_layers(np.zeros((2, 0)), np.zeros((5, 2, 0)))


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        ({"alpha": 2.0}, ValueError, "alpha"),
        ({"smax": math.nan}, ValueError, "smax"),
        ({"permutations": 0}, ValueError, "at least 1 permutation, not 0"),
        ({"permutations": 9.5}, TypeError, "permutations must be a whole number, not 9.5"),
        ({"scheme": "columns"}, ValueError, "the scheme must be one of"),
        ({"seed": -1}, ValueError, "seed"),
        ({"early_stop": 0}, ValueError, "at least 1 exceedance"),
        ({"tolerance": -1.0}, ValueError, "tolerance"),
        ({"confidence": 1.0}, ValueError, "confidence"),
    ],
)
def test_wrong_arguments_are_refused_before_the_first_call(
    wrong: dict[str, Any], error: type[Exception], said: str
) -> None:
    def never(_x: np.ndarray, _y: np.ndarray) -> float:
        raise AssertionError("called")

    x, y = pair()
    with pytest.raises(error, match=said):
        calibrate(never, x, y, **wrong)
    with pytest.raises(error, match=said):
        calibrate_layers(never, [x], [y], **wrong)
    with pytest.raises(ValueError, match="or a function, not 'best'"):
        calibrate_layers(never, [x], [y], aggregate="best")  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="called"):
        calibrate(never, x, y)


def test_the_similarity_comes_first() -> None:
    x, y = pair()
    with pytest.raises(TypeError, match=r"comes first.*: calibrate\(similarity, x, y\).*an array of shape \(12, 3\)"):
        calibrate(x, y, linear_cka)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"comes first.*: calibrate_layers\(similarity, xs, ys\).*of type list"):
        calibrate_layers([x], [y], linear_cka)  # type: ignore[arg-type]
