"""Statistics of permuted rows, for every measure that has them."""

from __future__ import annotations

from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ordsim_core.calibration.schemes import scheme
from ordsim_core.distances import Distance
from ordsim_core.spaces import prepare
from workers import environment
from workers.errors import ProblemError
from workers.measures import registry
from workers.measures.calibration import Calibration, EarlyStop
from workers.measures.given import Grid, Pair, Values
from workers.measures.permuted import PERMUTED, STATISTICS, PermutedOptions, setting
from workers.measures.protocol import SPACES, VALUES, Budget, MeasureOptions, Outcome, PairFacts, PairShape
from workers.partials import Partial

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ordsim_core.spaces import Space
    from workers.measures.protocol import Measure

ROWS, SEED = 30, 4
GENERATOR = np.random.default_rng(11)
X = GENERATOR.standard_normal((ROWS, 5)).astype(np.float32)
Y = (X[:, :4] + GENERATOR.standard_normal((ROWS, 4))).astype(np.float32)
LABELS = np.repeat(np.arange(10), 3)
UNEVEN = np.repeat(np.arange(9), [1, 2, 3, 4, 5, 4, 4, 4, 3])

SENT: dict[str, dict[str, Any]] = {
    "tsi units": {"units": 40, "targets": 5},
    "qsi units": {"units": 40, "pairs": 5},
    "tsi sampled": {"samples": 200},
    "qsi sampled": {"samples": 200},
    "tsi anchors": {"anchors": 30},
    "tsi batched": {"batches": 2, "batch_size": 30},
    "qsi batched": {"batches": 2, "batch_size": 30},
    "mutual_knn exact": {"k": 4},
    "mutual_knn anchors": {"k": 4, "anchors": 30},
    "cknna exact": {"k": 4},
    "rsa sampled": {"samples": 50},
}
"""Options that have no default. Where all rows or all comparisons take part, the score is the exact one."""


