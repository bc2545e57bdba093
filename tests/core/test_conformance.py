"""The conformance suite finds each kind of fault, and nothing wrong with what is right."""

from __future__ import annotations

import importlib
import importlib.util
import math
from typing import TYPE_CHECKING, Any

import faulty_measures
import numpy as np
import pytest

from ordsim_core.conformance import references
from ordsim_core.conformance.findings import Verdict
from ordsim_core.conformance.kinds import Arrays, Kind
from ordsim_core.conformance.promises import DEFAULT, Promise
from ordsim_core.conformance.subjects import UnusableError
from ordsim_core.conformance.suite import examine
from ordsim_core.cosine.gram_sums import Statistic
from ordsim_core.cosine.linear import linear_cka

if TYPE_CHECKING:
    from collections.abc import Callable

    from ordsim_core.conformance.findings import Report

RIGHT = {
    "cka": Kind.SIMILARITY,
    "debiased_cka": Kind.SIMILARITY,
    "svcca": Kind.SIMILARITY,
    "cka_deficit": Kind.DISTANCE,
    "distance": Kind.DISTANCE,
}

FAULTS = {
    "cka_with_epsilon": {"identity", "identity, other layout", "scale", "small values", "duplicate rows"},
    "cka_with_tiny_epsilon": {"small values"},
    "cka_uncentred": {"shift"},
    "svcca_uncentred": {"shift"},
    "debiased_divided_on_one_side": {"identity", "identity, other layout", "duplicate rows"},
    "debiased_with_wrong_n": {"shift"},
    "cka_that_averages": {
        "identity",
        "identity, other layout",
        "limits",
        "duplicate rows",
        *(f"{n} rows" for n in (2, 3, 4)),
    },
    "cka_of_anything": {"no variance", "not finite"},
    "cka_in_place": {"inputs left alone"},
    "row_by_row": {"row permutation", "shift", "no variance"},
    "one_sided": {"symmetry"},
}


def failed(report: Report) -> set[str]:
    return {finding.check for finding in report.failed}


@pytest.mark.parametrize("name", RIGHT)
def test_right_functions_pass(name: str) -> None:
    report = examine(getattr(faulty_measures, name), RIGHT[name])
    assert report.failed == ()
    assert (report.name, report.arrays, report.precision) == (name, Arrays.NUMPY, "float64")
    assert len({finding.check for finding in report.findings}) == len(report.findings) == 23


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_found_where_it_is(name: str) -> None:
    assert failed(examine(getattr(faulty_measures, name))) == FAULTS[name]


def test_sums_in_the_order_of_memory_are_found() -> None:
    finding = examine(faulty_measures.cka_by_layout).find("identity, other layout")
    assert finding.verdict is Verdict.ROUNDING
    assert finding.figure is not None
    assert 0 < abs(finding.figure) <= 16 * 2.0**-53
    assert "no more than 16 units of rounding" in finding.detail


def off_by(units: float) -> Callable[[Any, Any], float]:
    """CKA, but more by some units of rounding where it is 1."""

    def function(x: Any, y: Any) -> float:
        value = faulty_measures.cka(x, y)
        return value + units * 2.0**-53 if np.array_equal(x, y) else value

    return function


@pytest.mark.parametrize(
    ("units", "usual", "exact"),
    [
        (0, Verdict.PASS, Verdict.PASS),
        (2, Verdict.ROUNDING, Verdict.FAIL),
        (16, Verdict.ROUNDING, Verdict.FAIL),
        (18, Verdict.FAIL, Verdict.FAIL),
    ],
)
def test_rounding_is_no_failure_unless_exactness_is_promised(units: float, usual: Verdict, exact: Verdict) -> None:
    for verdict, promised in ((usual, DEFAULT), (exact, (*DEFAULT, Promise.EXACT_IDENTITY))):
        report = examine(off_by(units), promised=promised)
        checks = ("identity", "identity, other layout", "limits")
        assert {report.find(check).verdict for check in checks} == {verdict}
        # So small a deficit on the right side of the limit is found too, but is within the limit.
        below = examine(off_by(-units), promised=promised)
        assert [below.find(check).verdict for check in checks] == [verdict, verdict, Verdict.PASS]


