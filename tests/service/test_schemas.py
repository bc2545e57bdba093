"""What a request may say, without a service."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from ordsim_core.distances import Distance
from service import explaining, schemas
from service.fields import LARGEST_CONFIDENCE
from service.schemas import JobRequest
from tests.service.conftest import EXACT, SAMPLED, request
from workers.measures import registry
from workers.measures.sampled import QsiSampledOptions
from workers.measures.tsi_exact import TsiExactOptions
from workers.references import Reference, RowRange
from workers.tasks import Side


def read(body: dict[str, Any]) -> JobRequest:
    """Read a body as the service does: from JSON."""
    return JobRequest.model_validate(json.loads(json.dumps(body)))


def faults(body: dict[str, Any]) -> dict[str, str]:
    """What is wrong with a body, by pointer."""
    with pytest.raises(ValidationError) as caught:
        read(body)
    found = [{**error, "loc": ("body", *error["loc"])} for error in caught.value.errors()]
    return {error["pointer"]: error["detail"] for error in explaining.explain(found)}


def test_the_smallest_request_has_the_defaults_of_the_contract() -> None:
    found = read(request())
    assert (found.confidence, found.seed, found.align, found.missing_chunks) == (0.99, 0, "check", "error")
    assert (found.on_non_finite, found.precision) == ("error", "exact")
    assert found.side("x") == Side(Reference("lab", "x"), Distance.EUCLIDEAN, "error")
    ((measure, options),) = found.options()
    assert measure is registry.find("tsi", "exact")
    assert type(options) is TsiExactOptions
    assert options == TsiExactOptions(measure="tsi", method="exact", per_anchor=False)


def test_tsi_is_exact_unless_said_otherwise() -> None:
    found = read(request(measures=[{"measure": "tsi", "per_anchor": True}, SAMPLED]))
    assert [(measure.measure, measure.method) for measure, _ in found.options()] == [
        ("tsi", "exact"),
        ("qsi", "sampled"),
    ]
    assert [type(options) for _, options in found.options()] == [TsiExactOptions, QsiSampledOptions]


@pytest.mark.parametrize(
    ("measure", "pointer", "word"),
    [
        # Impossible parameters of public reports: each is refused, and the field named.
        ({"measure": "tsi", "method": "sampled", "epsilon": 0, "delta": 0.05}, "/measures/0/epsilon", "greater than 0"),
        ({"measure": "tsi", "method": "sampled", "epsilon": 0.05, "delta": 0}, "/measures/0/delta", "greater than 0"),
        ({"measure": "tsj"}, "/measures/0/measure", "'tsj' is not supported; supported: tsi, qsi"),
        ({"measure": "tsi", "method": "sampled", "epsilon": 1, "delta": 0.05}, "/measures/0/epsilon", "less than 1"),
        ({"measure": "tsi", "method": "sampled", "samples": 0}, "/measures/0/samples", "greater than or equal to 1"),
        ({"measure": "tsi", "method": "sampled", "samples": -5}, "/measures/0/samples", "greater than or equal"),
        ({"measure": "tsi", "method": "sampled", "samples": True}, "/measures/0/samples", "integer"),
        ({"measure": "tsi", "method": "sampled", "samples": 10.5}, "/measures/0/samples", "integer"),
        ({"measure": "tsi", "method": "sampled", "samples": 10**30}, "/measures/0/samples", "less than or equal"),
        ({"measure": "tsi", "method": "sampled", "samples": "10"}, "/measures/0/samples", "integer"),
        ({"measure": "tsi", "method": "sampled"}, "/measures/0", "samples is missing"),
        ({"measure": "tsi", "method": "sampled", "epsilon": 0.1}, "/measures/0", "delta is missing"),
        ({"measure": "tsi", "method": "sampled", "epsilon": 1e-9, "delta": 0.1}, "/measures/0", "too small"),
        ({**SAMPLED, "epsilon": 0.1, "delta": 0.1}, "/measures/0", "exclude each other"),
        ({"measure": "tsi", "per_anchor": 1}, "/measures/0/per_anchor", "boolean"),
        ({**SAMPLED, "per_anchor": True}, "/measures/0/per_anchor", "True is not supported; supported: False"),
        ({**SAMPLED, "per_anchor": 0}, "/measures/0/per_anchor", "0 is not a boolean"),
        ({"measure": "tsi", "k": 0}, "/measures/0/k", "no such option; tsi exact has: per_anchor"),
        (
            {"measure": "tsi", "method": "guessed"},
            "/measures/0/method",
            "'guessed' is not supported; tsi has: exact, sampled, units",
        ),
        ({"measure": "tsi", "method": None}, "/measures/0/method", "not supported"),
        ({"measure": "qsi"}, "/measures/0/method", "is missing; qsi has: sampled"),
        ({"measure": ["tsi"]}, "/measures/0/measure", "a list is not supported"),
        ({"method": "exact"}, "/measures/0/measure", "is missing"),
        ("tsi", "/measures/0", "an object is needed"),
    ],
)
def test_measures_that_are_refused(measure: Any, pointer: str, word: str) -> None:
    found = faults(request(measures=[measure]))
    assert list(found) == [pointer]
    assert word in found[pointer]


@pytest.mark.parametrize(
    ("fields", "pointer", "word"),
    [
        ({"tsi.guessed": 1}, "/tsi.guessed", "no such field"),
        ({"measures": []}, "/measures", "at least 1 item"),
        ({"tsi.exact": 1}, "/tsi.exact", "there is no such field"),
        ({"a.b": 1}, "/a.b", "there is no such field"),
        ({"measures": [EXACT] * 33}, "/measures", "at most 32 items"),
        ({"process": "layers"}, "/process", "'layers' is not supported"),
        ({"confidence": 1}, "/confidence", "must lie between 0 and 1, at most 1 - 2^-52, e.g. 0.99"),
        ({"confidence": 1 - 2**-53}, "/confidence", "must lie between 0 and 1, at most 1 - 2^-52, e.g. 0.99"),
        ({"confidence": True}, "/confidence", "valid number"),
        ({"confidence": float("nan")}, "/confidence", "finite number"),
        ({"confidence": None}, "/confidence", "valid number"),
        ({"seed": -1}, "/seed", "greater than or equal to 0"),
        ({"seed": 2**63}, "/seed", "less than"),
        ({"seed": False}, "/seed", "integer"),
        ({"seed": 1.0}, "/seed", "integer"),
        ({"align": "join"}, "", "align: rows are joined by ids, and there are none"),
        ({"align": "outer"}, "/align", "'outer' is not supported; supported: 'check' or 'join'"),
        ({"on_non_finite": "skip"}, "/on_non_finite", "'skip' is not supported"),
        ({"precision": "float64"}, "/precision", "'float64' is not supported; supported: 'exact' or 'float32'"),
        ({"missing_chunks": "ignore"}, "/missing_chunks", "supported: 'error' or 'fill'"),
        ({"calibration": {"permutations": -5}}, "/calibration/permutations", "greater than or equal to 1"),
        ({"calibration": {"permutations": 100_001}}, "/calibration/permutations", "less than or equal to 100000"),
        ({"calibration": {"alpha": 1.0}}, "/calibration/alpha", "less than 1"),
        ({"calibration": {"scheme": "columns"}}, "/calibration/scheme", "rows"),
        ({"calibration": {"early_stop": {"exceedances": 0}}}, "/calibration/early_stop/exceedances", "greater"),
        ({"calibration": {"early_stop": True}}, "/calibration/early_stop", ""),
        ({"reuse": 1}, "/reuse", "boolean"),
        ({"groups": {"root": "lab"}}, "/groups/path", "is missing"),
        ({"groups": "lab:g"}, "/groups", "valid dictionary"),
        ({"sed": 1}, "/sed", "no such field"),
        ({"a/b~c": 1}, "/a~1b~0c", "no such field"),
        ({"label": 5}, "/label", "string"),
        ({"tags": {"a b": "c"}}, "/tags/a b/[key]", "match"),
        ({"tags": {"a": 1}}, "/tags/a", "string"),
        ({"rows": {"start": 3, "stop": 3}}, "/rows", "3 is not larger than 3"),
        ({"rows": {"start": -1, "stop": 3}}, "/rows/start", "greater than or equal to 0"),
        ({"rows": {"start": 0}}, "/rows", "rows are start and stop, or index"),
        ({"rows": {"start": 0, "stop": 2, "index": {"root": "lab", "path": "i"}}}, "/rows", "or index"),
        ({"rows": {}}, "/rows", "rows are start and stop, or index"),
        ({"rows": {"index": {"root": "lab"}}}, "/rows/index/path", "is missing"),
        ({"x": {"root": "lab", "path": "x", "distance": "chebyshev"}}, "/x/distance", "'chebyshev' is not supported"),
        ({"x": {"root": "lab"}}, "/x/path", "is missing"),
        ({"x": "lab:x"}, "/x", "valid dictionary"),
    ],
)
def test_fields_that_are_refused(fields: dict[str, Any], pointer: str, word: str) -> None:
    found = faults({**request(), **fields})
    assert list(found) == [pointer]
    assert word in found[pointer]


def test_rows_stand_in_one_place_only() -> None:
    body = request(rows={"start": 0, "stop": 4})
    body["y"]["rows"] = {"start": 1, "stop": 5}
    assert faults(body) == {"": "rows stand at the top or in a reference, not in both"}


def test_rows_at_the_top_are_rows_of_both() -> None:
    found = read(request(rows={"start": 2, "stop": 4}))
    assert found.side("x").reference.rows == found.side("y").reference.rows == RowRange(2, 4)


@pytest.mark.parametrize("measure", [SAMPLED, {**SAMPLED, "measure": "tsi"}])
def test_sampled_measures_take_the_default_of_per_anchor(measure: dict[str, Any]) -> None:
    body = request(measures=[{**measure, "per_anchor": False}])
    found = read(body)
    assert found.options()[0][1] == read(request(measures=[measure])).options()[0][1]
    assert found.as_sent() == body


def test_rows_and_identifiers_of_one_array() -> None:
    body = request(ids={name: {"root": "lab", "path": f"ids/{name}"} for name in "xy"})
    body["y"]["rows"] = {"start": 1, "stop": 5}
    found = read(body)
    rows = found.rows_of("y")
    assert rows is not None
    assert (found.rows_of("x"), rows.range()) == (None, RowRange(1, 5))
    assert found.identifiers_of("x") == Reference("lab", "ids/x")
    assert found.identifiers_of("y") == Reference("lab", "ids/y", RowRange(1, 5))
    assert read(request()).identifiers_of("x") is None


def test_confidence_follows_delta_only_where_it_was_not_sent() -> None:
    wanted = {"measure": "tsi", "method": "sampled", "epsilon": 0.1, "delta": 0.05}
    for sent, expected in (({}, [0.95, 0.99]), ({"confidence": 0.9}, [0.9, 0.9]), ({"confidence": 0.99}, [0.99, 0.99])):
        found = read(request(measures=[wanted, SAMPLED], **sent))
        assert [found.confidence_of(options) for _, options in found.options()] == expected
    tiny = read(request(measures=[{**wanted, "delta": 1e-300}]))
    assert tiny.confidence_of(tiny.options()[0][1]) == LARGEST_CONFIDENCE < 1
    assert read(request(confidence=LARGEST_CONFIDENCE)).confidence == LARGEST_CONFIDENCE


def test_what_is_stored_reads_back_as_what_was_sent() -> None:
    body = request(
        measures=[{"measure": "tsi"}, {"measure": "tsi", "method": "sampled", "epsilon": 0.1, "delta": 0.05}],
        rows={"start": 0, "stop": 5},
        tags={"a": "b"},
    )
    found = read(body)
    assert found.as_sent() == body
    again = read(found.as_sent())
    assert again == found
    assert [again.confidence_of(options) for _, options in again.options()] == [0.99, 0.95]


def test_the_digest_ignores_the_order_of_fields_and_nothing_else() -> None:
    body = request(seed=1, label="a")
    assert read(body).digest() == read(dict(reversed(body.items()))).digest()
    assert read(body).digest() != read({**body, "seed": 2}).digest()
    assert read(body).digest() != read({**body, "confidence": 0.99}).digest()


def test_every_measure_of_the_registry_can_be_asked_for() -> None:
    schema = JobRequest.model_json_schema()
    named = {option["$ref"].rpartition("/")[2] for option in schema["properties"]["measures"]["items"]["oneOf"]}
    assert named == {measure.options.__name__ for measure in registry.all_measures()}
    assert schema["additionalProperties"] is False


def test_the_example_is_a_valid_request() -> None:
    assert read(dict(schemas.EXAMPLE)).x.distance == "euclidean"