@pytest.fixture(autouse=True)
def staging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Exact QSI asks where it may keep pairs."""
    monkeypatch.setenv("ORDSIM_STAGING_DIRECTORY", str(tmp_path))
    environment.from_environment.cache_clear()
    yield
    environment.from_environment.cache_clear()


class Array:
    """An operand held in memory."""

    precision, fingerprint = "exact", "none"

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        self.distance = Distance.EUCLIDEAN
        self.columns = int(array.shape[1])

    def space(self) -> Space:
        return prepare(self.array, self.distance)

    def values(self) -> NDArray[Any]:
        return self.array


def shape(x: NDArray[Any], y: NDArray[Any]) -> PairShape:
    return PairShape(len(x), x.shape[1], y.shape[1])


def grid(x: NDArray[Any], y: NDArray[Any], groups: NDArray[np.int64] | None = None) -> Grid:
    return Grid((Array(x),), (Array(y),), shape(x, y), groups)


def options_of(measure: Measure, **more: Any) -> MeasureOptions:
    name = f"{measure.measure} {measure.method}"
    return measure.options.model_validate(
        {"measure": measure.measure, "method": measure.method, **SENT.get(name, {}), **more}
    )


def outcome(measure: Measure, options: MeasureOptions, x: NDArray[Any], y: NDArray[Any]) -> Outcome:
    """What the measure itself finds."""
    kept: dict[str, Any] = {}

    def memo(name: str, compute: Any) -> Any:
        return kept[name] if name in kept else kept.setdefault(name, compute())

    one, other = Array(x), Array(y)
    given: Any = grid(x, y)
    if measure.needs == SPACES:
        given = Pair(one.space(), other.space())
    elif measure.needs == VALUES:
        given = Values(x, y, one.distance, other.distance, None, memo)
    shards = measure.shards(shape(x, y), options, Budget(60.0, 2**30))
    parts = [measure.partial(given, shard, options, SEED, lambda: None) for shard in shards]
    return measure.finish(reduce(add, parts), PairFacts(shape(x, y)), options, 0.99)


def permuted(options: PermutedOptions, given: Grid, seconds: float = 60.0) -> tuple[Partial, Outcome]:
    """All statistics, and what they say."""
    shards = PERMUTED.shards(given.shape, options, Budget(seconds, 2**30))
    parts = [PERMUTED.partial(given, shard, options, SEED, lambda: None) for shard in shards]
    total = reduce(add, (Partial.from_bytes(part.to_bytes()) for part in parts))
    return total, PERMUTED.finish(total, PairFacts(given.shape), options, 0.99)


def _calibration(measure: Measure, permutations: int, kind: str) -> Calibration:
    """The measure itself, where it can be had."""
    drawn = ("rsa sampled", "tsi anchors", "tsi batched", "qsi batched", "mutual_knn anchors")
    statistic = "fast" if f"{measure.measure} {measure.method}" in drawn else "measure"
    return Calibration.model_validate({"permutations": permutations, "scheme": kind, "statistic": statistic})


@pytest.mark.parametrize("measure", registry.all_measures(), ids=lambda measure: f"{measure.measure}-{measure.method}")
def test_nulls_are_scores_of_permuted_rows(measure: Measure) -> None:
    options = options_of(measure)
    wanted = PermutedOptions(inner=options, calibration=_calibration(measure, 3, "rows"))
    total, found = permuted(wanted, grid(X, Y))
    unit = setting(shape(X, Y), wanted, SEED).statistic.unit or 1
    statistics = total.vector(STATISTICS)[:, 0, 0] / unit
    assert found.calibration is not None
    assert found.calibration["observed"] == pytest.approx(statistics[0], rel=1e-15)
    compared = options_of(registry.find("rsa", "exact")) if measure.measure == "rsa" else options
    of = registry.find(compared.measure, compared.method)
    for number in range(4):
        order = scheme("rows", ROWS).drawn(SEED, number)
        expected = outcome(of, compared, X, np.ascontiguousarray(Y[order]))
        assert expected.score is not None
        assert statistics[number] == pytest.approx(expected.score, rel=1e-9), number


@pytest.mark.parametrize("name", ["mutual_knn", "cknna"])
def test_rows_that_tie_by_their_number_tie_anew_in_every_order(name: str) -> None:
    x, y = (np.round(side[:, :2]).astype("f4") for side in (X, Y))
    measure = registry.find(name, "exact")
    options = options_of(measure, ties="index")
    wanted = PermutedOptions(inner=options, calibration=_calibration(measure, 3, "rows"))
    statistics = permuted(wanted, grid(x, y))[0].vector(STATISTICS)[:, 0, 0]
    for number in range(4):
        order = scheme("rows", ROWS).drawn(SEED, number)
        expected = outcome(measure, options, x, np.ascontiguousarray(y[order]))
        assert statistics[number] == pytest.approx(expected.score, rel=1e-12), number
    by_share = permuted(wanted.model_copy(update={"inner": options_of(measure)}), grid(x, y))[0]
    assert not np.array_equal(by_share.vector(STATISTICS)[:, 0, 0], statistics)


@pytest.mark.parametrize("size", [1e-300, 1e-100, 1e100])
@pytest.mark.parametrize("measure", registry.all_measures(), ids=lambda measure: f"{measure.measure}-{measure.method}")
def test_nulls_do_not_depend_on_the_unit_of_values(measure: Measure, size: float) -> None:
    wanted = PermutedOptions(inner=options_of(measure), calibration=_calibration(measure, 2, "rows"))
    x, y = X.astype("f8"), Y.astype("f8")
    plain = permuted(wanted, grid(x, y))[0].vector(STATISTICS)
    scaled = permuted(wanted, grid(x * size, y))[0].vector(STATISTICS)
    np.testing.assert_allclose(scaled, plain, rtol=1e-7)


def test_what_is_undefined_has_no_p_value_from_rounding() -> None:
    for name, method, more in (("cka", "linear", {"estimator": "debiased"}), ("cca", "exact", {})):
        measure = registry.find(name, method)
        wanted = PermutedOptions(inner=options_of(measure, **more), calibration=Calibration(permutations=9))
        _, found = permuted(wanted, grid(X[:20].astype("f8"), 3.3 * np.eye(20)))
        assert found.calibration is not None
        assert found.calibration["pValue"] is None, name
        assert found.calibration["reason"], name


@pytest.mark.parametrize("kernel", ["linear", "rbf", "distance"])
def test_debiased_nulls(kernel: str) -> None:
    measure = registry.find("cka", kernel)
    options = options_of(measure, estimator="debiased")
    total, _ = permuted(PermutedOptions(inner=options, calibration=Calibration(permutations=2)), grid(X, Y))
    expected = outcome(measure, options, X, np.ascontiguousarray(Y[scheme("rows", ROWS).drawn(SEED, 2)]))
    assert total.vector(STATISTICS)[2, 0, 0] == pytest.approx(expected.score, rel=1e-8)


@pytest.mark.parametrize("measure", registry.all_measures(), ids=lambda measure: f"{measure.measure}-{measure.method}")
def test_groups_of_any_size_change_places(measure: Measure) -> None:
    """Where groups differ in size, rows of the constant side are given more or less often."""
    options = options_of(measure)
    constant = np.ascontiguousarray(Y[UNEVEN])
    wanted = PermutedOptions(inner=options, calibration=_calibration(measure, 2, "between-groups"))
    total, _ = permuted(wanted, grid(X, constant, UNEVEN))
    unit = setting(shape(X, Y), wanted, SEED).statistic.unit or 1
    compared = options_of(registry.find("rsa", "exact")) if measure.measure == "rsa" else options
    of = registry.find(compared.measure, compared.method)
    order = scheme("between-groups", ROWS, UNEVEN, constant="y").drawn(SEED, 2)
    expected = outcome(of, compared, X, np.ascontiguousarray(constant[order]))
    assert total.vector(STATISTICS)[2, 0, 0] / unit == pytest.approx(expected.score, rel=1e-9)


def test_the_side_that_is_constant_is_permuted() -> None:
    options = options_of(registry.find("tsi", "exact"))
    constant = np.ascontiguousarray(X[UNEVEN])
    wanted = PermutedOptions(inner=options, calibration=Calibration(permutations=2, scheme="between-groups"))
    total, _ = permuted(wanted, grid(constant, Y, UNEVEN))
    order = scheme("between-groups", ROWS, UNEVEN, constant="x").drawn(SEED, 1)
    expected = outcome(registry.find("tsi", "exact"), options, np.ascontiguousarray(constant[order]), Y)
    assert expected.counts is not None
    assert total.vector(STATISTICS)[1, 0, 0] == expected.counts.agreeing


def test_shards_do_not_matter() -> None:
    options = PermutedOptions(
        inner=options_of(registry.find("tsi", "units")), calibration=Calibration(permutations=200)
    )
    whole, found = permuted(options, grid(X, Y))
    parts, same = permuted(options, grid(X, Y), seconds=1e-9)
    assert len(parts.pieces[STATISTICS]) > 1 == len(whole.pieces[STATISTICS])
    assert np.array_equal(parts.vector(STATISTICS), whole.vector(STATISTICS))
    assert found.calibration == same.calibration


def test_draws_are_distinct() -> None:
    options = PermutedOptions(inner=options_of(registry.find("tsi", "exact")), calibration=Calibration(permutations=50))
    total, _ = permuted(options, grid(X, Y))
    assert len(np.unique(total.vector(STATISTICS)[1:])) > 45


def test_early_stopping_takes_the_first_shards_that_are_enough() -> None:
    noise = GENERATOR.standard_normal((ROWS, 3))
    options = PermutedOptions(
        inner=options_of(registry.find("tsi", "units")),
        calibration=Calibration(permutations=5000, early_stop=EarlyStop(exceedances=2)),
    )
    given = grid(X, noise)
    shards = PERMUTED.shards(given.shape, options, Budget(1.0, 2**30))
    assert shards == PERMUTED.shards(given.shape, options, Budget(99.0, 2**20))
    total = Partial()
    for shard in shards:
        total += PERMUTED.partial(given, shard, options, SEED, lambda: None)
        if PERMUTED.enough(total, PairFacts(given.shape), options, 0.99):
            break
    assert shard.index < len(shards) - 1
    found = PERMUTED.finish(total, PairFacts(given.shape), options, 0.99).calibration
    assert found is not None
    assert found["stoppedEarly"]
    assert found["pValue"] == 2 / found["permutations"]


def test_what_is_undefined_has_no_p_value() -> None:
    options = PermutedOptions(inner=options_of(registry.find("cka", "linear")), calibration=Calibration(permutations=9))
    _, found = permuted(options, grid(X, np.ones((ROWS, 3))))
    assert found.calibration is not None
    assert found.calibration["pValue"] is None
    assert "all rows are equal" in found.calibration["reason"]


def test_what_is_drawn_is_not_computed_for_every_permutation() -> None:
    sampled = options_of(registry.find("rsa", "sampled"))
    wanted = PermutedOptions(inner=sampled, calibration=Calibration(statistic="measure"))
    with pytest.raises(ProblemError, match="statistic 'fast'"):
        setting(shape(X, Y), wanted, SEED)


def test_too_many_rows_leave_a_subset() -> None:
    large = PairShape(50_000, 8, 8)
    units = options_of(registry.find("tsi", "units"), units=100_000, targets=32)
    wanted = PermutedOptions(inner=units, calibration=Calibration())
    found = setting(large, wanted, SEED)
    assert found.rows == 10_000
    assert found.statistic.about == {"measure": "tsi", "method": "units", "units": 4096, "targets": 32}
    own = setting(large, replace_calibration(wanted, statistic="measure", statistic_rows=500), SEED)
    assert (own.rows, own.statistic.about["units"]) == (500, 100_000)


def replace_calibration(options: PermutedOptions, **fields: Any) -> PermutedOptions:
    assert options.calibration is not None
    return options.model_copy(update={"calibration": options.calibration.model_copy(update=fields)})


def test_rows_that_cannot_be_permuted_are_a_problem() -> None:
    options = PermutedOptions(
        inner=options_of(registry.find("tsi", "exact")), calibration=Calibration(scheme="between-groups")
    )
    with pytest.raises(ProblemError) as caught:
        permuted(options, grid(X, Y, UNEVEN))
    assert caught.value.slug == "undefined-permutation"


def test_memory_and_time_grow_with_what_is_asked() -> None:
    base = PermutedOptions(inner=options_of(registry.find("tsi", "units")), calibration=Calibration(permutations=100))
    more = replace_calibration(base, permutations=10_000)
    small, large = PairShape(2000, 8, 8), PairShape(8000, 8, 8)
    assert PERMUTED.seconds(small, more) > PERMUTED.seconds(small, base)
    assert PERMUTED.seconds(large, base) > 10 * PERMUTED.seconds(small, base)
    # A table of 16-bit ranks.
    difference = PERMUTED.memory(large, base, Budget(1.0, 0)) - PERMUTED.memory(small, base, Budget(1.0, 0))
    assert difference >= 2 * (8000**2 - 2000**2)
    assert PERMUTED.comparisons(small, more) == 10_001 * 40 * 10


def test_two_layers_of_one_model_are_more_alike_than_any_permutation_makes_them() -> None:
    folder = Path(__file__).parents[1] / "data" / "sample"
    x, y = (np.load(folder / f"{name}.npy")[:300].astype(np.float32) for name in ("text_L6_f32", "text_L3_f16"))
    for measure, more in (("tsi", {"units": 500, "targets": 16}), ("cka", {}), ("mutual_knn", {"k": 10})):
        method = {"tsi": "units", "cka": "linear"}.get(measure, "exact")
        inner = options_of(registry.find(measure, method), **more)
        _, found = permuted(PermutedOptions(inner=inner, calibration=Calibration(permutations=99)), grid(x, y))
        assert found.calibration is not None
        assert found.calibration["pValue"] == 0.01
        assert found.calibration["score"] > 0


def test_x_is_not_permuted_for_measures_with_sides() -> None:
    inner = options_of(registry.find("pwcca", "exact"))
    options = PermutedOptions(inner=inner, calibration=Calibration(permutations=2, scheme="between-groups"))
    with pytest.raises(ProblemError, match="x and y exchanged"):
        permuted(options, grid(np.ascontiguousarray(X[UNEVEN]), Y, UNEVEN))


def test_whole_groups_are_drawn_where_groups_change_places() -> None:
    inner = options_of(registry.find("tsi", "exact"))
    calibration = Calibration(permutations=3, scheme="between-groups", statistic_rows=20)
    total, found = permuted(PermutedOptions(inner=inner, calibration=calibration), grid(X, Y, LABELS))
    assert found.calibration is not None
    assert found.calibration["statistic"]["rows"] == 18  # six groups of three
    assert "null-on-subset" in [code for code, _ in found.cautions]
    assert len(total.vector(STATISTICS)) == 4


def test_scores_alone_need_no_table_of_ranks() -> None:
    units = PermutedOptions(inner=options_of(registry.find("tsi", "units")), calibration=None, layers=(2, 2))
    assert setting(PairShape(50_000, 8, 8), units, SEED).rows == 50_000
    exact = PermutedOptions(inner=options_of(registry.find("tsi", "exact")), calibration=None, layers=(2, 2))
    with pytest.raises(ProblemError, match="at most 10000 rows") as caught:
        setting(PairShape(50_000, 8, 8), exact, SEED)
    assert caught.value.slug == "over-limit"
    total, found = permuted(units.model_copy(update={"layers": (1, 1)}), grid(X, Y))
    score = outcome(registry.find("tsi", "units"), units.inner, X, Y).score
    assert found.score == score
    assert len(total.vector(STATISTICS)) == 1


def test_a_statistic_that_is_no_number_is_no_score() -> None:
    zero = X.copy()
    zero[3] = 0
    given = grid(zero, Y)
    for one in (*given.x, *given.y):
        one.distance = Distance.COSINE  # type: ignore[misc]
    inner = options_of(registry.find("rsa", "exact"))
    for calibration in (None, Calibration(permutations=3)):
        _, found = permuted(PermutedOptions(inner=inner, calibration=calibration), given)
        assert found.score is None
        assert found.reason


def test_ties_near_zero_are_ties() -> None:
    """Every permutation within groups has the score 0 here: what differs is rounding."""
    groups = np.repeat(np.arange(10), 4)
    x = np.repeat(np.random.default_rng(3).integers(0, 9, (10, 3)) * 0.1, 4, axis=0)
    y = np.tile([-0.3, -0.1, 0.1, 0.3], 10)[:, None].copy()
    for name, method in (("cka", "linear"), ("procrustes", "exact"), ("cca", "exact"), ("pwcca", "exact")):
        measure = registry.find(name, method)
        calibration = Calibration(permutations=99, scheme="within-groups")
        _, found = permuted(PermutedOptions(inner=options_of(measure), calibration=calibration), grid(x, y, groups))
        assert found.calibration is not None
        assert found.calibration["pValue"] == 1, name


@pytest.mark.parametrize("size", [0.1, 0.3, 1000.0])
def test_equal_distances_are_no_statistic(size: float) -> None:
    x = size * np.eye(33)
    for name, method, more in (
        ("cka", "linear", {"estimator": "debiased"}),
        ("cka", "distance", {"estimator": "debiased"}),
        ("rsa", "exact", {}),
    ):
        options = options_of(registry.find(name, method), **more)
        _, found = permuted(PermutedOptions(inner=options, calibration=Calibration(permutations=9)), grid(x, x))
        assert found.calibration is not None
        assert found.calibration["pValue"] is None, (name, method)