def test_rounding_is_counted_apart() -> None:
    report = examine(faulty_measures.cka_of_textbooks, promised=(*DEFAULT[:5], Promise.NOT_FINITE))
    assert report.failed == ()
    assert {"rotation", "scale"} <= {finding.check for finding in report.rounded}
    for finding in report.rounded:
        assert finding.figure is not None
        assert 0 < abs(finding.figure) <= 1e3 * 2.0**-53

    def moved(x: Any, y: Any) -> float:
        return faulty_measures.cka(x, y) - (2.5e-13 if x[0, 0] > y[0, 0] else 0)

    assert "symmetry" in failed(examine(moved))


def test_noise_over_noise_is_no_score() -> None:
    report = examine(faulty_measures.cka_of_textbooks)
    assert failed(report) == {"no variance"}
    finding = report.find("no variance")
    assert finding.figure is not None
    assert 0 < finding.figure < 1e-20
    assert finding.detail.startswith("all rows of x equal: ")
    assert finding.detail.endswith("rounding noise over rounding noise")
    assert examine(faulty_measures.cka_of_anything).find("no variance").detail.endswith("there is nothing to compare")


@pytest.mark.parametrize(
    ("answer", "verdict"), [(math.nan, Verdict.PASS), (math.inf, Verdict.FAIL), (0.0, Verdict.FAIL)]
)
def test_nan_is_an_answer_to_what_is_not_finite(answer: float, verdict: Verdict) -> None:
    def function(x: Any, y: Any) -> float:
        return faulty_measures.cka(x, y) if np.isfinite(x).all() and np.isfinite(y).all() else answer

    assert examine(function).find("not finite").verdict is verdict


def test_an_epsilon_is_called_by_its_name() -> None:
    finding = examine(faulty_measures.cka_with_tiny_epsilon).find("small values")
    assert "denominator" in finding.detail


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("debiased_cka", Verdict.PASS),
        ("biased_called_debiased", Verdict.FAIL),
    ],
)
def test_a_debiased_measure_is_held_to_zero(name: str, verdict: Verdict) -> None:
    function = getattr(faulty_measures, name)
    report = examine(function, promised=(*DEFAULT, Promise.ZERO_IF_INDEPENDENT))
    assert report.find("independent arrays").verdict is verdict
    assert examine(function).find("independent arrays").verdict is Verdict.INFO


@pytest.mark.parametrize(
    ("name", "promise", "check"),
    [
        ("cka_uncentred", Promise.SHIFT, "shift"),
        ("one_sided", Promise.SYMMETRY, "symmetry"),
        ("row_by_row", Promise.ROW_PERMUTATION, "row permutation"),
        ("cka_with_epsilon", Promise.SCALE, "scale"),
        ("cka_of_anything", Promise.NO_VARIANCE, "no variance"),
        ("cka_of_anything", Promise.NOT_FINITE, "not finite"),
    ],
)
def test_what_is_not_promised_is_a_fact(name: str, promise: Promise, check: str) -> None:
    function = getattr(faulty_measures, name)
    assert examine(function).find(check).verdict is Verdict.FAIL
    kept = tuple(other for other in DEFAULT if other is not promise)
    finding = examine(function, promised=kept).find(check)
    assert (finding.verdict, finding.figure is not None) == (Verdict.INFO, promise is not Promise.NOT_FINITE)


def test_near_identity_says_what_resolves() -> None:
    naive, direct = examine(faulty_measures.cka), examine(faulty_measures.cka_deficit, Kind.DISTANCE)
    ours = examine(lambda x, y: linear_cka(x, y).deficit, Kind.DISTANCE)
    for report, at_1e_8 in ((naive, "does not resolve"), (direct, "resolves"), (ours, "resolves")):
        assert report.find("near identity, 1e-4").detail.startswith("resolves")
        assert report.find("near identity, 1e-8").detail.startswith(at_1e_8)
        assert "(linear CKA)" in report.find("near identity, 1e-8").detail
    debiased = examine(references.debiased_linear_cka_deficit, Kind.DISTANCE)
    assert "(debiased linear CKA)" in debiased.find("near identity, 1e-8").detail
    assert debiased.find("near identity, 1e-8").detail.startswith("resolves")


def test_near_identity_without_an_oracle_goes_by_the_order() -> None:
    def euclidean(x: Any, y: Any) -> float:
        return float(np.linalg.norm(np.subtract(x, y)))

    def floored(x: Any, y: Any) -> float:
        return max(1e-6, euclidean(x, y)) if (x != y).any() else 0.0

    promised = (Promise.SYMMETRY, Promise.ROW_PERMUTATION)
    for function, said in ((euclidean, "resolves"), (floored, "does not resolve")):
        report = examine(function, Kind.DISTANCE, promised=promised)
        assert report.find("near identity, 1e-8").detail.startswith(said)
        assert report.find("widths").detail == "x and y must have as many columns"


def test_an_epsilon_does_not_resolve_whatever_its_order() -> None:
    report = examine(faulty_measures.cka_of_textbooks_with_epsilon)
    finding = report.find("near identity, 1e-8")
    assert finding.figure is not None
    assert 1e-13 < finding.figure < 1e-12  # 6.1e-17 is right
    assert finding.detail.startswith("does not resolve: equal arrays have a deficit of up to ")


@pytest.mark.parametrize(
    ("power", "feigned", "said"),
    [
        (1.0, 0.0, "resolves"),
        (1.0, 0.5e-2, "resolves"),
        (1.0, 2e-2, "does not resolve: equal arrays"),
        (1.08, 0.0, "resolves"),
        (1.15, 0.0, "does not resolve: the deficit fell"),
        (1.5, 0.0, "does not resolve: the deficit fell"),
        (1.75, 0.0, "does not resolve: the deficit fell"),
        (1.85, 0.0, "resolves"),
        (2.15, 0.0, "resolves"),
        (2.25, 0.0, "does not resolve: the deficit fell"),
    ],
)
def test_the_order_and_equal_arrays_decide_of_an_unknown_function(power: float, feigned: float, said: str) -> None:
    at_1e_8 = (1e-8 * math.sqrt(48 * 6)) ** power

    def apart(x: Any, y: Any) -> float:
        return float(np.linalg.norm(np.subtract(x, y))) ** power if (x != y).any() else feigned * at_1e_8

    report = examine(apart, Kind.DISTANCE, promised=())
    assert report.find("near identity, 1e-8").detail.startswith(said)
    assert report.find("near identity, 1e-4").detail == "nothing known to compare with"


def test_a_known_function_whose_equal_arrays_differ_does_not_resolve() -> None:
    def function(x: Any, y: Any) -> float:
        return 1e-17 if np.array_equal(x, y) else references.linear_cka_deficit(x, y)

    report = examine(function, Kind.DISTANCE)
    assert report.find("near identity, 1e-4").detail.startswith("resolves")
    assert report.find("near identity, 1e-8").detail.startswith("does not resolve: equal arrays")


@pytest.mark.parametrize("debiased", [False, True])
def test_the_reference_is_the_deficit_of_the_score(debiased: bool) -> None:
    draw = np.random.default_rng(4)
    x = draw.standard_normal((30, 5))
    deficit = references.debiased_linear_cka_deficit if debiased else references.linear_cka_deficit
    for delta in (1.0, 1e-2):
        y = x + delta * draw.standard_normal(x.shape)
        assert deficit(x, y) == pytest.approx(1 - references.linear_cka(x, y, debiased=debiased), rel=1e-9)
    y = x + 1e-8 * draw.standard_normal(x.shape)
    exact = linear_cka(x, y, Statistic.DEBIASED if debiased else Statistic.BIASED).deficit
    assert deficit(x, y) == pytest.approx(exact, rel=1e-7)


def called_with(check: Callable[[Any, Any], Any]) -> Callable[[Any, Any], float]:
    """A right function that looks at its arguments first."""

    def function(x: Any, y: Any) -> float:
        check(x, y)
        return faulty_measures.cka(x, y)

    return function


def test_a_function_that_fails_where_it_should_not_is_told() -> None:
    def odd(x: Any, y: Any) -> None:
        if x.shape[1] != y.shape[1] and (x[0] > 2.9).any():
            raise IndexError

    finding = examine(called_with(odd)).find("shift")
    assert (finding.verdict, finding.detail) == (Verdict.FAIL, "on ordinary arrays it raised IndexError")


@pytest.mark.parametrize("error", [IndexError("out of range"), ZeroDivisionError("division by zero"), ValueError("")])
def test_errors_that_explain_nothing_fail(error: Exception) -> None:
    def few(x: Any, y: Any) -> None:
        if len(x) < 4:
            raise error

    report = examine(called_with(few))
    assert failed(report) == {"3 rows", "2 rows"}


def test_nan_is_no_answer_for_few_rows() -> None:
    def function(x: Any, y: Any) -> float:
        return faulty_measures.cka(x, y) if len(x) > 3 else math.nan

    assert failed(examine(function)) == {"3 rows", "2 rows"}


def test_random_values_are_a_fact() -> None:
    draw = np.random.default_rng(1)

    def function(x: Any, y: Any) -> float:
        return faulty_measures.cka(x, y) if np.array_equal(x, y) else faulty_measures.cka(x, y) * draw.uniform(0.9, 1)

    finding = examine(function).find("repeated calls")
    assert (finding.verdict, finding.detail) == (Verdict.INFO, "the value changes from call to call")


def test_single_precision_is_judged_by_its_own_roundoff() -> None:
    def function(x: Any, y: Any) -> np.float32:
        return np.float32(faulty_measures.cka(x, y))

    report = examine(function)
    assert (report.precision, report.failed) == ("float32", ())


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda _: 1.0, "raised TypeError"),
        (lambda *_: (1.0, 2.0), "returns a tuple"),
        (lambda *both: both[0], "returns an array of shape"),
        (lambda *_: None, "returns a NoneType"),
        (lambda *_: math.nan, "returned nan"),
    ],
)
def test_what_cannot_be_examined_says_why(answer: Callable[..., Any], said: str) -> None:
    with pytest.raises(UnusableError, match=said):
        examine(answer, arrays=Arrays.NUMPY)


def test_results_may_be_arrays_of_one_number() -> None:
    assert examine(lambda x, y: np.array([[faulty_measures.cka(x, y)]])).failed == ()


def test_tensors_are_tried_after_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    class Tensor:
        """As much of a tensor as is needed; torch itself is not among the dependencies of the tests."""

        def __init__(self, values: np.ndarray) -> None:
            self.values = values

        def detach(self) -> Tensor:
            return self

        def cpu(self) -> Tensor:
            return self

        def numpy(self) -> np.ndarray:
            return self.values

    class Torch:
        from_numpy = Tensor

    find_spec, import_module = importlib.util.find_spec, importlib.import_module
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name if name == "torch" else find_spec(name))
    monkeypatch.setattr(importlib, "import_module", lambda name: Torch if name == "torch" else import_module(name))
    report = examine(lambda x, y: Tensor(np.asarray(faulty_measures.cka(x.values, y.values))))
    assert (report.arrays, report.failed) == (Arrays.TORCH, ())


def test_tensors_without_torch_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(UnusableError, match="torch is not installed"):
        examine(faulty_measures.cka, arrays=Arrays.TORCH)


def test_a_check_that_does_not_exist() -> None:
    with pytest.raises(KeyError):
        examine(faulty_measures.cka).find("nothing")


def test_a_function_that_ends_the_program_has_failed() -> None:
    def ending(_x: np.ndarray, _y: np.ndarray) -> float:
        raise SystemExit(0)

    with pytest.raises(UnusableError, match="SystemExit"):
        examine(ending)


def test_a_truth_is_no_number() -> None:
    with pytest.raises(UnusableError, match="a single real number is needed"):
        examine(lambda _x, _y: True)
